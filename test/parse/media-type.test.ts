import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaTypeOf } from '../../src/parse/media-type.ts';

function typeOf(header: string | undefined, latin1: string): string {
  const { type, sniffed } = mediaTypeOf(header, Buffer.from(latin1, 'latin1'));
  return sniffed ? `${type} (sniffed)` : type;
}
const PAGE = '<!DOCTYPE html><p>';

test('R-A4 the header decides when it says something', () => {
  assert.equal(typeOf('Text/HTML; charset=utf-8', 'just words'), 'text/html');
  assert.equal(typeOf(' application/pdf ', PAGE), 'application/pdf');
  assert.equal(typeOf('text/plain', PAGE), 'text/plain');
  assert.equal(typeOf('text/css, text/html;a="b,c"', ''), 'text/html');
  assert.equal(typeOf('text/html, */*', ''), 'text/html');
});

test('R-A4 the first bytes decide when the header is missing, empty, unreadable, a wildcard or octet-stream', () => {
  for (const header of [
    undefined,
    '',
    ' ',
    'html',
    'text',
    '*/*',
    'unknown/unknown',
    'application/octet-stream',
    'text/ht ml',
    'x'.repeat(5_000),
  ]) {
    assert.equal(typeOf(header, PAGE), 'text/html (sniffed)', header);
  }
});

test('R-A4 files are known by their first bytes', () => {
  const cases = [
    ['\xef\xbb\xbf \n<HTML>', 'text/html'],
    ['\t<!-- x', 'text/html'],
    ['<br>x', 'text/html'],
    ['<brx>', 'text/plain'],
    ['<a', 'text/plain'],
    ['<?xml version="1.0"?><html xmlns="x">', 'application/xhtml+xml'],
    ['<?xml version="1.0"?><rss>', 'text/xml'],
    ['%PDF-1.4', 'application/pdf'],
    ['\x89PNG\r\n\x1a\n', 'image/png'],
    ['RIFF1234WEBPVP8', 'image/webp'],
    ['RIFF1234WEBX', 'text/plain'],
    ['PK\x03\x04', 'application/zip'],
    ['a\0b', 'application/octet-stream'],
    ['\xff\xfea\0', 'text/plain'],
    ['\x1b[1m', 'text/plain'],
    ['', 'text/plain'],
  ] as const;
  for (const [body, type] of cases) assert.equal(typeOf(undefined, body), `${type} (sniffed)`, JSON.stringify(body));
});

test('R-A4 a file that is plainly no markup is known by its first bytes although it is called HTML', () => {
  assert.equal(typeOf('Text/HTML; charset=utf-8', '%PDF-1.7'), 'application/pdf (sniffed)');
  assert.equal(typeOf('application/xhtml+xml', '\x89PNG\r\n\x1a\n\0\0'), 'image/png (sniffed)');
  assert.equal(typeOf('text/html', 'GIF89a\x01\0\x01\0'), 'image/gif (sniffed)');
  // Words that only begin like one, a gzip'd page whose coding is not named, text with a stray control byte, UTF-16.
  for (const body of ['ID3 tags explained', 'GIF89a is a format', '%PDF', 'RIFF and RAFF', 'a\0b', '\xff\xfe<\0p\0', ' \n%PDF-1.4', ''])
    assert.equal(typeOf('text/html', body), 'text/html', JSON.stringify(body));
});

test('binary content under a text/plain that old servers send for everything is no text', () => {
  assert.equal(typeOf('text/plain', 'a\0b'), 'application/octet-stream (sniffed)');
  assert.equal(typeOf('text/plain; charset=ISO-8859-1', '\x01'), 'application/octet-stream (sniffed)');
  assert.equal(typeOf('text/plain;charset=koi8-r', 'a\0b'), 'text/plain');
});

test('bytes beyond the first 512 do not count', () => {
  assert.equal(typeOf(undefined, `${' '.repeat(512)}${PAGE}`), 'text/plain (sniffed)');
});

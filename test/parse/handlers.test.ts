import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitsOf } from '../../src/core/text.ts';
import { createHandlers, type MediaHandler } from '../../src/parse/handlers.ts';
import { mainOf, OPTIONS, parsePage } from './support.ts';

function handled(mediaType: string, body: string, text: 'none' | 'main' | 'both' = 'both') {
  const handler = createHandlers().find(mediaType);
  assert.ok(handler !== undefined, mediaType);
  return handler.handle({
    bytes: Buffer.from(body),
    contentTypeHeader: `${mediaType}; charset=utf-8`,
    mediaType,
    options: { ...OPTIONS, text },
  });
}

test('R-A4 HTML, XHTML and plain text have a handler, other types none', () => {
  const handlers = createHandlers();
  assert.deepEqual(handlers.types, ['text/html', 'application/xhtml+xml', 'text/plain']);
  assert.equal(handlers.find('application/pdf'), undefined);
});

test('R-A4 the media type, not the content, chooses how a body is read', () => {
  const body = '<p>é<script src="x"/><a href=y>';
  assert.equal(handled('text/html', body).linksFound, 0);
  assert.equal(handled('application/xhtml+xml', body).linksFound, 1);
  assert.deepEqual(handled('text/plain', body), { ...parsePage(''), text: body, mainText: unitsOf(body) });
});

test('R-A4 a handler for a new type plugs in, and one for a known type takes it over', () => {
  const added: MediaHandler = { types: ['text/markdown', 'text/plain'], handle: () => parsePage('<a href=added>') };
  const handlers = createHandlers([added]);
  assert.equal(handlers.find('text/markdown'), added);
  assert.equal(handlers.find('text/plain'), added);
});

test('plain text is folded line by line and has no links', () => {
  const page = handled('text/plain', ' a  b \r\n\n\n\tc http://x.example/ <a href=n>\n');
  assert.deepEqual([page.text, mainOf(page), page.linksFound], ['a b\nc http://x.example/ <a href=n>', page.text, 0]);
  assert.deepEqual([handled('text/plain', 'a', 'main').text, mainOf(handled('text/plain', 'a', 'none'))], ['', '']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BLOCKLIST_PATTERNS_MAX, Blocklist } from '../../src/scope/index.ts';
import { parseSeed, splitUrl } from '../../src/url/index.ts';

function line(list: Blocklist, text: string): string | undefined {
  const url = parseSeed(text);
  return list.matchesUrl(url, splitUrl(url));
}

test('R-C7 a host, in each of its three spellings, blocks itself and its sub-domains on every port and scheme', () => {
  const list = Blocklist.parse(
    '\ufeff# bad hosts\n\na.example\r\n.b.example   # why\n*.c.example\nBÜCHER.example\nA.example.\n',
    'block.txt',
  );
  assert.equal(list.size, 4);
  assert.equal(line(list, 'http://a.example/x'), 'a.example');
  assert.equal(line(list, 'https://x.y.a.example:8443/'), 'a.example');
  assert.equal(line(list, 'http://b.example/'), '.b.example');
  assert.equal(line(list, 'http://x.b.example/'), '.b.example');
  assert.equal(line(list, 'http://c.example/'), '*.c.example');
  assert.equal(line(list, 'http://xn--bcher-kva.example/'), 'BÜCHER.example');
  for (const url of ['http://xa.example/', 'http://example/', 'http://a.example.org/', 'http://127.0.0.1/'])
    assert.equal(line(list, url), undefined, url);
});

test('R-C7 an address or range blocks hosts written as addresses, and resolved addresses in every spelling', () => {
  const list = Blocklist.parse('192.0.2.7\n198.51.100.0/22\n2001:db8::/32\n::ffff:203.0.113.0/120\n0.0.0.0/8', 'block.txt');
  assert.equal(list.size, 5);
  assert.equal(line(list, 'http://192.0.2.7:81/x'), '192.0.2.7');
  assert.equal(line(list, 'http://[2001:db8:1::5]/'), '2001:db8::/32');
  assert.equal(line(list, 'http://192.0.2.8/'), undefined);
  assert.equal(list.matchesAddress('198.51.103.255'), '198.51.100.0/22');
  assert.equal(list.matchesAddress('198.51.104.0'), undefined);
  assert.equal(list.matchesAddress('::ffff:192.0.2.7'), '192.0.2.7');
  assert.equal(list.matchesAddress('203.0.113.9'), '::ffff:203.0.113.0/120');
  assert.equal(list.matchesAddress('2001:DB8::1%eth0'), '2001:db8::/32');
  assert.equal(list.matchesAddress('2001:db9::1'), undefined);
  assert.equal(list.matchesAddress('not an address'), undefined);
});

test('R-C7 an IPv4 range blocks exactly the addresses that share its prefix', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const address = fc.tuple(octet, octet, octet, octet);
  const number = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 256 + part, 0);
  fc.assert(
    fc.property(address, address, fc.integer({ min: 0, max: 32 }), (base, probe, length) => {
      const list = Blocklist.parse(`${base.join('.')}/${length}`, 'f');
      const size = 2 ** (32 - length);
      const near = [...base.slice(0, 3), probe[3]];
      for (const candidate of [probe, near]) {
        const inside = Math.floor(number(candidate) / size) === Math.floor(number(base) / size);
        assert.equal(
          list.matchesAddress(candidate.join('.')) !== undefined,
          inside,
          `${candidate.join('.')} in ${base.join('.')}/${length}`,
        );
      }
    }),
  );
});

test('R-C7 a pattern blocks by the URL as found', () => {
  const list = Blocklist.parse('/\\/private\\//\n/[?&]action=delete/\n/\\.EXE$/i\n/#x/', 'block.txt');
  assert.equal(list.size, 4);
  assert.equal(line(list, 'http://a.example/private/x'), '/\\/private\\//');
  assert.equal(line(list, 'http://a.example/?action=delete'), '/[?&]action=delete/');
  assert.equal(line(list, 'http://a.example/a.exe'), '/\\.EXE$/i');
  assert.equal(line(list, 'http://a.example/public/'), undefined);
});

test('R-C7 an empty list blocks nothing', () => {
  const list = Blocklist.parse('\n# nothing\n', 'block.txt');
  assert.equal(list.size, 0);
  assert.equal(line(list, 'http://127.0.0.1/'), undefined);
  assert.equal(list.matchesAddress('127.0.0.1'), undefined);
});

test('R-C7 a bad line is an error with file, line number and what to write', () => {
  const bad = [
    'http://a.example/',
    'a.example/path',
    'a.example:80',
    'two words',
    '0.0.0.0 a.example',
    '/unclosed',
    '/(/',
    '//',
    '1.2.3',
    '1.2.3.4/33',
    '1.2.3.4/',
    '::1/129',
    '::ffff:1.2.3.4/95',
    '::1/x',
    '0x7f.1',
    'a..example',
    '*',
    '*.',
    'a*.example',
    'fe80::1%eth0',
  ];
  for (const text of bad) {
    assert.throws(
      () => Blocklist.parse(`a.example\n# comment\n${text}\n`, 'lists/block.txt'),
      (error: { code?: string; message?: string; remedy?: string }) =>
        error.code === 'PORTOLAN_BLOCKLIST_INVALID' &&
        error.message!.startsWith('lists/block.txt, line 3:') &&
        error.remedy!.includes('one entry per line'),
      text,
    );
  }
});

test('R-C7 more patterns than the bound are refused, not forgotten', () => {
  const lines = Array.from({ length: BLOCKLIST_PATTERNS_MAX + 1 }, (_, i) => `/x${i}/`);
  assert.equal(Blocklist.parse(lines.slice(1).join('\n'), 'f').size, BLOCKLIST_PATTERNS_MAX);
  assert.throws(() => Blocklist.parse(lines.join('\n'), 'f'), { code: 'PORTOLAN_BLOCKLIST_INVALID' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSeed } from '../../src/url/index.ts';

test('R-A1 a seed may leave out its scheme, and is then https', () => {
  const cases = [
    ['example.com', 'https://example.com/'],
    ['  example.com/docs/?a=1#top \n', 'https://example.com/docs/?a=1'],
    ['example.com:8080/x', 'https://example.com:8080/x'],
    ['localhost:3000', 'https://localhost:3000/'],
    ['[::1]:8080/', 'https://[::1]:8080/'],
    ['//example.com/x', 'https://example.com/x'],
    ['http://EXAMPLE.com.:80', 'http://example.com/'],
    ['HTTPS://user:secret@example.com/a', 'https://example.com/a'],
    ['user@example.com/a', 'https://example.com/a'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['127.0.0.1', 'https://127.0.0.1/'],
    ['https:443', 'https://https/'],
  ] as const;
  for (const [text, url] of cases) assert.equal(parseSeed(text), url, text);
});

test('R-A1 a seed that cannot be crawled throws PORTOLAN_SEED_INVALID and says what to write', () => {
  for (const text of [
    '',
    '   ',
    'mailto:a@b.example',
    'ftp://example.com/',
    'javascript:alert(1)',
    '/docs',
    './a',
    '?x',
    '#x',
    'http://',
    'http://a b/',
    'example.com:99999',
    'https://.',
    'x'.repeat(70_000),
  ]) {
    assert.throws(
      () => parseSeed(text),
      (error: { code?: string; remedy?: string; message?: string }) =>
        error.code === 'PORTOLAN_SEED_INVALID' && error.remedy!.includes('https://example.com/') && error.message!.length < 400,
      text.slice(0, 50),
    );
  }
});

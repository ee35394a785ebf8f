/** A configuration file with a mistake in it: what is wrong is said with its place, and what was meant. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { originText, requireSeeds, resolveCrawl } from '../../src/cli/crawl-config.ts';
import type { CrawlFlags } from '../../src/cli/crawl-options.ts';
import type { PortolanError } from '../../src/core/errors.ts';

describe('portolan.yaml', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-yaml-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'portolan.yaml');

  function refusal(text: string, flags: CrawlFlags = {}, seeds: readonly string[] = []): PortolanError {
    writeFileSync(file, text);
    try {
      resolveCrawl(seeds, { ...flags, config: file });
    } catch (error) {
      return error as PortolanError;
    }
    assert.fail(`accepted: ${text}`);
  }
  const said = (text: string): string => refusal(text).message.replaceAll(file, 'FILE');

  test('what is not YAML is named with line and column', () => {
    const cases: readonly (readonly [text: string, message: RegExp, remedy: RegExp])[] = [
      ['seeds: [a\nscope: x\n', /^FILE:2:1: this is not YAML: /, /correct that line/],
      ['scope:\n\tmode: host\n', /^FILE:2:1: .*tabs/, /indent with spaces/],
      ['run:\n  threads: 1\n  threads: 2\n', /^FILE:3:3: .*unique/, /keep one of the two/],
      ['seeds: []\n---\nseeds: []\n', /^FILE:2:1: .*multiple documents/, /one document/],
      ['scope:\n  exclude: [*draft]\n', /^FILE:2:13: \*draft refers to nothing/, /in quotes/],
      ['just words\n', /^FILE: the file holds no keys/, /portolan init/],
    ];
    for (const [text, message, remedy] of cases) {
      const error = refusal(text);
      assert.equal(error.code, 'PORTOLAN_CONFIG_UNREADABLE', text);
      assert.match(error.message.replaceAll(file, 'FILE'), message, text);
      assert.match(error.remedy, remedy, text);
    }
  });

  test('a key at the wrong level is told where it belongs', () => {
    assert.equal(said('delay: 2s\n'), 'FILE:1: unknown key "delay" (it belongs under "politeness": politeness.delay)');
    assert.equal(said('scope:\n  maxPages: 3\n'), 'FILE:2: unknown key "scope.maxPages" (it belongs under "limits": limits.maxPages)');
    assert.equal(said('scope:\n  seeds: [a.example]\n'), 'FILE:2: unknown key "scope.seeds" (it belongs to the top level: seeds)');
    assert.match(said('politeness.delay: 2s\n'), /write it nested: "politeness:" and below it, indented, "delay:"/);
  });

  test('another spelling names the right one', () => {
    const spellings = {
      'fetch:\n  maxbody: 3MB\n': 'fetch.maxBody',
      'fetch:\n  max-body: 3MB\n': 'fetch.maxBody',
      'limits:\n  max_pages: 3\n': 'limits.maxPages',
      'max-pages: 3\n': 'limits.maxPages',
      'politness:\n  delay: 3s\n': 'politeness',
      'scopes:\n  mode: host\n': 'scope',
    };
    for (const [text, key] of Object.entries(spellings)) assert.match(said(text), new RegExp(`did you mean "${key}"\\?`), text);
  });

  test('a value that is none is told what is understood', () => {
    const cases: readonly (readonly [text: string, message: RegExp])[] = [
      ['politeness:\n  delay: 5 minutes\n', /^FILE:2: politeness\.delay: "5 minutes" is not a duration \(write 5m\): .*ms, s, m, h or d/],
      ['politeness:\n  delay: "1,5s"\n', /\(write 1\.5s\)/],
      ['politeness:\n  delay: 5MB\n', /"5MB" is not a duration: /],
      ['fetch:\n  maxBody: 5M\n', /"5M" is not a size \(write 5MB\): .*KB, MB, GB/],
      ['politeness:\n  delay:\n', /^FILE:2: politeness\.delay: there is no value/],
      ['scope:\n  mode: hosts\n', /^FILE:2: scope\.mode: "hosts" is none of host, domain, prefix, web \(did you mean "host"\?\)/],
      ['seeds: a.example\n', /^FILE:1: seeds: a list is expected, such as \[a, b\], not "a\.example"/],
      ['agent:\n  contact: 5\n', /^FILE:2: agent\.contact: text is expected, not "5" \(put it in quotes\)/],
      ['output:\n  warc: "on"\n', /^FILE:2: output\.warc: true or false is expected, not "on"/],
      ['run:\n  threads: 1.5\n', /^FILE:2: run\.threads: a whole number is expected, not "1\.5"/],
      ['frontier:\n  weights: [1, 2]\n', /^FILE:2: frontier\.weights: 5 values are expected/],
      ['scope:\n  include:\n    - a\n    - 7\n', /^FILE:4: scope\.include\.1: text is expected, not "7"/],
    ];
    for (const [text, message] of cases) assert.match(said(text), message, text);
  });

  test('a bound that would stop everything is refused with its range', () => {
    const cases: readonly (readonly [text: string, message: RegExp])[] = [
      ['run:\n  memory: 0\n', /run\.memory: "0" is too small: at least 256KiB/],
      ['fetch:\n  connectTimeout: 0\n', /"0" is too small: from 1ms to 1d/],
      ['fetch:\n  totalTimeout: 3d\n', /"3d" is too large: from 1ms to 1d/],
      ['fetch:\n  maxBody: 0\n', /"0" is too small: from 1KB to 1GiB/],
      ['dns:\n  timeout: 0\n', /"0" is too small: from 1ms to 1h/],
      ['robots:\n  ttl: 0\n', /robots\.ttl: "0" is too small: at least 1s/],
      ['run:\n  commitInterval: 0\n', /"0" is too small/],
      ['run:\n  threads: 0\n', /"0" is too small: at least 1/],
      ['politeness:\n  delay: 400d\n', /"400d" is too large: from 0 to 1d/],
      ['limits:\n  maxTime: 100000d\n', /"100000d" is too large: from 0 to 3650d/],
    ];
    for (const [text, message] of cases) assert.match(said(text), message, text);
  });

  test('two keys that contradict one another are refused', () => {
    assert.match(said('dns:\n  ttlMin: 2d\n'), /^FILE:2: dns\.ttlMin: 2d is more than dns\.ttlMax, 1d/);
    assert.match(said('robots:\n  retryMin: 2h\n'), /^FILE:2: robots\.retryMin: 2h is more than robots\.retryMax, 1h/);
  });

  test('several mistakes stand one below the other in the order of their lines, flags first', () => {
    const error = refusal('scope:\n  mode: all\ndelay: 1s\nrun:\n  threads: 0\n', { memory: '0' });
    assert.equal(error.code, 'PORTOLAN_CONFIG_UNKNOWN_KEY');
    const [head, ...lines] = error.message.replaceAll(file, 'FILE').split('\n');
    assert.equal(head, '4 things are wrong:');
    assert.deepEqual(
      lines.map((line) => /^ {2}- (--memory|FILE:\d+): /.exec(line)?.[1]),
      ['--memory', 'FILE:2', 'FILE:3', 'FILE:5'],
    );
  });

  test('a bad seed of the file is named with its line', () => {
    const error = refusal('seeds:\n  - http://one.example/\n  - ftp://two.example/\n');
    assert.equal(error.code, 'PORTOLAN_SEED_INVALID');
    assert.match(error.message.replaceAll(file, 'FILE'), /^FILE:3: seed "ftp:\/\/two\.example\/" cannot be used/);
  });

  test('a section whose keys are all comments is an empty one, and so is an empty file', () => {
    for (const text of ['politeness:\n  #delay: 1s\nseeds: [a.example]\n', 'seeds: [a.example]\n']) {
      writeFileSync(file, text);
      assert.equal(resolveCrawl([], { config: file }).config.politeness.delay, 1_000);
    }
    writeFileSync(file, '# nothing\n');
    assert.deepEqual(resolveCrawl([], { config: file }).config.seeds, []);
  });

  test('each value knows where it was written', () => {
    writeFileSync(file, 'seeds:\n  - a.example\npoliteness:\n  delay: 4s\n  rate: 2\n');
    const { origins, seeds } = resolveCrawl([], { config: file, delay: '5s' });
    const text = (key: string): string => originText(origins.get(key) ?? { kind: 'default' }).replaceAll(file, 'FILE');
    assert.deepEqual(['politeness.delay', 'politeness.rate', 'politeness.addressDelay'].map(text), ['--delay', 'FILE:5', 'default']);
    assert.deepEqual(
      seeds.map(({ origin }) => originText(origin).replaceAll(file, 'FILE')),
      ['FILE:2'],
    );
    assert.deepEqual(
      resolveCrawl(['b.example', 'c.example'], { config: file }).seeds.map(({ url, origin }) => [url, originText(origin)]),
      [
        ['https://b.example/', 'argument 1'],
        ['https://c.example/', 'argument 2'],
      ],
    );
  });
});

describe('arguments', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-arguments-'));
  after(() => rmSync(dir, { recursive: true, force: true }));

  test('a file given as a seed is answered with --seeds', () => {
    const list = join(dir, 'urls.txt');
    writeFileSync(list, 'https://example.com/\n');
    assert.throws(() => resolveCrawl(['https://example.com/', list], {}), {
      code: 'PORTOLAN_SEED_INVALID',
      message: `argument 2: ${list} is a file`,
      remedy: new RegExp(`--seeds ${list}`),
    });
  });

  test('a bare number that is probably meant as seconds, and a scheme that was added, are said', () => {
    const { notices } = resolveCrawl(['example.com'], { delay: '5', maxTime: '10m' });
    assert.deepEqual(notices, [
      '--delay 5 is 5ms; write 5s for seconds',
      'example.com is taken as https://example.com/; write http:// in front for a site without https',
    ]);
    const allowed = { delay: '5s', maxTime: '0', allowNet: ['127.0.0.0/8'] };
    assert.deepEqual(resolveCrawl(['https://example.com/', 'localhost:3000'], allowed).notices, []);
  });

  test('R-E3 a seed of this machine or a private network is told how to be allowed before it is refused', () => {
    const seeds = [
      'localhost:3000',
      'http://localhost:3000/b',
      'http://10.1.2.3/',
      'http://[::1]/',
      'https://192.168.0.1/',
      'https://203.0.113.9.example/',
    ];
    assert.deepEqual(resolveCrawl(seeds, {}).notices, [
      'localhost:3000 will be refused: 127.0.0.1 is in the range loopback; allow it with --allow-net 127.0.0.1',
      '10.1.2.3 will be refused: 10.1.2.3 is in the range private; allow it with --allow-net 10.1.2.3',
      '[::1] will be refused: ::1 is in the range loopback; allow it with --allow-net ::1',
    ]);
  });

  test('a crawl of nothing names the configuration file that lies beside it', () => {
    const before = process.cwd();
    process.chdir(dir);
    try {
      assert.throws(() => requireSeeds(resolveCrawl([], {}), {}), { code: 'PORTOLAN_SEED_NONE', remedy: /^give a URL, --seeds FILE/ });
      writeFileSync('portolan.yaml', 'seeds: []\n');
      assert.throws(() => requireSeeds(resolveCrawl([], {}), {}), { code: 'PORTOLAN_SEED_NONE', remedy: /--config portolan\.yaml/ });
      requireSeeds(resolveCrawl(['example.com'], {}), {});
    } finally {
      process.chdir(before);
    }
  });

  test('a byte-order mark before the first seed is no part of it', () => {
    const list = join(dir, 'bom.txt');
    writeFileSync(list, '\uFEFFexample.com\n');
    assert.deepEqual(
      resolveCrawl([], { seeds: list }).seeds.map(({ url }) => url),
      ['https://example.com/'],
    );
  });
});

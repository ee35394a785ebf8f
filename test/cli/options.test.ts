import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Command } from 'commander';
import { resolveConfig } from '../../src/cli/crawl-config.ts';
import { addCrawlOptions, type CrawlFlags, FLAGS } from '../../src/cli/crawl-options.ts';
import { configKeys } from '../../src/config/schema.ts';
import type { PortolanError } from '../../src/core/errors.ts';

/** The configuration that a command line means. */
function configOf(...argv: readonly string[]) {
  const command = addCrawlOptions(
    new Command('crawl')
      .argument('[seed...]')
      .exitOverride()
      .configureOutput({ writeErr: () => {} }),
  );
  command.parse(argv as string[], { from: 'user' });
  return resolveConfig(command.args, command.opts<CrawlFlags>());
}

function refusal(...argv: readonly string[]): PortolanError {
  try {
    configOf(...argv);
  } catch (error) {
    return error as PortolanError;
  }
  assert.fail(`${argv.join(' ')} was accepted`);
}

describe('flags', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-flags-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };

  test('every flag is a key of the schema, and no two are the same', () => {
    const keys = configKeys();
    for (const { flag, key } of FLAGS) assert.ok(keys.includes(key), `${flag}: ${key}`);
    assert.equal(new Set(FLAGS.map(({ key }) => key)).size, FLAGS.length);
  });

  test('each flag sets its key, in its unit', () => {
    const config = configOf(
      ...['http://one.example/', '--out', 'there', '--scope', 'domain', '--include', 'a', '--include', 'b', '--exclude', 'c'],
      ...['--max-depth', '3', '--max-pages', '40', '--max-time', '10m', '--agent', 'Bot', '--contact', 'a@b.example'],
      ...['--delay', '2s', '--delay-factor', '1.5', '--address-delay', '3s', '--rate', '5/s', '--blocklist', 'list.txt'],
      ...['--threads', '2', '--memory', '512MB', '--max-body', '1MB', '--accept', 'text/html, Application/PDF', '--accept', 'image/*'],
      ...['--dns', '127.0.0.1:53', '--resolve', 'a.example:192.0.2.1', '--allow-net', '127.0.0.0/8'],
      ...['--warc', 'off', '--pages', 'off', '--text', 'on', '--near-duplicates', 'skip'],
    );
    assert.deepEqual(config.seeds, ['http://one.example/']);
    assert.deepEqual(
      {
        ...{ dir: config.output.dir, warc: config.output.warc, pages: config.output.pages, text: config.output.text },
        ...{ mode: config.scope.mode, include: config.scope.include, exclude: config.scope.exclude, maxDepth: config.scope.maxDepth },
        ...{ maxPages: config.limits.maxPages, maxTime: config.limits.maxTime, token: config.agent.token, contact: config.agent.contact },
        ...{ delay: config.politeness.delay, factor: config.politeness.delayFactor, address: config.politeness.addressDelay },
        ...{ rate: config.politeness.rate, blocklist: config.politeness.blocklist, threads: config.run.threads, memory: config.run.memory },
        ...{ maxBody: config.fetch.maxBody, accept: config.fetch.accept, dns: config.dns.servers, resolve: config.dns.resolve },
        ...{ allow: config.net.allow, near: config.dedup.nearDuplicates },
      },
      {
        ...{ dir: 'there', warc: false, pages: false, text: true, mode: 'domain', include: ['a', 'b'], exclude: ['c'], maxDepth: 3 },
        ...{ maxPages: 40, maxTime: 600_000, token: 'Bot', contact: 'a@b.example', delay: 2_000, factor: 1.5, address: 3_000 },
        ...{ rate: 5, blocklist: 'list.txt', threads: 2, memory: 512_000_000, maxBody: 1_000_000 },
        ...{ accept: ['text/html', 'application/pdf', 'image/*'], dns: ['127.0.0.1:53'], resolve: ['a.example:192.0.2.1'] },
        ...{ allow: ['127.0.0.0/8'], near: 'skip' },
      },
    );
  });

  test('a flag wins over the file, and the file over the defaults', () => {
    const yaml = file('portolan.yaml', 'seeds: [http://file.example/]\npoliteness:\n  delay: 4s\n  rate: 2\noutput: {dir: from-file}\n');
    const config = configOf('--config', yaml, '--delay', '5s');
    assert.deepEqual(
      [config.politeness.delay, config.politeness.rate, config.output.dir, config.seeds],
      [5_000, 2, 'from-file', ['http://file.example/']],
    );
    assert.deepEqual(configOf('--config', yaml, 'http://given.example/').seeds, ['http://given.example/']);
  });

  test('a file of seeds has one a line, with comments and blank lines', () => {
    const seeds = file('seeds.txt', '# mine\nhttp://one.example/\r\n\n  two.example  \n');
    assert.deepEqual(configOf('--seeds', seeds, 'three.example').seeds, ['http://one.example/', 'two.example', 'three.example']);
  });

  test('a seed that cannot be used is named with its file and line', () => {
    const error = refusal('--seeds', file('bad.txt', 'http://one.example/\nmailto:x@y.example\n'));
    assert.equal(error.code, 'PORTOLAN_SEED_INVALID');
    assert.match(error.message, /bad\.txt:2: seed "mailto:x@y\.example" cannot be used/);
  });

  test('what cannot be meant is refused with its flag', () => {
    const cases: readonly (readonly [argv: readonly string[], code: string, text: RegExp])[] = [
      [['--warc', 'maybe'], 'PORTOLAN_CONFIG_INVALID', /--warc takes on or off, not "maybe"/],
      [['--max-pages', 'many'], 'PORTOLAN_CONFIG_INVALID', /--max-pages takes a number, not "many"/],
      [['--rate', '5/m'], 'PORTOLAN_CONFIG_INVALID', /--rate takes a number, not "5\/m"/],
      [['--max-depth', '1.5'], 'PORTOLAN_CONFIG_INVALID', /^--max-depth: a whole number is expected, not "1\.5"$/],
      [['--delay', 'soon'], 'PORTOLAN_CONFIG_INVALID', /^--delay: "soon" is not a duration/],
      [['--memory', 'lots'], 'PORTOLAN_CONFIG_INVALID', /^--memory: "lots" is not a size/],
      [['--config', join(dir, 'none.yaml')], 'PORTOLAN_CONFIG_UNREADABLE', /none\.yaml cannot be read/],
      [['--seeds', join(dir, 'none.txt')], 'PORTOLAN_CONFIG_UNREADABLE', /none\.txt cannot be read/],
      [['--config', file('broken.yaml', 'a: [')], 'PORTOLAN_CONFIG_UNREADABLE', /broken\.yaml:1:5: this is not YAML/],
      [['--config', file('typo.yaml', 'politeness: {dleay: 1s}')], 'PORTOLAN_CONFIG_UNKNOWN_KEY', /did you mean "politeness\.delay"/],
    ];
    for (const [argv, code, text] of cases) {
      const error = refusal(...argv);
      assert.equal(error.code, code, argv.join(' '));
      assert.match(error.message, text);
      assert.notEqual(error.remedy, '');
    }
  });
});

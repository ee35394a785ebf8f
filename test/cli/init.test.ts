/** The file that `portolan init` writes: it loads as it is and with every line of it put into force. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parseConfigFile } from '../../src/cli/config-file.ts';
import { resolveCrawl } from '../../src/cli/crawl-config.ts';
import { init } from '../../src/cli/init.ts';
import { configKeyDocs } from '../../src/config/key-docs.ts';
import { sampleConfig } from '../../src/config/sample.ts';
import { configKeys, parseConfig } from '../../src/config/schema.ts';
import { capture, portolan } from '../support/process.ts';

/** The text with the # of every commented key taken away. */
function allInForce(text: string): string {
  return text.replaceAll(/^( *)#(?=\S| {2}- )/gm, '$1');
}

describe('portolan init', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-init-'));
  after(() => rmSync(dir, { recursive: true, force: true }));

  test('R-A3 the file that is written loads, and a dry run of it works without a change', async () => {
    const file = join(dir, 'portolan.yaml');
    const { command, args } = portolan('init', file);
    const written = await capture(command, args);
    assert.equal(written.code, 0, written.stderr);
    assert.match(written.stdout, /portolan crawl --config .*portolan\.yaml --dry-run/);
    const { config, origins } = resolveCrawl([], { config: file });
    assert.deepEqual(config.seeds, ['https://example.com/']);
    assert.equal(config.limits.maxPages, 100);
    assert.equal(origins.get('politeness.delay')?.kind, 'file');
  });

  test('every key of the schema stands in it once, and every one can be put into force together', () => {
    const { values, lines } = parseConfigFile(allInForce(sampleConfig()), 'sample');
    assert.deepEqual(
      configKeys().filter((key) => !lines.has(key)),
      [],
    );
    parseConfig(values, 'sample');
  });

  test('a commented key shows its default: put into force alone it changes nothing', () => {
    const lines = sampleConfig().split('\n');
    const plain = parseConfig(parseConfigFile(sampleConfig(), 'sample').values, 'sample');
    const withDefault = new Set(configKeyDocs().flatMap(({ key, default: value }) => (value === '' || value === '[]' ? [] : [key])));
    let section = '';
    let tried = 0;
    lines.forEach((line, index) => {
      section = /^(\w+):/.exec(line)?.[1] ?? section;
      const key = /^ {2}#(\w+):/.exec(line)?.[1];
      if (key === undefined || !withDefault.has(`${section}.${key}`)) return;
      // A list goes on below its key.
      let end = index + 1;
      while (/^ {2}# {2}- /.test(lines[end] ?? '')) end++;
      const changed = lines.map((one, at) => (at >= index && at < end ? one.replace('#', '') : one)).join('\n');
      assert.deepEqual(parseConfig(parseConfigFile(changed, 'sample').values, 'sample'), plain, `${section}.${key}`);
      tried++;
    });
    assert.ok(tried > 40, `${tried} keys`);
  });

  test('an existing file is kept without --force and overwritten with it', () => {
    const file = join(dir, 'mine.yaml');
    writeFileSync(file, 'seeds: [mine.example]\n');
    assert.throws(() => init(file, {}), { code: 'PORTOLAN_USAGE_INVALID', message: /exists already/ });
    assert.equal(readFileSync(file, 'utf8'), 'seeds: [mine.example]\n');
    assert.equal(init(file, { force: true }), 0);
    assert.equal(readFileSync(file, 'utf8'), sampleConfig());
  });

  test('- writes to standard output and makes no file', async () => {
    const { command, args } = portolan('init', '-');
    const { code, stdout } = await capture(command, args, { cwd: dir });
    assert.equal(code, 0);
    assert.equal(`${stdout}\n`, sampleConfig());
    assert.ok(!readdirSync(dir).includes('-'));
  });

  test('a directory and a path that leads nowhere are named', () => {
    mkdirSync(join(dir, 'sub'));
    for (const force of [false, true]) {
      assert.throws(() => init(join(dir, 'sub'), { force }), { code: 'PORTOLAN_USAGE_INVALID', message: /is a directory/ });
      assert.throws(() => init(join(dir, 'none', 'x.yaml'), { force }), {
        code: 'PORTOLAN_DISK_FAILED',
        message: /its directory does not exist/,
      });
    }
  });
});

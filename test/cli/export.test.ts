/**
 * `portolan export`, `cdxj` and `wacz` over a real crawl that has something of everything: what is exported is what the crawl knows, each format says the same, and
 * an interrupt leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { WARCParser } from 'warcio';
import { cdxj } from '../../src/cli/cdxj.ts';
import { type ExportFlags, exportTable } from '../../src/cli/export/export.ts';
import { openSink } from '../../src/cli/export/sink.ts';
import { wacz } from '../../src/cli/wacz.ts';
import { readTotals } from '../../src/compose.ts';
import { capture, portolan, start } from '../support/process.ts';
import { notFound, page, type WebRequest, type WebServer } from '../support/web-server.ts';
import { crawlTwoHosts, LONG } from './two-hosts.ts';

const TITLE = 'Käse, "Brot" & <Wein>';

type Row = Readonly<Record<string, unknown>>;

describe('taking results elsewhere', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-export-'));
  const out = join(dir, 'out');
  let web: WebServer;
  let flags: readonly string[];

  before(async () => {
    const one = {
      robots: 'User-agent: *\nDisallow: /private/\n',
      page: ({ path, authority }: WebRequest) => {
        switch (path) {
          case '/':
            return html(
              'home',
              `<a href=/a>to <b>a</b></a> <a href="/a#part">again</a><a href=/copy rel=nofollow>copy</a><a href=/copy>the copy</a><a href=/gone>lost</a>
              <a href=/private/x>secret</a><a href=/moved><img src=x></a><a href=mailto:x@y>mail</a><a href="http://two.test:${authority.split(':')[1]}/">two</a>
              <a href="http://far.example/">far</a><a href=/coded>coded</a>`,
            );
          case '/coded':
            return {
              headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Encoding': 'gzip' },
              body: gzipSync(`<title>${TITLE}</title><p>zwei\nZeilen`),
            };
          case '/moved':
            return { status: 301, headers: { Location: '/a' } };
          case '/a':
          case '/copy':
            return page('a', ['/', '/only-from-a'], LONG);
          default:
            return notFound();
        }
      },
    };
    ({ web, flags } = await crawlTwoHosts(out, one, 80));
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const url = (host: string, path: string): string => `${web.origin(host)}${path}`;
  const run = (...args: readonly string[]) => {
    const { command, args: all } = portolan(...args);
    return capture(command, all);
  };
  async function rows(what: string, more: Omit<ExportFlags, 'what'> = {}, from = out): Promise<Row[]> {
    return lines(await exported({ what, format: 'jsonl', ...more }, from));
  }
  async function exported(flags: ExportFlags, from = out): Promise<string> {
    const file = join(dir, 'exported');
    assert.equal(await exportTable(from, { ...flags, out: file }), 0);
    return readFileSync(file, 'utf8');
  }
  const pagesJsonl = (): Row[] => readdirSync(join(out, 'pages')).flatMap((name) => lines(readFileSync(join(out, 'pages', name), 'utf8')));
  const byUrl = (a: Row, b: Row): number => (String(a['url']) < String(b['url']) ? -1 : 1);

  test('R-J2 pages and drops are those of pages.jsonl, and URLs are all that were admitted', async () => {
    const told = pagesJsonl();
    const pages = (await rows('pages')).sort(byUrl);
    const expected = told.filter((row) => row['class'] === 'success').sort(byUrl);
    assert.ok(pages.length > 20);
    for (const name of [
      'url',
      'key',
      'host',
      'outcome',
      'status',
      'fetchedAt',
      'contentHash',
      'simhash',
      'duplicateOf',
      'depth',
      'via',
      'bytesBody',
    ]) {
      assert.deepEqual(
        pages.map((row) => row[name]),
        expected.map((row) => row[name]),
        name,
      );
    }
    assert.deepEqual(
      (await rows('drops')).map((row) => [row['url'], row['reason'], row['via']]),
      [[url('one.test', '/private/x'), 'robots-disallowed', url('one.test', '/')]],
    );
    const urls = await rows('urls');
    const states = Object.groupBy(urls, (row) => String(row['state']));
    assert.equal(states['fetched']?.length, told.filter((row) => row['outcome'] !== 'dropped').length);
    assert.equal(states['dropped']?.length, 1);
    assert.ok((states['queued']?.length ?? 0) > 10);
    assert.equal(
      urls.length,
      readTotals(out, 4).reduce((all, { admitted }) => all + admitted, 0),
    );
    assert.equal(new Set(urls.map((row) => row['key'])).size, urls.length);
    const hosts = await rows('hosts');
    assert.deepEqual(hosts.map((row) => row['domain']).sort(), ['one.test', 'two.test']);
    assert.equal(
      hosts.reduce((all, row) => all + Number(row['admitted']), 0),
      urls.length,
    );
  });

  test('the report of broken links: outcome and the page on which each stands', async () => {
    const broken = await rows('urls', { outcome: 'not-found', with: 'via' });
    assert.deepEqual(
      broken.map((row) => [row['url'], row['status'], row['via']]).sort(),
      [
        [url('one.test', '/gone'), 404, url('one.test', '/')],
        [url('one.test', '/only-from-a'), 404, url('one.test', '/a')],
      ].sort(),
    );
    assert.equal('via' in (await rows('urls', { outcome: 'not-found' }))[0]!, false);
  });

  test('R-J4 links carry their text and come once for each target, from copies too; hosts are linked by counts', async () => {
    const links = await rows('links');
    const from = (path: string) => links.filter((row) => row['from'] === url('one.test', path));
    const seen = from('/').map((row) => [String(row['to']).replace(/^http:\/\/one\.test:\d+/, ''), row['text'], row['nofollow']]);
    assert.deepEqual(seen, [
      ['/a', 'to a', false],
      ['/copy', 'copy', false],
      ['/gone', 'lost', false],
      ['/private/x', 'secret', false],
      ['/moved', undefined, false],
      [url('two.test', '/'), 'two', false],
      ['http://far.example/', 'far', false],
      ['/coded', 'coded', false],
    ]);
    const targets = (path: string) => from(path).map((row) => row['to']);
    assert.deepEqual(targets('/copy'), targets('/a'), 'a revisit record is read by way of its original');
    const [one, two] = [new URL(web.origin('one.test')).host, new URL(web.origin('two.test')).host];
    assert.deepEqual(await rows('host-links'), [
      { fromHost: one, toHost: 'far.example', links: 1, pages: 1 },
      { fromHost: one, toHost: two, links: 1, pages: 1 },
    ]);
  });

  test('text of pages is decoded and folded', async () => {
    const texts = await rows('text');
    const coded = texts.find((row) => row['url'] === url('one.test', '/coded'));
    assert.deepEqual([coded?.['title'], coded?.['text']], [TITLE, 'zwei Zeilen']);
    assert.equal(texts.length, (await rows('pages')).length);
  });

  test('CSV and Parquet say what JSONL says', async () => {
    for (const what of ['pages', 'urls', 'hosts', 'links', 'text']) {
      const expected = await rows(what);
      const parquet = join(dir, `${what}.parquet`);
      assert.equal(await exportTable(out, { what, out: parquet }), 0);
      const bytes = readFileSync(parquet);
      const read = await parquetReadObjects({
        file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
      });
      assert.deepEqual(read.map(comparable), expected, `${what} as Parquet`);
      const csv = await exported({ what, format: 'csv' });
      const [head = [], ...cells] = parseCsv(csv);
      const asRows = cells.map((row) => Object.fromEntries(row.flatMap((cell, at) => (cell === undefined ? [] : [[head[at], cell]]))));
      const texts = expected.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])));
      assert.deepEqual(asRows, texts, `${what} as CSV`);
    }
  });

  test('only what happened since', async () => {
    assert.deepEqual(await rows('pages', { since: '2100-01-01' }), []);
    assert.equal((await rows('pages', { since: '1h' })).length, (await rows('pages')).length);
    assert.deepEqual(await rows('links', { since: '2100-01-01' }), []);
  });

  test('a link keeps standing and its file is replaced; what is no file is refused and stays; a stranger’s .part stays', async () => {
    const [real, link, pipe] = ['real.jsonl', 'link.jsonl', 'pipe'].map((name) => join(dir, name)) as [string, string, string];
    writeFileSync(real, 'old');
    symlinkSync(real, link);
    const strange = `${real}.999999.part`;
    writeFileSync(strange, 'mine');
    const sink = openSink(link);
    await sink.write(Buffer.from('new'));
    await sink.finish();
    assert.equal(readFileSync(real, 'utf8'), 'new');
    assert.equal(lstatSync(link).isSymbolicLink(), true);
    assert.equal(readFileSync(strange, 'utf8'), 'mine');
    execFileSync('mkfifo', [pipe]);
    for (const place of [pipe, dir]) assert.throws(() => openSink(place), /is not a regular file/);
    assert.equal(lstatSync(pipe).isFIFO(), true);
    // A directory that takes the place meanwhile: nothing is left of the export.
    const late = openSink(join(dir, 'late.jsonl'));
    await late.write(Buffer.from('x'));
    mkdirSync(join(dir, 'late.jsonl'));
    await assert.rejects(late.finish(), /cannot be written/);
    late.discard();
    assert.deepEqual(
      readdirSync(dir).filter((left) => left.includes('late.jsonl.')),
      [],
    );
    rmSync(strange);
  });

  test('an interrupt leaves no half file, a reader that goes away ends it silently', async () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      const file = join(dir, 'interrupted.jsonl');
      const sink = openSink(file);
      await sink.write(Buffer.from('half'));
      assert.equal(existsSync(file), false, 'it has its name only when it is whole');
      sink.discard();
      const { command, args } = portolan('wacz', out, '--out', join(dir, 'interrupted.wacz'));
      const running = start(command, args);
      setTimeout(() => running.signal(name), 250);
      await running.ended;
      assert.deepEqual(
        readdirSync(dir).filter((left) => left.endsWith('.part')),
        [],
      );
    }
    const { command, args } = portolan('export', out, '--what', 'text');
    const shell = await capture('/bin/sh', ['-c', '"$0" "$@" | head -c 10 >/dev/null', command, ...args]);
    assert.deepEqual([shell.code, shell.stderr], [0, '']);
  });

  test('a file that is whole is told of, and status says how URLs ended', async () => {
    const file = join(dir, 'told.csv');
    assert.match((await run('export', out, '--what', 'urls', '--out', file)).stderr, /^written: .*told\.csv, \d+(?:\.\d)? k?B\n$/);
    const { code, stdout } = await run('status', out, '--recount', '--hosts');
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^fetched: .*\bnot-found 2\b/m);
    assert.match(stdout, /^dropped: robots-disallowed 1$/m);
    assert.match(stdout, /^slowest hosts/m);
  });

  test('what cannot be meant is said before anything is read', async () => {
    for (const flags of [
      { what: 'everything' },
      { what: 'urls', format: 'xml' },
      { what: 'urls', since: 'yesterday' },
      { what: 'hosts', outcome: 'ok' },
      { what: 'urls', outcome: 'okay' },
      { what: 'urls', with: 'colour' },
    ]) {
      await assert.rejects(exportTable(join(dir, 'no crawl'), flags), { code: 'PORTOLAN_USAGE_INVALID' }, JSON.stringify(flags));
    }
    await assert.rejects(exportTable(join(dir, 'no crawl'), { what: 'urls' }), { code: 'PORTOLAN_STATE_MISSING' });
    await assert.rejects(exportTable(out, { what: 'urls', out: join(dir, 'nowhere', 'x.csv') }), { code: 'PORTOLAN_DISK_FAILED' });
  });

  test('R-J1 CDXJ: sorted, and each line leads to the record of its URL', async () => {
    assert.equal(await cdxj(out, {}), 0);
    const index = readFileSync(join(out, 'warc', 'index.cdxj'), 'latin1')
      .trimEnd()
      .split('\n');
    assert.deepEqual(
      index,
      index.toSorted((a, b) => Buffer.compare(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'))),
    );
    const stored = pagesJsonl().filter((row) => row['warc'] !== undefined);
    assert.equal(index.length, stored.length);
    for (const line of index) {
      const entry = JSON.parse(line.slice(line.indexOf('{'))) as Record<string, string>;
      const file = readFileSync(join(out, 'warc', entry['filename']!));
      const member = file.subarray(Number(entry['offset']), Number(entry['offset']) + Number(entry['length']));
      const record = await WARCParser.parse(Readable.toWeb(Readable.from([member])) as ReadableStream<Uint8Array>);
      assert.equal(record?.warcTargetURI, entry['url']);
      assert.equal(record?.warcType, entry['mime'] === 'warc/revisit' ? 'revisit' : 'response');
    }
    assert.equal((await run('cdxj', out, '--out', '-')).stdout, index.join('\n'));
  });

  test('WACZ: stored entries with the hashes of datapackage.json, the WARC files as they are', async () => {
    const file = join(dir, 'out.wacz');
    assert.equal(await wacz(out, { out: file, title: 'A web' }), 0);
    const entries = readZip(readFileSync(file));
    const pack = JSON.parse(entries.get('datapackage.json')!.toString()) as {
      title: string;
      wacz_version: string;
      resources: { path: string; hash: string; bytes: number }[];
    };
    assert.deepEqual([pack.title, pack.wacz_version], ['A web', '1.1.1']);
    const listed = pack.resources.map(({ path }) => path);
    assert.deepEqual([...listed, 'datapackage.json', 'datapackage-digest.json'].sort(), [...entries.keys()].sort());
    for (const { path, hash, bytes } of pack.resources) {
      const content = entries.get(path)!;
      assert.deepEqual([`sha256:${createHash('sha256').update(content).digest('hex')}`, content.length], [hash, bytes], path);
    }
    for (const name of readdirSync(join(out, 'warc')).filter((name) => name.endsWith('.warc.gz'))) {
      assert.ok(entries.get(`archive/${name}`)?.equals(readFileSync(join(out, 'warc', name))), name);
    }
    assert.equal(gunzipSync(entries.get('indexes/index.cdx.gz')!).toString(), readFileSync(join(out, 'warc', 'index.cdxj'), 'utf8'));
    const pages = lines(entries.get('pages/pages.jsonl')!.toString());
    assert.deepEqual(
      pages
        .slice(1)
        .map((row) => row['url'])
        .sort(),
      [url('one.test', '/'), url('two.test', '/')].sort(),
    );
    const others = lines(entries.get('pages/extraPages.jsonl')!.toString());
    assert.equal(pages.length - 1 + others.length - 1, (await rows('pages')).length);
    assert.ok(others.some((row) => row['title'] === TITLE));
  });

  test('a crawl that runs can be exported, indexed and packed', async () => {
    const running = join(dir, 'running');
    const { command, args } = portolan(
      'crawl',
      url('two.test', '/'),
      '--out',
      running,
      ...flags.filter((flag) => flag !== '--quiet'),
      '--json',
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    const crawl = start(command, args, {
      onLine: (line) => {
        const event = JSON.parse(line) as { event: string; pages?: number };
        if (event.event === 'commit' && (event.pages ?? 0) > 0) resolve();
      },
    });
    await Promise.race([promise, crawl.ended]);
    const seen = await rows('pages', {}, running);
    assert.ok(seen.length > 0);
    assert.equal(await wacz(running, { out: join(dir, 'running.wacz') }), 0);
    assert.ok(existsSync(join(dir, 'running.wacz')));
    assert.equal((await crawl.ended).code, 0, crawl.complaints());
    assert.equal((await run('status', running, '--recount')).code, 0);
  });
});

function html(title: string, body: string) {
  return { headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: `<!doctype html><title>${title}</title><body>${body}` };
}

function lines(text: string): Row[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

/** A Parquet row as JSONL would have it. */
function comparable(row: Record<string, unknown>): Row {
  const entries = Object.entries(row).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    return [[name, typeof value === 'bigint' ? Number(value) : value instanceof Date ? value.toISOString() : value]];
  });
  return Object.fromEntries(entries) as Row;
}

/** RFC 4180 with its quotes; an empty cell without quotes is absent. */
function parseCsv(text: string): (string | undefined)[][] {
  const rows: (string | undefined)[][] = [];
  let row: (string | undefined)[] = [];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    if (end === '' && quoted === undefined && plain === '' && row.length === 0) break;
    row.push(quoted !== undefined ? quoted.replaceAll('""', '"') : plain === '' ? undefined : plain);
    if (end === ',') continue;
    rows.push(row);
    row = [];
    if (end === '') break;
  }
  return rows;
}

/** Stored entries by name, found by way of the central directory; every field that readers rely on is checked. */
function readZip(zip: Buffer): Map<string, Buffer> {
  const end = zip.length - 22;
  assert.equal(zip.readUInt32LE(end), 0x06054b50);
  const entries = new Map<string, Buffer>();
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count--) {
    assert.equal(zip.readUInt32LE(at), 0x02014b50);
    assert.equal(zip.readUInt16LE(at + 10), 0, 'stored');
    const bytes = zip.readUInt32LE(at + 24);
    const [nameBytes, extraBytes] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    const name = zip.toString('latin1', at + 46, at + 46 + nameBytes);
    const local = zip.readUInt32LE(at + 42);
    assert.equal(zip.readUInt32LE(local), 0x04034b50);
    assert.equal(zip.readUInt32LE(local + 14), zip.readUInt32LE(at + 16), 'the same CRC in both heads');
    const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    entries.set(name, zip.subarray(from, from + bytes));
    at += 46 + nameBytes + extraBytes;
  }
  return entries;
}

/** Content seen (rows H1–H4) through a whole crawl: what is a copy of what, what is stored of it, and what becomes of its links. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { registrableDomain, shardOf } from '../../src/url/index.ts';
import { prose } from '../dedup/texts.ts';
import { page, type WebReply } from '../support/web-server.ts';
import { crawl, scratch, webFor } from './crawl.ts';
import { readWarcs } from './warc-files.ts';

const QUICK = { politeness: { delay: 10 } };
const copy: WebReply = page('copy', [], prose(1, 60));
const article = (seed: number, visits: number, links: readonly string[] = []): WebReply =>
  page('article', links, `${prose(seed, 300)} Visited ${visits} times.`);

describe('copies', () => {
  test('R-H1: the part of a page that was kept at the cap is no original, and bodies of a few bytes are copies like others', async (t) => {
    const out = join(scratch(t), 'out');
    const whole = `<!DOCTYPE html><title>part</title><p>${prose(5, 200)}`;
    const bodies: Readonly<Record<string, string>> = { '/long': whole + prose(6, 200), '/part': whole, '/yes': 'yes', '/yes2': 'yes' };
    const web = await webFor(t, {
      name: 'parts.test',
      address: '127.47.1.9',
      page: ({ path }) => (path === '/' ? page('home', ['/long']) : { body: bodies[path] ?? '' }),
    });
    const at = (path: string): string => web.origin('parts.test') + path;
    const config = { ...QUICK, fetch: { maxBody: Buffer.byteLength(whole) } };
    const done = await crawl({ web, out, seeds: ['/long', '/part', '/yes', '/yes2'].map(at), config });
    assert.equal(done.row(at('/long')).outcome, 'truncated');
    assert.deepEqual([done.row(at('/part')).outcome, done.row(at('/part')).duplicateOf], ['ok', undefined]);
    assert.equal(done.row(at('/yes2')).duplicateOf, at('/yes'));
  });

  test('a Refresh header leads on like a meta refresh', async (t) => {
    const out = join(scratch(t), 'out');
    const web = await webFor(t, {
      name: 'refresh.test',
      address: '127.47.1.10',
      page: ({ path }) => (path === '/' ? { headers: { refresh: '5; url=/on' }, body: '<title>wait</title>' } : page('on')),
    });
    const done = await crawl({ web, out, seeds: [`${web.origin('refresh.test')}/`], config: QUICK });
    assert.equal(done.row(`${web.origin('refresh.test')}/on`).via, `${web.origin('refresh.test')}/`);
  });

  test('R-H1: a copy byte for byte names the first, and the WARC holds a revisit record in place of the body', async (t) => {
    const out = join(scratch(t), 'out');
    const web = await webFor(t, {
      name: 'copies.test',
      address: '127.47.1.1',
      page: ({ path }) =>
        path === '/' ? page('home', ['/one', '/two', '/three', '/other']) : path === '/other' ? page('other', [], prose(2, 60)) : copy,
    });
    const done = await crawl({ web, out, seeds: [`${web.origin('copies.test')}/`], config: QUICK });
    const one = `${web.origin('copies.test')}/one`;
    assert.equal(done.row(one).duplicateOf, undefined);
    for (const path of ['/two', '/three']) assert.equal(done.row(web.origin('copies.test') + path).duplicateOf, one);
    assert.equal(done.row(`${web.origin('copies.test')}/other`).duplicateOf, undefined);
    assert.equal(done.report.exactDuplicates, 2);
    const records = await readWarcs(out);
    const revisits = records.filter((record) => record.type === 'revisit');
    assert.deepEqual(
      revisits.map((record) => record.url).sort(),
      ['/three', '/two'].map((path) => web.origin('copies.test') + path),
    );
    for (const record of revisits) {
      assert.equal(record.fields.get('WARC-Refers-To-Target-URI'), one);
      assert.match(record.fields.get('WARC-Profile') ?? '', /identical-payload-digest/);
      assert.equal(record.block.subarray(record.block.indexOf('\r\n\r\n') + 4).length, 0, 'a revisit record has no body');
    }
    const original = records.find((record) => record.type === 'response' && record.url === one);
    assert.equal(revisits[0]?.fields.get('WARC-Payload-Digest'), original?.fields.get('WARC-Payload-Digest'));
  });

  test('R-H1: a copy on another host, in another shard, is found once the first is durable', async (t) => {
    const shard = (name: string): number => shardOf(registrableDomain(name), 4);
    let mirror = '';
    for (let at = 0; mirror === '' || shard(mirror) === shard('source.test'); at++) mirror = `mirror${at}.test`;
    const web = await webFor(
      t,
      { name: 'source.test', address: '127.47.2.1', page: () => copy },
      { name: mirror, address: '127.47.2.2', robots: () => ({ status: 404, delayMs: 2_500 }), page: () => copy },
    );
    const done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [`${web.origin('source.test')}/`, `${web.origin(mirror)}/`],
      config: QUICK,
    });
    assert.equal(done.row(`${web.origin(mirror)}/`).duplicateOf, `${web.origin('source.test')}/`);
  });

  test('R-H1: empty bodies and error pages are nobody’s copy; tiny equal bodies are exact copies and no more', async (t) => {
    const web = await webFor(t, {
      name: 'empty.test',
      address: '127.47.3.1',
      page: ({ path }) => {
        if (path === '/') return page('home', ['/e1', '/e2', '/e3', '/t1', '/t2', '/404a', '/404b']);
        if (path.startsWith('/e')) return { body: '' };
        return path.startsWith('/t') ? { body: 'ok' } : { ...copy, status: 404 };
      },
    });
    const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('empty.test')}/`], config: QUICK });
    assert.equal(done.rows.length, 8);
    const copies = done.rows.filter((row) => row.duplicateOf !== undefined);
    assert.deepEqual(
      copies.map((row) => [row.url, row.duplicateOf].sort()),
      [[`${web.origin('empty.test')}/t1`, `${web.origin('empty.test')}/t2`]],
    );
    assert.ok(done.rows.every((row) => row.nearDuplicateOf === undefined));
    assert.deepEqual([done.report.exactDuplicates, done.report.nearDuplicates], [1, 0]);
  });
});

describe('near-duplicates', () => {
  const near = (name: string, address: string) => ({
    name,
    address,
    page: ({ path }: { path: string }): WebReply => {
      if (path === '/') return page('home', ['/first', '/again', '/markup', '/different']);
      if (path === '/first') return article(7, 1, ['/from-first']);
      if (path === '/again') return article(7, 2, ['/from-again', '/from-first']);
      if (path === '/markup')
        return {
          body: String(article(7, 1, ['/from-markup']).body)
            .replace('<h1>', '<div class="x"><h1>')
            .replace('</h1>', '</h1></div>'),
        };
      return path === '/different' ? article(8, 1, ['/from-different']) : page(path, [], prose(path.length + 40, 70));
    },
  });

  test('R-H4: kept by default in the narrow scopes: marked, stored, and followed', async (t) => {
    const web = await webFor(t, near('keep.test', '127.47.4.1'));
    const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('keep.test')}/`], config: QUICK });
    const origin = web.origin('keep.test');
    for (const path of ['/again', '/markup']) {
      assert.equal(done.row(origin + path).nearDuplicateOf, `${origin}/first`, path);
      assert.notEqual(done.row(origin + path).warc, undefined);
    }
    assert.equal(done.row(`${origin}/different`).nearDuplicateOf, undefined);
    for (const path of ['/from-first', '/from-again', '/from-markup', '/from-different'])
      assert.equal(done.row(origin + path).outcome, 'ok', path);
    assert.equal(done.report.nearDuplicates, 2);
  });

  test('R-H4: skipped on demand: marked, not stored, and their links are rejected as such', async (t) => {
    const web = await webFor(t, near('skip.test', '127.47.5.1'));
    const done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [`${web.origin('skip.test')}/`],
      config: QUICK,
      flags: ['--near-duplicates', 'skip'],
    });
    const origin = web.origin('skip.test');
    for (const path of ['/again', '/markup']) {
      const row = done.row(origin + path);
      assert.deepEqual([row.outcome, row.nearDuplicateOf, row.warc], ['ok', `${origin}/first`, undefined], path);
    }
    assert.equal(done.row(`${origin}/again`).links?.rejected['near-duplicate'], 2);
    assert.deepEqual(done.report.rejected, { 'near-duplicate': 3 });
    for (const path of ['/from-again', '/from-markup']) assert.equal(web.log.count(`skip.test:${web.port}`, path), 0, path);
    for (const path of ['/from-first', '/from-different']) assert.equal(done.row(origin + path).outcome, 'ok', path);
  });
});

/** A crawl as a program runs it: pages, events, back-pressure, ends, and what is closed afterwards. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CrawlResult } from '../../src/index.ts';
import { createCrawl, PortolanError } from '../../src/index.ts';
import { gapsOf, pagesOf, repeats, site } from '../support/library-site.ts';

const code = (wanted: string) => (error: unknown) => error instanceof PortolanError && error.code === wanted;

test('a loop is handed every page once, with the parts that were asked for and no others', async (t) => {
  const { origin, config } = await site(t, 5);
  const crawl = createCrawl(config(), { parts: ['body', 'links'] });
  const pages = await pagesOf(crawl);
  assert.deepEqual(
    pages.map(({ url }) => url).sort(),
    ['/', '/1', '/2', '/3', '/4', '/5'].map((path) => origin + path),
  );
  const home = pages.find(({ url }) => url === `${origin}/`)!;
  assert.deepEqual(
    [home.outcome, home.class, home.status, home.title, home.kind, home.depth, home.via],
    ['ok', 'success', 200, 'home', 'seed', 0, undefined],
  );
  assert.match(new TextDecoder().decode(home.body), /^<!DOCTYPE html>.*home/s);
  assert.equal(home.bodyBytes, home.body?.length);
  assert.deepEqual(
    home.links?.map(({ url }) => url.slice(origin.length)),
    ['/1', '/2', '/3', '/4', '/5', '/forbidden'],
  );
  assert.deepEqual([home.text, home.headers, home.warc], [undefined, undefined, undefined]);
  assert.ok(home.fetchedAt instanceof Date && home.fetchedAt.getTime() >= home.foundAt.getTime());
  const result = await crawl.run();
  assert.deepEqual([result.reason, result.pages, result.fetched, result.dropped], ['finished', 6, { ok: 6 }, { 'robots-disallowed': 1 }]);
  assert.deepEqual([gapsOf(result), result.unaccounted], [[0, 0], 0]);
});

test('text, headers and the place in the WARC file come with a page that has them', async (t) => {
  const { config } = await site(t, 1);
  const pages = await pagesOf(createCrawl(config({ output: { warc: true } }), { parts: ['text', 'headers'] }));
  const first = pages.find(({ title }) => title === 'page /1')!;
  assert.match(first.text ?? '', /^page \/1\n/);
  assert.ok(first.headers?.some(([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/html')));
  assert.match(first.warc?.file ?? '', /^warc\/.+\.warc\.gz$/);
  assert.ok((first.warc?.length ?? 0) > 0);
  assert.equal(first.body, undefined);
});

test('run() hands pages and dropped URLs to listeners, ends with the event end, and makes neither when nobody listens', async (t) => {
  const { origin, config } = await site(t, 3);
  const crawl = createCrawl(config());
  const urls: string[] = [];
  const drops: string[] = [];
  crawl.on('page', ({ url }) => urls.push(url));
  crawl.on('dropped', ({ url, reason, detail }) => drops.push(`${url} ${reason} ${detail}`));
  const progress = once(crawl, 'progress');
  const end = once(crawl, 'end') as Promise<[CrawlResult]>;
  const result = await crawl.run();
  assert.equal(urls.length, 4);
  assert.equal(drops.length, 1);
  assert.match(drops[0]!, new RegExp(`^${origin}/forbidden robots-disallowed .*Disallow: /forbidden`));
  assert.deepEqual((await end)[0], result);
  const [{ pages, constraint }] = (await progress) as [{ pages: number; constraint: string }];
  assert.ok(pages <= 4 && constraint !== '');

  const silent = createCrawl(config({ output: { dir: `${result.dir}-2` } }));
  assert.deepEqual((await silent.run()).fetched, { ok: 4 });
});

test('a program that stands still stops the crawl: no more than the window and what is in flight is fetched', async (t) => {
  const { web, config } = await site(t, 60);
  const crawl = createCrawl(config({ run: { shards: 1, threads: 1 } }), { window: 5 });
  const paces = new Set<string>();
  crawl.on('progress', ({ constraint }) => paces.add(constraint));
  let atStill = 0;
  const urls = new Set<string>();
  for await (const { key } of crawl) {
    urls.add(key);
    if (urls.size !== 10) continue;
    // Long enough for all the rest: 50 pages at one a millisecond.
    await new Promise((wait) => setTimeout(wait, 700));
    atStill = web.log.pages().length;
  }
  assert.ok(atStill >= 10 && atStill <= 10 + 5 + 1, `${atStill} pages were asked for while 10 had been taken`);
  assert.equal(urls.size, 61);
  assert.ok(paces.has('the program: as many pages wait for it as may'), [...paces].join('\n'));
});

test('leaving the loop closes the crawl, and the next run hands over what was not taken, at least once each', async (t) => {
  const { config, web } = await site(t, 20);
  const taken: string[] = [];
  let last = '';
  const crawl = createCrawl(config());
  for await (const { key } of crawl) {
    if (taken.length === 7) {
      last = key;
      break;
    }
    taken.push(key);
  }
  const stopped = await crawl.run();
  assert.equal(stopped.reason, 'stopped');
  const rest = await pagesOf(createCrawl(config()));
  assert.ok(
    rest.some(({ key }) => key === last),
    'the page at which the loop was left comes again',
  );
  assert.equal(new Set([...taken, ...rest.map(({ key }) => key)]).size, 21);
  assert.equal(repeats(rest), 0);
  assert.equal(rest.filter(({ key }) => taken.includes(key)).length, 0, 'what was taken and remembered does not come again');
  assert.deepEqual([...web.log.repeats().keys()], [], 'nothing was fetched twice for it');
});

test('what throws in the loop comes out of it, after everything is closed', async (t) => {
  const { config } = await site(t, 3);
  const failing = async (): Promise<void> => {
    for await (const { url } of createCrawl(config())) throw new Error(`cannot take ${url}`);
  };
  await assert.rejects(failing, /cannot take/);
  assert.equal((await pagesOf(createCrawl(config()))).length, 4);
});

test('pages that waited are handed over by a run that comes after one without a program', async (t) => {
  const { config } = await site(t, 8);
  const left = createCrawl(config());
  for await (const _ of left) break;
  const waiting = (await left.run()).pages;
  assert.equal((await createCrawl(config()).run()).reason, 'finished');
  const pages = await pagesOf(createCrawl(config(), { parts: ['body'] }));
  assert.equal(pages.length, waiting, 'those of the run without a program are its own');
  assert.deepEqual(
    pages.filter(({ body }) => body !== undefined),
    [],
    'pages come as they were asked for when they were fetched',
  );
});

test('stop() ends fetching, and the loop still gets what was fetched', async (t) => {
  const { config } = await site(t, 200);
  const crawl = createCrawl(config());
  const pages: string[] = [];
  for await (const { key } of crawl) {
    pages.push(key);
    if (pages.length === 5) crawl.stop();
  }
  const result = await crawl.run();
  assert.equal(result.reason, 'stopped');
  assert.equal(result.pages, pages.length);
  assert.ok(pages.length < 201);
});

test('pause() holds fetching until resume()', async (t) => {
  const { config, web } = await site(t, 30);
  const crawl = createCrawl(config());
  let before = 0;
  let count = 0;
  for await (const _ of crawl) {
    if (++count !== 3) continue;
    crawl.pause();
    await new Promise((wait) => setTimeout(wait, 300));
    before = web.log.pages().length;
    await new Promise((wait) => setTimeout(wait, 300));
    assert.equal(web.log.pages().length, before);
    crawl.resume();
  }
  assert.equal(count, 31);
});

test('an AbortSignal ends the crawl in an orderly way, and its reason is thrown; the next run goes on', async (t) => {
  const { config } = await site(t, 40);
  const controller = new AbortController();
  const reason = new Error('enough');
  const crawl = createCrawl(config(), { signal: controller.signal });
  const taken: string[] = [];
  const aborted = async (): Promise<void> => {
    for await (const { key } of crawl) {
      taken.push(key);
      if (taken.length === 3) controller.abort(reason);
    }
  };
  await assert.rejects(aborted, reason);
  await assert.rejects(crawl.run(), reason);
  await assert.rejects(createCrawl(config(), { signal: controller.signal }).run(), reason);
  const rest = await pagesOf(createCrawl(config()));
  assert.equal(new Set([...taken, ...rest.map(({ key }) => key)]).size, 41);
});

test('a crawl leaves signals and the exit code alone, and no thread of it is left', async (t) => {
  const { config, web } = await site(t, 2);
  const signals = () => [process.listenerCount('SIGINT'), process.listenerCount('SIGTERM'), process.exitCode];
  const before = signals();
  const during: unknown[] = [];
  for await (const _ of createCrawl(config())) during.push(signals());
  for (const one of [...during, signals()]) assert.deepEqual(one, before);
  await web.close();
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((kind) => kind === 'MessagePort' || kind === 'Worker'),
    [],
  );
});

test('two crawls in one directory: the second is refused by its code, the first goes on', async (t) => {
  const { config } = await site(t, 2);
  let pages = 0;
  for await (const _ of createCrawl(config())) {
    if (pages++ === 0) await assert.rejects(createCrawl(config()).run(), code('PORTOLAN_STATE_LOCKED'));
  }
  assert.equal(pages, 3);
});

test('misuse and wrong settings are errors with a code, before anything is opened', async (t) => {
  const { config, dir } = await site(t, 1);
  assert.throws(() => createCrawl({ seed: ['x'] } as object), code('PORTOLAN_CONFIG_UNKNOWN_KEY'));
  assert.throws(() => createCrawl(config(), { window: 0 }), code('PORTOLAN_LIBRARY_MISUSE'));
  assert.throws(() => createCrawl(config(), { parts: ['screenshot' as 'body'] }), code('PORTOLAN_LIBRARY_MISUSE'));
  assert.throws(() => createCrawl(config(), { hooks: './hooks.ts' }), code('PORTOLAN_HOOKS_INVALID'));
  await assert.rejects(createCrawl({ output: { dir: `${dir}/none` } }).run(), code('PORTOLAN_SEED_NONE'));
  const crawl = createCrawl(config());
  await crawl.run();
  assert.throws(() => crawl[Symbol.asyncIterator](), code('PORTOLAN_LIBRARY_MISUSE'));
  const looped = createCrawl(config());
  await pagesOf(looped);
  assert.throws(() => looped[Symbol.asyncIterator](), code('PORTOLAN_LIBRARY_MISUSE'));
});

test('a handler finds links and text of its own type, filters reject as `filtered`, and both laws hold', async (t) => {
  const json = (value: unknown) => ({
    headers: { 'content-type': 'application/json' },
    body: typeof value === 'string' ? value : JSON.stringify(value),
  });
  const { origin, config } = await site(t, 3, (path) =>
    path === '/api'
      ? json({ name: 'index', next: ['/api/1', '/broken', '/private/x', '/1?print=1'] })
      : path === '/api/1'
        ? json({ name: 'one', next: ['/api'] })
        : path === '/broken'
          ? json('{')
          : undefined,
  );
  const accept = ['application/json', 'text/html'];
  const crawl = createCrawl(config({ seeds: [`${origin}/api`], fetch: { accept } }), {
    parts: ['text', 'links'],
    hooks: new URL('../library/api-hooks.ts', import.meta.url),
  });
  const notices: string[] = [];
  crawl.on('notice', (text) => notices.push(text));
  const pages = new Map((await pagesOf(crawl)).map((one) => [one.url.slice(origin.length), one]));
  assert.deepEqual([...pages.keys()].sort(), ['/api', '/api/1', '/broken']);
  assert.deepEqual([pages.get('/api')?.title, pages.get('/api')?.text], ['index', 'index']);
  assert.deepEqual(pages.get('/api')?.linkCounts, { found: 4, rejected: { filtered: 2 } });
  assert.deepEqual([pages.get('/broken')?.outcome, pages.get('/broken')?.text, pages.get('/broken')?.links], ['ok', '', []]);
  assert.equal(notices.filter((text) => /a handler for application\/json has failed.*JSON/.test(text)).length, 1, notices.join('\n'));
  const result = await crawl.run();
  assert.deepEqual(result.rejected, { filtered: 2 });
  assert.deepEqual([gapsOf(result), result.unaccounted], [[0, 0], 0]);
});

const moduleOf = (text: string): URL => {
  const file = join(mkdtempSync(join(tmpdir(), 'portolan-hooks-')), 'hooks.mjs');
  writeFileSync(file, text);
  return pathToFileURL(file);
};

test('a filter that throws or gives no verdict ends the crawl with a code that names it, and a mended one goes on', async (t) => {
  const { config } = await site(t, 3);
  for (const [text, told] of [
    [
      "export const scopeFilter = (url) => { if (url.endsWith('/2')) throw new Error('no idea'); return true; };",
      /scopeFilter has thrown for .*\/2: no idea/,
    ],
    ['export const linkFilter = async () => true;', /linkFilter must answer true or false; for \/1 it answered a promise/],
  ] as const) {
    const failing = createCrawl(config(), { hooks: moduleOf(text) });
    await assert.rejects(pagesOf(failing), (error) => code('PORTOLAN_HOOKS_FAILED')(error) && told.test((error as Error).message));
  }
  const pages = await pagesOf(createCrawl(config(), { hooks: moduleOf("export const scopeFilter = (url) => !url.endsWith('/2');") }));
  assert.deepEqual(pages.map(({ url }) => new URL(url).pathname).sort(), ['/', '/1', '/3']);
});

test('a run with other hooks than the last one says so and goes on; the same hooks say nothing, wherever they lie', async (t) => {
  const { config } = await site(t, 6);
  const [few, all] = ["export const linkFilter = ({ href }) => href !== '/2';", 'export const linkFilter = () => true;'];
  const [one, other, copy] = [moduleOf(few), moduleOf(all), moduleOf(few)];
  const saidOf = async (hooks: URL | undefined, maxPages: number): Promise<string[]> => {
    const crawl = createCrawl(config({ limits: { maxPages } }), hooks === undefined ? {} : { hooks });
    const notices: string[] = [];
    crawl.on('notice', (text) => notices.push(text));
    await crawl.run();
    return notices.filter((text) => text.includes('hooks'));
  };
  const [first, second, third] = [fileURLToPath(one), fileURLToPath(other), fileURLToPath(copy)];
  const since = '; what was judged before is not judged again';
  assert.deepEqual(await saidOf(one, 1), [], 'a crawl that begins');
  assert.deepEqual(await saidOf(copy, 2), [], 'the same text elsewhere');
  assert.deepEqual(await saidOf(other, 3), [
    `the last run of this crawl had the hooks of ${third}, this run has those of ${second}${since}`,
  ]);
  writeFileSync(other, few);
  assert.deepEqual(await saidOf(other, 4), [`the module of hooks ${second} has changed since the last run of this crawl${since}`]);
  assert.deepEqual(await saidOf(undefined, 5), [`the last run of this crawl had the hooks of ${second}, this run has none${since}`]);
  assert.deepEqual(await saidOf(one, 6), [`the last run of this crawl had no hooks, this run has those of ${first}${since}`]);
});

test('hooks that cannot be used end the crawl before anything is fetched', async (t) => {
  const { config, web } = await site(t, 1);
  await assert.rejects(createCrawl(config(), { hooks: moduleOf('export const filter = 1;') }).run(), code('PORTOLAN_HOOKS_INVALID'));
  assert.equal(web.log.pages().length, 0);
});

/**
 * Page requisites (--assets on) against servers that count what is asked of them, and the archive against pywb, the replay tool of the field: every reference of
 * the replayed page and of its style sheets must be there. pywb is installed by scripts/install-python-tools.sh; without it that promise is skipped, said
 * loudly, and never in CI.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cssAssets, htmlAssets } from '../../src/parse/assets.ts';
import { capture, start } from '../support/process.ts';
import type { WebHost, WebReply } from '../support/web-server.ts';
import { crawl, endings, scratch, webFor } from './crawl.ts';

const TOOLS = fileURLToPath(new URL('../../.python/bin/', import.meta.url));
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const typed = (type: string, body: string | Uint8Array): WebReply => ({ headers: { 'content-type': type }, body });
const gif = (n: number): WebReply => typed('image/gif', Buffer.concat([PIXEL, Buffer.from([n])]));

/** A site with a page of many parts, and a host beside it that serves some of them. */
function hosts(address: string, cdnAddress: string): readonly WebHost[] {
  return [
    {
      name: 'site.test',
      address,
      robots: 'User-agent: *\nDisallow: /private/\n',
      page: ({ path, authority }) => {
        const cdn = `http://cdn.test:${authority.split(':')[1]}`;
        switch (path) {
          case '/':
            return typed(
              'text/html',
              `<!DOCTYPE html><link rel=stylesheet href="${cdn}/main.css"><link rel="icon" href="/favicon.gif">
               <style>body { background: url('/bg.gif') }</style>
               <img src="/one.gif" srcset="/two.gif 2x"><img src="/private/no.gif"><img src="/moved.gif">
               <script src="${cdn}/app.js"></script><p style="background: url(/styled.gif)">text</p>
               <object data="/framed.html" type="text/html"></object><img src="/lost.gif">
               <a href="/next">next</a><a href="${cdn}/page">outside</a>`,
            );
          case '/next':
            return typed('text/html', '<img src="/one.gif"><a href="/">home</a>');
          case '/framed.html':
            return typed('text/html', '<title>framed</title><a href="/only-from-the-frame">x</a><img src="/only-from-the-frame.gif">');
          case '/moved.gif':
            return { status: 302, headers: { location: `${cdn}/moved-here.gif` } };
          default:
            return /^\/(?:favicon|bg|one|two|styled)\.gif$/.test(path) ? gif(path.length) : undefined;
        }
      },
    },
    {
      name: 'cdn.test',
      address: cdnAddress,
      page: ({ path }) => {
        if (path === '/main.css') return typed('text/css', '@import "more.css"; h1 { background: url(img/h1.gif) }');
        if (path === '/more.css') return typed('text/css', '@font-face { font-family: x; src: url("font.woff2") format("woff2") }');
        if (path === '/font.woff2') return typed('font/woff2', 'wOF2 not really');
        if (path === '/app.js') return typed('text/javascript', 'document.title = "run"');
        return path === '/img/h1.gif' || path === '/moved-here.gif' ? gif(7) : undefined;
      },
    },
  ];
}

const WANTED = ['/framed.html', '/favicon.gif', '/bg.gif', '/one.gif', '/two.gif', '/styled.gif'];
const WANTED_ELSEWHERE = ['/main.css', '/more.css', '/font.woff2', '/app.js', '/img/h1.gif', '/moved-here.gif'];

async function crawled(t: TestContext, third: number, flags: readonly string[]) {
  const web = await webFor(t, ...hosts(`127.44.${third}.1`, `127.44.${third}.2`));
  const out = join(scratch(t), 'out');
  const run = await crawl({ web, out, seeds: [`${web.origin('site.test')}/`], flags });
  return { web, out, run };
}

test('assets of a page are fetched from any host, each once, by the rules of their hosts, and extend no scope', async (t) => {
  const { web, run } = await crawled(t, 1, ['--assets', 'on', '--max-depth', '1']);
  const site = web.origin('site.test');
  const cdn = web.origin('cdn.test');
  const expected: Record<string, string> = {
    [`${site}/`]: 'ok',
    [`${site}/next`]: 'ok',
    [`${site}/private/no.gif`]: 'robots-disallowed',
    [`${site}/moved.gif`]: 'redirect',
    [`${site}/lost.gif`]: 'not-found',
  };
  for (const path of WANTED) expected[site + path] = 'ok';
  for (const path of WANTED_ELSEWHERE) expected[cdn + path] = 'ok';
  assert.deepEqual(endings(run.rows), Object.fromEntries(Object.entries(expected).sort()));
  for (const row of run.rows) {
    const isAsset = row.url !== `${site}/` && row.url !== `${site}/next`;
    if (row.outcome !== 'dropped' && row.reason === undefined) assert.equal(row.kind === 'asset', isAsset, row.url);
  }
  assert.equal(run.row(`${cdn}/font.woff2`).depth, 3, 'page, style sheet, style sheet, font');
  assert.equal(run.row(`${cdn}/font.woff2`).via, `${cdn}/more.css`);
  for (const path of [...WANTED, '/next']) assert.equal(web.log.entries().filter((one) => one.path === path).length, 1, path);
  assert.ok(web.log.entries().some(({ host, path }) => host.startsWith('cdn.test') && path === '/robots.txt'));
});

test('without --assets nothing of it is asked for', async (t) => {
  const { web, run } = await crawled(t, 2, []);
  assert.deepEqual(run.rows.map(({ url }) => url).sort(), [`${web.origin('site.test')}/`, `${web.origin('site.test')}/next`]);
});

test('scope.exclude counts for assets, and a run that goes on later has them no second time', async (t) => {
  const { web, out, run } = await crawled(t, 3, ['--assets', 'on', '--exclude', '\\.js$']);
  assert.ok(!run.rows.some(({ url }) => url.endsWith('.js')));
  const before = web.log.entries().length;
  await crawl({ web, out, seeds: [`${web.origin('site.test')}/`], flags: ['--assets', 'on', '--exclude', '\\.js$'] });
  assert.equal(web.log.entries().length, before);
});

test('pywb replays the page whole: its images, styles, fonts and scripts, also those of other hosts', async (t) => {
  if (!existsSync(join(TOOLS, 'wayback'))) {
    assert.equal(process.env['CI'], undefined, 'pywb is missing: scripts/install-python-tools.sh');
    t.diagnostic('SKIPPED, so this promise was not checked here: pywb is missing; scripts/install-python-tools.sh installs it');
    t.skip('pywb is missing');
    return;
  }
  const { web, out } = await crawled(t, 4, ['--assets', 'on']);
  const archive = await replay(t, out);
  const page = await archive('mp_', `${web.origin('site.test')}/`);
  const found = new Set<string>();
  const follow = async (hrefs: readonly string[], base: string): Promise<void> => {
    for (const href of hrefs) {
      const url = new URL(href, base).href;
      if (found.has(original(url)) || /\/static\/|wombat/.test(url)) continue;
      found.add(original(url));
      const response = await fetch(url);
      const body = await response.text();
      const missing = /\/(?:lost|private\/no)\.gif$/.test(url);
      assert.equal(response.status, missing ? 404 : 200, url);
      if (/\.css$/.test(url)) await follow(cssAssets(body, 100).hrefs, url);
    }
  };
  assert.equal(page.status, 200);
  await follow(htmlAssets(page.body, 100).hrefs, page.url);
  const site = [...WANTED, '/moved.gif', '/lost.gif', '/private/no.gif'].map((path) => web.origin('site.test') + path);
  const cdn = WANTED_ELSEWHERE.filter((path) => path !== '/moved-here.gif').map((path) => web.origin('cdn.test') + path);
  assert.deepEqual([...found].sort(), [...site, ...cdn].sort());
  const image = await fetch((await archive('id_', `${web.origin('site.test')}/one.gif`)).url);
  assert.deepEqual(Buffer.from(await image.arrayBuffer()), Buffer.concat([PIXEL, Buffer.from(['/one.gif'.length])]));
});

/** The URL that a URL of pywb stands for. */
function original(url: string): string {
  return url.replace(/^https?:\/\/[^/]+\/site\/\d*[a-z]{2}_\//, '');
}

interface Replayed {
  readonly url: string;
  readonly status: number;
  readonly body: string;
}

/** Serves the WARC files of a crawl by pywb. */
async function replay(t: TestContext, out: string): Promise<(modifier: string, url: string) => Promise<Replayed>> {
  const dir = scratch(t);
  const run = async (tool: string, ...args: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await capture(join(TOOLS, tool), args, { cwd: dir });
    assert.equal(code, 0, `${tool}: ${stdout} ${stderr}`);
  };
  await run('wb-manager', 'init', 'site');
  await run('wb-manager', 'add', 'site', ...readdirSync(join(out, 'warc')).map((name) => join(out, 'warc', name)));
  const port = await freePort();
  const server = start(join(TOOLS, 'wayback'), ['-b', '127.0.0.1', '-p', String(port), '-d', dir]);
  t.after(() => server.killGroup());
  await serves(port);
  const year = new Date().getFullYear();
  return async (modifier, url) => {
    const response = await fetch(`http://127.0.0.1:${port}/site/${year}${modifier}/${url}`);
    return { url: response.url, status: response.status, body: await response.text() };
  };
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}

async function serves(port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/`)).status > 0) return;
    } catch {
      await new Promise((later) => setTimeout(later, 200));
    }
  }
  assert.fail('pywb does not answer');
}

/**
 * PORTOLAN_DOCS names the sites (comma-separated, or "all"); the default is about 4,600 pages. The packages come from Debian's mirrors once, so
 * the test needs apt-get, nginx and unbound, and is skipped by name where one of them is missing.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ALL_SITES, SMALL_SITES } from '../../scripts/docs-web.ts';
import type { LoggedRequest } from '../support/nginx-log.ts';
import { portolan } from '../support/process.ts';
import { brokenPromises, docsCrawl } from './docs-crawl.ts';
import { closureOf, judgeDocs } from './docs-judge.ts';

function missingTool(): string | false {
  for (const tool of ['apt-get', 'dpkg-deb', 'nginx', 'unbound']) {
    try {
      execFileSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${tool}`], { stdio: 'ignore' });
    } catch {
      return `${tool} is not installed`;
    }
  }
  return existsSync(portolan().args[0] ?? '') ? false : 'bin/portolan.js is not there';
}

describe('the judge of the documentation crawl', () => {
  test('works out the pages that links lead to, by the rules of robots.txt, base, nofollow and directory listings', () => {
    const root = mkdtempSync(join(tmpdir(), 'portolan-docs-judge-'));
    try {
      const put = (path: string, html: string): void => {
        mkdirSync(join(root, path, '..'), { recursive: true });
        writeFileSync(join(root, path), html);
      };
      put('list/a b.html', '<base href="/sub/"><a href="deep.html">x</a><a href=http://else.test/>x</a>');
      put('list/image.png', '');
      put('list/.hidden.html', '');
      put(
        'index.html',
        '<a href=list>x</a><!-- <a href=lost.html>x</a> --><template><a href=lost.html>x</a></template><a rel=nofollow href=lost.html>x</a><a href=_static/x.html>x</a><a href=gone.html>x</a>',
      );
      put('sub/deep.html', '<meta name=robots content="noindex, nofollow"><a href=../lost.html>x</a>');
      put('lost.html', '');
      put('_static/x.html', '');
      const site = { name: 's', host: 's.test', address: '127.55.0.1', root };
      assert.deepEqual([...closureOf([site], 8080, ['/_static/'])].sort(), ['s:/', 's:/list/', 's:/list/a b.html', 's:/sub/deep.html']);

      const request = (target: string, status = 200): LoggedRequest => ({
        ...{
          startMs: 0,
          endMs: 0,
          address: '127.55.0.1:8080',
          host: 's.test',
          status,
          bodyBytes: 1,
          coding: '-',
          connection: 1,
          target,
          agent: '',
        },
      });
      const targets = ['/', '/list/', '/list/a%20b.html', '/list/a b.html', '/lost.html', '/_static/x.html'];
      const { missing, extra, forbidden, repeated } = judgeDocs(
        [site],
        8080,
        ['/_static/'],
        [request('/list', 301), ...targets.map((path) => request(path))],
      );
      assert.deepEqual(
        { missing, extra, forbidden, repeated },
        {
          missing: ['s:/sub/deep.html'],
          extra: ['s:/lost.html', 's:/_static/x.html'],
          forbidden: ['s:/_static/x.html'],
          repeated: ['s:/list/a b.html'],
        },
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe('a crawl of real documentation', { skip: missingTool() }, () => {
  const named = process.env['PORTOLAN_DOCS'] ?? SMALL_SITES.join(',');
  const sites = named === 'all' ? ALL_SITES : named.split(',');

  test(`R-A1 R-D1 R-F1 R-E1: fetches each page that links lead to once, and none other (${sites.join(', ')})`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'portolan-docs-'));
    try {
      const result = await docsCrawl({ sites, ports: { web: 18_381, dns: 18_354 }, dir });
      t.diagnostic(`${result.fetchedHtml} of ${result.expected} pages, ${result.requests} requests, ${result.wallS} s`);
      assert.deepEqual(brokenPromises(result), []);
      assert.ok(result.expected >= (named === SMALL_SITES.join(',') ? 3_000 : 1), 'too few pages to prove anything');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

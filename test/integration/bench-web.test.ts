import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { generateWeb, type WebSummary } from '../../bench/web/generate.ts';
import { judge } from '../../bench/web/judge.ts';
import { fileOf, layoutWeb, type WebOptions } from '../../bench/web/layout.ts';
import type { LoggedRequest } from '../support/nginx-log.ts';

const OPTIONS: WebOptions = { hosts: 12, pages: 20, port: 18290, net: 32, seed: 5, links: 100, kbMin: 20, kbMax: 30 };
const TRACKERS = /^(utm_\w+|gclid|fbclid)$/;

describe('the benchmark web', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-web-'));
  let summary: WebSummary;
  let expected: readonly string[];
  let forbidden: readonly string[];

  before(() => {
    summary = generateWeb(dir, OPTIONS);
    expected = lines('expected.txt');
    forbidden = lines('forbidden.txt');
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  function lines(name: string): readonly string[] {
    return readFileSync(join(dir, name), 'utf8').split('\n').filter(Boolean);
  }

  /** Links as a browser sees them, without tracking parameters and in one spelling. */
  function linksOf(url: string): readonly string[] {
    const { pathname, hostname } = new URL(url);
    const html = readFileSync(join(dir, 'root', hostname, fileOf(pathname)), 'utf8');
    const hrefs: string[] = [];
    let base = url;
    const walk = (node: DefaultTreeAdapterTypes.Node): void => {
      if ('tagName' in node) {
        const href = node.attrs.find((one) => one.name === 'href')?.value;
        if (node.tagName === 'base' && href !== undefined) base = href;
        if (node.tagName === 'a' && href !== undefined) hrefs.push(href);
      }
      if ('childNodes' in node) node.childNodes.forEach(walk);
    };
    walk(parse(html));
    return hrefs.map((href) => new URL(href, base)).flatMap((found) => (found.protocol === 'http:' ? [canonical(found)] : []));
  }

  function canonical(url: URL): string {
    for (const name of [...url.searchParams.keys()]) if (TRACKERS.test(name)) url.searchParams.delete(name);
    return url.origin + url.pathname.replace('%7E', '~').replace('%c3%a9', '%C3%A9') + url.search;
  }

  test('each seed alone leads to every expected page, and no link leads to a page that nobody knows', () => {
    const known = new Set([...expected, ...forbidden]);
    const links = new Map(expected.map((url) => [url, linksOf(url)]));
    for (const found of links.values()) for (const url of found) assert.ok(known.has(url), url);
    for (const seed of lines('seeds.txt')) {
      const reached = new Set([seed]);
      for (const url of reached) for (const next of links.get(url) ?? []) reached.add(next);
      assert.deepEqual(
        expected.filter((url) => !reached.has(url)),
        [],
        `from ${seed}`,
      );
    }
  });

  test('the same options give the same bytes, and another seed gives others', () => {
    assert.equal(generateWeb(dir, OPTIONS).sha256, summary.sha256);
    assert.notEqual(generateWeb(`${dir}/other`, { ...OPTIONS, seed: 6 }).sha256, summary.sha256);
  });

  test('pages have the size, the number of links and every trap that was asked for', () => {
    const { counts } = summary;
    const perPage = counts.links / summary.expected;
    assert.ok(perPage > 99 && perPage < 103, `${perPage} links a page`);
    assert.ok(Math.abs(counts.sameHost / counts.links - 0.6) < 0.02, 'share of links to the same host');
    for (const [form, count] of Object.entries(counts)) assert.ok(count > 0, form);
    const kb = summary.htmlBytes / summary.expected / 1_024;
    assert.ok(kb > 20 && kb < 30, `${kb} KB a page`);
  });

  describe('its judge', () => {
    const web = layoutWeb(OPTIONS);
    const request = (url: string, startMs: number, more: Partial<LoggedRequest> = {}): LoggedRequest => {
      const [, address = '', target = ''] = /^http:\/\/([^/]+)(.*)$/.exec(url) ?? [];
      const answer = { status: 200, bodyBytes: 1, coding: 'gzip', connection: 1, agent: '' };
      return { ...answer, startMs, endMs: startMs + 1, address, host: address, target, ...more };
    };
    /** A crawl without fault: robots.txt of every host, then every page, a second apart. */
    const perfect = (): LoggedRequest[] => {
      const hosts = Array.from({ length: OPTIONS.hosts }, (_, host) => web.origin(host));
      return [...hosts.map((origin) => `${origin}/robots.txt`), ...expected].map((url, index) => request(url, index * 1_000));
    };
    const broken = (requests: readonly LoggedRequest[], gapMs = 0): readonly string[] =>
      judge({ expected, forbidden, requests, gapMs }).broken;
    const late = 10_000_000;
    const page1 = (): string => expected[1] ?? '';

    test('passes a crawl without fault', () => {
      assert.deepEqual(broken(perfect(), 900), []);
    });

    const faults: readonly (readonly [string, () => readonly LoggedRequest[]])[] = [
      ['missing', () => perfect().slice(0, -1)],
      ['exactDup', () => [...perfect(), request(page1(), late)]],
      ['aliasDup', () => [...perfect(), request(`${page1()}?utm_source=x`, late)]],
      ['aliasDup', () => [...perfect(), request((expected[6] ?? '').replace('~', '%7E'), late)]],
      ['forbiddenHits', () => [...perfect(), request(forbidden[0] ?? '', late)]],
      ['unexpected', () => [...perfect(), request(`${web.origin(0)}/never/comment.html`, late, { status: 404 })]],
      ['beforeRobots', () => perfect().map((one) => (one.target === '/robots.txt' ? { ...one, startMs: late, endMs: late } : one))],
      ['robotsPerHostMax', () => [...perfect(), request(`${web.origin(3)}/robots.txt`, late)]],
      ['overlaps', () => perfect().map((one) => (one.target === '/' ? { ...one, endMs: one.startMs + 60_000 } : one))],
    ];
    for (const [index, [rule, crawl]] of faults.entries()) {
      test(`finds ${rule} (case ${index + 1})`, () => {
        assert.ok(broken(crawl()).includes(rule));
      });
    }

    test('finds a gap that is too short only when a gap is asked for', () => {
      assert.deepEqual(broken(perfect(), 1_500), ['shortGaps']);
      assert.deepEqual(broken(perfect(), 0), []);
    });
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { calendarTrap, monthOf } from '../../src/scope/calendar.ts';
import { facetTrap } from '../../src/scope/facets.ts';
import { createScope, type ScopeOptions } from '../../src/scope/index.ts';
import { repeatingSegment } from '../../src/scope/repeating-path.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, LinkResolver, splitUrl } from '../../src/url/index.ts';

const NOW_MS = Date.UTC(2026, 6, 15);
const OPTIONS: ScopeOptions = {
  mode: 'host',
  include: [],
  exclude: [],
  maxDepth: undefined,
  maxUrlBytes: 1_000,
  maxParameters: 8,
  maxSegmentRepeats: 3,
};
const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);

/** Crawls a site given as a function, with the scope's verdicts alone; the URLs fetched, in order. Stops at `limit`. */
function crawl(seed: string, linksOf: (pathQuery: string) => readonly string[], limit: number): string[] {
  const scope = createScope(OPTIONS, [seed], []);
  const queue = [{ url: seed, depth: 0 }];
  const seen = new Set([canonicalize(seed)]);
  for (let next = 0; next < queue.length && next < limit; next++) {
    const { url, depth } = queue[next]!;
    const resolver = new LinkResolver(url);
    for (const href of linksOf(splitUrl(url).pathQuery)) {
      const found = resolver.resolve(href);
      const canonical = canonicalize(found);
      if (seen.has(canonical) || scope.check(found, splitUrl(found), canonical, depth + 1, NOW_MS) !== undefined) continue;
      seen.add(canonical);
      queue.push({ url: found, depth: depth + 1 });
    }
  }
  return queue.slice(0, limit).map(({ url }) => splitUrl(url).pathQuery);
}

test('R-F3 trap-01: a calendar without end is left after at most 300 of its pages', () => {
  const paths = crawl(
    'http://cal.example/',
    (path) => {
      if (path === '/') return ['/events?year=2026&month=1', '/real/1', '/real/2'];
      const query = new URLSearchParams(path.slice('/events?'.length));
      if (!path.startsWith('/events?') || query.has('view')) return [];
      const at = Number(query.get('year')) * 12 + Number(query.get('month')) - 1;
      const page = (m: number) => `/events?year=${Math.floor(m / 12)}&month=${(m % 12) + 1}`;
      return [page(at + 1), page(at - 1), `${page(at)}&view=list`];
    },
    5_000,
  );
  const events = paths.filter((path) => path.startsWith('/events')).length;
  assert.ok(events > 100 && events <= 300, String(events));
  assert.ok(paths.includes('/real/1') && paths.includes('/real/2'));
});

test('R-F3 trap-03: a relative link that grows its own path is left after at most 80 pages', () => {
  const paths = crawl(
    'http://deep.example/',
    (path) => {
      if (path === '/') return ['/team/site/index.html', '/real/1'];
      return path.startsWith('/team/site/') ? ['team/site/', 'team/jobs/list', 'www.partner.example/terms'] : [];
    },
    5_000,
  );
  assert.ok(paths.length <= 80, String(paths.length));
  assert.ok(paths.includes('/real/1') && paths.includes('/team/site/team/site/'));
});

for (const replaces of [true, false]) {
  test(`R-F3 trap-04: six filters whose links ${replaces ? 'replace' : 'pile up'} values cost at most 600 pages, and every item is still reached`, () =>
    shop(replaces));
}

function shop(replaces: boolean): void {
  const FILTERS: Record<string, readonly string[]> = {
    color: ['r', 'g', 'b'],
    size: ['s', 'm', 'l'],
    brand: ['a', 'b', 'c', 'd'],
    sort: ['up', 'down'],
    page: ['1', '2', '3'],
    view: ['grid', 'rows'],
  };
  const paths = crawl(
    'http://fac.example/list',
    (path) => {
      if (!path.startsWith('/list')) return [];
      const query = new URLSearchParams(path.slice(6));
      const page = Number(query.get('page') ?? '1');
      const items = [...query.keys()].every((name) => name === 'page')
        ? Array.from({ length: 10 }, (_, i) => `/item/${(page - 1) * 10 + i + 1}`)
        : [];
      const changes = Object.entries(FILTERS).flatMap(([name, values]) =>
        values.map((value) => {
          const changed = new URLSearchParams(query);
          if (replaces) changed.delete(name);
          changed.append(name, value);
          return `/list?${changed}`;
        }),
      );
      return [...changes, ...items];
    },
    5_000,
  );
  assert.ok(paths.length <= 600, String(paths.length));
  for (let item = 1; item <= 30; item++) assert.ok(paths.includes(`/item/${item}`), `item ${item}`);
}

test('R-F3 trap-06: honest pagination of 400 pages is no trap', () => {
  const paths = crawl(
    'http://arch.example/blog',
    (path) => {
      if (path.startsWith('/post/')) return ['/blog'];
      const page = Number(/page=(\d+)/.exec(path)?.[1] ?? '1');
      return page < 400 ? [`/blog?page=${page + 1}#content`, `/post/${page}`] : [`/post/${page}`];
    },
    5_000,
  );
  assert.ok(paths.includes('/blog?page=400') && paths.includes('/post/1') && paths.includes('/post/400'));
  assert.ok(paths.length >= 800);
});

test('R-F3 a calendar by days in the path, by dashed months and by epoch seconds ends too', () => {
  const day = 86_400_000;
  const iso = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const walks: ((ms: number) => string)[] = [
    (ms) => `/calendar/${iso(ms).replaceAll('-', '/')}/`,
    (ms) => `/events/${iso(ms)}/`,
    (ms) => `/agenda?date=${iso(ms)}`,
    (ms) => `/plan?month=${iso(ms).slice(0, 7)}`,
    (ms) => `/kalender.php?tag=${iso(ms)}`,
    (ms) => `/calendar/view.php?time=${ms / 1_000}&view=month`,
    (ms) => `/${iso(ms).slice(0, 4)}/${iso(ms).slice(5, 7)}/`,
    (ms) => `/day/${iso(ms)}`,
  ];
  for (const page of walks) {
    for (const step of [30 * day, -30 * day]) {
      let ms = NOW_MS;
      let steps = 0;
      for (; steps < 2_000; steps++, ms += step) {
        const [path, query = ''] = page(ms).split('?');
        if (calendarTrap(path!, query, NOW_MS) !== undefined) break;
      }
      assert.ok(steps > 20 && steps < 62 * 13, `${page(NOW_MS)} step ${step / day}: ${steps}`);
    }
  }
});

test('R-F3 honest archives and numbers that are no dates pass the calendar guard', () => {
  const honest = [
    '/1851/09/18/first-issue.html',
    '/archive/1851/09/',
    '/archives/1923-05-14/',
    '/blog/2003/04/',
    '/2009/05/12/',
    '/news/2027/03/conference-announced',
    '/events/1998/04/12/some-concert',
    '/thread/1850/12',
    '/thread/2100/3',
    '/product/7749/12',
    '/item/1234-56',
    '/isbn/1050-12',
    '/rfc/2616/10',
    '/000/000/012',
    '/list?start=180012',
    '/list?id=1234-5',
    '/map?x=4&y=-1',
    '/map?x=4&y=1850',
    '/census?year=1850',
    '/projection?year=2050',
    '/?m=200504',
    '/births?month=4&year=1971',
    '/v/2024.05/',
    '/search?q=1900',
    '/list?page=2027',
    '/a?date=2026-13-01',
    '/?time=180012',
    '/tickets?from=195001',
  ];
  for (const pathQuery of honest) {
    const [path, query = ''] = pathQuery.split('?');
    assert.equal(calendarTrap(path!, query, NOW_MS), undefined, pathQuery);
  }
});

test('R-F3 dates outside the window are refused, and the date is named', () => {
  const refused = [
    ['/calendar/2031/04', '2031/04'],
    ['/events/1998/04/', '1998/04'],
    ['/calendar/7749/3', '7749/3'],
    ['/2031/may/', '2031/may'],
    ['/1950/04/', '1950/04'],
    ['/2031/05/flood', '2031/05'],
    ['/calendar/203104', '203104'],
    ['/x?year=7749&month=1', 'year 7749, month 1'],
    ['/stats?year=2100', 'year 2100'],
    ['/stats?year=1099', 'year 1099'],
    ['/?m=203105', '203105'],
    ['/x?date=2031%2F05', '2031%2F05'],
    ['/x?tribe-bar-date=2031-05-01', '2031-05-01'],
  ];
  for (const [pathQuery, date] of refused) {
    const [path, query = ''] = pathQuery!.split('?');
    assert.equal(calendarTrap(path!, query, NOW_MS), date, pathQuery);
  }
});

test('R-F3 the calendar window moves with now, and nothing else', () => {
  assert.equal(calendarTrap('/calendar/2031/04', '', Date.UTC(2029, 3, 1)), undefined);
  assert.equal(calendarTrap('/calendar/2031/04', '', Date.UTC(2029, 2, 31)), '2031/04');
});

test('R-F3 months are counted as the Gregorian calendar does', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }), (ms) => {
      const date = new Date(ms);
      assert.equal(monthOf(ms), date.getUTCFullYear() * 12 + date.getUTCMonth());
    }),
  );
});

test('R-F3 repeating segments and cycles of them are refused, partitions of ids and honest paths pass', () => {
  const repeats = [
    '/a/a/a/a',
    '/a/b/a/b/a/b',
    '/a/b/a/b/a/b/',
    '/a/x/a/y/a/z/a',
    '/a/b/c/a/b/c/a/b/c',
    '/x//////y',
    '/1/a/1/a/1/a/1/a',
    `/${'7/'.repeat(7)}`,
  ];
  const honest = [
    '/',
    '/a/b/c/d/e/f/g/h/i',
    '/a/b/a/b',
    '/kubernetes/kubernetes/tree/master/kubernetes',
    '/system/000/000/000/123',
    '/2026/01/01/01',
    '/src/main/java/org/org',
    '/a/a/a',
  ];
  for (const path of repeats) assert.notEqual(repeatingSegment(path, 3), undefined, path);
  for (const path of honest) assert.equal(repeatingSegment(path, 3), undefined, path);
  for (const path of repeats) assert.equal(repeatingSegment(path, 0), undefined, `${path} with the guard off`);
});

test('R-F3 any cycle of words comes to its end within maxSegmentRepeats + 1 rounds', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 6 }), (cycle, max) => {
      assert.notEqual(repeatingSegment(`/${Array.from({ length: max + 1 }, () => cycle.join('/')).join('/')}`, max), undefined);
    }),
  );
});

test('R-F3 piled-up filters are refused; pagination, searches and two filters pass', () => {
  const piled = [
    'brand=a&color=r&size=m',
    'color=r&sort=up&view=grid',
    'color=r&color=g&color=b',
    'f[0]=a&f[1]=b&f[2]=c',
    'filter_a=1&filter_b=2&filter_c=3',
    'page=1&page=2',
    'sort=a&sort=b',
    'x=1&x=1',
    'tag=a&tag=b&tag=c&tag=d',
    'filter%5Bcolor%5D=r&filter%5Bsize%5D=m&pa_brand=x',
  ];
  const honest = [
    '',
    'page=2',
    'q=shoes&page=3',
    'dir=asc&order=desc&orderby=date&page=4&sort=name',
    'color=r&page=2&size=m',
    'sort=date&view=list',
    'id=1&id=2',
    'a=1&b=2&c=3&d=4&e=5',
    'tag=a&tag=b',
    'limit=20&per_page=20&view=list&color=r',
  ];
  for (const query of piled) assert.notEqual(facetTrap(query), undefined, query);
  for (const query of honest) assert.equal(facetTrap(query), undefined, query);
});

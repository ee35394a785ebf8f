/** What the report counts from rows: all of a small crawl, an even sample of a large one, and never for longer than it may. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { DEPTH_MAX, ROW_LIMITS, type RowFigures, type RowLimits, reportRows, TOP_HOSTS } from '../../../src/adapters/sqlite/report-rows.ts';
import { SCHEMA } from '../../../src/adapters/sqlite/schema.ts';

/** Host n of a shard has n pages; a third of them are redirects, the others pages with content, every fourth of which is an exact copy. */
const HOSTS = 60;
const PAGES = (HOSTS * (HOSTS + 1)) / 2;

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, n) => a + n, 0);
const whole = (numbers: readonly { readonly n: number }[]): number => numbers.reduce((a, { n }) => a + n, 0);

describe('figures from rows', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-rows-'));
  const files = [0, 1].map((shard) => join(dir, `${shard}.db`));

  before(() => files.forEach(fill));
  after(() => rmSync(dir, { recursive: true, force: true }));

  function look(limits: Partial<RowLimits> = {}, nowMs: () => number = () => 0): RowFigures {
    return reportRows({
      files: [...files, join(dir, 'not-begun.db')],
      pageRows: 2 * PAGES,
      hostRows: 2 * HOSTS,
      nowMs,
      limits: { ...ROW_LIMITS, ...limits },
    });
  }

  test('all rows of a small crawl are counted, once each', () => {
    const figures = look();
    assert.deepEqual([figures.coverage, figures.note, figures.pageRows, figures.rowsRead], ['all', '', 2 * PAGES, 2 * PAGES]);
    for (const total of [figures.depths.reduce((a, n) => a + n, 0), sum(figures.statuses), whole(figures.durations)])
      assert.equal(total, 2 * PAGES);
    assert.equal(whole(figures.sizes), figures.statuses['200']);
    assert.equal(sum(figures.duplicates), figures.statuses['200']);
    assert.ok(figures.duplicates['exact']! > 0);
    assert.equal(figures.hosts?.rows, 2 * HOSTS);
    assert.equal(whole(figures.hosts.byFetched), 2 * HOSTS);
  });

  test('the hosts named are those with most, greatest first, and only hosts that wait are in the second list', () => {
    const { hosts } = look();
    assert.deepEqual(
      hosts?.top.map(({ fetched }) => fetched),
      Array.from({ length: TOP_HOSTS }, (_, n) => HOSTS - Math.floor(n / 2)),
    );
    assert.deepEqual(
      hosts?.waiting.map(({ key, queued }) => [key, queued]),
      [7, 5, 3].flatMap((n) => [0, 1].map((shard) => [`h${n}.s${shard}.test`, n * 10])),
    );
  });

  test('a bucket holds what is at least its begin and less than its end', () => {
    const { sizes } = look();
    const of = (below: number | null): number | undefined => sizes.find((bucket) => bucket.below === below)?.n;
    // Bodies have 1,000 bytes for each depth, 0 for depth 0.
    assert.equal(
      of(1),
      expected((_, n) => n % 3 !== 0 && depthOf(n) === 0),
    );
    assert.equal(of(1_000), 0);
    assert.equal(
      of(2_000),
      expected((_, n) => n % 3 !== 0 && depthOf(n) === 1),
    );
  });

  test('depths beyond the last are counted in it', () => {
    const { depths } = look();
    assert.equal(depths.length, DEPTH_MAX + 1);
    assert.equal(
      depths[DEPTH_MAX],
      expected((_, n) => depthOf(n) >= DEPTH_MAX),
    );
  });

  test('of a large crawl an even share of each host is read, and it is said', () => {
    const figures = look({ rowsMax: 1_000, sampleRows: 600 });
    assert.equal(figures.coverage, 'sample');
    assert.ok(Math.abs(figures.rowsRead - 600) <= 2, String(figures.rowsRead));
    assert.match(figures.note, /^From a sample of \d+ of 3,660 pages\.$/);
    assert.equal(sum(figures.statuses), figures.rowsRead);
    assert.equal(figures.hosts?.rows, 2 * HOSTS, 'hosts are all read');
    // A third of all pages are redirects; of 600 drawn evenly, 200 give or take 5 standard deviations.
    assert.ok(Math.abs(figures.statuses['301']! - 200) < 5 * Math.sqrt(600 * (1 / 3) * (2 / 3)), JSON.stringify(figures.statuses));
  });

  test('with too many hosts they are not read, and it is said', () => {
    const small = look({ hostsMax: 10 });
    assert.deepEqual([small.coverage, small.hosts, small.rowsRead], ['all', undefined, 2 * PAGES]);
    assert.notEqual(small.note, '');
    const large = look({ hostsMax: 10, rowsMax: 100 });
    assert.deepEqual([large.coverage, large.hosts, large.rowsRead], ['none', undefined, 0]);
    assert.match(large.note, /more than 10 hosts/);
  });

  test('reading is broken off when its time is up, and it is said', () => {
    let calls = 0;
    const figures = look({ timeMs: 1_000 }, () => (calls++ === 0 ? 0 : 5_000));
    assert.equal(figures.coverage, 'cut');
    assert.ok(figures.rowsRead > 0 && figures.rowsRead < 2 * PAGES, String(figures.rowsRead));
    assert.match(figures.note, /Cut off after 1 s/);
  });
});

function depthOf(n: number): number {
  return n % 25;
}

/** Pages of both shards for which it holds. */
function expected(holds: (host: number, page: number) => boolean): number {
  let n = 0;
  for (let host = 1; host <= HOSTS; host++) for (let page = 0; page < host; page++) if (holds(host, page)) n++;
  return 2 * n;
}

function fill(file: string, shard: number): void {
  const db = new Database(file);
  db.exec(SCHEMA);
  const host = db.prepare(
    "INSERT INTO host VALUES (?, ?, 'test', 'open', '', ?, ?, ?, 0, 0, 0, 1000, 'default', 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, '')",
  );
  const page = db.prepare(
    "INSERT INTO page VALUES (?, ?, ?, ?, ?, 0, NULL, NULL, NULL, NULL, 0, NULL, ?, 0, 0, NULL, NULL, NULL, '', ?, 0, 1, ?, ?)",
  );
  db.transaction(() => {
    for (let id = 1; id <= HOSTS; id++) {
      const queued = id === 3 || id === 5 || id === 7 ? id * 10 : 0;
      host.run(id, `h${id}.s${shard}.test`, id + queued, queued, id);
      for (let n = 0; n < id; n++) {
        const url = `http://h${id}.s${shard}.test/${n}`;
        const key = createHash('sha256').update(url).digest().subarray(0, 8);
        const isPage = n % 3 !== 0;
        page.run(
          id,
          key,
          url,
          isPage ? 200 : 301,
          isPage ? 'ok' : 'redirect',
          isPage && n % 4 === 0 ? 'exact' : null,
          depthOf(n),
          depthOf(n) * 1_000,
          n,
        );
      }
    }
  })();
  db.close();
}

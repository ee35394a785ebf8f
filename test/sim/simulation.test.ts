/** The simulator itself: the same run twice, kills, faults, an end for every phase two, and checkers that see what is wrong. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../../src/compose-sim.ts';
import { NO_FAULTS } from '../../src/sim/faults.ts';
import type { SimulationOptions, SimulationResult } from '../../src/sim/run.ts';
import { WEB_PRESETS } from '../../src/sim/web/options.ts';
import { faultLoop, WAYS } from './fault-loop.ts';
import { MINUTE, simConfig, swarmOptions, TINY_WEB } from './swarm-options.ts';

/** Hosts that answer, so that no run waits for hours of virtual time. */
const WEB = { ...TINY_WEB, sites: 6, hosts: {}, pages: { missing: 0.05, redirect: 0.05, 'near-copy': 0.05 } };
const BASE: SimulationOptions = { config: simConfig({ run: { shards: 2 } }), web: WEB, seed: 11, seedCount: 2 };

/** Every place is tried by `node test/sim/fault-loop.ts`. */
const LOOP_STEP = 89;

function assertClean(result: SimulationResult): void {
  assert.deepEqual(result.findingLines, [], `seed ${result.seed}`);
  assert.equal(result.overall.unaccounted, 0);
}

describe('a simulated crawl', () => {
  it('of one seed is the same run twice, and of another seed another one', async () => {
    const [one, two, other] = [await simulate(BASE), await simulate(BASE), await simulate({ ...BASE, seed: 12 })];
    assert.equal(one.eventHash, two.eventHash);
    assert.deepEqual(one.totals, two.totals);
    assert.equal(one.tookMs, two.tookMs);
    assert.notEqual(one.eventHash, other.eventHash);
    assertClean(one);
    assertClean(other);
  });

  it('with faults is the same run twice as well', async () => {
    const options = swarmOptions(8);
    const [one, two] = [await simulate(options), await simulate(options)];
    assert.ok(one.starts > 1, 'the seed has kills');
    assert.equal(one.eventHash, two.eventHash);
    assert.deepEqual(one.faults, two.faults);
  });

  it('finishes with every link admitted and every row counted, and waits for nothing in real time', async () => {
    const result = await simulate(BASE);
    assert.equal(result.reason, 'finished');
    assert.equal(result.overall.queued, 0);
    assert.ok(result.recount !== undefined && result.recount.keys.length === result.overall.admitted);
    assert.ok(result.tookMs > MINUTE, 'pauses of a second a host add up');
    assertClean(result);
  });

  it('killed again and again admits the same URLs as one that never was (R-D2)', async () => {
    const plain = await simulate(BASE);
    for (const powerCuts of [0, 1]) {
      const faults = { ...NO_FAULTS, untilMs: 30 * MINUTE, killEveryMs: 12_000, downMsMax: 5_000, powerCuts };
      const killed = await simulate({ ...BASE, faults });
      assert.ok(killed.starts > 2, `${killed.starts} starts`);
      assert.deepEqual(killed.recount?.keys, plain.recount?.keys);
      assert.deepEqual(killed.recount?.pages, plain.recount?.pages);
      assertClean(killed);
    }
  });

  it('goes the same way when rows of ended URLs are not kept and hosts are packed into numbers', async () => {
    // Links alone: no body is a copy of another, which is all that the rows would be asked for.
    const web = { ...WEB, body: 'links' as const, pages: { missing: 0.05, redirect: 0.05 } };
    const [kept, packed] = [await simulate({ ...BASE, web }), await simulate({ ...BASE, web, checkRows: false, keepOutput: false })];
    assert.equal(packed.eventHash, kept.eventHash);
    assert.deepEqual(packed.totals, kept.totals);
    assertClean(packed);
  });

  it('admits and fetches the same URLs when pages are handed over as generated instead of written and parsed as HTML', async () => {
    const pages = { missing: 0.05, redirect: 0.05, noindex: 0.05, copy: 0.05, 'bad-coding': 0.05 };
    const links = { ...WEB.links, odd: 0.3, nofollow: 0.1 };
    const runs: SimulationResult[] = [];
    for (const body of ['links', 'generated'] as const)
      runs.push(await simulate({ ...BASE, web: { ...WEB, hosts: { 'endless-path': 0.3 }, body, links, pages } }));
    const [html, generated] = runs as [SimulationResult, SimulationResult];
    runs.forEach(assertClean);
    assert.ok(generated.overall.admitted > 50, `${generated.overall.admitted} URLs`);
    assert.deepEqual(generated.recount?.keys, html.recount?.keys);
    assert.deepEqual(generated.recount?.pages, html.recount?.pages);
    for (const part of ['found', 'rejected', 'fetched', 'dropped'] as const)
      assert.deepEqual(generated.overall[part], html.overall[part], part);
  });

  it('under a request rate uses all of it, and each shard gets its share', async () => {
    const config = simConfig({ politeness: { rate: 5 }, run: { shards: 4 } });
    const web = { ...WEB, body: 'generated' as const, sites: 200, pagesPerHost: { min: 50, alpha: 2, max: 100 } };
    const result = await simulate({ ...BASE, config, web, seedCount: 200, forMs: 2 * MINUTE });
    const seconds = result.tookMs / 1_000;
    assert.ok(result.exchanges <= 5 * seconds + 1 && result.exchanges >= 580, `${result.exchanges} requests in ${seconds} s`);
    for (const { requests } of result.totals) assert.ok(requests >= 130, `${requests} requests of one shard`);
    assert.equal(result.constraints[0]?.constraint, 'rate');
    assertClean(result);
  });

  it('whose time is up ends in an orderly way and keeps what waits', async () => {
    const result = await simulate({ ...BASE, forMs: 20_000 });
    assert.equal(result.reason, 'time-limit');
    assert.ok(result.tookMs >= 20_000 && result.tookMs < MINUTE);
    assert.ok(result.overall.queued > 0);
    assertClean(result);
  });

  it('does not depend on how its shards are divided among threads to admit what there is', async () => {
    const keys: (readonly string[] | undefined)[] = [];
    for (const threads of [1, 3]) keys.push((await simulate({ ...BASE, threads })).recount?.keys);
    assert.ok(keys[0] !== undefined && keys[0].length > 30);
    assert.deepEqual(keys[0], keys[1]);
  });

  it('of a web without end or mercy keeps every law', async () => {
    assertClean(await simulate({ ...BASE, web: { ...WEB_PRESETS.hostile, sites: 6 }, seed: 3, forMs: 20 * MINUTE }));
  });
});

describe('the fault loop', () => {
  for (const way of WAYS) {
    it(`ends with the same URLs whichever operation or message fails: ${way} (R-D2)`, async (t) => {
      const { places, tried, failures } = await faultLoop(way, 3, LOOP_STEP);
      t.diagnostic(`${JSON.stringify(tried)} of ${places}`);
      assert.deepEqual(failures, []);
      const count = Object.values(tried).reduce((sum, n) => sum + n, 0);
      assert.ok(count >= 3, `${count} of ${places} places were tried`);
    });
  }
});

describe('what seeds have found', () => {
  it('seed 212: a robots.txt that stalls or breaks off half-way is no answer, and nothing is fetched by it (R-D1)', async () => {
    // The half that arrives of `User-agent: *\nDisallow: /` allows everything.
    const web = { ...WEB, robots: { 'deny-all': 1 } };
    const faults = { ...NO_FAULTS, untilMs: 5 * MINUTE, netStall: 0.5, netReset: 0.5 };
    const result = await simulate({ ...BASE, web, faults });
    assert.ok((result.faults['net-stall'] ?? 0) + (result.faults['net-reset'] ?? 0) > 0);
    assert.ok((result.overall.dropped['robots-disallowed'] ?? 0) > 0);
    assert.equal(result.overall.fetched['ok'] ?? 0, 0);
    assertClean(result);
  });

  it('seed 241: a host of two addresses leaves one that is owed its delay, and is killed: the address is owed it all the same (R-C2)', async () => {
    const config = simConfig({ run: { shards: 2 }, politeness: { delay: 500, addressDelay: 6_000 } });
    const web = { ...WEB, ipv6: 1, shared: { share: 0, addresses: 1, skew: 1 }, cdn: { share: 0, addresses: 1 } };
    const faults = { ...NO_FAULTS, untilMs: 10 * MINUTE, killEveryMs: 8_000, downMsMax: 500 };
    const result = await simulate({ ...BASE, config, web, faults });
    assert.ok(result.starts > 10, `${result.starts} starts`);
    assertClean(result);
  });

  it('seeds 818, 5223, 5294: finds that were acknowledged stay, though the process died before its log was synced and the power went later (R-L1, R-M2)', async () => {
    const config = simConfig({ run: { shards: 3 } });
    const faults = { ...NO_FAULTS, untilMs: 20 * MINUTE, killEveryMs: 6_000, powerCuts: 0.5, syncSlow: 0.5, downMsMax: 500 };
    for (const seed of [12, 14]) {
      const result = await simulate({ ...BASE, config, seed, faults });
      assert.ok((result.faults.kill ?? 0) > 10 && (result.faults['lost-batch'] ?? 0) > 0, JSON.stringify(result.faults));
      assert.equal(result.reason, 'finished');
      assertClean(result);
    }
  });

  it('seeds 5411, 5943: starts of which none makes a commit durable all name the same one, and the verifier finds it (R-C8)', async () => {
    const faults = { ...NO_FAULTS, untilMs: 10 * MINUTE, killEveryMs: 2_000, powerCuts: 0.5, syncSlow: 0.5, downMsMax: 500 };
    const result = await simulate({ ...BASE, seed: 12, faults });
    assert.ok(result.starts > 10, `${result.starts} starts`);
    assertClean(result);
  });

  it('seeds 5926, 6554: finds on their way when the page limit is reached wait in the outboxes, and the totals count them as in transit (R-M2)', async () => {
    const config = simConfig({ run: { shards: 3 }, limits: { maxPages: 10 } });
    const result = await simulate({ ...BASE, config, seed: 13, faults: { ...NO_FAULTS, untilMs: 30 * MINUTE, linkLost: 0.6 } });
    assert.equal(result.reason, 'page-limit');
    assert.ok(result.overall.inTransit > 0);
    assertClean(result);
  });
});

describe('the checkers', () => {
  it('see a crawler that takes shorter pauses than its configuration says', async () => {
    // The watch is told of a delay of two seconds; the engine runs with one.
    const told = simConfig({ politeness: { delay: 2_000, delayFactor: 0 } });
    const result = await simulate({ ...BASE, watchConfig: told, config: simConfig({ politeness: { delay: 1_000, delayFactor: 0 } }) });
    assert.ok((result.findings.gap ?? 0) > 0);
    assert.ok((result.findings['address-gap'] ?? 0) > 0);
  });
});

describe('seeds of the swarm', () => {
  for (const seed of [1, 5, 7, 8, 23]) {
    it(`seed ${seed} runs to its end without a finding`, async () => {
      assertClean(await simulate(swarmOptions(seed)));
    });
  }
});

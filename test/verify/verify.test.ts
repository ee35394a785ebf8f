/** A ledger that was forged to show one offence is found guilty of that one, and the same ledger without it of none (R-C8). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LedgerConfig } from '../../src/output/ledger-config.ts';
import { FINDINGS_MAX, type Undecidable, type Violation } from '../../src/verify/findings.ts';
import { orderOfBoots } from '../../src/verify/shard-reader.ts';
import type { VerifyOptions } from '../../src/verify/verify.ts';
import { Forge, HOST } from './forge.ts';

const ALLOW = 'User-agent: *\nDisallow: /private\n';

function finds(
  forge: Forge,
  expected: Partial<Record<Violation, number>>,
  options: VerifyOptions = {},
  without: readonly string[] = [],
): void {
  const report = forge.verify(options, without);
  assert.deepEqual(report.violations, expected, report.findings.map(({ kind, text }) => `${kind}: ${text}`).join('\n'));
}

function undecided(forge: Forge, expected: Partial<Record<Undecidable, number>>): void {
  const report = forge.verify();
  assert.deepEqual(report.undecidable, expected);
  assert.deepEqual(report.violations, {});
}

/** A crawl with a robots.txt in force, whose pause has been waited for. */
function crawl(config: Partial<LedgerConfig> = {}, robots = ALLOW): Forge {
  return Forge.begun(config).robots(robots).wait(1_000);
}

describe('R-C8: a polite crawl', () => {
  test('nothing is found in an empty ledger, nor in one of many pages, segments, commits and openings', () => {
    finds(Forge.begun(), {});
    const forge = crawl();
    for (let n = 0; n < 30; n++) {
      forge.page({ path: `/${n}` }).wait(1_000);
      if (n % 7 === 3) forge.mark();
      if (n % 10 === 5) forge.rotate();
      if (n % 10 === 9) forge.mark().open();
    }
    finds(forge, {}, { committed: forge.mark().committed() });
    const report = forge.verify();
    assert.deepEqual(
      [report.requests, report.pages, report.robotsRequests, report.hosts, report.openings, report.undecidable],
      [31, 30, 1, 1, 4, {}],
    );
  });

  test('every offence is counted, the first ones are kept with their records', () => {
    const forge = crawl();
    for (let n = 0; n < FINDINGS_MAX + 50; n++) forge.page({ path: '/private' }).wait(1_000);
    const report = forge.verify();
    assert.deepEqual(report.violations, { 'robots-denied': FINDINGS_MAX + 50 });
    assert.equal(report.findings.length, FINDINGS_MAX);
    assert.deepEqual([report.findings[0]?.hostKey, report.findings[0]?.records.length], [HOST, 1]);
  });
});

describe('R-C1 R-C2: in flight', () => {
  test('two requests to one host, over whatever address', () => {
    const forge = crawl({ addressDelayMs: 0 });
    const end = forge.start({ path: '/a' });
    forge.wait(5_000);
    const endOther = forge.start({ path: '/b', address: '93.184.216.35' });
    end();
    endOther();
    finds(forge, { 'host-overlap': 1 });
  });

  test('two hosts on one address, over two shards', () => {
    const forge = crawl({ addressDelayMs: 0 }).open(1);
    forge.robots(ALLOW, { shard: 1, host: 'other.example' }).wait(1_000);
    const end = forge.start({ path: '/a' });
    forge.wait(20).page({ shard: 1, host: 'other.example' });
    end();
    finds(forge, { 'address-overlap': 1 });
  });

  test('two hosts on one address, over two shards, one of which never wrote how its request ended', () => {
    for (const isOpenedAgain of [false, true]) {
      const forge = crawl({ addressDelayMs: 0 }).open(1);
      forge.robots(ALLOW, { shard: 1, host: 'other.example' }).wait(1_000);
      forge.start({ path: '/a' });
      forge.wait(20).page({ shard: 1, host: 'other.example' });
      if (isOpenedAgain) forge.wait(1_000).open();
      undecided(forge, { 'lost-end': 1 });
    }
  });

  test('hosts in one IPv6 network of 64 bits are one server, in two they are not', () => {
    for (const [other, expected] of [
      ['2a00:1450:4001:82b::99', { 'address-gap': 1 }],
      ['2a00:1450:4001:82c::99', {}],
    ] as const) {
      const forge = Forge.begun();
      forge.robots(ALLOW, { address: '2a00:1450:4001:82b::1' });
      forge.robots(ALLOW, { host: 'other.example', address: other });
      finds(forge, expected);
    }
  });
});

describe('R-C1 R-C3: pauses of a host', () => {
  /** Two pages; what the first one did sets `owedMs`, and 10 ms less than nine tenths of it are found. */
  const owes = (owedMs: number, deed: Parameters<Forge['page']>[0], config: Partial<LedgerConfig> = {}, robots = ALLOW): void => {
    for (const [ms, expected] of [
      [owedMs, {}],
      [owedMs - 1.5, {}],
      [owedMs * 0.9, { 'host-gap': 1 }],
    ] as const) {
      const forge = Forge.begun({ addressDelayMs: 0, ...config })
        .robots(robots)
        .wait(400_000);
      finds(forge.page(deed).wait(ms).page({ path: '/next' }), expected);
    }
  };

  test('the delay', () => owes(1_000, {}));
  test('the delay factor', () => owes(5 * 700, { durationMs: 700 }));
  test('the delay factor up to its bound', () => owes(30_000, { durationMs: 9_000 }));
  test('Crawl-delay', () => owes(7_500, {}, {}, 'User-agent: testbot\nCrawl-delay: 7.5\n'));
  test('429 and 503 double the pause, from a second on', () => {
    owes(2_000, { status: 503, outcome: 'unavailable', isFinal: false }, { delayMs: 50 });
    owes(6_000, { status: 429, outcome: 'rate-limited', isFinal: false }, { delayMs: 3_000 });
    owes(20_000, { status: 503, outcome: 'unavailable', isFinal: false }, {}, 'User-agent: *\nCrawl-delay: 10\n');
  });
  test('Retry-After, up to its bound', () => {
    owes(60_000, { status: 503, outcome: 'unavailable', retryAfterMs: 60_000 });
    owes(90_000, { status: 429, outcome: 'rate-limited', retryAfterMs: 3_600_000 }, { retryAfterMaxMs: 90_000 });
    owes(2_000, { status: 503, outcome: 'unavailable', retryAfterMs: 10 });
  });
  test('a failed connection', () => owes(10_000, { status: 0, outcome: 'connect-failed', peer: '', isFinal: false }));

  test('each 503 doubles again, each other answer takes one back', () => {
    const forge = crawl();
    const busy = { status: 503, outcome: 'unavailable', isFinal: false } as const;
    forge.page(busy).wait(2_000).page(busy).wait(4_000).page(busy).wait(8_000).page().wait(4_000).page().wait(2_000).page().wait(1_000);
    finds(forge.page(), {});
    forge.wait(1_000).page(busy).wait(2_000).page(busy).wait(2_000).page();
    finds(forge, { 'host-gap': 1 });
  });

  test('Crawl-delay counts from the exchange on that brings it, and per origin', () => {
    const forge = Forge.begun().robots('User-agent: *\nCrawl-delay: 9\n', { scheme: 'https' }).wait(2_000);
    finds(forge.robots(ALLOW), { 'host-gap': 1 });
  });

  test('a page of a host that asks for more than the crawl can wait', () => {
    finds(crawl({}, 'User-agent: *\nCrawl-delay: 4000\n').page(), { 'crawl-delay-bound': 1 });
  });

  test('with a changed configuration the lesser pause is enough, and nothing less', () => {
    const rerun = (waitMs: number): Forge => {
      const forge = crawl({ delayMs: 5_000, addressDelayMs: 0 }).wait(4_000).page().mark();
      forge.config = { ...forge.config, delayMs: 2_000 };
      return forge.open().wait(waitMs).page();
    };
    finds(rerun(2_000), {});
    finds(rerun(1_800), { 'host-gap': 1 });
  });
});

test('R-C2: the pause of an address, over hosts and shards', () => {
  for (const [ms, expected] of [
    [1_000, {}],
    [900, { 'address-gap': 1 }],
  ] as const) {
    const forge = crawl().open(1).robots(ALLOW, { shard: 1, host: 'other.example', address: '93.184.216.99' }).wait(1_000);
    finds(forge.page().wait(ms).page({ shard: 1, host: 'other.example' }), expected);
  }
});

describe('R-C6: the request rate', () => {
  const atRate = (perS: number, pauseMs: number): Forge => {
    const forge = Forge.begun({ ratePerS: perS, addressDelayMs: 0 });
    for (let n = 0; n < 200; n++) forge.robots(ALLOW, { host: `h${n}.example`, durationMs: 1 }).wait(pauseMs - 1);
    return forge;
  };
  test('is kept, and a tenth more is found', () => {
    finds(atRate(20, 50), {});
    assert.ok((atRate(20, 45).verify().violations.rate ?? 0) > 50);
  });
});

describe('R-D1 R-D2: robots.txt', () => {
  test('a path that it forbids, one that another group forbids, one that Allow opens again', () => {
    finds(crawl().page({ path: '/private/x' }), { 'robots-denied': 1 });
    finds(crawl({}, 'User-agent: other\nDisallow: /\n').page(), {});
    finds(crawl({}, 'User-agent: TestBot\nDisallow: /a\nAllow: /a/b\n').page({ path: '/a/b' }), {});
  });
  test('a page before it was asked for', () => finds(Forge.begun().page(), { 'robots-missing': 1 }));
  test('a page while it cannot be reached', () => {
    const forge = Forge.begun().robots('', { status: 503, outcome: 'unavailable' }).wait(2_000);
    finds(forge.page(), { 'robots-denied': 1 });
  });
  test('a page without one (404) is fine', () =>
    finds(Forge.begun().robots('', { status: 404, outcome: 'not-found' }).wait(1_000).page(), {}));
  test('another version than the one in force', () => {
    finds(crawl().page({ robotsHash: '00000000000000aa' }), { 'robots-version': 1 });
    finds(crawl().page({ robotsHash: 'none' }), { 'robots-version': 1 });
  });
  test('that of another scheme or port of the host', () => {
    finds(crawl().page({ scheme: 'https' }), { 'robots-missing': 1 });
    finds(crawl().page({ host: `${HOST}:8080` }), { 'robots-missing': 1 });
  });
  test('one that was put into force for an origin that did not send it', () => {
    const forge = Forge.begun()
      .robots(ALLOW, { origin: `https://${HOST}` })
      .wait(1_000);
    finds(forge.page({ scheme: 'https' }), { 'robots-origin': 1 });
  });
  test('rules made of a failure, everything allowed by one', () => {
    finds(Forge.begun().robots(ALLOW, { status: 500, outcome: 'server-error', state: 'rules' }), { 'robots-state': 2 });
    finds(Forge.begun().robots('', { status: 500, outcome: 'server-error', state: 'allow-all' }), { 'robots-state': 2 });
    finds(Forge.begun().robots(ALLOW, { status: 200, outcome: 'timeout', state: 'rules' }), { 'robots-state': 1 });
    finds(Forge.begun().robots(ALLOW, { status: 0, outcome: 'reset', state: 'last-good', peer: '' }), { 'robots-state': 2 });
  });
  test('the last good copy stays in force over a failure', () => {
    const forge = crawl().robots(ALLOW, { status: 503, outcome: 'unavailable', state: 'last-good' }).wait(2_000);
    finds(forge.page(), {});
    finds(forge.wait(1_000).page({ path: '/private' }), { 'robots-denied': 1 });
  });
  test('behind a redirect to another host', () => {
    const forge = Forge.begun().robots(ALLOW, { hops: 1 }).wait(1_000);
    finds(forge.page({ path: '/private' }), { 'robots-denied': 1 });
  });
  test('one that has expired, or is kept longer than seven days', () => {
    finds(
      crawl()
        .wait(86_400_000 + 120_000)
        .page(),
      { 'robots-stale': 1 },
    );
    finds(Forge.begun().robots(ALLOW, { validMs: 8 * 86_400_000 }), { 'robots-stale': 1 });
  });
  test('what cannot be decided is said: a body that is not in the ledger, a path that was cut', () => {
    undecided(Forge.begun().robots(ALLOW, { stored: false }).wait(1_000).page(), { 'robots-body': 1 });
    undecided(crawl().page({ path: `/${'x'.repeat(20_000)}` }), { 'path-cut': 1 });
  });
  test('a long robots.txt stands in several records and is judged as a whole', () => {
    const long = `User-agent: *\n${'Disallow: /nothing-here\n'.repeat(8_000)}Disallow: /last\n`;
    finds(crawl({}, long).page({ path: '/last' }), { 'robots-denied': 1 });
  });
});

describe('R-E3 R-C7: addresses and the blocklist', () => {
  test('an address that the guard must refuse, and the range that the operator allowed', () => {
    for (const address of [
      '10.0.0.1',
      '169.254.169.254',
      '127.0.0.1',
      '::1',
      'fd00::1',
      '::ffff:192.168.1.1',
      '64:ff9b::a00:1',
      'nonsense',
    ])
      finds(Forge.begun().robots(ALLOW, { address }), { 'forbidden-address': 1 });
    finds(Forge.begun({ netAllow: ['127.0.0.0/8'] }).robots(ALLOW, { address: '127.0.0.1' }), {});
  });
  test('a peer that is not the address that was vetted, and a forbidden one at that', () => {
    finds(Forge.begun().robots(ALLOW, { peer: '93.184.216.99' }), { 'other-address': 1 });
    finds(Forge.begun().robots(ALLOW, { peer: '10.0.0.1' }), { 'other-address': 1, 'forbidden-address': 1 });
    finds(Forge.begun().robots(ALLOW, { address: '::ffff:93.184.216.34', peer: '93.184.216.34' }), {});
  });
  test('a host, an address and a URL that the blocklist names, from the moment it does', () => {
    for (const line of [HOST, 'example', '*.example # all of it', '93.184.0.0/16', '/\\/SECRET/i']) {
      const forge = crawl().page({ path: '/secret' }).wait(1_000);
      forge.blocklist = `# lines\n${line}\n`;
      finds(forge.writeBlocklist().page({ path: '/secret' }), { blocklisted: 1 });
      forge.blocklist = '';
      finds(forge.writeBlocklist().wait(1_000).page({ path: '/secret' }), { blocklisted: 1 });
    }
  });
  test('a blocklist too long for the ledger leaves its requests undecided', () => {
    const forge = crawl();
    forge.blocklist = `${'x'.repeat(30)}.example\n`.repeat(80_000);
    undecided(forge.writeBlocklist().page(), { 'blocklist-text': 1 });
  });
});

describe('R-C5 R-I6: budgets', () => {
  test('one page more than the budget of a host', () => {
    const forge = crawl({ pageBudget: 3 });
    for (let n = 0; n < 3; n++) forge.page({ path: `/${n}` }).wait(1_000);
    forge.page({ status: 404, outcome: 'not-found' }); // asked for although the budget is spent
    finds(forge, { 'page-budget': 1 });
  });
  test('what is no page takes nothing of it, and a new cycle gives it back', () => {
    const forge = crawl({ pageBudget: 2, budgetCycleMs: 100_000 });
    for (let n = 0; n < 5; n++) forge.page({ status: 404, outcome: 'not-found' }).wait(1_000);
    forge.page({ isFinal: false, outcome: 'truncated' }).wait(1_000).page().wait(1_000).page().wait(100_000);
    finds(forge.page(), {});
  });
  test('pages that a crash took back do not count twice', () => {
    const forge = crawl({ pageBudget: 2 }).mark();
    forge.page().wait(1_000).page().wait(1_000).open().wait(1_500).page().wait(1_000).page();
    finds(forge, {});
    finds(forge.wait(1_000).page(), { 'page-budget': 1 });
  });
  test('limits.maxPages over all hosts', () => {
    const forge = crawl({ maxPages: 2 });
    finds(forge.page().wait(1_000).page(), {});
    finds(forge.wait(1_000).page(), { 'max-pages': 1 });
  });
});

describe('R-C8: leases', () => {
  test('a lease that was given out before, or by another opening', () => {
    const twice = crawl();
    finds(twice.page({ lease: 500 }).wait(1_000).page({ lease: 500 }), { 'no-lease': 1 });
    finds(crawl().page({ lease: 2 ** 22 + 5 }), { 'no-lease': 1 });
  });
  test('an end without its start', () => {
    const forge = crawl();
    forge.append(0, { kind: 'end', lease: 99, durationMs: 1, status: 200, outcome: 'ok', bodyBytes: 1 });
    finds(forge, { 'no-lease': 1 });
  });
  test('a shard that was never opened', () => {
    const forge = new Forge();
    forge.append(0, {
      kind: 'header',
      opens: false,
      commitSeq: 0,
      shard: 0,
      bootId: 'b',
      monoMs: 1,
      epochMs: 1,
      configVersion: '',
      agent: '',
    });
    forge.start({ what: 'robots', path: '/robots.txt' });
    assert.equal(forge.verify().violations['no-lease'], 1);
  });
});

describe('R-C8 R-L2: restarts', () => {
  test('after an end that no commit covers the whole pause counts from the opening', () => {
    for (const [ms, expected] of [
      [1_000, {}],
      [900, { 'restart-gap': 2 }],
    ] as const) {
      const forge = crawl().mark().page().wait(800).open();
      finds(forge.wait(ms).page(), expected);
    }
  });
  test('after a request that was cut off, too, with its Crawl-delay and its doublings', () => {
    for (const [ms, expected] of [
      [4_000, {}],
      [3_600, { 'restart-gap': 1 }],
    ] as const) {
      const forge = crawl({ addressDelayMs: 0 }, 'User-agent: *\nCrawl-delay: 4\n').wait(3_000);
      forge.start();
      forge.mark().wait(2_000).open();
      finds(forge.wait(ms).page(), expected);
      assert.equal(forge.verify().cutOff, 1);
    }
    const busy = crawl({ addressDelayMs: 0 }).page({ status: 503, outcome: 'unavailable', isFinal: false }).wait(2_000).mark();
    busy.start();
    finds(busy.wait(1).open().wait(1_800).page(), { 'restart-gap': 1 });
  });
  test('after a commit only the rest of the pause is owed', () => {
    const forge = crawl().page().mark().wait(600).open();
    finds(forge.wait(400).page(), {});
    finds(crawl().page().mark().wait(600).open().wait(100).page(), { 'host-gap': 1, 'address-gap': 1 });
  });
  test('a commit that the opening does not know of covers nothing', () => {
    const forge = crawl().mark();
    const { mark } = { mark: forge.committed().get(0)! };
    forge.page().mark().wait(900);
    // The machine lost power between the sync of the ledger and that of the state.
    forge.append(0, {
      ...{ kind: 'header', opens: true, commitSeq: 1, prior: mark, shard: 0, bootId: forge.boot },
      ...{ monoMs: forge.monoMs, epochMs: forge.epochMs, configVersion: 'c', agent: 'a' },
    });
    forge.wait(200).page({ lease: 2 ** 22 + 1 });
    finds(forge, { 'restart-gap': 2 });
  });
  test('a robots.txt that no commit covers is not in force after the opening', () => {
    const forge = Forge.begun().mark().robots(ALLOW).wait(10).open().wait(1_500);
    finds(forge.page(), { 'robots-missing': 1 });
  });
  test('an opening of one shard does not excuse another', () => {
    const forge = crawl().open(1);
    forge.page().wait(100).open(1).wait(100);
    finds(forge.page(), { 'host-gap': 1, 'address-gap': 1 });
  });
});

describe('R-C8: clocks', () => {
  test('a wall clock that is set does not move a monotonic pause', () => {
    const forward = crawl().page();
    forward.epochMs += 3_600_000;
    undecided(forward.wait(500).page(), { 'clock-step': 2 });
    const back = crawl().page();
    back.epochMs -= 3_600_000;
    finds(back.wait(500).page(), { 'host-gap': 1, 'address-gap': 1 });
    const kept = crawl().page();
    kept.epochMs -= 3_600_000;
    finds(kept.wait(1_000).page(), {});
  });
  test('over a reboot wall time accuses, and never acquits', () => {
    const reboot = (downMs: number, waitMs: number): Forge => {
      const forge = crawl({ delayMs: 10_000, addressDelayMs: 0 }).wait(9_000).page().mark().wait(downMs);
      forge.boot = 'boot-2';
      forge.monoMs = 40_000;
      return forge.open().wait(waitMs).page();
    };
    undecided(reboot(60_000, 500), { 'another-boot': 1 });
    undecided(reboot(60_000, 10_000), {});
    finds(reboot(3_000, 500), { 'host-gap': 1 });
  });
});

describe('R-C8: boots that a shard has not seen', () => {
  test('a boot whose opening the power took from one shard comes before the next one', () => {
    const forge = crawl().mark();
    forge.open(1);
    forge.robots(ALLOW, { shard: 1, host: 'other.example' }).wait(5_000).mark(1);
    // The second boot opens shard 1 only; the third one opens both.
    forge.boot = 'boot-2';
    forge.monoMs = 50_000;
    forge.wait(60_000).open(1).mark(1).wait(5_000);
    forge.boot = 'boot-3';
    forge.monoMs = 1_000;
    forge.open().open(1).wait(10_000);
    forge.page({ shard: 1, host: 'other.example' }).wait(5_000).page();
    finds(forge, {});
    assert.equal(forge.verify().requests, 4);
  });

  test('the order is that of the shards which know both', () => {
    const shard = (...boots: readonly (readonly [string, number])[]) => new Map(boots.map(([boot, epochMs]) => [boot, { epochMs }]));
    assert.deepEqual(orderOfBoots([shard(['a', 9], ['c', 1]), shard(['a', 9], ['b', 5], ['c', 1])]), ['a', 'b', 'c']);
    assert.deepEqual(orderOfBoots([shard(['a', 0], ['c', 2]), shard(['b', 1])]), ['a', 'b', 'c']);
    assert.deepEqual(orderOfBoots([shard(['a', 2], ['b', 1]), shard(['b', 1], ['a', 2])]), ['b', 'a']);
    assert.deepEqual(orderOfBoots([]), []);
  });
});

describe('R-C8: the evidence itself', () => {
  const long = (): Forge => {
    const forge = crawl();
    for (let n = 0; n < 20; n++) {
      forge.page({ path: `/${n}` }).wait(1_000);
      if (n % 4 === 3) forge.mark();
      if (n === 9) forge.rotate();
    }
    return forge;
  };
  /** Without the frame at this place among the starts; the rest is as it was. */
  const withoutRequest = (forge: Forge, at: number): Forge => {
    const { findings } = forge.verify();
    assert.deepEqual(findings, []);
    const needle = Buffer.from(`/${at}`);
    const bytes = forge.bytes();
    const found = bytes.indexOf(Buffer.concat([Buffer.from([needle.length, 0]), needle]));
    let from = 0;
    while (from + 7 + bytes.readUInt16LE(from) <= found) from += 7 + bytes.readUInt16LE(from);
    let to = from + 7 + bytes.readUInt16LE(from);
    to += 7 + bytes.readUInt16LE(to); // and its end
    return forge.setBytes(Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]));
  };

  test('a request that was taken out is missed, although every checksum is right', () => {
    for (const at of [0, 3, 6]) finds(withoutRequest(long(), at), { 'evidence-missing': 2 });
    // Between the last mark and the end of a full segment the next one tells.
    finds(withoutRequest(long(), 8), { 'evidence-missing': 1 });
  });
  test('a changed byte, a lost file, a file cut short', () => {
    const changed = long();
    changed.bytes()[400]! ^= 1;
    assert.ok((changed.verify().violations['evidence-missing'] ?? 0) >= 1);
    assert.ok((long().verify({}, ['ledger/ledger-s0-00000.ledger']).violations['evidence-missing'] ?? 0) >= 1);
    const short = long();
    assert.ok((short.setBytes(short.bytes().subarray(0, -30)).verify().violations['evidence-missing'] ?? 0) >= 1);
  });
  test('what is missing at the very end is found by what the state says', () => {
    const forge = long();
    finds(forge, {}, { committed: forge.committed() });
    const cut = long();
    const { length } = cut.committed().get(0)!;
    finds(cut.setBytes(cut.bytes(0, 1).subarray(0, length - 1), 0, 1), { 'evidence-missing': 1 }, { committed: cut.committed() });
    finds(cut, { 'evidence-missing': 1 }, { committed: cut.committed() }, ['ledger/ledger-s0-00001.ledger']);
  });
  test('what no commit had promised may be missing before an opening', () => {
    const forge = crawl().mark();
    const committed = forge.bytes();
    forge.page().wait(100);
    forge.setBytes(Buffer.concat([committed, forge.bytes().subarray(committed.length, committed.length + 20)]));
    const torn = forge.bytes();
    finds(forge, {});
    forge.setBytes(torn.subarray(0, committed.length)); // as the opening cuts it
    finds(forge.open().wait(2_000).page(), {});
  });
  test('what a commit had promised may not', () => {
    const forge = crawl();
    const before = forge.bytes();
    forge.page().wait(1_000).mark();
    forge.setBytes(before);
    finds(forge.open().wait(2_000).page(), { 'evidence-missing': 1 });
  });
  test('openings whose commits were all lost name the last commit that was not, however many there are', () => {
    const forge = crawl().mark();
    for (let n = 0; n < 9; n++) forge.page().wait(2_000).markOfLostCommit().open().wait(2_000);
    finds(forge, {}, { committed: forge.committed() });
    forge.page().wait(2_000).mark().open().wait(2_000).page().wait(2_000).mark();
    finds(forge, {}, { committed: forge.committed() });
  });
  test('an opening that goes back behind what an earlier one knew is missed', () => {
    const forge = crawl().mark();
    const before = forge.committed().get(0)!;
    for (let n = 0; n < 3; n++) forge.page().wait(2_000).mark();
    forge.open().wait(2_000);
    finds(forge, { 'evidence-missing': 1 }, { committed: new Map([[0, before]]) });
  });
  test('a ledger of the format before says what it cannot decide', () => {
    const forge = new Forge();
    forge.append(0, {
      kind: 'header',
      opens: true,
      commitSeq: -1,
      shard: 0,
      bootId: 'b',
      monoMs: 1,
      epochMs: 1,
      configVersion: '',
      agent: '',
    });
    forge.page();
    const report = forge.verify();
    assert.equal(report.undecidable['old-format'], 1);
    assert.deepEqual(report.violations, {});
  });
});

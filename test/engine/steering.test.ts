/** Steering, the pure part: requests, what they change, the log they are kept in, and delays of hosts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ErrorCode, PortolanError } from '../../src/core/errors.ts';
import { HostDelays } from '../../src/engine/host-delays.ts';
import { AddedSeedNumbers, seedMessages } from '../../src/engine/seed-messages.ts';
import {
  applyRecord,
  blocklistWith,
  changeOf,
  decodeRecord,
  encodeAnswer,
  encodeRecord,
  encodeRequest,
  NOTHING_STEERED,
  parseBlockEntry,
  parseDelayHost,
  parseRequest,
  requestId,
  STEERING_ITEMS_MAX,
  type SteeringRecord,
  type SteeringRequest,
  type SteeringState,
} from '../../src/engine/steering.ts';
import { rulesInLog, STEERING_LOG, SteeringLog } from '../../src/engine/steering-log.ts';
import type { DiskFile } from '../../src/ports/disk.ts';
import { TestDisk } from '../support/test-disk.ts';

const AT = 1_767_000_000_000;

function refusal(code: ErrorCode, pattern: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof PortolanError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, pattern);
    assert.notEqual(error.remedy, '');
    return true;
  };
}

const parse = (request: object): SteeringRequest => parseRequest(JSON.stringify({ v: 1, ...request }));

test('each verb is understood, and what it names is brought into its one spelling', () => {
  assert.deepEqual(parse({ verb: 'pause', uid: 1_000, id: 7 }), { verb: 'pause', uid: 1_000 });
  assert.deepEqual(parse({ verb: 'show' }), { verb: 'show', uid: -1 });
  assert.deepEqual(parse({ verb: 'block', entries: ['*.Example.com', 'example.com', '192.0.2.0/24', '/x\\.PDF$/i'] }), {
    verb: 'block',
    entries: ['example.com', '192.0.2.0/24', '/x\\.PDF$/i'],
    uid: -1,
  });
  assert.deepEqual(parse({ verb: 'seeds', urls: ['example.com', 'https://example.com/#top'] }), {
    verb: 'seeds',
    urls: ['https://example.com/'],
    uid: -1,
  });
  assert.deepEqual(parse({ verb: 'set', delays: { 'WWW.example.org': 10_000, '*.example.net': null, 'example.org:8080': 0 } }), {
    verb: 'set',
    delays: { 'www.example.org': 10_000, '*.example.net': null, 'example.org:8080': 0 },
    uid: -1,
  });
});

test('a request that cannot be meant is refused with a code, and says what is wrong with it', () => {
  const refused: readonly (readonly [request: unknown, code: ErrorCode, pattern: RegExp])[] = [
    ['nonsense', 'PORTOLAN_CONTROL_INVALID', /not JSON/],
    ['[1]', 'PORTOLAN_CONTROL_INVALID', /not an object/],
    ['null', 'PORTOLAN_CONTROL_INVALID', /not an object/],
    [{ verb: 'pause', v: 2 }, 'PORTOLAN_CONTROL_INVALID', /version 2 is not understood/],
    [{ verb: 'reboot' }, 'PORTOLAN_CONTROL_INVALID', /the verb "reboot" is none of pause/],
    [{ verb: ['pause'] }, 'PORTOLAN_CONTROL_INVALID', /the verb/],
    [{}, 'PORTOLAN_CONTROL_INVALID', /the verb undefined/],
    [{ verb: 'retry', reason: 'timeout' }, 'PORTOLAN_STATE_LOCKED', /needs it stopped/],
    [{ verb: 'pause', uid: 'root' }, 'PORTOLAN_CONTROL_INVALID', /uid/],
    [{ verb: 'pause', uid: -2 }, 'PORTOLAN_CONTROL_INVALID', /uid/],
    [{ verb: 'pause', until: 5 }, 'PORTOLAN_CONTROL_INVALID', /pause has no "until"/],
    [{ verb: 'block', entries: [] }, 'PORTOLAN_CONTROL_INVALID', /at least one/],
    [{ verb: 'block', entries: 'example.com' }, 'PORTOLAN_CONTROL_INVALID', /not a list/],
    [{ verb: 'block', entries: [7] }, 'PORTOLAN_CONTROL_INVALID', /not a list/],
    [{ verb: 'block', entries: Array(STEERING_ITEMS_MAX + 1).fill('a.example') }, 'PORTOLAN_CONTROL_INVALID', /1001 entries/],
    [{ verb: 'seeds', urls: ['ftp://example.com/'] }, 'PORTOLAN_SEED_INVALID', /http and https/],
    [{ verb: 'set', delays: {} }, 'PORTOLAN_CONTROL_INVALID', /names no host/],
    [{ verb: 'set', delays: { 'example.org': '10s' } }, 'PORTOLAN_CONFIG_INVALID', /"10s" is not a delay/],
    [{ verb: 'set', delays: { 'example.org': -1 } }, 'PORTOLAN_CONFIG_INVALID', /-1 is not a delay/],
    [{ verb: 'set', delays: { 'example.org': 86_400_001 } }, 'PORTOLAN_CONFIG_INVALID', /is not a delay/],
    [{ verb: 'set', delays: { 'a b': 1 } }, 'PORTOLAN_CONFIG_INVALID', /delay\.a b/],
  ];
  for (const [request, code, pattern] of refused) {
    const line = typeof request === 'string' ? request : JSON.stringify({ v: 1, ...(request as object) });
    assert.throws(() => parseRequest(line), refusal(code, pattern), line);
  }
});

test('whatever stands on the line, it is understood or refused with a code', () => {
  const value = fc.object({ key: fc.constantFrom('v', 'verb', 'entries', 'urls', 'delays', 'uid', 'id', '__proto__'), maxDepth: 2 });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        value.map((one) => JSON.stringify({ ...one, v: 1 })),
      ),
      (line) => {
        requestId(line);
        try {
          parseRequest(line);
        } catch (error) {
          assert.ok(error instanceof PortolanError, String(error));
        }
      },
    ),
  );
});

test('the id of a request comes back, also when the request is refused', () => {
  assert.equal(requestId('{"id":"a","verb":"nonsense"}'), 'a');
  assert.equal(requestId('{"id":3}'), 3);
  assert.equal(requestId('{"id":{}}'), undefined);
  assert.equal(requestId(`{"id":"${'x'.repeat(101)}"}`), undefined);
  assert.equal(requestId('{'), undefined);
  assert.deepEqual(JSON.parse(encodeAnswer({ ok: true }, 3)), { v: 1, id: 3, ok: true });
});

test('a blocklist entry is refused with what is wrong with it', () => {
  for (const [entry, pattern] of [
    ['', /names nothing/],
    ['# a comment', /names nothing/],
    ['https://example.com/x', /is a URL; give its host/],
    ['foo bar', /neither a host nor an address/],
    ['/open', /does not end in a slash/],
    ['/(/', /not a regular expression/],
    ['192.0.2.0/33', /prefix length/],
    ['a.example\nb.example', /control character/],
    [`${'a'.repeat(1_001)}`, /longer than 1000/],
  ] as const)
    assert.throws(() => parseBlockEntry(entry), refusal('PORTOLAN_BLOCKLIST_INVALID', pattern), entry);
  assert.equal(parseBlockEntry(' .Example.COM # why '), 'example.com');
});

test('a key of delay is a host, a host with its port or a domain, as the keys of hosts are', () => {
  for (const [written, normal] of [
    ['Example.ORG', 'example.org'],
    ['example.org.', 'example.org'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['example.org:8080', 'example.org:8080'],
    ['*.Example.org', '*.example.org'],
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[::1]:8080', '[::1]:8080'],
  ] as const)
    assert.equal(parseDelayHost(written), normal);
  for (const written of [
    '',
    '*.',
    '*',
    'a b',
    'example.org/x',
    'a@b',
    'example.org:80',
    'example.org:443',
    '*.example.org:81',
    '*.127.0.0.1',
  ])
    assert.throws(() => parseDelayHost(written), refusal('PORTOLAN_CONFIG_INVALID', /^delay\./), written);
});

test('what is in force already changes nothing and is not written down', () => {
  let state = NOTHING_STEERED;
  const ask = (request: object): SteeringRequest | undefined => {
    const change = changeOf(state, parse(request));
    if (change !== undefined) state = applyRecord(state, { ...change, atMs: AT });
    return change;
  };
  assert.deepEqual(ask({ verb: 'block', entries: ['a.example', 'b.example'] }), {
    verb: 'block',
    entries: ['a.example', 'b.example'],
    uid: -1,
  });
  assert.equal(ask({ verb: 'block', entries: ['*.a.example'] }), undefined);
  assert.deepEqual(ask({ verb: 'block', entries: ['b.example', 'c.example'] }), { verb: 'block', entries: ['c.example'], uid: -1 });
  assert.deepEqual(state.blocks, ['a.example', 'b.example', 'c.example']);
  ask({ verb: 'unblock', entries: ['B.example'] });
  assert.deepEqual(state.blocks, ['a.example', 'c.example']);
  assert.throws(() => ask({ verb: 'unblock', entries: ['b.example'] }), refusal('PORTOLAN_CONTROL_INVALID', /was not blocked/));
  assert.equal(ask({ verb: 'set', delays: { 'a.example': null } }), undefined);
  ask({ verb: 'set', delays: { 'a.example': 5_000, 'b.example': 1 } });
  assert.equal(ask({ verb: 'set', delays: { 'a.example': 5_000 } }), undefined);
  assert.deepEqual(ask({ verb: 'set', delays: { 'a.example': 5_000, 'b.example': null } })?.verb, 'set');
  assert.deepEqual(state.delays, { 'a.example': 5_000 });
  for (const verb of ['pause', 'resume', 'stop', 'show']) assert.equal(ask({ verb }), undefined);
});

test('bounds of what is kept are said', () => {
  const full: SteeringState = { blocks: Array.from({ length: 10_000 }, (_, n) => `h${n}.example`), delays: {}, seeds: [] };
  assert.throws(
    () => changeOf(full, parse({ verb: 'block', entries: ['x.example'] })),
    refusal('PORTOLAN_CONTROL_INVALID', /bound of 10000/),
  );
  assert.equal(changeOf(full, parse({ verb: 'block', entries: ['h7.example'] })), undefined);
  const delays = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`h${n}.example`, 1]));
  const slow: SteeringState = { ...NOTHING_STEERED, delays };
  assert.throws(
    () => changeOf(slow, parse({ verb: 'set', delays: { 'x.example': 1 } })),
    refusal('PORTOLAN_CONTROL_INVALID', /bound of 1000/),
  );
  assert.notEqual(changeOf(slow, parse({ verb: 'set', delays: { 'x.example': 1, 'h0.example': null } })), undefined);
});

const host = fc.constantFrom('a.example', 'b.example', 'c.example', 'd.example');
const request: fc.Arbitrary<object> = fc.oneof(
  fc.record({ verb: fc.constantFrom('block', 'unblock'), entries: fc.array(host, { minLength: 1, maxLength: 3 }) }),
  fc.record({ verb: fc.constant('seeds'), urls: fc.array(host, { minLength: 1, maxLength: 3 }) }),
  fc.record({
    verb: fc.constant('set'),
    delays: fc.dictionary(host, fc.option(fc.integer({ min: 0, max: 9 })), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
  }),
  fc.record({ verb: fc.constantFrom('pause', 'resume', 'stop') }),
);

test('the state that the log gives after a restart is the state that was in force', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      const temporary = TestDisk.temporary();
      try {
        const log = await SteeringLog.open(temporary.disk);
        let model: SteeringState = NOTHING_STEERED;
        for (const one of requests) {
          const parsed = parse(one);
          let change: SteeringRequest | undefined;
          try {
            change = changeOf(log.state, parsed);
          } catch {
            continue;
          }
          const record: SteeringRecord = { ...(change ?? parsed), atMs: AT };
          await log.append(record);
          model = applyRecord(model, record);
        }
        log.close();
        assert.deepEqual(log.state, model);
        assert.deepEqual((await SteeringLog.open(temporary.disk)).state, model);
      } finally {
        temporary.remove();
      }
    }),
    { numRuns: 30 },
  );
});

test('a torn last line is cut off, what stands before it is kept, and the log goes on behind it', async () => {
  const temporary = TestDisk.temporary();
  try {
    const log = await SteeringLog.open(temporary.disk);
    await log.append({ verb: 'block', entries: ['a.example'], uid: 0, atMs: AT });
    await log.append({ verb: 'block', entries: ['b.example'], uid: 0, atMs: AT });
    log.close();
    temporary.disk.truncate(STEERING_LOG, temporary.disk.size(STEERING_LOG) - 5);
    const again = await SteeringLog.open(temporary.disk);
    assert.deepEqual(again.state.blocks, ['a.example']);
    await again.append({ verb: 'block', entries: ['c.example'], uid: 0, atMs: AT });
    again.close();
    assert.deepEqual((await SteeringLog.open(temporary.disk)).state.blocks, ['a.example', 'c.example']);
  } finally {
    temporary.remove();
  }
});

test('what a process that died has left in the log is durable, and so is its name, before it is in force', async () => {
  const temporary = TestDisk.temporary();
  try {
    const disk = new (class extends TestDisk {
      readonly synced: string[] = [];
      override openAppend(path: string): DiskFile {
        const file = super.openAppend(path);
        const sync = file.sync.bind(file);
        file.sync = () => {
          this.synced.push(path);
          return sync();
        };
        return file;
      }
      override syncDir(path: string): Promise<void> {
        this.synced.push(path);
        return super.syncDir(path);
      }
    })(temporary.disk.root);
    const left = disk.openAppend(STEERING_LOG);
    left.append(Buffer.from(encodeRecord({ verb: 'seeds', urls: ['https://a.example/'], uid: 0, atMs: AT })));
    left.close();
    const log = await SteeringLog.open(disk);
    assert.equal(log.state.seeds.length, 1);
    assert.deepEqual(disk.synced, [STEERING_LOG, 'state']);
    log.close();
  } finally {
    temporary.remove();
  }
});

/** Writes, and cannot sync. */
class UnsyncedDisk extends TestDisk {
  override openAppend(path: string): DiskFile {
    const file = super.openAppend(path);
    file.sync = () => Promise.reject(new Error('EIO'));
    return file;
  }
}

test('who only reads the log sees what is blocked and set, whatever seeds and whatever torn line stand in it', () => {
  const records: SteeringRecord[] = [
    { verb: 'block', entries: ['a.example', '/"verb":"seeds"/'], uid: 0, atMs: AT },
    { verb: 'seeds', urls: ['https://b.example/'], uid: 0, atMs: AT },
    { verb: 'set', delays: { 'a.example': 5 }, uid: 0, atMs: AT },
  ];
  const text = records.map(encodeRecord).join('');
  for (const torn of ['', '{"v":1,"ver', encodeRecord(records[1]!).slice(0, -1)]) {
    const { blocks, delays } = rulesInLog(text + torn);
    assert.deepEqual([blocks, delays], [['a.example', '/"verb":"seeds"/'], { 'a.example': 5 }]);
  }
});

test('a change that could not be made durable is not in force, and nothing is taken after it', async () => {
  const temporary = TestDisk.temporary();
  try {
    const disk = new UnsyncedDisk(temporary.disk.root);
    const log = await SteeringLog.open(disk);
    const record: SteeringRecord = { verb: 'block', entries: ['a.example'], uid: 0, atMs: AT };
    await assert.rejects(log.append(record), /EIO/);
    await assert.rejects(log.append(record), /EIO/);
    assert.deepEqual(log.state.blocks, []);
    assert.deepEqual((await SteeringLog.open(disk)).state.blocks, []);
  } finally {
    temporary.remove();
  }
});

test('a log of a newer version and a damaged one are told apart', () => {
  const line = encodeRecord({ verb: 'block', entries: ['a.example'], uid: 3, atMs: AT });
  assert.match(
    line,
    /^\{"v":1,"time":"2025-12-29T09:20:00\.000Z","atMs":1767000000000,"uid":3,"verb":"block","entries":\["a\.example"\]\}\n$/,
  );
  assert.throws(() => decodeRecord(line.replace('"v":1', '"v":2'), 'the log'), refusal('PORTOLAN_STATE_NEWER', /the log/));
  for (const damaged of [line.replace('block', 'blork'), line.slice(0, 40), '{}', line.replace('"atMs"', '"at"')])
    assert.throws(() => decodeRecord(damaged, 'the log, line 3'), refusal('PORTOLAN_STATE_DAMAGED', /the log, line 3/));
});

test('what is blocked by hand stands behind the text of the file', () => {
  assert.equal(blocklistWith(undefined, []), undefined);
  assert.deepEqual(blocklistWith({ text: 'a.example', file: 'f' }, []), { text: 'a.example', file: 'f' });
  assert.deepEqual(blocklistWith({ text: 'a.example', file: 'f' }, ['b.example']), { text: 'a.example\nb.example\n', file: 'f' });
  assert.deepEqual(blocklistWith(undefined, ['b.example']), { text: 'b.example\n', file: 'portolan block' });
});

test('requests and records survive being written', () => {
  fc.assert(
    fc.property(request, fc.integer({ min: -1, max: 70_000 }), (one, uid) => {
      const parsed = parse({ ...one, uid });
      assert.deepEqual(parseRequest(encodeRequest(parsed)), parsed);
      assert.deepEqual(decodeRecord(encodeRecord({ ...parsed, atMs: AT }), 'x'), { ...parsed, atMs: AT });
    }),
  );
});

test('added seeds are one list for good: the same additions are numbered alike, and later ones go on', () => {
  const same = (url: string): string => url;
  const urls = Array.from({ length: 2_500 }, (_, n) => `https://h${n % 7}.example/${n}`);
  const all = new AddedSeedNumbers(4, same);
  const first = [...all.next(urls, AT), ...all.next(['https://h1.example/x'], AT)];
  const again = new AddedSeedNumbers(4, same);
  assert.deepEqual([...again.next(urls, AT), ...again.next(['https://h1.example/x'], AT)], first);
  for (const to of [0, 1, 2, 3]) {
    const lane = first.filter((message) => message.to === to);
    assert.deepEqual(
      lane.map(({ seq }) => seq),
      lane.map((_, at) => at + 1),
    );
    assert.ok(lane.every(({ from, list, count }) => from === -2 && list === 'added' && count <= 1_000));
  }
  assert.equal(
    first.reduce((sum, { count }) => sum + count, 0),
    2_501,
  );
  assert.ok(
    seedMessages(urls, 4, same, AT).every(({ from }) => from === -1),
    'a run has its own list and sender',
  );
});

const GAP = { delayMs: 1_000, delayFactor: 5, delayFactorMaxMs: 30_000, retryAfterMaxMs: 86_400_000 };
const QUICK = { durationMs: 0, crawlDelayMs: -1, backoff: 0, retryAfterMs: undefined };

test('a delay is set for a host on all its ports, for one port, or for a domain; the closest one counts', () => {
  const delays = new HostDelays({ 'a.example': 2_000, 'a.example:81': 3_000, '*.example': 4_000, '*.b.example': 5_000 });
  for (const [key, ms] of [
    ['a.example', 2_000],
    ['a.example:8080', 2_000],
    ['a.example:81', 3_000],
    ['www.a.example', 4_000],
    ['b.example', 5_000],
    ['x.y.b.example:81', 5_000],
    ['example', 4_000],
    ['ample', undefined],
    ['other.test', undefined],
  ] as const)
    assert.equal(delays.of(key), ms, key);
  assert.equal(new HostDelays().of('a.example'), undefined);
});

test('R-C1: a delay that was set, shorter or longer, never undercuts Crawl-delay, a slow answer, 429 and Retry-After', () => {
  const gap = (ms: number, more: object) => new HostDelays({ h: ms }).gapAfter('h', { ...QUICK, ...more }, GAP);
  assert.deepEqual(gap(10, {}), { owedMs: 10, rule: 'host-delay' });
  assert.deepEqual(gap(10_000, {}), { owedMs: 10_000, rule: 'host-delay' });
  assert.deepEqual(gap(10, { crawlDelayMs: 7_000 }), { owedMs: 7_000, rule: 'crawl-delay' });
  assert.deepEqual(gap(8_000, { crawlDelayMs: 7_000 }), { owedMs: 8_000, rule: 'host-delay' });
  assert.deepEqual(gap(10, { durationMs: 900 }), { owedMs: 4_500, rule: 'duration' });
  assert.deepEqual(gap(10, { backoff: 1 }), { owedMs: 2_000, rule: 'backoff' });
  assert.deepEqual(gap(10, { backoff: 1, retryAfterMs: 9_000 }), { owedMs: 9_000, rule: 'retry-after' });
  assert.deepEqual(new HostDelays({ h: 10 }).gapAfter('other', QUICK, GAP), { owedMs: 1_000, rule: 'default' });
});

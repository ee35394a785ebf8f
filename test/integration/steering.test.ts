/** A running crawl is steered over its socket (docs/STEERING.md): each change is in force before the next fetch, and what outlives the run is there after kill -9. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectControl } from '../../src/adapters/node/control-socket.ts';
import { encodeRequest, type SteeringRequest } from '../../src/engine/steering.ts';
import type { LedgerStart } from '../../src/output/politeness-ledger.ts';
import { CLOCK_SLACK_MS } from '../support/access-log.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { capture, portolan, type RunningProcess } from '../support/process.ts';
import { page, type WebHost, type WebRequest, type WebServer } from '../support/web-server.ts';
import { type Crawl, type CrawlOptions, crawl, type Row, readLedger, readRows, recount, scratch, startsOf, webFor } from './crawl.ts';

/** A chain of pages, each leading to the next two. */
function chain(name: string, address: string, pages: number, more: Partial<WebHost> = {}): WebHost {
  return {
    name,
    address,
    page: ({ path }: WebRequest) => {
      const at = path === '/' ? 0 : Number(path.slice(1));
      const links = [at + 1, at + 2].filter((next) => next < pages).map((next) => `/${next}`);
      return at < pages ? page(`${name} ${at}`, links) : undefined;
    },
    ...more,
  };
}

/** Pages without end, two new ones behind each, as long as the test wants the crawl to go on. */
interface Endless {
  on: boolean;
}

function endless(name: string, address: string, going: Endless, more: Partial<WebHost> = {}): WebHost {
  return {
    name,
    address,
    page: ({ path }: WebRequest) => {
      const at = path === '/' ? 0 : Number(path.slice(1).split('?')[0]);
      return page(`${name} ${at}`, going.on ? [`/${at + 1}`, `/${at + 2}`] : []);
    },
    ...more,
  };
}

interface Steering {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What it said, with --json. */
  readonly said: Readonly<Record<string, unknown>>;
  /** Epoch ms after its end: what it did is in force. */
  readonly atMs: number;
}

async function steer(...args: readonly string[]): Promise<Steering> {
  const { command, args: all } = portolan(...args, '--json');
  const { code, stdout, stderr, atMs } = await capture(command, all);
  return { code, stdout, stderr, atMs, said: stdout.startsWith('{') ? (JSON.parse(stdout) as Record<string, unknown>) : {} };
}

async function steered(...args: readonly string[]): Promise<Steering> {
  const done = await steer(...args);
  assert.equal(done.code, 0, `${args.join(' ')}: ${done.stderr}`);
  return done;
}

async function until(what: string, is: () => boolean): Promise<void> {
  const giveUp = Date.now() + 60_000;
  while (!is()) {
    assert.ok(Date.now() < giveUp, `still waiting until ${what}`);
    await sleep(10);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Requests that left within a span of time, by the ledger. */
function startsBetween(out: string, fromMs: number, toMs: number): readonly string[] {
  return readLedger(out).flatMap((record) =>
    record.kind === 'start' && record.epochMs > fromMs && record.epochMs < toMs ? [`${record.hostKey}${record.path}`] : [],
  );
}

/** A crawl that goes on while it is steered. `kill` ends it as a power cut of the process would. */
async function begun(web: WebServer, options: CrawlOptions): Promise<{ readonly ended: Promise<Crawl>; kill(): void }> {
  let process: RunningProcess | undefined;
  const ended = crawl({ ...options, onEvent: (_event, running) => (process = running) });
  ended.catch(() => {});
  await until('pages come', () => web.log.pages().length >= 3 && process !== undefined);
  return { ended, kill: () => process!.killGroup() };
}

/** From the end of each exchange with a host to the next start, on the crawler's own clock. */
function ledgerPauses(out: string, hostKey: string): readonly { readonly ms: number; readonly startMs: number; readonly path: string }[] {
  const pauses: { ms: number; startMs: number; path: string }[] = [];
  let before: LedgerStart | undefined;
  let endMonoMs = Number.NaN;
  for (const record of readLedger(out)) {
    if (record.kind === 'end' && record.lease === before?.lease) endMonoMs = before.monoMs + record.durationMs;
    if (record.kind !== 'start' || record.hostKey !== hostKey) continue;
    if (!Number.isNaN(endMonoMs)) pauses.push({ ms: record.monoMs - endMonoMs, startMs: record.epochMs, path: record.path });
    before = record;
  }
  return pauses;
}

interface Change {
  readonly verb: string;
  readonly uid: number;
  readonly time: string;
  readonly [key: string]: unknown;
}

function changes(out: string): readonly Change[] {
  const text = readFileSync(join(out, 'state', 'steering.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Change);
}

const once = (rows: readonly Row[], outcome: string): readonly string[] =>
  rows.filter((row) => (row.reason ?? row.outcome) === outcome).map(({ url }) => url);

test('pause: nothing new leaves after the answer; resume goes on and nothing is lost or fetched twice', async (t) => {
  const going = { on: true };
  const web = await webFor(t, chain('pause.test', '127.46.1.1', 30), endless('long.test', '127.46.1.2', going));
  const out = join(scratch(t), 'out');
  const seeds = ['pause.test', 'long.test'].map((name) => `${web.origin(name)}/`);
  const { ended } = await begun(web, { web, out, seeds, config: { politeness: { delay: 40 } } });
  const paused = await steered('pause', out);
  assert.deepEqual(paused.said, { verb: 'pause', running: true, applied: true });
  await web.idle();
  const before = web.log.entries().length;
  await sleep(600);
  assert.equal(web.log.entries().length, before, 'requests within the pause');
  const resumedMs = Date.now();
  await steered('resume', out);
  await until('it goes on', () => web.log.entries().length > before + 5);
  going.on = false;
  const done = await ended;
  assert.deepEqual(startsBetween(out, paused.atMs, resumedMs), []);
  assert.equal(once(done.rows, 'ok').filter((url) => url.includes('pause.test')).length, 30);
  assert.deepEqual([...web.log.repeats().keys()], []);
  assert.ok(done.notices.some((notice) => notice.startsWith('paused by user ')));
  assert.deepEqual(
    changes(out).map(({ verb, uid }) => [verb, uid]),
    ['pause', 'resume'].map((verb) => [verb, process.getuid?.() ?? -1]),
  );
});

test('a host whose name was being looked up when the pause came is not asked before it ends', async (t) => {
  const going = { on: true };
  const web = await webFor(t, endless('known.test', '127.46.11.1', going));
  const late = await webFor(t, chain('late.test', '127.46.11.2', 1));
  const answerMs = 1_500;
  const dns = await startDnsServer((name) =>
    name === 'late.test' ? { kind: 'answer', addresses: ['127.46.11.2'], delayMs: answerMs } : undefined,
  );
  t.after(() => dns.close());
  const out = join(scratch(t), 'out');
  const seeds = [`${web.origin('known.test')}/`];
  const { ended } = await begun(web, { web, out, seeds, config: { dns: { servers: [dns.server], timeout: 10_000 } } });
  const client = await connectControl(out, 1_000_000);
  assert.ok(client !== undefined);
  const ask = async (request: SteeringRequest): Promise<void> => {
    assert.equal((JSON.parse(await client.ask(encodeRequest(request))) as { applied: unknown }).applied, true);
  };
  await ask({ verb: 'seeds', urls: [`${late.origin('late.test')}/`], uid: 0 });
  await until('the name is asked for', () => dns.questions.includes('A late.test'));
  await ask({ verb: 'pause', uid: 0 });
  await sleep(answerMs + 500);
  assert.deepEqual(late.log.entries(), []);
  await ask({ verb: 'resume', uid: 0 });
  await until('it is fetched', () => late.log.pages().length === 1);
  client.close();
  going.on = false;
  await ended;
});

test('a paused crawl is stopped in order, stop waits for its end, and the next run is not paused', async (t) => {
  const going = { on: true };
  const web = await webFor(t, endless('stop.test', '127.46.2.1', going));
  const options = { web, out: join(scratch(t), 'out'), seeds: [`${web.origin('stop.test')}/`], config: { politeness: { delay: 60 } } };
  const { ended } = await begun(web, { ...options, code: 130 });
  await steered('pause', options.out);
  const stopped = await steered('stop', options.out);
  assert.deepEqual(stopped.said, { verb: 'stop', running: false, applied: true });
  assert.ok(!existsSync(join(options.out, 'control.sock')));
  const cut = await ended;
  assert.equal(cut.report.reason, 'stopped');
  assert.ok(cut.report.queued > 0);
  going.on = false;
  const done = await crawl(options);
  assert.deepEqual(done.report.fetched, { ok: web.log.pages().length });
  assert.deepEqual([...web.log.repeats().keys()], []);
});

test('R-C7: block is in force before the next fetch, drops what waits as blocklisted, and holds in later runs', async (t) => {
  const going = { on: true };
  const names = ['keep.test', 'bad.test', 'sub.bad.test', 'net.test'];
  const web = await webFor(t, ...names.map((name, at) => endless(name, name === 'net.test' ? '127.46.33.4' : `127.46.3.${at + 1}`, going)));
  const options = {
    web,
    out: join(scratch(t), 'out'),
    seeds: names.map((name) => `${web.origin(name)}/`),
    config: { politeness: { delay: 50 } },
  };
  const { ended } = await begun(web, options);
  await until('each host was asked', () => names.every((name) => web.log.pages().some(({ host }) => host.startsWith(`${name}:`))));
  const blocked = await steered('block', options.out, 'bad.test', '127.46.33.0/24', '/keep\\.test:\\d+\\/\\d*7$/');
  assert.deepEqual(blocked.said, { verb: 'block', running: true, applied: true, changed: 3 });
  const listed = await steered('block', options.out);
  assert.deepEqual(listed.said['blocks'], ['bad.test', '127.46.33.0/24', '/keep\\.test:\\d+\\/\\d*7$/']);
  const after = (): readonly string[] => startsBetween(options.out, blocked.atMs, Number.POSITIVE_INFINITY);
  await until('more than ten pages come after it', () => web.log.pages().filter(({ startMs }) => startMs > blocked.atMs).length > 12);
  going.on = false;
  const done = await ended;
  assert.ok(after().length > 10);
  assert.ok(
    after().every((start) => /^keep\.test:\d+\/\d*[^7]$/.test(start)),
    after().join(' '),
  );
  const dropped = once(done.rows, 'blocklisted');
  for (const name of ['bad.test', 'sub.bad.test'])
    assert.ok(
      dropped.some((url) => url.startsWith(`${web.origin(name)}/`)),
      `${name} has URLs that ended as blocklisted`,
    );
  assert.ok(once(done.rows, 'forbidden-address').some((url) => url.startsWith(`${web.origin('net.test')}/`)));
  assert.equal(done.report.queued, 0);

  const fetched = web.log.entries().length;
  const seeds = [`${web.origin('bad.test')}/new`, `${web.origin('keep.test')}/1000007`];
  const again = await crawl({ ...options, seeds });
  assert.equal(web.log.entries().length, fetched, 'the next run asks none of them');
  for (const seed of seeds) assert.equal(again.row(seed).reason, 'blocklisted');
  const back = await steered('unblock', options.out, 'bad.test');
  assert.deepEqual(back.said, { verb: 'unblock', running: false, applied: false, changed: 1 });
  const last = await crawl({ ...options, seeds: [`${web.origin('bad.test')}/7?again`] });
  assert.equal(last.row(`${web.origin('bad.test')}/7?again`).outcome, 'ok');
});

test('R-C1: a delay that is set holds from the next fetch on and in later runs; Crawl-delay is not undercut', async (t) => {
  const going = { on: true };
  const names = ['slower.test', 'robots.test'];
  const robots = 'User-agent: *\nCrawl-delay: 0.9\n';
  const web = await webFor(t, endless('slower.test', '127.46.4.1', going), endless('robots.test', '127.46.4.2', going, { robots }));
  const options = {
    web,
    out: join(scratch(t), 'out'),
    seeds: names.map((name) => `${web.origin(name)}/`),
    config: { politeness: { delay: 600 } },
  };
  const { ended } = await begun(web, { ...options, code: 130 });
  const set = await steered('set', options.out, 'delay.slower.test=1200ms', 'delay.*.robots.test=10ms');
  assert.deepEqual(set.said, { verb: 'set', running: true, applied: true, changed: 2 });
  const pages = (name: string, sinceMs: number) =>
    web.log.pages().filter(({ startMs, host }) => startMs > sinceMs && host.startsWith(name));
  await until('pages come after it', () => names.every((name) => pages(name, set.atMs).length > 2));
  await steered('stop', options.out);
  const { events } = await ended;
  const inForceMs = Number(events.find(({ text }) => String(text).startsWith('delay.slower.test set'))?.['atMs']);
  const first = ledgerPauses(options.out, `slower.test:${web.port}`).filter(({ startMs }) => startMs > inForceMs);
  assert.ok(first.length > 2);
  for (const { ms, path } of first) assert.ok(ms >= 1_200 - CLOCK_SLACK_MS, `${path} left ${ms} ms after the one before`);
  const resumedMs = Date.now();
  const run = crawl(options);
  await until('the next run has fetched', () => names.every((name) => pages(name, resumedMs).length > 1));
  going.on = false;
  await run;
  const pauses = (name: string, leastMs: number, sinceMs: number): number => {
    const all = web.log
      .pauses('host', `${name}:${web.port}`)
      .filter(({ after }) => after.startMs > sinceMs && after.path !== '/robots.txt');
    for (const { ms, after } of all) assert.ok(ms >= leastMs - CLOCK_SLACK_MS, `${name}${after.path} came after ${ms} ms, not ${leastMs}`);
    return all.length;
  };
  assert.ok(pauses('slower.test', 1_200, set.atMs) > 3);
  assert.ok(pauses('robots.test', 900, set.atMs) > 3);
  const slow = startsOf(options.out, `slower.test:${web.port}`).filter(({ epochMs }) => epochMs > set.atMs);
  assert.ok(slow.some(({ gapRule }) => gapRule === 'host-delay'));
  assert.deepEqual((await steered('set', options.out)).said['delays'], { 'slower.test': 1_200, '*.robots.test': 10 });
});

test('seeds that are added are fetched once, also over kill -9 and a resume, and widen the scope', async (t) => {
  const going = { on: true };
  const web = await webFor(
    t,
    endless('first.test', '127.46.5.1', going),
    chain('second.test', '127.46.5.2', 16),
    chain('third.test', '127.46.5.3', 16),
  );
  const options = {
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('first.test')}/`],
    config: { politeness: { delay: 80 } },
  };
  const { ended, kill } = await begun(web, options);
  const added = await steered('seeds', 'add', options.out, `${web.origin('second.test')}/`, `${web.origin('first.test')}/`);
  assert.deepEqual(added.said, { verb: 'seeds', running: true, applied: true, changed: 2 });
  await until('the second host is crawled', () => web.log.pages().filter(({ host }) => host.startsWith('second.test')).length > 3);
  kill();
  assert.equal((await ended).signal, 'SIGKILL');
  assert.ok(existsSync(join(options.out, 'control.sock')), 'a killed crawl leaves its socket');
  const nobody = await steer('pause', options.out);
  assert.equal(nobody.code, 3);
  assert.match(nobody.stderr, /PORTOLAN_CONTROL_NOT_RUNNING/);
  const atRest = await steered('seeds', 'add', options.out, `${web.origin('third.test')}/`);
  assert.deepEqual(atRest.said, { verb: 'seeds', running: false, applied: false, changed: 1 });
  going.on = false;
  const done = await crawl(options);
  for (const name of ['second.test', 'third.test'])
    assert.equal(once(done.rows, 'ok').filter((url) => url.startsWith(`${web.origin(name)}/`)).length, 16, name);
  assert.equal(done.report.queued, 0);
  const requests = web.log.entries().length;
  const again = await crawl({ ...options, seeds: [] });
  assert.deepEqual([again.report.admitted, again.report.found], [done.report.admitted, done.report.found], 'a resume meets no seed again');
  assert.equal(web.log.entries().length, requests);
});

test('changes made while no crawl runs are the next run’s, and a stopped crawl says that nothing runs', async (t) => {
  const web = await webFor(t, chain('rest.test', '127.46.6.1', 6));
  const options = { web, out: join(scratch(t), 'out'), seeds: [`${web.origin('rest.test')}/`] };
  for (const verb of ['pause', 'block', 'set'] as const) {
    const missing = await steer(verb, options.out);
    assert.deepEqual([missing.code, /PORTOLAN_STATE_MISSING/.test(missing.stderr)], [3, true], missing.stderr);
  }
  assert.ok(!existsSync(options.out), 'asking makes no directory');
  await crawl({ ...options, flags: ['--max-pages', '2'] });
  for (const verb of ['pause', 'resume', 'stop'] as const) {
    const nobody = await steer(verb, options.out);
    assert.deepEqual([nobody.code, /PORTOLAN_CONTROL_NOT_RUNNING/.test(nobody.stderr)], [3, true], nobody.stderr);
  }
  assert.deepEqual((await steered('block', options.out, '/\\/5$/')).said, { verb: 'block', running: false, applied: false, changed: 1 });
  assert.deepEqual((await steered('block', options.out, '/\\/5$/')).said, { verb: 'block', running: false, applied: false, changed: 0 });
  const done = await crawl(options);
  assert.ok(done.report.rejected['blocklisted']! > 0, 'links to what is blocked are rejected');
  assert.deepEqual(
    web.log.pages().filter(({ path }) => path === '/5'),
    [],
  );
  for (const [args, code, error] of [
    [['block', options.out, 'no host'], 2, /PORTOLAN_BLOCKLIST_INVALID: "no host" is neither/],
    [['unblock', options.out, 'other.test'], 2, /PORTOLAN_CONTROL_INVALID: "other\.test" was not blocked/],
    [['set', options.out, 'delay.rest.test=soon'], 2, /PORTOLAN_CONFIG_INVALID: delay\.rest\.test: "soon" is not a duration/],
    [['set', options.out, 'rate=5'], 2, /PORTOLAN_CONFIG_UNKNOWN_KEY: "rate=5" sets nothing/],
    [['seeds', 'add', options.out, 'ftp://rest.test/'], 2, /PORTOLAN_SEED_INVALID/],
    [['seeds', 'add', options.out], 2, /PORTOLAN_SEED_NONE/],
  ] as const) {
    const refused = await steer(...args);
    assert.equal(refused.code, code, refused.stderr);
    assert.match(refused.stderr, error);
  }
});

test('only the owner may steer: the socket has mode 0600, and somebody else is told so', async (t) => {
  const web = await webFor(t, endless('owner.test', '127.46.7.1', { on: true }));
  const out = join(scratch(t), 'out');
  const { ended } = await begun(web, { web, out, seeds: [`${web.origin('owner.test')}/`], code: 130 });
  const socket = join(out, 'control.sock');
  assert.ok(statSync(socket).isSocket());
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  // The mode keeps everybody out but root, who stands above it.
  if (process.getuid?.() !== 0) {
    chmodSync(socket, 0);
    const denied = await steer('pause', out);
    assert.deepEqual([denied.code, /PORTOLAN_CONTROL_DENIED/.test(denied.stderr)], [3, true], denied.stderr);
    chmodSync(socket, 0o600);
  } else {
    chmodSync(join(out, '..'), 0o755);
    const nobody = 65_534;
    const script = `require('net').connect(${JSON.stringify(socket)}).on('error', (e) => console.log(e.code)).on('connect', () => process.exit(console.log('let in')))`;
    assert.equal(execFileSync('/proc/self/exe', ['-e', script], { uid: nobody, gid: nobody, encoding: 'utf8' }).trim(), 'EACCES');
  }
  await steered('stop', out);
  await ended;
});

test('two operators at once: every change of both is made, logged and in force', async (t) => {
  const web = await webFor(t, endless('both.test', '127.46.8.1', { on: true }));
  const out = join(scratch(t), 'out');
  const { ended } = await begun(web, { web, out, seeds: [`${web.origin('both.test')}/`], code: 130 });
  const numbers = Array.from({ length: 20 }, (_, at) => at);
  const operator = async (request: (n: number) => SteeringRequest): Promise<number> => {
    const client = await connectControl(out, 1_000_000);
    assert.ok(client !== undefined);
    let changed = 0;
    for (const n of numbers) {
      const answer = JSON.parse(await client.ask(encodeRequest(request(n)))) as { ok: boolean; changed: number };
      assert.equal(answer.ok, true);
      changed += answer.changed;
    }
    client.close();
    return changed;
  };
  const all = await Promise.all([
    operator((n) => ({ verb: 'block', entries: [`a${n}.example`, 'same.example'], uid: 1 })),
    operator((n) => ({ verb: n % 2 === 0 ? 'block' : 'unblock', entries: ['toggled.example'], uid: 2 })),
    operator((n) => ({ verb: 'set', delays: { [`b${n}.example`]: n }, uid: 3 })),
  ]);
  assert.deepEqual(all, [21, 20, 20]);
  const { said } = await steered('block', out);
  assert.deepEqual([...(said['blocks'] as string[])].sort(), [...numbers.map((n) => `a${n}.example`), 'same.example'].sort());
  assert.deepEqual(said['delays'], Object.fromEntries(numbers.map((n) => [`b${n}.example`, n])));
  await steered('stop', out);
  await ended;
  for (const [uid, count] of [1, 2, 3].map((one) => [one, changes(out).filter((change) => change.uid === one).length]))
    assert.equal(count, 20, `changes of user ${uid}`);
});

test('garbage on the socket hurts neither the crawl nor who asks properly', async (t) => {
  const going = { on: true };
  const web = await webFor(t, endless('garbage.test', '127.46.9.1', going));
  const out = join(scratch(t), 'out');
  const { ended } = await begun(web, { web, out, seeds: [`${web.origin('garbage.test')}/`], config: { politeness: { delay: 100 } } });
  const socket = join(out, 'control.sock');
  const talk = (bytes: string | Uint8Array, answers: number): Promise<string> =>
    new Promise((done) => {
      let heard = '';
      const client = connect(socket, () => client.write(bytes));
      client.setEncoding('utf8').on('data', (text) => {
        heard += text;
        if (heard.split('\n').length > answers) client.destroy();
      });
      client.on('error', () => {}).on('close', () => done(heard));
    });
  const code = (line: string): unknown => (JSON.parse(line) as { code?: unknown }).code;
  const held = connect(socket, () => held.write('{"v":1,"verb":"pa'));
  t.after(() => held.destroy());
  for (const [line, want] of [
    ['\n', 'PORTOLAN_CONTROL_INVALID'],
    ['GET / HTTP/1.1\n', 'PORTOLAN_CONTROL_INVALID'],
    ['{"v":1,"verb":"eval","code":"process.exit()"}\n', 'PORTOLAN_CONTROL_INVALID'],
    ['{"v":9,"verb":"pause"}\n', 'PORTOLAN_CONTROL_INVALID'],
    ['{"v":1,"verb":"retry","reason":"timeout"}\n', 'PORTOLAN_STATE_LOCKED'],
    ['{"v":1,"verb":"block","entries":["/(/"]}\n', 'PORTOLAN_BLOCKLIST_INVALID'],
    ['{"v":1,"verb":"set","delays":{"__proto__":1,"x y":2}}\n', 'PORTOLAN_CONFIG_INVALID'],
  ] as const)
    assert.equal(code(await talk(line, 1)), want, line);
  assert.equal(code(await talk(Buffer.alloc(3_000_000, 0x80), 1)), 'PORTOLAN_CONTROL_INVALID');
  const many = await talk('{"v":1,"id":1,"verb":"show"}\nnonsense\n{"v":1,"id":"z","verb":"show"}\n', 3);
  assert.deepEqual(
    many
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ id, ok }) => [id, ok]),
    [
      [1, true],
      [undefined, false],
      ['z', true],
    ],
  );
  assert.equal((await steered('pause', out)).said['applied'], true);
  assert.equal((await steered('resume', out)).said['applied'], true);
  going.on = false;
  const done = await ended;
  assert.deepEqual(done.report.fetched, { ok: web.log.pages().length });
});

test('a directory whose path is too long for a socket is steered all the same', async (t) => {
  const web = await webFor(t, endless('far.test', '127.46.10.1', { on: true }));
  const deep = join(scratch(t), 'd'.repeat(70), 'e'.repeat(70));
  mkdirSync(deep, { recursive: true });
  const out = join(deep, 'out');
  const { ended } = await begun(web, { web, out, seeds: [`${web.origin('far.test')}/`], code: 130 });
  const { path } = JSON.parse(readFileSync(join(out, 'control.json'), 'utf8')) as { path: string };
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await steered('block', out, 'x.example');
  await steered('stop', out);
  await ended;
  assert.ok(!existsSync(path) && !existsSync(join(out, 'control.json')));
  await recount(out);
  assert.ok(readRows(out).length > 0);
});

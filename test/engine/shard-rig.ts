/**
 * One shard with real parts, but for time, which is made by hand, a resolver that never answers, and a channel that keeps what was sent. So
 * nothing is fetched, and what the shard does with messages and commits can be looked at step by step.
 */
import { createFileBlobStore } from '../../src/adapters/file/blob-store.ts';
import { openDisk } from '../../src/adapters/file/disk.ts';
import { createMemoryMetrics } from '../../src/adapters/memory/metrics.ts';
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { createGateMemory, createSharedGate } from '../../src/adapters/node/address-gate.ts';
import { createRandom } from '../../src/adapters/node/random.ts';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { ByteWriter } from '../../src/core/bytes.ts';
import { writeFind } from '../../src/core/records.ts';
import { SimHasher } from '../../src/dedup/simhash.ts';
import { crawlRules, type ThreadContext } from '../../src/engine/context.ts';
import { HostDelays } from '../../src/engine/host-delays.ts';
import { HostRuleTable } from '../../src/engine/host-rules.ts';
import { Shard } from '../../src/engine/shard.ts';
import { DomainRanks } from '../../src/frontier/domain-ranks.ts';
import { createAddressGuard } from '../../src/net/address-guard.ts';
import { DnsCache } from '../../src/net/dns-cache.ts';
import { createHandlers } from '../../src/parse/handlers.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { LinkMessage } from '../../src/ports/link-channel.ts';
import { Blocklist } from '../../src/scope/blocklist.ts';
import { createScope } from '../../src/scope/scope.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, DomainTable, splitUrl, urlKey } from '../../src/url/index.ts';
import { TestDisk } from '../support/test-disk.ts';

const NOTHING = (): Promise<never> => new Promise(() => {});

/** A clock that stands until it is moved; timers fire in order of their times while it moves. */
export class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  #order = 0;
  #timers: { readonly at: number; readonly order: number; readonly fn: () => void }[] = [];

  nowEpochMs(): number {
    return this.#now;
  }

  nowMonoMs(): number {
    return this.#now - 1_600_000_000_000;
  }

  setTimer(delayMs: number, fn: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Moves on, timer by timer; what they began outside (syncs of files) is given its time. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await settle();
    }
    this.#now = until;
    await settle();
  }
}

/** Lets file syncs of this process end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
}

export class ShardRig {
  readonly clock = new ManualClock();
  readonly sent: LinkMessage[] = [];
  readonly notices: string[] = [];
  readonly failures: unknown[] = [];
  readonly state = new MemoryShardState();
  readonly #temporary = TestDisk.temporary();
  readonly #input: ConfigInput;
  #receive: (message: LinkMessage) => void = () => {};
  #syncs: (() => Promise<void>) | undefined;
  shard!: Shard;

  private constructor(input: ConfigInput) {
    this.#input = input;
  }

  static async open(input: ConfigInput = {}): Promise<ShardRig> {
    const rig = new ShardRig(input);
    await rig.reopen();
    return rig;
  }

  /** A new incarnation on the same state and files. */
  async reopen(): Promise<void> {
    const config = parseConfig(
      { agent: { contact: 'mailto:test@example.org' }, scope: { mode: 'web' }, output: { warc: false, reserve: 0 }, ...this.#input },
      'test',
    );
    const guard = createAddressGuard({ allowNets: [] });
    const rules = crawlRules(config, '0');
    const gateOptions = { slots: config.frontier.backQueues, ratePerS: 0, pagesLeft: -1 };
    const { mode, include, exclude, maxUrlBytes, maxParameters, maxSegmentRepeats } = config.scope;
    const context: ThreadContext = {
      config,
      rules,
      shards: 2,
      clock: this.clock,
      random: createRandom(1),
      metrics: createMemoryMetrics(),
      transport: {
        start: () => {
          throw new Error('nothing is fetched here');
        },
        release: () => {},
        openConnections: () => 0,
        close: async () => {},
      },
      dns: new DnsCache({ resolver: { resolve: NOTHING, close: () => {} }, clock: this.clock, guard }),
      guard,
      channel: {
        send: (message) => void this.sent.push(message),
        receive: (_shard, handler) => {
          this.#receive = handler;
        },
      },
      canonicalize: createCanonicalizer(DEFAULT_CANONICAL_OPTIONS),
      domains: new DomainTable(),
      ranks: DomainRanks.none(),
      scope: createScope({ mode, include, exclude, maxDepth: rules.maxDepth, maxUrlBytes, maxParameters, maxSegmentRepeats }, [], []),
      handlers: createHandlers(),
      simhasher: new SimHasher(),
      blocklist: { current: Blocklist.parse('', ''), text: '' },
      hostDelays: { current: new HostDelays() },
      hostRules: new HostRuleTable(config, '0'),
      bootId: 'boot',
      configVersion: '1',
      software: 'Portolan/0',
      yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
    };
    const { root } = this.#temporary.disk;
    this.shard = await Shard.open(
      0,
      context,
      {
        store: createMemoryStore(this.state, { sync: async () => this.#syncs?.() }),
        disk: openDisk(root),
        blobs: createFileBlobStore(openDisk(root), 'out/'),
        gate: createSharedGate(createGateMemory(gateOptions), gateOptions, 1),
      },
      {
        committed: () => {},
        rotated: () => {},
        scopeAdded: () => {},
        failed: (_shard, error) => void this.failures.push(error),
        notice: (_shard, text) => void this.notices.push(text),
      },
    );
    this.shard.start();
  }

  /** From now on commits become durable when this resolves; undefined: at once. */
  holdSyncs(until: Promise<void> | undefined): void {
    this.#syncs = until === undefined ? undefined : () => until;
  }

  receive(message: LinkMessage): void {
    this.#receive(message);
  }

  /** Finds of another shard, in a message of this number. */
  finds(seq: number, urls: readonly string[], from = 1): void {
    const out = new ByteWriter();
    const key = new Uint32Array(2);
    const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
    for (const url of urls) {
      urlKey(canonicalize(url), key);
      writeFind(
        out,
        {
          url: splitUrl(url).origin + splitUrl(url).pathQuery,
          keyHi: key[0]!,
          keyLo: key[1]!,
          kind: 'link',
          depth: 1,
          via: 'http://v/',
          foundAtS: 1,
          chain: undefined,
        },
        undefined,
      );
    }
    this.receive({ kind: 'finds', from, to: 0, seq, count: urls.length, blob: out.take() });
  }

  acks(): number[] {
    return this.sent.flatMap((message) => (message.kind === 'ack' ? [message.upTo] : []));
  }

  close(): void {
    this.shard.close();
    this.#temporary.remove();
  }
}

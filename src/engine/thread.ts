/**
 * One thread of a node: opens its shards, runs them, answers the coordinator. All shards of the thread share the context; each has ports of its own.
 */
import { PortolanError } from '../core/errors.ts';
import { Blocklist } from '../scope/blocklist.ts';
import type { MemoryMetricsView, ShardPorts, ThreadContext } from './context.ts';
import { HostDelays } from './host-delays.ts';
import type { FromThread, PlainError, Steer, ToThread } from './messages.ts';
import { areaOfSeed } from './scope-seeds.ts';
import { Shard, type ShardEvents, type ShardStatus } from './shard.ts';

export class ShardThread {
  readonly #context: ThreadContext;
  readonly #ids: readonly number[];
  readonly #post: (message: FromThread) => void;
  readonly #metrics: MemoryMetricsView;
  #shards: Shard[] = [];

  constructor(context: ThreadContext, ids: readonly number[], metrics: MemoryMetricsView, post: (message: FromThread) => void) {
    this.#context = context;
    this.#ids = ids;
    this.#metrics = metrics;
    this.#post = post;
  }

  /**
   * Opens every shard; a failure closes those already open and is reported. `afterFirst`: awaited when the first one is open, which has work
   * when the crawl is new.
   */
  async open(portsOf: (shard: number) => ShardPorts, afterFirst?: () => Promise<void> | undefined): Promise<boolean> {
    try {
      for (const id of this.#ids) {
        if (this.#shards.length === 1) await afterFirst?.();
        this.#shards.push(await Shard.open(id, this.#context, portsOf(id), this.#events()));
      }
    } catch (error) {
      this.#close();
      this.#post({ type: 'failed', shard: this.#ids[this.#shards.length] ?? -1, error: plainError(error) });
      return false;
    }
    this.#post({ type: 'opened', statuses: this.#statuses(), scopeHosts: this.#shards.flatMap((shard) => [...shard.scopeHosts]) });
    return true;
  }

  /** True when the thread is done and may end. */
  async receive(message: ToThread): Promise<boolean> {
    switch (message.type) {
      case 'start':
        for (const host of message.scopeHosts) this.#context.scope.addHost(host);
        for (const shard of this.#shards) shard.start();
        return false;
      case 'status':
        this.#post({
          type: 'status',
          round: message.round,
          statuses: this.#statuses(),
          metrics: this.#measured(),
          busy: this.#context.busy?.() ?? 0,
        });
        return false;
      case 'pause':
      case 'resume':
      case 'rules':
      case 'areas':
        this.#steer(message);
        if (message.ask !== undefined) this.#post({ type: 'applied', ask: message.ask });
        return false;
      case 'given':
        this.#shards.find((shard) => shard.id === message.shard)?.given(message.seq);
        return false;
      case 'abandon':
        for (const shard of this.#shards) shard.abandonDelivery();
        return false;
      case 'stop':
        await Promise.all(this.#shards.map((shard) => shard.stop()));
        this.#post({ type: 'stopped', statuses: this.#statuses() });
        return true;
    }
  }

  /** In force when it returns: the next turn of any shard here sees it. */
  #steer(message: Steer): void {
    const { blocklist, hostDelays, scope } = this.#context;
    switch (message.type) {
      case 'pause':
        for (const shard of this.#shards) shard.pause();
        break;
      case 'resume':
        for (const shard of this.#shards) shard.resume();
        break;
      case 'rules':
        blocklist.text = message.blocklist?.text ?? '';
        blocklist.current = Blocklist.parse(blocklist.text, message.blocklist?.file ?? '');
        hostDelays.current = new HostDelays(message.hostDelays);
        for (const shard of this.#shards) shard.rulesChanged();
        break;
      case 'areas':
        for (const seed of message.seeds) scope.addHost(areaOfSeed(seed));
        break;
    }
  }

  /** Counters of this thread, those of its resolver cache with them (R-E2). */
  #measured(): Readonly<Record<string, number>> {
    const { hits, misses, joined, failed, refused } = this.#context.dns.stats();
    return {
      ...this.#metrics.snapshot(),
      portolan_dns_hits_total: hits,
      portolan_dns_misses_total: misses + joined,
      portolan_dns_failures_total: failed,
      portolan_addresses_refused_total: refused,
    };
  }

  #events(): ShardEvents {
    return {
      committed: (shard, commitSeq, pages) => this.#post({ type: 'committed', shard, commitSeq, pages }),
      rotated: (shard, file) => this.#post({ type: 'rotated', shard, file }),
      notice: (shard, text) => this.#post({ type: 'notice', shard, text }),
      scopeAdded: (hostKey) => this.#tellScope(hostKey),
      failed: (shard, error) => {
        this.#close();
        this.#post({ type: 'failed', shard, error: plainError(error) });
      },
    };
  }

  #tellScope(hostKey: string): void {
    for (let to = 0; to < this.#context.shards; to++) {
      if (!this.#ids.includes(to)) this.#context.channel.send({ kind: 'scope', from: this.#ids[0] ?? 0, to, hostKey });
    }
  }

  #statuses(): ShardStatus[] {
    return this.#shards.map((shard) => shard.status());
  }

  #close(): void {
    for (const shard of this.#shards) shard.close();
  }
}

export function plainError(error: unknown): PlainError {
  if (error instanceof PortolanError) return { code: error.code, message: error.message, remedy: error.remedy, stack: error.stack ?? '' };
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'PORTOLAN_INTERNAL', message, remedy: '', stack: error instanceof Error ? (error.stack ?? '') : '' };
}

/**
 * From a host on turn to an address it may be fetched at now: look-up, blocklist, one exchange per address, hosts per address, request rate.
 *
 * Either `go` is called with an address whose gate is held, or the turn ends here: later, parked behind its address, or with the host closed.
 */
import type { EpochMs } from '../core/time.ts';
import { type Frontier, type HostMemory, SLOT_WAIT_MAX_MS } from '../frontier/frontier.ts';
import type { DnsEntry } from '../net/dns-cache.ts';
import type { Activity } from './activity.ts';
import type { Drops } from './drops.ts';
import type { Errands } from './errands.ts';
import type { HostFaults } from './host-faults.ts';
import { gateKey, type HostRules } from './host-rules.ts';
import type { LeftAddresses } from './left-addresses.ts';
import type { LoadMeter } from './load-meter.ts';
import type { Loop } from './loop.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';

type Go = (address: string) => void;

/** The gate makes up for a request that came a millisecond late, when requests are this far apart. */
const GIVE_WAY_MIN_MS = 10;

export class Targets {
  readonly #env: ShardEnv;
  readonly #loop: Loop;
  readonly #drops: Drops;
  readonly #errands: Errands;
  readonly #faults: HostFaults;
  readonly #frontier: Frontier;
  readonly #activity: Activity;
  readonly #meter: LoadMeter;
  readonly #leftAddresses: LeftAddresses;
  /** The last time that the rate was asked for a request it gave one. */
  #tookRate = false;

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'frontier' | 'activity' | 'meter' | 'leftAddresses'>,
    loop: Loop,
    drops: Drops,
    errands: Errands,
    faults: HostFaults,
  ) {
    this.#env = env;
    this.#loop = loop;
    this.#drops = drops;
    this.#errands = errands;
    this.#faults = faults;
    this.#frontier = state.frontier;
    this.#activity = state.activity;
    this.#meter = state.meter;
    this.#leftAddresses = state.leftAddresses;
  }

  /** `host`: what is looked up, a name or a literal; behind a proxy the proxy's name is, whose address the operator vouches for. */
  find(memory: HostMemory, host: string, now: EpochMs, go: Go): void {
    const { dns, clock, blocklist, hostDelays } = this.#env.context;
    const list = blocklist.current;
    const delays = hostDelays.current;
    const rules = this.#env.context.hostRules.of(memory.record.key);
    const found = dns.lookup(rules.proxy?.host ?? host);
    if (!(found instanceof Promise)) {
      this.#chooseAddress(memory, rules, found, now, go);
      return;
    }
    this.#activity.lookupBegun();
    void found.then((entry) => {
      this.#activity.lookupEnded();
      this.#loop.guard(() => {
        // Under other rules than those it passed the turn begins again; within a pause nothing is leased.
        const isSame = blocklist.current === list && hostDelays.current === delays && this.#loop.paused === '';
        if (memory.record.state === 'open' && isSame) this.#chooseAddress(memory, rules, entry, clock.nowEpochMs(), go);
        else this.#frontier.endTurn(memory, clock.nowEpochMs());
      });
      this.#loop.pump();
    });
  }

  #chooseAddress(memory: HostMemory, rules: HostRules, entry: DnsEntry, now: EpochMs, go: Go): void {
    if (entry.kind !== 'addresses') {
      const job = this.#errands.first(memory);
      if (job !== undefined) this.#errands.end(memory, job, { kind: 'failed', code: 'dns-failed' });
      this.#faults.lookupFailed(memory, entry, now);
      this.#frontier.endTurn(memory, now);
      return;
    }
    if (rules.proxy !== undefined) {
      this.#takeGate(memory, rules, [...entry.allowed, ...entry.refused.map(({ address }) => address)], now, go);
      return;
    }
    const blocklist = this.#env.context.blocklist.current;
    const allowed =
      blocklist.size === 0 ? entry.allowed : entry.allowed.filter((address) => blocklist.matchesAddress(address) === undefined);
    if (allowed.length === 0) this.#drops.closeHost(memory, 'forbidden', now);
    else this.#takeGate(memory, rules, allowed, now, go);
  }

  #takeGate(memory: HostMemory, rules: HostRules, addresses: readonly string[], now: EpochMs, go: Go): void {
    const { gate } = this.#env.ports;
    const { hostsPerAddress } = this.#env.context.config.frontier;
    let again = Number.POSITIVE_INFINITY;
    let full = '';
    for (const address of addresses) {
      const key = gateKey(rules, memory.record.key, address);
      if (memory.addressKey !== key && this.#frontier.hostsOnAddress(key) >= hostsPerAddress) {
        full = key;
        continue;
      }
      const taken = gate.tryAcquire(key, now);
      if (taken === 'held') {
        this.#takeRate(memory, address, key, now, go);
        return;
      }
      again = Math.min(again, taken);
      if (memory.addressKey === '') this.#frontier.claimAddress(memory, key);
    }
    if (again === Number.POSITIVE_INFINITY) this.#frontier.park(memory, full);
    else this.#waitForGate(memory, rules, addresses, again, now);
  }

  /** Hosts of one address wait in line for it; who has several addresses tries them all, and one that must wait long gives its slot back. */
  #waitForGate(memory: HostMemory, rules: HostRules, addresses: readonly string[], again: EpochMs, now: EpochMs): void {
    const waitMs = again - now;
    if (addresses.length > 1 || waitMs > SLOT_WAIT_MAX_MS) {
      this.#meter.waitsForGate(waitMs);
      this.#frontier.endTurn(memory, now, again);
      return;
    }
    const place = this.#frontier.waitInLine(memory, gateKey(rules, memory.record.key, addresses[0]!), again, now);
    this.#meter.waitsForGate(waitMs + place * rules.addressDelayMs);
  }

  /** What holds for one host holds for all: the loop waits, and not each host for itself. Who had the last request asks a moment later than the others. */
  #waitForRate(untilMs: EpochMs, now: EpochMs): void {
    const givesWay = this.#tookRate && untilMs - now >= GIVE_WAY_MIN_MS;
    this.#tookRate = false;
    this.#meter.waitsForRate(untilMs - now);
    this.#loop.waitForRate(givesWay ? untilMs + 1 : untilMs);
  }

  /** With the gate of the address held. */
  #takeRate(memory: HostMemory, address: string, key: string, now: EpochMs, go: Go): void {
    const { gate } = this.#env.ports;
    const rate = gate.tryTakeRate(now);
    if (rate !== 'go') {
      gate.release(key, now);
      this.#frontier.takeTurnBack(memory, now);
      this.#waitForRate(rate, now);
      return;
    }
    this.#tookRate = true;
    this.#frontier.claimAddress(memory, key);
    const { record } = memory;
    if (record.address !== address) {
      this.#leftAddresses.add(record.key, record.address, record.lastEndMs);
      record.address = address;
    }
    go(address);
  }
}

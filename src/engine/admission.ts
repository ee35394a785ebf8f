/**
 * The owner's side of a find: known, refused, or admitted and queued. From admission on a URL counts, and ends in one outcome or one fate.
 *
 * Each find is counted once here: known, ownerRejected(reason) or admitted. A find that is refused is not remembered: found again, it is asked again.
 */

import { queuedTotal } from '../core/host.ts';
import type { RejectReason } from '../core/reasons.ts';
import type { Find } from '../core/records.ts';
import type { Frontier } from '../frontier/frontier.ts';
import { levelOf, priorityScore } from '../frontier/priority.ts';
import type { SeenSet } from '../seen/seen-set.ts';
import type { SplitUrl } from '../url/index.ts';
import { bump, type Totals } from './accounting.ts';
import { entryOfFind } from './entries.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

export class Admission {
  readonly #env: ShardEnv;
  readonly #frontier: Frontier;
  readonly #totals: Totals;
  readonly #seen: SeenSet;
  readonly #unwritten: Unwritten;

  constructor(env: ShardEnv, state: Pick<ShardState, 'frontier' | 'totals' | 'seen' | 'unwritten'>) {
    this.#env = env;
    this.#frontier = state.frontier;
    this.#totals = state.totals;
    this.#seen = state.seen;
    this.#unwritten = state.unwritten;
  }

  /** False when it was refused. */
  admit(find: Find, parts: SplitUrl): boolean {
    const { keyHi, keyLo, chain, depth } = find;
    if (this.#seen.has(keyHi, keyLo)) {
      this.#totals.known++;
      if (chain !== undefined) this.#reopen(find, parts);
      return true;
    }
    const { domains, ranks, config } = this.#env.context;
    const domain = domains.registrableDomain(parts.host);
    const memory = this.#frontier.hostOrCreate(parts.hostKey, domain);
    if (memory === undefined) return this.#refuse('too-many-subdomains');
    if (queuedTotal(memory.record) >= config.frontier.maxQueuedPerHost) return this.#refuse('host-queue-full');
    this.#seen.add(keyHi, keyLo);
    this.#totals.admitted++;
    const domainRank = ranks.of(parts.host, domain);
    // A page is to be had whole before the next one.
    const score = find.kind === 'asset' ? 1 : priorityScore({ domainRank, inboundLinks: 1, depth });
    const level = levelOf(score, config.frontier.thresholds);
    this.#frontier.add(parts.hostKey, domain, entryOfFind(find, parts), level);
    this.#unwritten.mark();
    return true;
  }

  #refuse(reason: RejectReason): false {
    bump(this.#totals.ownerRejected, reason);
    this.#unwritten.mark();
    return false;
  }

  /** The target of a chain that leads back to a URL of its own, changed (cookie, spelling): the seen filter does not apply inside a chain (A6). */
  #reopen(find: Find, parts: SplitUrl): void {
    const { keyHi, keyLo } = find;
    const { canonicalize } = this.#env.context;
    const canonical = canonicalize(find.url);
    if (!find.chain!.urls.some((url) => canonicalize(url) === canonical)) return;
    const memory = this.#frontier.host(parts.hostKey);
    if (memory === undefined) return;
    const { record } = memory;
    const isRedirect =
      this.#unwritten.hasRedirect(keyHi, keyLo) || this.#env.ports.store.readPage(record.id, keyHi, keyLo)?.outcome === 'redirect';
    if (!isRedirect) return;
    this.#unwritten.removeRedirect({ hostId: record.id, keyHi, keyLo });
    record.fetched--;
    bump(this.#totals.fetched, 'redirect', -1);
    this.#totals.reopened++;
    this.#frontier.requeue(memory, entryOfFind(find, parts));
    this.#unwritten.mark();
  }
}

/**
 * Requests for robots.txt that other shards, or other hosts of this one, have asked of our hosts: a robots.txt of theirs is redirected here.
 * They wait per host for its turns, come before its URLs, and each is answered once; none outlives the host's being open.
 */
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import type { ErrandAnswer, LinkMessage } from '../ports/link-channel.ts';
import { splitUrl } from '../url/index.ts';
import type { ShardEnv } from './shard-env.ts';

export interface ErrandJob {
  readonly from: number;
  /** The asking shard's number for it. */
  readonly id: number;
  readonly url: string;
}

const HOST_CLOSED: ErrandAnswer = { kind: 'failed', code: 'host-closed' };

export class Errands {
  readonly #env: ShardEnv;
  readonly #frontier: Frontier;
  readonly #jobs = new Map<number, ErrandJob[]>();

  constructor(env: ShardEnv, frontier: Frontier) {
    this.#env = env;
    this.#frontier = frontier;
  }

  receive(message: LinkMessage & { kind: 'errand' }): void {
    const { domains, clock } = this.#env.context;
    const parts = splitUrl(message.url);
    const memory = this.#frontier.hostOrCreate(parts.hostKey, domains.registrableDomain(parts.host));
    const job: ErrandJob = { from: message.from, id: message.id, url: message.url };
    if (memory === undefined || memory.record.state !== 'open' || this.#frontier.isApart(memory)) {
      this.#reply(job, HOST_CLOSED);
      return;
    }
    const jobs = this.#jobs.get(memory.record.id) ?? [];
    jobs.push(job);
    this.#jobs.set(memory.record.id, jobs);
    this.#frontier.addErrand(memory, clock.nowEpochMs());
  }

  /** The one that has waited longest for this host. */
  first(memory: HostMemory): ErrandJob | undefined {
    return this.#jobs.get(memory.record.id)?.[0];
  }

  end(memory: HostMemory, job: ErrandJob, answer: ErrandAnswer): void {
    const jobs = this.#jobs.get(memory.record.id);
    jobs?.splice(jobs.indexOf(job), 1);
    if (jobs?.length === 0) this.#jobs.delete(memory.record.id);
    memory.errands--;
    this.#reply(job, answer);
  }

  /** The host is closed: whoever asked hears so. */
  failAll(memory: HostMemory): void {
    for (const job of this.#jobs.get(memory.record.id) ?? []) this.#reply(job, HOST_CLOSED);
    this.#jobs.delete(memory.record.id);
    memory.errands = 0;
  }

  #reply(job: ErrandJob, answer: ErrandAnswer): void {
    const { id, context } = this.#env;
    context.channel.send({ kind: 'errand-reply', from: id, to: job.from, id: job.id, answer });
  }

  /** Hosts that have some waiting. */
  get hosts(): number {
    return this.#jobs.size;
  }
}

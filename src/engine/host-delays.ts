/**
 * Delays that the operator has set for hosts while a crawl goes on (docs/STEERING.md), each in the place of the configured one; patterns and their order are
 * those of `hosts` (url/host-pattern.ts). Crawl-delay, slow answers, 429/503 and Retry-After still lengthen the pause, so that no
 * delay set here is ever shorter than what a robots.txt asks for.
 */
import type { GapRule } from '../core/host.ts';
import { type GapInput, type GapOptions, gapAfter } from '../frontier/gap.ts';
import { HostPatterns } from '../url/index.ts';

export class HostDelays {
  /** Milliseconds by host pattern, as from parseDelayHost. */
  readonly all: Readonly<Record<string, number>>;
  readonly #patterns: HostPatterns<number>;

  constructor(all: Readonly<Record<string, number>> = {}) {
    this.all = all;
    this.#patterns = new HostPatterns(Object.entries(all));
  }

  /** Undefined: nothing is set for this host. */
  of(hostKey: string): number | undefined {
    return this.#patterns.size === 0 ? undefined : this.#patterns.matching(hostKey)[0];
  }

  /** As gapAfter, with the delay of this host. */
  gapAfter(hostKey: string, input: GapInput, options: GapOptions): { readonly owedMs: number; readonly rule: GapRule } {
    const delayMs = this.of(hostKey);
    if (delayMs === undefined) return gapAfter(input, options);
    const gap = gapAfter(input, { ...options, delayMs });
    return gap.rule === 'default' ? { ...gap, rule: 'host-delay' } : gap;
  }
}

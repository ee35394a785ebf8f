/** Priority of a URL (row B9): score from what is known at admission, then a level by listed thresholds. */
import { LEVELS } from '../core/host.ts';

export interface PriorityInput {
  /** 0 … 1, 1 for the best domain; 0 when no rank is known. */
  readonly domainRank: number;
  readonly inboundLinks: number;
  readonly depth: number;
}

/** 0.5·domain rank + 0.3·log1p(inbound links)/20 + 0.2/(1 + depth); 0 … about 1. */
export function priorityScore(input: PriorityInput): number {
  return 0.5 * input.domainRank + (0.3 * Math.log1p(input.inboundLinks)) / 20 + 0.2 / (1 + input.depth);
}

/** 0 (best) … 4. `thresholds` are the least scores of levels 0 … 3, falling. */
export function levelOf(score: number, thresholds: readonly number[]): number {
  for (let level = 0; level < LEVELS - 1; level++) if (score >= thresholds[level]!) return level;
  return LEVELS - 1;
}

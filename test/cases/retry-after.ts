/** delay_s: the pause that a Retry-After value asks for, with the clock at a given moment; several answers may be right. */
import { parseRetryAfter } from '../../src/fetch/retry-after.ts';
import { type Fields, type Findings, show } from './format.ts';

const NOW = Date.UTC(2026, 10, 10, 11, 0, 0);
/** politeness.retryAfterMax by default, and what cases call "an hour or so" at the least. */
const CEILING_S_MIN = 600;
const CEILING_S_MAX = 86_400;

export function judgeRetryAfter(delays: Fields, findings: Findings): void {
  for (const [value, answer] of Object.entries(delays)) {
    const ms = parseRetryAfter(value, NOW);
    const right = rightDelays(answer);
    if (right === undefined) findings.notUnderstood(`delay ${show(answer)}`);
    else if (!right.some((isRight) => isRight(ms)))
      findings.fail(`Retry-After ${show(value)} gives ${ms ?? 'no'} ms, expected ${show(answer)}`);
  }
}

type IsRight = (ms: number | undefined) => boolean;

/** "any of 60, 120 or own back-off" and the like; undefined for other words. */
function rightDelays(answer: unknown): readonly IsRight[] | undefined {
  if (typeof answer === 'number') return [is(answer)];
  if (typeof answer !== 'string') return undefined;
  const parts = answer.replace(/^any of\s+/, '').split(/\s*(?:,|\bor\b)\s*/);
  const right = parts.map((part): IsRight | undefined => {
    if (part === 'own back-off') return (ms) => ms === undefined || ms === 0;
    // The bound is applied where the pause is used: what is read may be longer.
    if (part === 'ceiling') return (ms) => ms !== undefined && Math.min(ms / 1_000, CEILING_S_MAX) >= CEILING_S_MIN;
    return Number.isFinite(Number(part)) && part !== '' ? is(Number(part)) : undefined;
  });
  return right.every((one) => one !== undefined) ? (right as IsRight[]) : undefined;
}

function is(seconds: number): IsRight {
  return (ms) => ms === seconds * 1_000;
}

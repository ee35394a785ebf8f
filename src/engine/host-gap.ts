/** The pause that a host is owed after its last exchange, from what its record says of that exchange and of the host. */
import type { GapRule, HostRecord } from '../core/host.ts';
import type { ThreadContext } from './context.ts';

export function gapOwed(
  context: ThreadContext,
  record: HostRecord,
  retryAfterMs?: number,
): { readonly owedMs: number; readonly rule: GapRule } {
  const { config, hostDelays, hostRules } = context;
  const { lastDurationMs, backoff } = record;
  // A longer one is not waited for: the host is set apart.
  const crawlDelayMs = record.crawlDelayMs <= config.politeness.crawlDelayMax ? record.crawlDelayMs : -1;
  return hostDelays.current.gapAfter(
    record.key,
    { durationMs: lastDurationMs, crawlDelayMs, backoff, retryAfterMs },
    hostRules.of(record.key).gap,
  );
}

/** After a rule that was learnt since the exchange, as a Crawl-delay or a delay that was set: what doubles the pause doubles the new one too. True when more is owed. */
export function raiseGap(context: ThreadContext, record: HostRecord): boolean {
  const gap = gapOwed(context, record);
  if (gap.owedMs <= record.owedMs) return false;
  record.owedMs = gap.owedMs;
  record.gapRule = gap.rule;
  return true;
}

/** Resolver over the simulated web, with its delays and with look-ups that a fault lets fail. */
import type { ResolveAnswer, Resolver } from '../ports/resolver.ts';
import type { Faults } from './faults.ts';
import type { Incarnation } from './incarnation.ts';
import type { SimWeb } from './web/web.ts';

const SLOW_MS_MAX = 5_000;

export function createSimResolver(web: SimWeb, life: Incarnation, faults: Faults): Resolver {
  return {
    async resolve(host) {
      const { dnsFailed, dnsSlow } = faults.options;
      const found = web.resolve(host, life.time.nowMs);
      const failing = faults.message('look-up') || faults.strikes('dns-failed', dnsFailed);
      const slowMs = faults.strikes('dns-slow', dnsSlow) ? faults.random.int(SLOW_MS_MAX) : 0;
      await life.wait(found.delayMs + slowMs);
      if (failing) return { kind: 'failed', detail: 'simulated' };
      return answerOf(found);
    },
    close() {},
  };
}

function answerOf(found: ReturnType<SimWeb['resolve']>): ResolveAnswer {
  if (found.kind === 'addresses') return { kind: 'addresses', addresses: found.addresses, ttlS: found.ttlS };
  return found.kind === 'failed' ? { kind: 'failed', detail: 'the name server fails' } : { kind: found.kind };
}

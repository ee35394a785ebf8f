/** What the main thread hands to each of its threads, and the few things both make from it. */
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { SharedGateMemory, SharedGateOptions } from './adapters/node/address-gate.ts';
import type { Config } from './config/schema.ts';
import { PortolanError } from './core/errors.ts';

export interface ThreadData {
  readonly config: Config;
  /** Seeds that make the scope, one for each area; none for scope web. */
  readonly areas: readonly string[];
  readonly shards: number;
  readonly own: readonly number[];
  readonly threads: number;
  readonly dir: string;
  readonly gate: SharedGateMemory;
  readonly gateOptions: SharedGateOptions;
  readonly bootId: string;
  readonly configVersion: string;
  readonly blocklist: { readonly text: string; readonly file: string } | undefined;
}

export function shardFile(dir: string, shard: number): string {
  return join(dir, 'state', `shard-${shard}`, 'state.db');
}

/** HOST:ADDR pairs by host. Throws PORTOLAN_CONFIG_INVALID. */
export function dnsOverrides(pairs: readonly string[]): Map<string, string[]> {
  const overrides = new Map<string, string[]>();
  for (const pair of pairs) {
    const colon = pair.indexOf(':');
    const address = pair.slice(colon + 1).replace(/^\[|\]$/g, '');
    if (colon <= 0 || isIP(address) === 0) {
      throw new PortolanError('PORTOLAN_CONFIG_INVALID', `"${pair}" is not HOST:ADDR`, {
        remedy: 'give a name and an address such as www.example.com:192.0.2.7',
      });
    }
    const host = pair.slice(0, colon).toLowerCase();
    overrides.set(host, [...(overrides.get(host) ?? []), address]);
  }
  return overrides;
}

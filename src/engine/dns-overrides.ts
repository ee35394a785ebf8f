/** Names whose addresses the operator gives (`--resolve HOST:ADDR`, key dns.resolve): they are never asked, but vetted like any answer. */
import { PortolanError } from '../core/errors.ts';
import { isIpLiteral } from '../net/address-guard.ts';

/** HOST:ADDR pairs by host; an IPv6 address may stand in brackets. Throws PORTOLAN_CONFIG_INVALID. */
export function dnsOverrides(pairs: readonly string[]): Map<string, string[]> {
  const overrides = new Map<string, string[]>();
  for (const pair of pairs) {
    const colon = pair.indexOf(':');
    const address = pair.slice(colon + 1).replace(/^\[|\]$/g, '');
    if (colon <= 0 || isIpLiteral(address.includes(':') ? `[${address}]` : address) === undefined) {
      throw new PortolanError('PORTOLAN_CONFIG_INVALID', `"${pair}" is not HOST:ADDR`, {
        remedy: 'give a name and an address such as www.example.com:192.0.2.7',
      });
    }
    const host = pair.slice(0, colon).toLowerCase();
    overrides.set(host, [...(overrides.get(host) ?? []), address]);
  }
  return overrides;
}

/**
 * Name look-ups, handed in. One call is one question to the configured servers for both address families.
 * Contract: never throws for what DNS says. `addresses` in the order of the answer, IPv4 first, without port, in the standard text form
 * (IPv6 lower case, compressed, without brackets). ttlS is the smallest TTL of the answer in seconds, 0 … 2^31.
 * The adapter bounds the look-ups in flight and puts a deadline of its own around each (`timeout`).
 */
export interface Resolver {
  resolve(host: string): Promise<ResolveAnswer>;
  close(): void;
}
export type ResolveAnswer =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlS: number }
  | { readonly kind: 'not-found' } // NXDOMAIN, or no record of either family
  | { readonly kind: 'failed'; readonly detail: string } // SERVFAIL, refused, malformed
  | { readonly kind: 'timeout' };

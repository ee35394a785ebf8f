/**
 * Addresses as the judge sees them: read as one number, held against the IANA registries of special ranges, and reduced to the unit in which
 * an address is one server. Written apart from the crawler's own guard, with numbers instead of groups, so that one sees a defect of the other.
 *
 * A public server lives at a global unicast address. An IPv6 address that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4,
 * Teredo, ISATAP) is as good as what it carries.
 */

export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface Net {
  readonly family: 4 | 6;
  readonly prefix: bigint;
  /** Bits behind the prefix. */
  readonly rest: bigint;
}

/** IANA IPv4 and IPv6 Special-Purpose Address Registries, multicast, and metadata services that lie outside of them. */
const SPECIAL = (
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 ' +
  '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
  '2001::/23 2001:db8::/32 2620:4f:8000::/48 3ffe::/16 3fff::/20'
)
  .split(' ')
  .map((text) => readNet(text)!);
const GLOBAL_UNICAST = readNet('2000::/3')!;

/** Undefined for text that is no address; a zone makes it none. */
export function readAddress(text: string): Address | undefined {
  if (!text.includes(':')) {
    const value = readIpv4(text);
    return value === undefined ? undefined : { family: 4, value };
  }
  const value = readIpv6(text);
  return value === undefined ? undefined : { family: 6, value };
}

export function readNet(text: string): Net | undefined {
  const [addressText = '', bitsText] = text.split('/');
  const address = readAddress(addressText);
  if (address === undefined) return undefined;
  const all = address.family === 4 ? 32 : 128;
  const bits = bitsText === undefined ? all : /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : -1;
  if (bits < 0 || bits > all) return undefined;
  const rest = BigInt(all - bits);
  return { family: address.family, prefix: address.value >> rest, rest };
}

export function isWithin(address: Address, net: Net): boolean {
  return address.family === net.family && address.value >> net.rest === net.prefix;
}

/** Whether the address may be contacted; `allowed` are special ranges that the operator has named. */
export function mayContact(address: Address, allowed: readonly Net[]): boolean {
  if (allowed.some((net) => isWithin(address, net))) return true;
  const carried = carriedBy(address);
  if (carried.length > 0) return carried.every((inner) => mayContact(inner, allowed));
  if (SPECIAL.some((net) => isWithin(address, net))) return false;
  return address.family === 4 || isWithin(address, GLOBAL_UNICAST);
}

/** One server: an IPv4 address, also when it is carried; of IPv6 the /64 network. */
export function serverOf(address: Address): string {
  const carried = carriedBy(address).at(-1);
  if (carried !== undefined) return serverOf(carried);
  return address.family === 4 ? `4.${address.value.toString(36)}` : `6.${(address.value >> 64n).toString(36)}`;
}

function readIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return undefined;
  return BigInt(parts.reduce((value, part) => value * 256 + Number(part), 0));
}

/** RFC 4291 section 2.2. */
function readIpv6(text: string): bigint | undefined {
  const dots = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const ipv4 = dots === null ? undefined : readIpv4(dots[2]!);
  if (dots !== null && ipv4 === undefined) return undefined;
  const plain = ipv4 === undefined ? text : `${dots![1]}${(ipv4 >> 16n).toString(16)}:${(ipv4 & 0xffffn).toString(16)}`;
  const halves = plain.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<string>(missing).fill('0'), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`);
}

function carriedBy({ family, value }: Address): readonly Address[] {
  if (family === 4) return [];
  const ipv4 = (bits: bigint): Address => ({ family: 4, value: bits & 0xffff_ffffn });
  const high = value >> 32n;
  if (high === 0xffffn || high === 0xffff_0000n || high === 0x64_ff9b_0000_0000_0000_0000n) return [ipv4(value)];
  if (high === 0n && value > 1n) return [ipv4(value)];
  if (value >> 112n === 0x2002n) return [ipv4(value >> 80n)];
  if (value >> 96n === 0x2001_0000n) return [ipv4(value >> 64n), ipv4(~value)];
  const isIsatap = ((value >> 32n) & 0xfdff_ffffn) === 0x5efen;
  return isIsatap && isWithin({ family, value }, GLOBAL_UNICAST) ? [ipv4(value)] : [];
}

/**
 * The address guard: which addresses a crawl may connect to (R-E3).
 *
 * Invariant: an address is allowed only when it is a unicast address of the public internet, or the operator named its block in
 * `allowNets`. An IPv6 address that carries an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is no way around:
 * it is refused when the IPv4 address would be. Text that is no address is refused as `invalid`.
 *
 * It judges addresses, not names: the transport connects to exactly the address judged here and asks no name server again.
 */
import { PortolanError } from '../core/errors.ts';
import { SPECIAL_IPV4, SPECIAL_IPV6 } from './special-ranges.ts';

export interface AddressVerdict {
  readonly allowed: boolean;
  /** What the address is: `unicast`, `private`, `loopback`, … (special-ranges.ts), `allowed-net`, `invalid`, or `nat64:private` for one carried inside. */
  readonly range: string;
}

export interface AddressGuard {
  /** `address` without port and brackets. */
  verdict(address: string): AddressVerdict;
}

export interface AddressGuardOptions {
  /** Blocks allowed although they are special, as CIDR or single addresses: `127.0.0.0/8`, `fd00::/8`, `10.1.2.3`. */
  readonly allowNets: readonly string[];
}

/** An address as its 16-bit groups: two for IPv4, eight for IPv6. */
type Groups = readonly number[];

interface Block {
  readonly groups: Groups;
  readonly bits: number;
  readonly range: string;
}

interface Carried {
  readonly how: string;
  readonly ipv4: readonly Groups[];
}

/** Throws PORTOLAN_CONFIG_INVALID when an entry of `allowNets` is not a block. */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const allowed = options.allowNets.map((text) => parseBlock(text, 'allowed-net'));
  const special = [...SPECIAL_IPV4, ...SPECIAL_IPV6].map(([cidr, range]) => parseBlock(cidr, range));

  const judge = (groups: Groups): AddressVerdict => {
    if (findBlock(allowed, groups) !== undefined) return { allowed: true, range: 'allowed-net' };
    const carried = carriedIpv4(groups);
    if (carried !== undefined) return judgeCarried(carried);
    const block = findBlock(special, groups);
    if (block !== undefined) return { allowed: false, range: block.range };
    if (groups.length === 8 && !isGlobalUnicast(groups)) return { allowed: false, range: 'reserved' };
    return { allowed: true, range: 'unicast' };
  };

  const judgeCarried = (carried: Carried): AddressVerdict => {
    for (const inner of carried.ipv4) {
      const verdict = judge(inner);
      if (!verdict.allowed) return { allowed: false, range: `${carried.how}:${verdict.range}` };
    }
    return { allowed: true, range: carried.how };
  };

  return {
    verdict(address) {
      const groups = parseAddress(address);
      return groups === undefined ? { allowed: false, range: 'invalid' } : judge(groups);
    },
  };
}

/** The address when `host`, spelt as in a WHATWG URL (IPv6 in brackets), is an IP literal; otherwise undefined. */
export function isIpLiteral(host: string): string | undefined {
  if (host.startsWith('[')) {
    const inner = host.endsWith(']') ? host.slice(1, -1) : '';
    return parseIpv6(inner) === undefined ? undefined : inner;
  }
  return parseIpv4(host) === undefined ? undefined : host;
}

/**
 * The unit in which the politeness gate counts an address: IPv4 as it is; IPv6 by its /64 network (`2a00:1450:4001:82b::/64`), since one
 * machine has a whole /64; an IPv6 address that carries IPv4 counts as that. Text that is no address is its own key.
 */
export function addressKey(address: string): string {
  // Strict dotted form is what ipv4Text gives, and other text without a colon is no address.
  if (!address.includes(':')) return address;
  const groups = parseAddress(address);
  if (groups === undefined) return address;
  const carried = carriedIpv4(groups)?.ipv4.at(-1);
  if (carried !== undefined) return ipv4Text(carried);
  if (groups.length === 2) return ipv4Text(groups);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function parseAddress(text: string): Groups | undefined {
  return parseIpv4(text) ?? parseIpv6(text);
}

/** Four decimal parts and nothing else: the octal, hexadecimal and short forms of inet_aton are no addresses here. */
function parseIpv4(text: string): Groups | undefined {
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text);
  if (match === null) return undefined;
  const octets = [Number(match[1]), Number(match[2]), Number(match[3]), Number(match[4])] as const;
  if (octets.some((octet) => octet > 255)) return undefined;
  return [octets[0] * 256 + octets[1], octets[2] * 256 + octets[3]];
}

/**
 * RFC 4291 section 2.2, without brackets: eight groups, one run of zeros as `::`, the last two groups also as IPv4. A zone (`fe80::1%eth0`)
 * makes it no address of the public internet, so it is not parsed.
 */
function parseIpv6(text: string): Groups | undefined {
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return undefined;
  const [headText = '', tailText] = halves;
  const head = parseGroups(headText, tailText === undefined);
  const tail = tailText === undefined ? [] : parseGroups(tailText, true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (tailText === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...new Array<number>(missing).fill(0), ...tail];
}

function parseGroups(text: string, isEnd: boolean): Groups | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    const ipv4 = isEnd && index === parts.length - 1 ? parseIpv4(part) : undefined;
    if (ipv4 !== undefined) groups.push(...ipv4);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

function ipv4Text(groups: Groups): string {
  const [high = 0, low = 0] = groups;
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** 2000::/3, the only part of IPv6 from which public addresses are given out (RFC 4291 section 2.4, RFC 3587). */
function isGlobalUnicast(groups: Groups): boolean {
  return ((groups[0] ?? 0) & 0xe000) === 0x2000;
}

/** The IPv4 addresses that an IPv6 address stands for or tunnels to. */
function carriedIpv4(groups: Groups): Carried | undefined {
  if (groups.length !== 8) return undefined;
  const [g0, g1, g2, g3, g4, g5, g6, g7] = groups as readonly [number, number, number, number, number, number, number, number];
  const low: Groups = [g6, g7];
  const startsWithZeros = (g0 | g1 | g2 | g3 | g4) === 0;
  if (startsWithZeros && g5 === 0xffff) return { how: 'ipv4-mapped', ipv4: [low] }; // ::ffff:0:0/96, RFC 4291
  if (startsWithZeros && g5 === 0 && (g6 !== 0 || g7 > 1)) return { how: 'ipv4-compatible', ipv4: [low] }; // ::/96, RFC 4291
  if ((g0 | g1 | g2 | g3) === 0 && g4 === 0xffff && g5 === 0) return { how: 'ipv4-translated', ipv4: [low] }; // ::ffff:0:0:0/96, RFC 2765
  if (g0 === 0x64 && g1 === 0xff9b && (g2 | g3 | g4 | g5) === 0) return { how: 'nat64', ipv4: [low] }; // RFC 6052
  if (g0 === 0x2002) return { how: '6to4', ipv4: [[g1, g2]] }; // RFC 3056
  if (g0 === 0x2001 && g1 === 0) {
    // RFC 4380: the server's address, and the client's with all bits turned over.
    return {
      how: 'teredo',
      ipv4: [
        [g2, g3],
        [g6 ^ 0xffff, g7 ^ 0xffff],
      ],
    };
  }
  if (isGlobalUnicast(groups) && (g4 & 0xfdff) === 0 && g5 === 0x5efe) return { how: 'isatap', ipv4: [low] }; // RFC 5214
  return undefined;
}

function findBlock(blocks: readonly Block[], groups: Groups): Block | undefined {
  return blocks.find((block) => block.groups.length === groups.length && sharesPrefix(block.groups, groups, block.bits));
}

function sharesPrefix(a: Groups, b: Groups, bits: number): boolean {
  for (let index = 0, left = bits; left > 0; index += 1, left -= 16) {
    const mask = left >= 16 ? 0xffff : (0xffff << (16 - left)) & 0xffff;
    if ((((a[index] ?? 0) ^ (b[index] ?? 0)) & mask) !== 0) return false;
  }
  return true;
}

function parseBlock(text: string, range: string): Block {
  const slash = text.indexOf('/');
  const groups = parseAddress(slash === -1 ? text : text.slice(0, slash));
  if (groups === undefined) throw badBlock(text, 'its address cannot be read');
  const bitsMax = groups.length * 16;
  const bitsText = slash === -1 ? String(bitsMax) : text.slice(slash + 1);
  const bits = Number(bitsText);
  if (!/^\d{1,3}$/.test(bitsText) || bits > bitsMax) throw badBlock(text, `its prefix length is not a number from 0 to ${bitsMax}`);
  const isNetwork = groups.every((group, index) => (group & hostMask(bits - index * 16)) === 0);
  if (!isNetwork) throw badBlock(text, `it has bits set beyond its first ${bits}`);
  return { groups, bits, range };
}

/** Bits of one group that lie beyond the prefix, when `bits` of the prefix are left for it. */
function hostMask(bits: number): number {
  if (bits >= 16) return 0;
  return bits <= 0 ? 0xffff : 0xffff >> bits;
}

function badBlock(text: string, why: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `"${text}" is no block of addresses: ${why}`, {
    remedy: 'Write it as an address or as network/bits, for example 10.0.0.0/8 or fd00::/8.',
  });
}

/**
 * Address blocks where no public website lives, as data.
 *
 * Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates), the multicast registries, and the two
 * metadata services of clouds that lie in no registry block of their own. Blocks that carry an IPv4 address inside are judged by it
 * (address-guard.ts); IPv6 outside 2000::/3 is refused as `reserved` when no line here names it.
 * The first block that contains an address names it, so narrow blocks stand before the wide ones around them.
 */
export const SPECIAL_IPV4: readonly (readonly [cidr: string, range: string])[] = [
  ['0.0.0.0/8', 'unspecified'], // RFC 791: this network
  ['10.0.0.0/8', 'private'], // RFC 1918
  ['100.64.0.0/10', 'carrier-grade-nat'], // RFC 6598; metadata of one cloud, 100.100.100.200, lies inside
  ['127.0.0.0/8', 'loopback'], // RFC 1122
  ['168.63.129.16/32', 'metadata'], // wire server of a cloud, on a public address
  ['169.254.169.254/32', 'metadata'], // instance metadata of most clouds
  ['169.254.170.2/32', 'metadata'], // container credentials of one cloud
  ['169.254.0.0/16', 'link-local'], // RFC 3927
  ['172.16.0.0/12', 'private'], // RFC 1918
  ['192.0.0.0/24', 'reserved'], // RFC 6890: IETF protocol assignments
  ['192.0.2.0/24', 'documentation'], // RFC 5737
  ['192.31.196.0/24', 'reserved'], // RFC 7535: AS112
  ['192.52.193.0/24', 'reserved'], // RFC 7450: AMT
  ['192.88.99.0/24', 'reserved'], // RFC 7526: 6to4 relays, deprecated
  ['192.168.0.0/16', 'private'], // RFC 1918
  ['192.175.48.0/24', 'reserved'], // RFC 7534: AS112
  ['198.18.0.0/15', 'benchmarking'], // RFC 2544
  ['198.51.100.0/24', 'documentation'], // RFC 5737
  ['203.0.113.0/24', 'documentation'], // RFC 5737
  ['224.0.0.0/4', 'multicast'], // RFC 5771
  ['255.255.255.255/32', 'broadcast'], // RFC 919
  ['240.0.0.0/4', 'reserved'], // RFC 1112
];

export const SPECIAL_IPV6: readonly (readonly [cidr: string, range: string])[] = [
  ['::/128', 'unspecified'], // RFC 4291
  ['::1/128', 'loopback'], // RFC 4291
  ['64:ff9b:1::/48', 'private'], // RFC 8215: NAT64 of local use
  ['100::/64', 'reserved'], // RFC 6666: discard only
  ['2001:2::/48', 'benchmarking'], // RFC 5180
  ['2001:db8::/32', 'documentation'], // RFC 3849
  ['2001::/23', 'reserved'], // RFC 2928: IETF protocol assignments (Teredo is judged before, by what it carries)
  ['2620:4f:8000::/48', 'reserved'], // RFC 7534: AS112
  ['3ffe::/16', 'reserved'], // RFC 3701: 6bone, returned
  ['3fff::/20', 'documentation'], // RFC 9637
  ['5f00::/16', 'reserved'], // RFC 9602: segment routing
  ['fc00::/7', 'unique-local'], // RFC 4193; fd00:ec2::254 (metadata) lies inside
  ['fe80::/10', 'link-local'], // RFC 4291
  ['fec0::/10', 'private'], // RFC 3879: site-local, deprecated
  ['ff00::/8', 'multicast'], // RFC 4291
];

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressKey, createAddressGuard, isIpLiteral } from '../../src/net/address-guard.ts';

const guard = createAddressGuard({ allowNets: [] });

const REFUSED: readonly (readonly [address: string, range: string])[] = [
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.1', 'carrier-grade-nat'],
  ['100.100.100.200', 'carrier-grade-nat'],
  ['100.127.255.255', 'carrier-grade-nat'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['169.254.0.1', 'link-local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'reserved'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', 'reserved'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', 'ipv4-compatible:unspecified'],
  ['::127.0.0.1', 'ipv4-compatible:loopback'],
  ['::ffff:127.0.0.1', 'ipv4-mapped:loopback'],
  ['::ffff:7f00:1', 'ipv4-mapped:loopback'],
  ['::ffff:169.254.169.254', 'ipv4-mapped:metadata'],
  ['::ffff:0:10.0.0.1', 'ipv4-translated:private'],
  ['64:ff9b::10.0.0.1', 'nat64:private'],
  ['64:ff9b::a9fe:a9fe', 'nat64:metadata'],
  ['64:ff9b:1::1', 'private'],
  ['100::1', 'reserved'],
  ['2001::1', 'teredo:unspecified'],
  // Teredo: server 65.54.227.120, client 192.168.1.2 with its bits turned over
  ['2001:0:4136:e378:8000:63bf:3f57:fefd', 'teredo:private'],
  ['2001:2::1', 'benchmarking'],
  ['2001:10::1', 'reserved'],
  ['2001:20::1', 'reserved'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', '6to4:loopback'],
  ['2002:c0a8:101::1', '6to4:private'],
  ['2a00:1450::5efe:10.0.0.1', 'isatap:private'],
  ['2a00:1450::200:5efe:192.168.0.1', 'isatap:private'],
  ['3ffe::1', 'reserved'],
  ['3fff::1', 'documentation'],
  ['5f00::1', 'reserved'],
  ['fc00::1', 'unique-local'],
  ['fd00:ec2::254', 'unique-local'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['fec0::1', 'private'],
  ['ff02::1', 'multicast'],
  ['4000::1', 'reserved'],
  ['1::1', 'reserved'],
  ['e000::1', 'reserved'],
];

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.17',
].concat(
  ['169.253.255.255', '172.15.255.255', '172.32.0.0', '192.0.3.1', '192.167.255.255', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  [
    '2606:4700:4700::1111',
    '2a00:1450:4001:82b::200e',
    '2001:200::1',
    '2001:4860:4860::8888',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '::ffff:8.8.8.8',
  ],
);

test('R-E3 every special range is refused and named', () => {
  for (const [address, range] of REFUSED) assert.deepEqual(guard.verdict(address), { allowed: false, range }, address);
});

test('R-E3 public addresses are allowed, up to the last one before each special range', () => {
  for (const address of PUBLIC) assert.equal(guard.verdict(address).allowed, true, address);
});

test('R-E3 text that is no address is refused: names, inet_aton forms, zones, brackets, ports', () => {
  const texts = ['', 'localhost', '127.1', '0x7f.0.0.1', '017700000001', '2130706433', '8.8.8.08', '8.8.8.8.', '8.8.8.256', '8.8.8.8:80'];
  for (const text of [...texts, '[::1]', 'fe80::1%eth0', ':::', '1:2:3:4:5:6:7:8:9', ' 8.8.8.8']) {
    assert.deepEqual(guard.verdict(text), { allowed: false, range: 'invalid' }, text);
  }
});

test('R-E3 an allowed net opens exactly its block, also for IPv4 carried in IPv6', () => {
  const open = createAddressGuard({ allowNets: ['10.1.0.0/16', '127.0.0.2', 'fd00:1::/32'] });
  for (const address of ['10.1.0.0', '10.1.255.255', '127.0.0.2', 'fd00:1::5', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3']) {
    assert.equal(open.verdict(address).allowed, true, address);
  }
  for (const address of ['10.0.255.255', '10.2.0.0', '127.0.0.1', '127.0.0.3', 'fd00:2::5', '::ffff:10.2.2.3', '169.254.169.254']) {
    assert.equal(open.verdict(address).allowed, false, address);
  }
});

test('R-E3 prefix lengths that end inside a group are kept to the bit', () => {
  fc.assert(
    fc.property(fc.nat(0xffffffff), fc.integer({ min: 0, max: 32 }), fc.nat(0xffffffff), (base, bits, other) => {
      const mask = bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
      const text = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
      const allowNets = [`${text((base & mask) >>> 0)}/${bits}`];
      const isInside = (base & mask) >>> 0 === (other & mask) >>> 0;
      assert.equal(createAddressGuard({ allowNets }).verdict(text(other)).range === 'allowed-net', isInside);
    }),
  );
});

test('R-E3 IPv6 is read as the WHATWG URL parser reads it, in every spelling', () => {
  const allow = (allowNets: string[]): ReturnType<typeof createAddressGuard> => createAddressGuard({ allowNets });
  const spelling = fc.oneof(
    fc.ipV6(),
    fc.stringMatching(/^[0-9a-f:.]{2,24}$/),
    fc.stringMatching(/^(:|::|[0-9a-f]{1,5}:){1,8}[0-9a-f.]{0,9}$/),
  );
  fc.assert(
    fc.property(spelling, (text) => {
      const url = `http://[${text}]/`;
      const isAddress = URL.canParse(url);
      assert.equal(guard.verdict(text).range !== 'invalid', isAddress && text.includes(':'));
      // The standard spelling of the same address lies in the one-address block that the first spelling names.
      if (isAddress) assert.equal(allow([text]).verdict(new URL(url).hostname.slice(1, -1)).range, 'allowed-net');
    }),
    { numRuns: 2_000 },
  );
});

test('R-E3 a block that cannot be read is a configuration error', () => {
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/x',
    '10.0.0.1/8',
    'fd00::1/8',
    '::/129',
    'localhost',
    '10/8',
    '',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
  ]) {
    assert.throws(() => createAddressGuard({ allowNets: [text] }), { code: 'PORTOLAN_CONFIG_INVALID' }, text);
  }
});

test('an IP literal is known as WHATWG URLs spell it', () => {
  assert.equal(isIpLiteral(new URL('http://0x7f.1/').hostname), '127.0.0.1');
  assert.equal(isIpLiteral(new URL('http://[2001:DB8:0:0::1]/').hostname), '2001:db8::1');
  assert.equal(isIpLiteral(new URL('http://[::ffff:1.2.3.4]/').hostname), '::ffff:102:304');
  for (const host of ['example.com', '1.2.3.4.example', '::1', '[::1', '[]', '[1.2.3.4]', ''])
    assert.equal(isIpLiteral(host), undefined, host);
});

test('the politeness key is the address for IPv4, the /64 for IPv6, and the inner address for carried IPv4', () => {
  assert.equal(addressKey('93.184.216.34'), '93.184.216.34');
  assert.equal(addressKey('2a00:1450:4001:82b::200e'), '2a00:1450:4001:82b::/64');
  assert.equal(addressKey('2a00:1450:4001:82b:1:2:3:4'), '2a00:1450:4001:82b::/64');
  assert.equal(addressKey('2a00::1'), '2a00:0:0:0::/64');
  assert.equal(addressKey('::ffff:93.184.216.34'), '93.184.216.34');
  assert.equal(addressKey('64:ff9b::93.184.216.34'), '93.184.216.34');
  assert.equal(addressKey('2002:5db8:d822::1'), '93.184.216.34');
});

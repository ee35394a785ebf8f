/** The judge's reading of addresses against the crawler's own guard, which was written apart from it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressKey, createAddressGuard } from '../../src/net/address-guard.ts';
import { SPECIAL_IPV4, SPECIAL_IPV6 } from '../../src/net/special-ranges.ts';
import { mayContact, readAddress, readNet, serverOf } from '../../src/verify/addresses.ts';

const guard = createAddressGuard({ allowNets: [] });

/** Addresses in and around every special block, and carried in IPv6 in every way. */
const nearby = fc
  .tuple(fc.constantFrom(...SPECIAL_IPV4.map(([cidr]) => cidr)), fc.integer({ min: -2, max: 2 }), fc.boolean())
  .map(([cidr, step, end]) => {
    const [text = '', bits = '32'] = cidr.split('/');
    const from = text.split('.').reduce((value, part) => value * 256 + Number(part), 0);
    const value = (from + (end ? 2 ** (32 - Number(bits)) : 0) + step + 2 ** 32) % 2 ** 32;
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  });
const ipv4 = fc.oneof(fc.ipV4(), nearby);
const carried = fc
  .tuple(ipv4, fc.constantFrom('::ffff:', '::', '::ffff:0:', '64:ff9b::', '6to4', 'teredo', '2a00::5efe:', '2a00::200:5efe:'))
  .map(([address, how]) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
    const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    if (how === '6to4') return `2002:${hex}::1`;
    if (how === 'teredo') return `2001:0:808:808:0:0:${((a * 256 + b) ^ 0xffff).toString(16)}:${((c * 256 + d) ^ 0xffff).toString(16)}`;
    return how + address;
  });
const blocks6 = fc
  .tuple(fc.constantFrom(...SPECIAL_IPV6.map(([cidr]) => cidr.split('/')[0]!)), fc.nat(0xffff))
  .map(([text, n]) => (text.endsWith('::') ? text + n.toString(16) : text));
const address = fc.oneof(ipv4, fc.ipV6(), carried, blocks6, fc.string({ maxLength: 12 }));

test('R-E3 property: both readings of any address allow the same and see the same servers', () => {
  fc.assert(
    fc.property(address, address, (one, other) => {
      for (const text of [one, other]) {
        const read = readAddress(text);
        assert.equal(read !== undefined && mayContact(read, []), guard.verdict(text).allowed, text);
      }
      const [a, b] = [readAddress(one), readAddress(other)];
      if (a !== undefined && b !== undefined)
        assert.equal(serverOf(a) === serverOf(b), addressKey(one) === addressKey(other), `${one} ${other}`);
    }),
    { numRuns: 5_000 },
  );
});

test('R-E3: a range that the operator has named is allowed, its neighbours are not', () => {
  const nets = [readNet('127.0.0.0/8')!, readNet('fd00::/16')!];
  const allowed = (text: string): boolean => mayContact(readAddress(text)!, nets);
  assert.deepEqual(['127.9.9.9', 'fd00::1', '128.0.0.1'].map(allowed), [true, true, true]);
  assert.deepEqual(['10.0.0.1', 'fd01::1', '::1'].map(allowed), [false, false, false]);
});

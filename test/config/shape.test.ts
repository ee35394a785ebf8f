/** A stored configuration is taken without the schema when it has the schema's shape. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configKeys, parseConfig } from '../../src/config/schema.ts';
import { CONFIG_SHAPE, hasConfigShape } from '../../src/config/shape.ts';

type Plain = Record<string, Record<string, unknown>>;

const SHAPE_KEYS = Object.entries(CONFIG_SHAPE).flatMap(([name, kind]) =>
  typeof kind === 'string' ? [name] : Object.keys(kind).map((key) => `${name}.${key}`),
);
const plain = (input: object): Plain => JSON.parse(JSON.stringify(parseConfig(input, 'test'))) as Plain;

/** A value for each key that is left out by default. */
const OPTIONAL = {
  scope: { maxDepth: 3 },
  politeness: { addressDelay: '1s', blocklist: 'blocked.txt' },
  frontier: { ranks: 'ranks.csv', pageBudget: 5 },
  dedup: { nearDuplicates: 'skip' },
  run: { threads: 2, shards: 4 },
};

test('the shape has the keys of the schema and no other', () => {
  assert.deepEqual(SHAPE_KEYS, configKeys());
});

test('whatever the schema lets through has the shape, also when it was written down and read again', () => {
  assert.ok(hasConfigShape(plain({})));
  assert.ok(hasConfigShape(plain(OPTIONAL)));
  assert.ok(hasConfigShape(plain({ hosts: { 'example.org': { delay: '3s' } }, seeds: ['example.org'] })));
});

test('a configuration with a key less, a key more or a value of another type has not', () => {
  const optional = new Set(Object.entries(OPTIONAL).flatMap(([group, keys]) => Object.keys(keys).map((key) => `${group}.${key}`)));
  for (const dotted of configKeys()) {
    const [group = '', key] = dotted.split('.');
    const without = plain(OPTIONAL);
    const changed = plain(OPTIONAL);
    if (key === undefined) {
      delete without[group];
      changed[group] = 'text' as never;
    } else {
      delete without[group]![key];
      changed[group]![key] = { of: 'another type' };
    }
    assert.equal(hasConfigShape(without), optional.has(dotted), `${dotted} is missing`);
    assert.equal(hasConfigShape(changed), false, `${dotted} is of another type`);
  }
  assert.equal(hasConfigShape({ ...plain({}), future: 1 }), false);
  assert.equal(hasConfigShape({ ...plain({}), net: { allow: [], future: 1 } }), false);
  for (const other of [undefined, null, [], 'text']) assert.equal(hasConfigShape(other), false);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DomainRanks } from '../../src/frontier/domain-ranks.ts';

test('R-B9 ranks and domains are read in either order, with or without a header', () => {
  for (const text of [
    '1,first.test\n2,second.test\n100,last.test\n',
    'first.test,1\r\nsecond.test,2\r\nlast.test,100',
    '# ours\nGlobalRank,TldRank,Domain,TLD\n1,1,first.test,test\n2,2,"Second.test",test\n100,3,last.test.,test\n',
  ]) {
    const ranks = DomainRanks.parse(text, 'ranks.csv');
    assert.equal(ranks.size, 3);
    assert.equal(ranks.of('www.first.test', 'first.test'), 1);
    assert.ok(Math.abs(ranks.of('second.test', 'second.test') - (1 - Math.log(2) / Math.log(101))) < 1e-9);
    assert.ok(ranks.of('last.test', 'last.test') < 0.01);
    assert.equal(ranks.of('other.test', 'other.test'), 0);
  }
});

test('R-B9 a host that is listed itself counts before its domain, and of two ranks the better', () => {
  const ranks = DomainRanks.parse('1,a.test\n5,blog.b.test\n900,b.test\n20,a.test', 'ranks.csv');
  assert.equal(ranks.of('a.test', 'a.test'), 1);
  assert.ok(ranks.of('blog.b.test', 'b.test') > ranks.of('b.test', 'b.test'));
});

test('a line that is no rank is named with its number', () => {
  for (const [text, line] of [
    ['1,a.test\nb.test', 2],
    ['1,a.test\n0,b.test', 2],
    ['1,a.test\n\n3,http://c.test/', 3],
    ['first,second', 1],
  ] as const) {
    assert.throws(() => DomainRanks.parse(text, 'ranks.csv'), {
      code: 'PORTOLAN_CONFIG_INVALID',
      message: new RegExp(`ranks.csv line ${line}`),
    });
  }
});

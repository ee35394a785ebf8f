import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RejectReason } from '../../src/core/reasons.ts';
import { createScope, type Scope, type ScopeOptions } from '../../src/scope/index.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, parseSeed, splitUrl } from '../../src/url/index.ts';

const NOW_MS = Date.UTC(2026, 6, 15);
const OPTIONS: ScopeOptions = {
  mode: 'host',
  include: [],
  exclude: [],
  maxDepth: undefined,
  maxUrlBytes: 1_000,
  maxParameters: 8,
  maxSegmentRepeats: 3,
};
const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);

function scopeOf(options: Partial<ScopeOptions>, seeds: readonly string[], extraHosts: readonly string[] = []): Scope {
  return createScope({ ...OPTIONS, ...options }, seeds.map(parseSeed), extraHosts);
}

function check(scope: Scope, text: string, depth = 1): RejectReason | undefined {
  const url = parseSeed(text);
  return scope.check(url, splitUrl(url), canonicalize(url), depth, NOW_MS);
}

function explain(scope: Scope, text: string, depth = 1) {
  const url = parseSeed(text);
  return scope.explain(url, splitUrl(url), canonicalize(url), depth, NOW_MS);
}

function admits(scope: Scope, inside: readonly string[], outside: readonly string[]): void {
  for (const url of inside) assert.equal(check(scope, url), undefined, url);
  for (const url of outside) assert.equal(check(scope, url), 'out-of-scope', url);
}

test('R-A3 scope host admits the seeds’ hosts in both schemes, with and without www, and no other host or port', () => {
  admits(
    scopeOf({}, ['http://www.a.example/x/y', 'http://b.example:8080/']),
    ['http://a.example/', 'https://www.a.example/z', 'http://b.example:8080/q', 'https://b.example:8080/'],
    ['http://b.example/', 'http://c.a.example/', 'http://a.example:81/', 'http://xa.example/', 'http://example/'],
  );
  admits(scopeOf({}, ['http://www.example/']), ['http://www.example/'], ['http://example/']);
});

test('R-A3 scope prefix admits what begins like a seed up to its last slash', () => {
  admits(
    scopeOf({ mode: 'prefix' }, ['http://a.example/docs/v1/index.html?x=/y/', 'http://b.example/top']),
    ['https://www.a.example/docs/v1/', 'http://a.example/docs/v1/deep/page', 'http://b.example/anything'],
    ['http://a.example/docs/v2/', 'http://a.example/docs/v1', 'http://a.example/', 'http://c.example/docs/v1/'],
  );
});

test('R-A3 scope domain admits every host of the registrable domain', () => {
  admits(
    scopeOf({ mode: 'domain' }, ['http://www.shop.co.uk/', 'http://user.github.io/', 'http://127.0.0.1/']),
    [
      'http://shop.co.uk/',
      'https://img.cdn.shop.co.uk:8443/',
      'http://user.github.io/',
      'http://x.user.github.io/',
      'http://127.0.0.1:81/',
    ],
    ['http://other.co.uk/', 'http://co.uk/', 'http://other.github.io/', 'http://127.0.0.2/'],
  );
});

test('R-A3 scope domain admits sub-domains under a suffix that no list knows', () => {
  admits(
    scopeOf({ mode: 'domain' }, ['http://www.shop.test/', 'http://localhost/']),
    ['http://shop.test/', 'http://a.b.shop.test/', 'http://localhost:81/'],
    ['http://xshop.test/', 'http://test/'],
  );
});

test('R-A3 scope web admits every host', () => {
  admits(scopeOf({ mode: 'web' }, ['http://a.example/']), ['http://a.example/', 'https://b.test:81/x'], []);
});

test('R-A3 a host that a seed redirects to joins the scope once, and is in again when handed in at the next start', () => {
  const host = scopeOf({}, ['http://a.example/']);
  assert.equal(check(host, 'http://new.example/'), 'out-of-scope');
  assert.equal(host.addHost('new.example'), true);
  assert.equal(host.addHost('www.new.example'), false);
  assert.equal(host.addHost('a.example'), false);
  assert.equal(check(host, 'https://new.example/'), undefined);
  admits(scopeOf({}, ['http://a.example/'], ['new.example']), ['http://new.example/'], ['http://x.example/']);

  const domain = scopeOf({ mode: 'domain' }, ['http://a.com/']);
  assert.equal(domain.addHost('www.b.com:8080'), true);
  assert.equal(domain.addHost('b.com'), false);
  admits(domain, ['http://c.b.com/'], ['http://c.com/']);

  assert.equal(scopeOf({ mode: 'web' }, []).addHost('b.com'), false);
});

test('R-A3 in scope prefix an added host takes the seeds’ prefixes, or the path it is given with', () => {
  const scope = scopeOf({ mode: 'prefix' }, ['http://a.example/docs/x']);
  assert.equal(scope.addHost('b.example'), true);
  assert.equal(scope.addHost('b.example'), false);
  assert.equal(scope.addHost('c.example/en/'), true);
  assert.equal(scope.addHost('c.example/en/deeper/'), false);
  admits(scope, ['http://b.example/docs/y', 'http://c.example/en/z'], ['http://b.example/y', 'http://c.example/docs/y']);
});

test('R-A3 exclude wins over include, and with includes one must match the URL as found', () => {
  const scope = scopeOf({ include: ['/blog/', '[?]utm_source='], exclude: ['\\.pdf$', 'private'] }, ['http://a.example/']);
  assert.equal(check(scope, 'http://a.example/blog/1'), undefined);
  assert.equal(check(scope, 'http://a.example/x?utm_source=y'), undefined);
  assert.equal(check(scope, 'http://a.example/about'), 'not-included');
  assert.equal(check(scope, 'http://a.example/blog/1.pdf'), 'excluded');
  assert.equal(check(scope, 'http://a.example/private'), 'excluded');
});

test('R-A3 a pattern that does not compile is a configuration error that names key and pattern', () => {
  for (const options of [{ include: ['('] }, { exclude: ['*.pdf'] }]) {
    const key = Object.keys(options)[0]!;
    assert.throws(
      () => scopeOf(options, []),
      (error: { code?: string; message?: string; remedy?: string }) =>
        error.code === 'PORTOLAN_CONFIG_INVALID' && error.message!.includes(`scope.${key}`) && error.remedy !== '',
    );
  }
});

test('R-F2 each guard refuses the first URL beyond its bound, with its own reason', () => {
  const scope = scopeOf({ maxDepth: 16, maxUrlBytes: 40, maxParameters: 2 }, ['http://a.example/']);
  assert.equal(check(scope, `http://a.example/${'x'.repeat(23)}`), undefined);
  assert.equal(check(scope, `http://a.example/${'x'.repeat(24)}`), 'url-too-long');
  assert.equal(check(scope, 'http://a.example/?a=1&b=2&gclid=3'), undefined);
  assert.equal(check(scope, 'http://a.example/?a=1&b=2&c=3'), 'too-many-parameters');
  assert.equal(check(scope, 'http://a.example/', 16), undefined);
  assert.equal(check(scope, 'http://a.example/', 17), 'too-deep');
  assert.equal(check(scopeOf({}, ['http://a.example/']), 'http://a.example/', 1_000_000), undefined);
});

test('R-F2 R-F3 explain gives the verdict of check and names the rule with its figures', () => {
  const scope = scopeOf({ maxDepth: 16, maxParameters: 3, include: ['example'], exclude: ['secret'] }, ['http://a.example/']);
  const cases = [
    ['http://a.example/', undefined, /scope host.*example/],
    ['http://b.example/', 'out-of-scope', /b\.example/],
    ['http://a.example/secret', 'excluded', /secret/],
    ['http://a.example/a/a/a/a', 'trap-repeating-path', /"a".*3/],
    ['http://a.example/calendar/2040/01', 'trap-calendar', /2040\/01/],
    ['http://a.example/?color=a&size=b&brand=c', 'trap-facets', /size=b/],
    ['http://a.example/?a=1&b=1&c=1&d=1', 'too-many-parameters', /4 .*3/],
    [`http://a.example/${'x'.repeat(1_000)}`, 'url-too-long', /1017 bytes.*1000/],
  ] as const;
  for (const [url, reason, rule] of cases) {
    const verdict = explain(scope, url);
    assert.equal(verdict.reason, reason, url);
    assert.equal(check(scope, url), reason);
    assert.match(verdict.rule, rule);
  }
  assert.match(explain(scope, 'http://a.example/', 20).rule, /20 links.*16/);
  assert.equal(explain(scopeOf({ include: ['zzz'] }, ['http://a.example/']), 'http://a.example/').reason, 'not-included');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { gateKey, HostRuleTable, hostExceptions } from '../../src/engine/host-rules.ts';
import { shownConfig } from '../../src/engine/shown-config.ts';

const table = (input: ConfigInput, environment: Record<string, string> = {}): HostRuleTable =>
  new HostRuleTable(parseConfig(input, 'test'), '1.0', [], environment);

const header = (list: readonly (readonly [string, string])[], name: string): string | undefined =>
  list.find(([one]) => one.toLowerCase() === name)?.[1];

test('key by key the most specific entry counts; a map is taken whole', () => {
  const rules = table({
    politeness: { delay: 1_000, delayFactor: 3 },
    hosts: {
      '*.a.test': { delay: 400, pageBudget: 7, headers: { 'X-One': '1', 'X-Two': '2' } },
      'www.a.test': { delay: 200, headers: { 'X-One': 'own' } },
      'www.a.test:8080': { delayFactor: 0 },
    },
  });
  const at = (host: string) => {
    const own = rules.of(host);
    const { gap, pageBudget } = own;
    const { sent } = own.headers('https', 'page', '');
    return [gap.delayMs, gap.delayFactor, pageBudget, header(sent, 'x-one'), header(sent, 'x-two')];
  };
  assert.deepEqual(at('www.a.test:8080'), [200, 0, 7, 'own', undefined]);
  assert.deepEqual(at('www.a.test'), [200, 3, 7, 'own', undefined]);
  assert.deepEqual(at('a.test'), [400, 3, 7, '1', '2']);
  assert.deepEqual(at('b.test'), [1_000, 3, 0, undefined, undefined]);
});

test('the address of a host that may be asked more often is asked more often, unless its pause was set', () => {
  const hosts = { 'fast.test': { delay: 100 }, 'slow.test': { delay: 9_000 } };
  const addressDelays = (rules: HostRuleTable) => ['fast.test', 'slow.test', 'x.test'].map((host) => rules.of(host).addressDelayMs);
  assert.deepEqual(addressDelays(table({ hosts })), [100, 1_000, 1_000]);
  assert.deepEqual(addressDelays(table({ hosts, politeness: { addressDelay: 500 } })), [500, 500, 500]);
});

test('a header takes the place of the crawler’s own, and Accept is for pages alone', () => {
  const rules = table({ fetch: { headers: ['accept: text/special', 'X-A: b'] } }).of('a.test');
  assert.deepEqual(
    rules.headers('http', 'page', '').sent.filter(([name]) => /^accept$/i.test(name)),
    [['accept', 'text/special']],
  );
  assert.equal(header(rules.headers('http', 'robots', '').sent, 'accept'), 'text/plain,*/*;q=0.5');
  assert.equal(header(rules.headers('http', 'asset', '').sent, 'accept'), '*/*');
  assert.equal(header(rules.headers('http', 'robots', '').sent, 'x-a'), 'b');
});

test('cookies of a chain join the operator’s, which are masked where they are written down', () => {
  const rules = table({ hosts: { 'a.test': { cookies: { consent: 'yes', session: 'old' } } } });
  const { sent, shown } = rules.of('a.test').headers('http', 'page', 'session=new; been=here');
  assert.equal(header(sent, 'cookie'), 'consent=yes; session=new; been=here');
  assert.equal(header(shown, 'cookie'), '***; session=new; been=here');
  assert.equal(header(rules.of('b.test').headers('http', 'page', 'been=here').shown, 'cookie'), 'been=here');
});

test('what comes from the environment is held against what a header can carry, and is not repeated', () => {
  const input: ConfigInput = { hosts: { 'a.test': { headers: { 'X-T': { env: 'T' } } } } };
  assert.equal(header(table(input, { T: 'secret\n' }).of('a.test').headers('http', 'page', '').sent, 'x-t'), 'secret');
  for (const T of ['a\r\nX: y', 'a\nb', 'a€'])
    assert.throws(() => table(input, { T }), /hosts\.a\.test\.headers\.X-T: its value has characters/);
  assert.throws(() => table(input), /the environment has no variable T/);
  assert.throws(
    () => table({ hosts: { 'a.test': { proxy: { env: 'P' } } } }, { P: 'ftp://geheim' }),
    (error: Error) => !error.message.includes('geheim'),
  );
});

test('a configuration that was written down has no secret in it, and its masks are never sent', () => {
  const input: ConfigInput = {
    fetch: { headers: ['Cookie: s1', 'X-Run: 7'] },
    hosts: {
      'a.test': {
        auth: { user: 'u', password: 's2' },
        cookies: { a: 's3', env: 's4', b: { env: 'B' } },
        headers: { 'X-A': 's5' },
        proxy: 'http://u:s6@proxy.test:1',
      },
      'b.test': { cookies: 'a=s7', proxy: { env: 'P' } },
    },
  };
  const shown = shownConfig(parseConfig(input, 'test'));
  const text = JSON.stringify(shown);
  assert.doesNotMatch(text, /"?\bs\d\b/);
  for (const kept of ['"env":"B"', '"env":"P"', 'X-Run: 7', 'proxy.test:1', '"user":"u"']) assert.ok(text.includes(kept), kept);
  const again = parseConfig(shown, 'stored');
  const rules = new HostRuleTable(again, '1', [], { B: 'b', P: 'http://p.test' });
  const { sent } = rules.of('a.test').headers('https', 'page', '');
  assert.ok(!JSON.stringify(sent).includes('***'), JSON.stringify(sent));
  assert.equal(rules.of('a.test').proxy?.authorization, undefined);
});

test('behind a proxy the host alone is the unit of the address gate', () => {
  const rules = table({ hosts: { '*.a.test': { proxy: 'http://127.0.0.1:3128' } } });
  assert.notEqual(gateKey(rules.of('x.a.test'), 'x.a.test', '127.0.0.1'), gateKey(rules.of('y.a.test'), 'y.a.test', '127.0.0.1'));
  assert.equal(gateKey(rules.of('b.test'), 'b.test', '192.0.2.1'), gateKey(rules.of('c.test'), 'c.test', '192.0.2.1'));
});

test('exceptions are told with their reasons', () => {
  const config = parseConfig(
    { hosts: { 'a.test': { robots: { ignore: true, reason: 'own site' }, tls: { insecure: true, reason: 'staging' } } } },
    'x',
  );
  assert.deepEqual(
    hostExceptions(config).map(({ hosts, what, reason }) => `${hosts}: ${what}: ${reason}`),
    ['a.test: robots.txt is ignored: own site', 'a.test: certificates are not checked: staging'],
  );
});

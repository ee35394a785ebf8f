/** `hosts:` and fetch.headers: what is refused, with which words, and that no message repeats what may be a secret. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostKeyDocs } from '../../src/config/key-docs.ts';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import type { PortolanError } from '../../src/core/errors.ts';

type Hosts = NonNullable<ConfigInput['hosts']>;

function refusal(input: unknown): string {
  try {
    parseConfig(input, 'file');
  } catch (error) {
    return (error as PortolanError).message;
  }
  assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('names of hosts get the spelling of host keys', () => {
  const hosts: Hosts = { 'WWW.Example.ORG.': {}, '*.Bücher.example': {}, '[::1]:8080': {}, 'a.test:81': {} };
  assert.deepEqual(Object.keys(parseConfig({ hosts }, 'file').hosts), [
    'www.example.org',
    '*.xn--bcher-kva.example',
    '[::1]:8080',
    'a.test:81',
  ]);
});

test('what is no host, or the same host twice, is named with its key', () => {
  for (const key of [
    'http://a.test/',
    'a.test/path',
    'me@a.test',
    '',
    '*',
    '*.',
    'a b',
    'a.test:443',
    'a.test:80',
    '*.a.test:81',
    '*.127.0.0.1',
    '*.[::1]',
  ])
    assert.match(refusal({ hosts: { [key]: {} } }), /is (?:no host|a domain|an address|a host with a default port)/, key);
  assert.match(refusal({ hosts: { 'A.test': {}, 'a.test': {} } }), /hosts\.a\.test: "a\.test" is the same host as another key/);
});

test('an unknown key of a host names the nearest one of a host', () => {
  assert.match(refusal({ hosts: { 'a.test': { dealy: '1s' } } }), /unknown key "hosts\.a\.test\.dealy" \(did you mean "delay"\?\)/);
});

test('an exception needs a reason in words, on one line', () => {
  for (const key of ['robots', 'tls'] as const) {
    const verb = key === 'robots' ? 'ignore' : 'insecure';
    assert.match(refusal({ hosts: { 'a.test': { [key]: { [verb]: true } } } }), new RegExp(`hosts\\.a\\.test\\.${key}\\.reason: `));
    assert.match(refusal({ hosts: { 'a.test': { [key]: { [verb]: true, reason: ' ok ' } } } }), /a reason in words is expected/);
    assert.match(refusal({ hosts: { 'a.test': { [key]: { [verb]: true, reason: 'two\nlines' } } } }), /one line/);
    assert.match(
      refusal({ hosts: { 'a.test': { [key]: { [verb]: false, reason: 'not an exception' } } } }),
      new RegExp(`${key}\\.${verb}`),
    );
  }
});

test('headers of the connection, and those that are made from other keys, are refused in both places', () => {
  for (const name of [
    'Host',
    'content-length',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Proxy-Authorization',
    'User-Agent',
    'Range',
    'Accept-Encoding',
  ]) {
    assert.match(refusal({ fetch: { headers: [`${name}: x`] } }), new RegExp(`fetch\\.headers\\.0: the header ${name} cannot be set: `));
    assert.match(
      refusal({ hosts: { 'a.test': { headers: { [name]: 'x' } } } }),
      new RegExp(`hosts\\.a\\.test\\.headers\\.${name}: the header ${name} cannot be set`),
    );
  }
  for (const line of ['no colon', ': x', 'bad name: x', 'X: a\r\nY: b', 'X: €']) refusal({ fetch: { headers: [line] } });
  assert.deepEqual(parseConfig({ fetch: { headers: ['X-A: b: c', 'X-Empty:'] } }, 'file').fetch.headers, ['X-A: b: c', 'X-Empty:']);
});

test('no message repeats what may be a secret', () => {
  const secret = 'geheim';
  const wrong: readonly unknown[] = [
    { auth: secret },
    { auth: { user: 'u', password: [secret] } },
    { auth: { user: `u:${secret}`, password: 'p' } },
    { auth: { user: 'u', password: `${secret}\u0001` } },
    { cookies: [secret] },
    { cookies: `a=${secret}\r\nX: y` },
    { headers: { 'X-A': [secret] } },
    { headers: { 'X-A': `${secret}\n` } },
    { headers: secret },
    { proxy: `socks5://u:${secret}@proxy.test:1` },
    { proxy: `http://u:${secret}@proxy.test:1/path` },
    { proxy: [secret] },
  ];
  for (const host of wrong) {
    const text = refusal({ hosts: { 'a.test': host } });
    assert.ok(!text.includes(secret), text);
    assert.match(text, /hosts\.a\.test\./);
  }
});

test('a secret is text or the name of a variable', () => {
  const host: Hosts[string] = {
    auth: { user: 'u', password: { env: 'PASSWORD' } },
    cookies: { env: 'COOKIES' },
    proxy: { env: 'PROXY_URL' },
  };
  assert.deepEqual(parseConfig({ hosts: { 'a.test': host } }, 'file').hosts['a.test'], host);
  assert.match(refusal({ hosts: { 'a.test': { proxy: { env: 'NO-NAME' } } } }), /name of a variable of the environment is expected/);
});

test('every key of a host is documented', () => {
  for (const { key, meaning, example } of hostKeyDocs()) assert.ok(meaning.length > 10 && example !== undefined, key);
});

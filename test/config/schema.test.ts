import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configKeyDocs } from '../../src/config/key-docs.ts';
import { ConfigSchema, configKeys, parseConfig } from '../../src/config/schema.ts';
import { nearest } from '../../src/config/suggest.ts';
import type { PortolanError } from '../../src/core/errors.ts';

function refusal(input: unknown): PortolanError {
  try {
    parseConfig(input, 'portolan.yaml');
  } catch (error) {
    return error as PortolanError;
  }
  assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('R-C1 R-I1 R-G1 R-B2 the defaults are the ones that are promised', () => {
  const config = parseConfig({}, 'none');
  assert.equal(config.scope.mode, 'host');
  const { delay, delayFactor, delayFactorMax, crawlDelayMax, faultLimit, setAside, setAsideLimit } = config.politeness;
  assert.deepEqual(
    { delay, delayFactor, delayFactorMax, crawlDelayMax, faultLimit, setAside, setAsideLimit },
    { delay: 1_000, delayFactor: 5, delayFactorMax: 30_000, crawlDelayMax: 300_000, faultLimit: 5, setAside: 3_600_000, setAsideLimit: 5 },
  );
  const { connectTimeout, firstByteTimeout, totalTimeout, maxBody, maxRedirects, attempts } = config.fetch;
  assert.deepEqual(
    { connectTimeout, firstByteTimeout, totalTimeout, maxBody, maxRedirects, attempts },
    { connectTimeout: 5_000, firstByteTimeout: 10_000, totalTimeout: 30_000, maxBody: 5_000_000, maxRedirects: 10, attempts: 3 },
  );
  assert.equal(config.frontier.backQueues, 1_024);
  assert.deepEqual(config.net.allow, []);
});

test('R-B1 the best of five levels is drawn five times as often as the last, in a geometric row', () => {
  const { weights } = parseConfig({}, 'none').frontier;
  assert.equal(weights[0]! / weights[4]!, 5);
  for (let level = 1; level < 5; level++) assert.ok(Math.abs(weights[level - 1]! / weights[level]! - 5 ** 0.25) < 0.001);
});

test('an unknown key fails and the nearest right one is named', () => {
  const error = refusal({ politeness: { dealy: '2s' } });
  assert.equal(error.code, 'PORTOLAN_CONFIG_UNKNOWN_KEY');
  assert.equal(error.message, 'portolan.yaml: unknown key "politeness.dealy" (did you mean "politeness.delay"?)');
  assert.match(refusal({ sedes: [] }).message, /unknown key "sedes" \(did you mean "seeds"\?\)/);
  assert.match(refusal({ utterly: { different: 1 } }).message, /unknown key "utterly"$/);
});

test('every finding is named in one message', () => {
  const { message, code } = refusal({ politeness: { delay: 'soon', rate: -1 }, fetch: { maxBody: 'much' } });
  assert.equal(code, 'PORTOLAN_CONFIG_INVALID');
  for (const part of ['politeness.delay: "soon" is not a duration', 'politeness.rate', 'fetch.maxBody: "much" is not a size'])
    assert.ok(message.includes(part), message);
});

test('R-C6 a crawl of the whole web without a contact is refused', () => {
  assert.equal(refusal({ scope: { mode: 'web' } }).code, 'PORTOLAN_CONFIG_INVALID');
  assert.equal(parseConfig({ scope: { mode: 'web' }, agent: { contact: 'https://bot.example/' } }, 'x').scope.mode, 'web');
});

test('R-C6 a product token is one that robots.txt can name', () => {
  for (const token of ['', 'My Bot', 'bot/1', 'bot2']) assert.equal(refusal({ agent: { token } }).code, 'PORTOLAN_CONFIG_INVALID', token);
  assert.equal(parseConfig({ agent: { token: 'My-Bot_x' } }, 'x').agent.token, 'My-Bot_x');
});

test('undefined means the default, and a bound of 0 is refused where it would stop everything', () => {
  assert.equal(parseConfig({ politeness: { delay: undefined }, scope: undefined }, 'x').politeness.delay, 1_000);
  for (const input of [
    { run: { threads: 0 } },
    { run: { shards: 0 } },
    { fetch: { connections: 0 } },
    { frontier: { backQueues: 0 } },
    { fetch: { attempts: 0 } },
  ])
    refusal(input);
  for (const input of [{ scope: { maxSegmentRepeats: 0 } }, { limits: { maxPages: 0 } }, { politeness: { delay: 0 } }])
    parseConfig(input, 'x');
});

test('what is not an object is refused with a code', () => {
  for (const input of ['text', 7, [], { seeds: 'http://one.example/' }, { scope: null }])
    assert.equal(refusal(input).code, 'PORTOLAN_CONFIG_INVALID');
});

test('a configuration cannot be changed afterwards, at any depth', () => {
  const config = parseConfig({ seeds: ['http://one.example/'] }, 'x');
  assert.throws(() => ((config as { seeds: readonly string[] }).seeds = []), TypeError);
  assert.throws(() => (config.seeds as string[]).push('http://two.example/'), TypeError);
  assert.throws(() => ((config.politeness as { delay: number }).delay = 0), TypeError);
});

test('each key has a meaning and its default is written as it would be given', () => {
  const docs = configKeyDocs();
  assert.deepEqual(
    docs.map(({ key }) => key),
    configKeys(),
  );
  for (const doc of docs) {
    assert.notEqual(doc.meaning, '', doc.key);
    const [section = '', name] = doc.key.split('.');
    if (name === undefined || doc.default === '' || doc.value === 'list' || doc.value === 'true, false') continue;
    const given = doc.value === 'number' ? Number(doc.default) : doc.default;
    const config = parseConfig({ [section]: { [name]: given } }, 'x') as unknown as Record<string, Record<string, unknown>>;
    assert.equal(
      config[section]?.[name],
      (ConfigSchema.parse({}) as unknown as Record<string, Record<string, unknown>>)[section]?.[name],
      doc.key,
    );
  }
});

test('credentials in a seed go no further than the configuration file', () => {
  const seeds = [
    ['http://anna:open%20sesame@site.example/in', 'http://site.example/in'],
    ['https://anna:a@b@site.example:8443/x@y?z=a@b', 'https://site.example:8443/x@y?z=a@b'],
    ['<https://anna@site.example>', '<https://site.example>'],
    ['http:\\\\anna:b@site.example\\x', 'http:\\\\site.example\\x'],
    ['site.example/a@b', 'site.example/a@b'],
    ['https://site.example?mail=a@b.example', 'https://site.example?mail=a@b.example'],
  ] as const;
  for (const [written, kept] of seeds) assert.deepEqual(parseConfig({ seeds: [written] }, 'x').seeds, [kept]);
});

test('the nearest word is a near one or none', () => {
  assert.equal(nearest('maxPage', ['maxPages', 'maxTime']), 'maxPages');
  assert.equal(nearest('MAXPAGES', ['maxPages']), 'maxPages');
  assert.equal(nearest('zebra', ['maxPages', 'maxTime']), undefined);
});

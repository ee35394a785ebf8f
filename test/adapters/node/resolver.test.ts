import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { NodeResolverOptions } from '../../../src/adapters/node/resolver.ts';
import { createNodeResolver } from '../../../src/adapters/node/resolver.ts';
import type { Resolver } from '../../../src/ports/resolver.ts';
import type { DnsReply, DnsServer } from '../../support/dns-server.ts';
import { startDnsServer } from '../../support/dns-server.ts';

async function withResolver(
  script: (name: string, type: string, nth: number) => DnsReply | undefined,
  options: NodeResolverOptions,
  body: (resolver: Resolver, dns: DnsServer) => Promise<void>,
): Promise<void> {
  const dns = await startDnsServer(script);
  const resolver = createNodeResolver({ servers: [dns.server], timeoutMs: 2_000, ...options });
  try {
    await body(resolver, dns);
  } finally {
    resolver.close();
    await dns.close();
  }
}

test('R-E1 a name gives the addresses of both families, IPv4 first, with the smallest TTL', async () => {
  const script = (_name: string, type: string): DnsReply => ({
    kind: 'answer',
    addresses: ['2001:DB8:0::1', '192.0.2.1', '192.0.2.2'],
    ttlS: type === 'A' ? 300 : 45,
  });
  await withResolver(script, {}, async (resolver, dns) => {
    assert.deepEqual(await resolver.resolve('a.test'), {
      kind: 'addresses',
      addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
      ttlS: 45,
    });
    assert.equal(dns.questions.length, 2);
  });
});

test('R-E1 one family is enough, whatever becomes of the other', async () => {
  const script = (name: string, type: string): DnsReply => {
    if (type === 'A') return { kind: 'answer', addresses: ['192.0.2.1'], ttlS: 9 };
    return { kind: name === 'servfail6.test' ? 'servfail' : name === 'silent6.test' ? 'silence' : 'nxdomain' };
  };
  await withResolver(script, { timeoutMs: 300 }, async (resolver) => {
    for (const name of ['none6.test', 'servfail6.test', 'silent6.test']) {
      assert.deepEqual(await resolver.resolve(name), { kind: 'addresses', addresses: ['192.0.2.1'], ttlS: 9 }, name);
    }
  });
});

test('R-E1 what name servers say is an answer, never an exception', async () => {
  const script = (name: string): DnsReply | undefined => {
    if (name === 'empty.test') return { kind: 'answer', addresses: [] };
    if (name === 'servfail.test') return { kind: 'servfail' };
    return name === 'refused.test' ? { kind: 'refused' } : undefined;
  };
  await withResolver(script, {}, async (resolver) => {
    assert.deepEqual(await resolver.resolve('missing.test'), { kind: 'not-found' });
    assert.deepEqual(await resolver.resolve('empty.test'), { kind: 'not-found' });
    assert.deepEqual(await resolver.resolve('a..test'), { kind: 'not-found' });
    assert.deepEqual(await resolver.resolve('servfail.test'), { kind: 'failed', detail: 'ESERVFAIL' });
    assert.deepEqual(await resolver.resolve('refused.test'), { kind: 'failed', detail: 'EREFUSED' });
  });
});

test('R-E1 silence ends at the own deadline, long before c-ares gives up, and holds up no other name', async () => {
  const script = (name: string): DnsReply => (name.startsWith('dead') ? { kind: 'silence' } : { kind: 'answer', addresses: ['192.0.2.1'] });
  await withResolver(script, { timeoutMs: 400, maxInFlight: 64 }, async (resolver) => {
    const order: string[] = [];
    const dead = Array.from({ length: 20 }, (_, index) => resolver.resolve(`dead${index}.test`).then((answer) => order.push(answer.kind)));
    const live = Array.from({ length: 10 }, (_, index) => resolver.resolve(`live${index}.test`).then((answer) => order.push(answer.kind)));
    await Promise.all([...dead, ...live]);
    assert.deepEqual(order, [...Array(10).fill('addresses'), ...Array(20).fill('timeout')]);
  });
});

test('R-E1 no more questions are under way than allowed; the rest waits its turn and all are answered', async () => {
  let open = 0;
  let most = 0;
  const script = (): DnsReply => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => (open -= 1), 15);
    return { kind: 'answer', addresses: ['192.0.2.1'], delayMs: 20 };
  };
  await withResolver(script, { maxInFlight: 8 }, async (resolver) => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => resolver.resolve(`n${index}.test`)));
    assert.equal(answers.filter((answer) => answer.kind === 'addresses').length, 40);
    assert.ok(most <= 8, `${most} at once`);
  });
});

test('beyond the bound of its queue a look-up fails at once and says why', async () => {
  const script = (): DnsReply => ({ kind: 'answer', addresses: ['192.0.2.1'], delayMs: 30 });
  await withResolver(script, { maxInFlight: 2, maxQueued: 2 }, async (resolver) => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => resolver.resolve(`${name}.test`)));
    assert.deepEqual(
      answers.map((answer) => answer.kind),
      ['addresses', 'addresses', 'addresses', 'failed'],
    );
  });
});

test('closing answers every look-up under way or waiting, and later ones', async () => {
  await withResolver(
    () => ({ kind: 'silence' }),
    { maxInFlight: 2 },
    async (resolver) => {
      const pending = [resolver.resolve('a.test'), resolver.resolve('b.test')];
      resolver.close();
      for (const answer of [...pending, resolver.resolve('c.test')]) assert.equal((await answer).kind, 'failed');
    },
  );
});

test('without servers, names of the hosts file are known; localhost always is', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'portolan-hosts-'));
  const hostsFile = join(directory, 'hosts');
  writeFileSync(
    hostsFile,
    '# names\n192.0.2.9 One.test alias.test # tail\n2001:DB8::9\tone.test\nfe80::1%lo skipped.test\nnot-an-address x.test\n',
  );
  const resolver = createNodeResolver({ hostsFile });
  const bare = createNodeResolver({ hostsFile: join(directory, 'missing') });
  try {
    assert.deepEqual(await resolver.resolve('one.test'), { kind: 'addresses', addresses: ['192.0.2.9', '2001:db8::9'], ttlS: 86_400 });
    assert.deepEqual(await resolver.resolve('alias.test'), { kind: 'addresses', addresses: ['192.0.2.9'], ttlS: 86_400 });
    assert.deepEqual(await bare.resolve('localhost'), { kind: 'addresses', addresses: ['127.0.0.1', '::1'], ttlS: 86_400 });
  } finally {
    resolver.close();
    bare.close();
    rmSync(directory, { recursive: true });
  }
});

test('a server that cannot be read is a configuration error', () => {
  assert.throws(() => createNodeResolver({ servers: ['name.test:53'] }), { code: 'PORTOLAN_CONFIG_INVALID' });
});

/**
 * The adapters of one worker thread: puts its part of the node together and runs it. Apart from compose.ts so that the main thread does not load
 * what only threads need.
 */
import { join } from 'node:path';
import { createFileBlobStore } from './adapters/file/blob-store.ts';
import { openDisk } from './adapters/file/disk.ts';
import { createMemoryMetrics } from './adapters/memory/metrics.ts';
import { createSharedGate } from './adapters/node/address-gate.ts';
import { createSystemClock } from './adapters/node/clock.ts';
import { createThreadChannel } from './adapters/node/link-channel.ts';
import { createRandom } from './adapters/node/random.ts';
import { createNodeResolver } from './adapters/node/resolver.ts';
import { closeThread, onCoordinatorMessage, postToCoordinator, threadStart } from './adapters/node/threads.ts';
import { createSqliteStore } from './adapters/sqlite/shard-store.ts';
import { createUndiciTransport } from './adapters/undici/transport.ts';
import { SimHasher } from './dedup/simhash.ts';
import { crawlRules, type ShardPorts, type ThreadContext } from './engine/context.ts';
import type { ToThread } from './engine/messages.ts';
import { ShardThread } from './engine/thread.ts';
import { createAddressGuard } from './net/address-guard.ts';
import { DnsCache } from './net/dns-cache.ts';
import { createHandlers } from './parse/handlers.ts';
import { Blocklist } from './scope/blocklist.ts';
import { createScope } from './scope/scope.ts';
import { dnsOverrides, shardFile, type ThreadData } from './thread-data.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, DomainTable } from './url/index.ts';
import { VERSION } from './version.ts';

/** Within a worker thread: puts its part of the node together and runs it. */
export async function composeThread(): Promise<void> {
  const { thread, data, ports } = threadStart<ThreadData>();
  const { config, shards, own, threads } = data;
  const clock = createSystemClock();
  const random = createRandom();
  const metrics = createMemoryMetrics();
  const guard = createAddressGuard({ allowNets: config.net.allow });
  const channel = createThreadChannel(thread, (shard) => (shard < 0 ? -1 : shard % threads));
  const transport = createUndiciTransport({ maxConnections: Math.max(64, Math.ceil((config.frontier.backQueues * 2) / threads)) });
  const rules = crawlRules(config, VERSION);
  const { mode, include, exclude, maxUrlBytes, maxParameters, maxSegmentRepeats } = config.scope;
  const resolver = createNodeResolver({
    timeoutMs: config.dns.timeout,
    maxInFlight: Math.max(2, Math.floor(256 / threads)),
    ...(config.dns.servers.length === 0 ? {} : { servers: config.dns.servers }),
  });
  const context: ThreadContext = {
    config,
    rules,
    shards,
    clock,
    random,
    metrics,
    transport,
    dns: new DnsCache({
      resolver,
      clock,
      guard,
      entriesMax: config.dns.cacheEntries,
      ttlMinMs: config.dns.ttlMin,
      ttlMaxMs: config.dns.ttlMax,
      notFoundMs: config.dns.negativeTtl,
      failedMs: config.politeness.faultPause,
      overrides: dnsOverrides(config.dns.resolve),
    }),
    guard,
    channel,
    canonicalize: createCanonicalizer(DEFAULT_CANONICAL_OPTIONS),
    domains: new DomainTable(),
    scope: createScope({ mode, include, exclude, maxDepth: rules.maxDepth, maxUrlBytes, maxParameters, maxSegmentRepeats }, data.areas, []),
    handlers: createHandlers(),
    simhasher: new SimHasher(),
    blocklist: {
      current: data.blocklist === undefined ? Blocklist.parse('', '') : Blocklist.parse(data.blocklist.text, data.blocklist.file),
    },
    bootId: data.bootId,
    configVersion: data.configVersion,
    software: `Portolan/${VERSION}`,
    yieldTurn: () => new Promise((done) => setImmediate(done)),
  };
  const runner = new ShardThread(context, own, metrics, postToCoordinator);
  for (const { thread: other, port } of ports) channel.connect(other, port);
  onCoordinatorMessage((message) => {
    void runner.receive(message as ToThread).then(async (done) => {
      if (!done) return;
      for (const { port } of ports) port.close();
      await transport.close();
      resolver.close();
      closeThread();
    });
  });
  await runner.open((shard) => shardPorts(data, shard));
}

function shardPorts(data: ThreadData, shard: number): ShardPorts {
  const { dir, config, shards } = data;
  const root = openDisk(dir);
  return {
    store: createSqliteStore({ file: shardFile(dir, shard), cacheBytes: Math.floor(config.run.memory / 8 / shards) }),
    disk: openDisk(join(dir, 'state', `shard-${shard}`)),
    blobs: createFileBlobStore(root, ''),
    gate: createSharedGate(data.gate, data.gateOptions, shard + 1),
  };
}

/**
 * The adapters of one worker thread: makes them, has the engine run its shards over them, closes them. Apart from compose.ts so that the main
 * thread does not load what only threads need.
 */
import { join } from 'node:path';
import { createFileBlobStore } from './adapters/file/blob-store.ts';
import { openDisk } from './adapters/file/disk.ts';
import { createMemoryMetrics } from './adapters/memory/metrics.ts';
import { createSharedGate } from './adapters/node/address-gate.ts';
import { createBusyMeter } from './adapters/node/busy.ts';
import { readCertificates } from './adapters/node/certificates.ts';
import { createSystemClock } from './adapters/node/clock.ts';
import { createThreadChannel } from './adapters/node/link-channel.ts';
import { createRandom } from './adapters/node/random.ts';
import { createNodeResolver } from './adapters/node/resolver.ts';
import { closeThread, onCoordinatorMessage, postToCoordinator, threadStart } from './adapters/node/threads.ts';
import { createSqliteStore } from './adapters/sqlite/shard-store.ts';
import type { Site } from './adapters/undici/sites.ts';
import { createUndiciTransport } from './adapters/undici/transport.ts';
import type { Config } from './config/schema.ts';
import type { ShardPorts } from './engine/context.ts';
import { threadOfShard } from './engine/crawl-plan.ts';
import type { EngineHooks } from './engine/hooks.ts';
import { HostRuleTable } from './engine/host-rules.ts';
import type { FromThread, ToThread } from './engine/messages.ts';
import { plainError, ShardThread } from './engine/thread.ts';
import { createThreadContext } from './engine/thread-context.ts';
import { loadHooks } from './library/load-hooks.ts';
import { readRanks } from './read-ranks.ts';
import { shardFile, type ThreadData } from './thread-data.ts';
import { VERSION } from './version.ts';

/** A shard takes some 20 ms to be opened, during which the thread does nothing else. */
const BREATH_MS = 25;

/** Within a worker thread: puts its part of the node together and runs it. */
export async function composeThread(): Promise<void> {
  const { thread, data, ports } = await threadStart<ThreadData>();
  const { config, own, threads } = data;
  const metrics = createMemoryMetrics();
  const channel = createThreadChannel(thread, (shard) => (shard < 0 ? -1 : threadOfShard(shard, threads)));
  const hooks = data.hooks === undefined ? undefined : await hooksOf(data.hooks, config);
  if (hooks === null) return;
  const hostRules = new HostRuleTable(config, VERSION, data.areas, process.env);
  const transport = createUndiciTransport({
    maxConnections: Math.max(64, Math.ceil((config.frontier.backQueues * 2) / threads)),
    site: siteFinder(config, hostRules),
  });
  const resolver = createNodeResolver({
    timeoutMs: config.dns.timeout,
    maxInFlight: Math.max(2, Math.floor(256 / threads)),
    ...(config.dns.servers.length === 0 ? {} : { servers: config.dns.servers }),
  });
  const context = createThreadContext({
    config,
    shards: data.shards,
    areas: data.areas,
    hostRules,
    blocklist: data.blocklist,
    ranks: readRanks(config),
    hostDelays: data.hostDelays,
    bootId: data.bootId,
    configVersion: data.configVersion,
    version: VERSION,
    clock: createSystemClock(),
    random: createRandom(),
    metrics,
    transport,
    resolver,
    channel,
    yieldTurn: () => new Promise((done) => setImmediate(done)),
    busy: createBusyMeter(),
    hooks,
    delivery: data.delivery,
    deliver: (shard, items) => {
      const bodies = items.flatMap(({ body }) => (body === undefined ? [] : [body.buffer]));
      postToCoordinator({ type: 'items', shard, items } satisfies FromThread, bodies);
    },
  });
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
  await runner.open(
    (shard) => shardPorts(data, shard),
    () => (data.isNew ? breath() : undefined),
  );
}

/** Time for the first seed's first request. */
function breath(): Promise<void> {
  return new Promise((done) => void setTimeout(done, BREATH_MS));
}

/** Files of certificate authorities are read here, once: what changes later counts for the next run. */
export function siteFinder(config: Config, hostRules: HostRuleTable): (hostKey: string) => Site {
  const files = new Map<string, readonly string[]>();
  for (const [key, { ca }] of Object.entries(config.hosts)) if (ca !== undefined) files.set(ca, readCertificates(ca, `hosts.${key}.ca`));
  return (hostKey) => {
    const { caFile, insecureTls, proxy } = hostRules.of(hostKey);
    return { extraCa: caFile === undefined ? undefined : files.get(caFile), insecureTls, proxy };
  };
}

/** Null when they cannot be used, which ends the crawl. */
async function hooksOf(module: string, config: Config): Promise<EngineHooks | null> {
  const notice = (text: string): void => postToCoordinator({ type: 'notice', shard: -1, text } satisfies FromThread);
  try {
    return await loadHooks(module, config.fetch.accept, notice);
  } catch (error) {
    postToCoordinator({ type: 'failed', shard: -1, error: plainError(error) } satisfies FromThread);
    return null;
  }
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

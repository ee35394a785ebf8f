/**
 * robots.txt of one origin, asked for once and now: through the resolver, the address guard and the transport of a crawl, and with at most five redirects, as
 * a crawl would. Nothing is stored, and a crawl that runs knows nothing of these requests.
 */
import { createSystemClock } from '../adapters/node/clock.ts';
import { createRandom } from '../adapters/node/random.ts';
import { createNodeResolver } from '../adapters/node/resolver.ts';
import { createUndiciTransport } from '../adapters/undici/transport.ts';
import { siteFinder } from '../compose-thread.ts';
import type { Config } from '../config/schema.ts';
import { dnsOverrides } from '../engine/dns-overrides.ts';
import { HostRuleTable } from '../engine/host-rules.ts';
import { ROBOTS_HOPS_MAX } from '../engine/robots-desk.ts';
import { type ExchangeResult, runExchange } from '../fetch/exchange.ts';
import { createAddressGuard } from '../net/address-guard.ts';
import { DnsCache } from '../net/dns-cache.ts';
import type { Transport } from '../ports/transport.ts';
import { nextRobotsRecord, ROBOTS_DEFAULTS, type RobotsAnswer } from '../robots/policy.ts';
import { LinkResolver, type SplitUrl, splitUrl } from '../url/index.ts';
import { VERSION } from '../version.ts';
import { type RobotsFacts, robotsFacts } from './explain-state.ts';
import { counted } from './numbers.ts';

export interface LiveRobots {
  readonly facts: RobotsFacts;
  /** What the same answer says of another path of that origin. */
  of(pathQuery: string): RobotsFacts;
  /** Why there is no answer, or how many redirects were followed; '' when there is nothing to say. */
  readonly note: string;
}

type Hop = { readonly result: ExchangeResult } | { readonly failed: string };

/** Never throws for what the web does. Throws PORTOLAN_CONFIG_INVALID for a secret that the environment lacks. */
export async function liveRobots(parts: SplitUrl, config: Config): Promise<LiveRobots> {
  const clock = createSystemClock();
  const hostRules = new HostRuleTable(config, VERSION, [], process.env);
  const transport = createUndiciTransport({ maxConnections: 8, site: siteFinder(config, hostRules) });
  const resolver = createNodeResolver({
    timeoutMs: config.dns.timeout,
    maxInFlight: 2,
    ...(config.dns.servers.length === 0 ? {} : { servers: config.dns.servers }),
  });
  const guard = createAddressGuard({ allowNets: config.net.allow });
  const dns = new DnsCache({ resolver, clock, guard, overrides: dnsOverrides(config.dns.resolve) });
  try {
    let url = `${parts.origin}/robots.txt`;
    for (let hops = 0; ; hops++) {
      const hop = await ask(splitUrl(url), dns, transport, clock, config, hostRules);
      if ('failed' in hop) return answered(parts, { kind: 'failed', code: 'failed' }, config, `no answer: ${hop.failed}`);
      const { result } = hop;
      const target = result.outcome === 'redirect' ? new LinkResolver(url).resolve(result.location ?? '') : '';
      if (target === '' || hops === ROBOTS_HOPS_MAX) {
        return answered(parts, answerOf(result), config, hops === 0 ? '' : `${counted(hops, 'redirect')}, last to ${url}`);
      }
      url = target;
    }
  } finally {
    await transport.close();
    resolver.close();
  }
}

async function ask(
  parts: SplitUrl,
  dns: DnsCache,
  transport: Transport,
  clock: ReturnType<typeof createSystemClock>,
  config: Config,
  hostRules: HostRuleTable,
): Promise<Hop> {
  const rules = hostRules.of(parts.hostKey);
  const entry = await dns.lookup(rules.proxy?.host ?? parts.host);
  const address = entry.allowed[0] ?? (rules.proxy === undefined ? undefined : entry.refused[0]?.address);
  if (address === undefined) {
    const refused = entry.refused[0];
    return {
      failed:
        refused === undefined
          ? `${parts.host}: ${entry.kind} ${entry.detail}`.trim()
          : `${refused.address} is in the range ${refused.range}`,
    };
  }
  const maxBodyBytes = ROBOTS_DEFAULTS.bodyBytesMax;
  const result = await new Promise<ExchangeResult>((done) => {
    runExchange(
      transport,
      clock,
      {
        origin: parts.origin,
        pathQuery: parts.pathQuery,
        address,
        headers: rules.headers(parts.scheme, 'robots', '').sent,
        isConditional: false,
        limits: {
          ...{ maxBodyBytes, maxWireBytes: maxBodyBytes },
          connectTimeoutMs: config.fetch.connectTimeout,
          firstByteTimeoutMs: config.fetch.firstByteTimeout,
          stallTimeoutMs: config.fetch.stallTimeout,
          totalTimeoutMs: config.fetch.totalTimeout,
        },
        accept: () => true,
      },
      done,
    );
  });
  return result.status === 0 ? { failed: `${result.outcome} ${result.detail}`.trim() } : { result };
}

function answerOf(result: ExchangeResult): RobotsAnswer {
  return { kind: 'response', status: result.status, body: result.body };
}

function answered(parts: SplitUrl, answer: RobotsAnswer, config: Config, note: string): LiveRobots {
  const options = {
    ...ROBOTS_DEFAULTS,
    ...{ ttlMs: config.robots.ttl, retryMsMin: config.robots.retryMin, retryMsMax: config.robots.retryMax, giveUpMs: config.robots.giveUp },
  };
  const record = nextRobotsRecord(parts.origin, undefined, answer, createSystemClock().nowEpochMs(), createRandom(), options);
  const row = { ...record, failingSinceMs: record.failingSinceMs ?? 0 };
  const of = (pathQuery: string): RobotsFacts => robotsFacts(row, pathQuery, config.agent.token, 'live');
  return { facts: of(parts.pathQuery), of, note };
}

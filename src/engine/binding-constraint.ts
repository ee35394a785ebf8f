/**
 * What keeps the crawl from being faster, in one word: computed from where hosts that have URLs spend their time, and from what the process is busy with.
 *
 * Every host with work is, at each moment, in one of six states: in an exchange, waiting for its name, in its own pause, at the address gate, at the
 * request rate, or in a front queue without a back-queue slot. The state that holds most of them is what to change to go faster, unless the process
 * itself (a pause, its disk, its processors, its ceiling of connections) holds all of them up.
 *
 * Pure: the same measures give the same answer, in a running crawl and over a simulated web. It does not measure (see measurements.ts).
 */
import { count, counted } from '../core/counted.ts';

/** Averages over a few seconds. Hosts that are set apart for good count nowhere. */
export interface CrawlMeasures {
  /** Length of the measurement behind the averages. */
  readonly windowMs: number;
  /** Why shards lease nothing, when an operator, the disk's reserve or a limit says so. */
  readonly paused: '' | 'operator' | 'disk' | 'pages' | 'stopping' | 'program';
  /** URLs that wait, those of hosts set apart left out. */
  readonly queued: number;
  /** Hosts with a request under way. */
  readonly exchanging: number;
  /** Hosts on turn whose name is being looked up. */
  readonly resolving: number;
  /** Hosts with URLs within their own gap, back-off or retry pause, with or without a slot. */
  readonly pausing: number;
  /** Hosts that wait for another host on their IP address. */
  readonly atAddressGate: number;
  /** Hosts that wait for the request rate. */
  readonly atRate: number;
  /** Hosts that could be fetched from but have no back-queue slot. */
  readonly withoutSlot: number;
  readonly slotsInUse: number;
  readonly slotsTotal: number;
  /** Most exchanges and look-ups at once (fetch.connections). */
  readonly ceiling: number;
  /** politeness.rate; 0 = none. */
  readonly ratePerS: number;
  readonly requestsPerS: number;
  /** Busiest thread: share of the time in which its event loop was at work, 0 … 1. */
  readonly busy: number;
  /** Slowest shard: share of the time in which nothing was leased because results waited for their commit, 0 … 1. */
  readonly heldBack: number;
  /** Length of a commit, in milliseconds; 0 when there was none. */
  readonly commitMs: number;
}

export const CONSTRAINTS = [
  'nothing', // too little was measured
  'stopping',
  'operator',
  'disk-space',
  'page-limit',
  'program',
  'no-urls',
  'disk',
  'cpu',
  'rate',
  'dns',
  'connections',
  'back-queues',
  'address-gate',
  'servers',
  'too-few-hosts',
] as const;
export type Constraint = (typeof CONSTRAINTS)[number];

/** The start of a process is busy with itself. */
const MEASURED_MIN_MS = 1_000;
/** From here on a thread has no time left: its timers and sockets wait for it. */
export const BUSY_SHARE = 0.9;
/** From here on it is commits that set the pace. */
export const HELD_BACK_SHARE = 0.2;
/** So near to a limit counts as at it: samples fall between an end and the next start. */
const AT_LIMIT = 0.9;

const PAUSES: Readonly<Record<Exclude<CrawlMeasures['paused'], ''>, Constraint>> = {
  operator: 'operator',
  disk: 'disk-space',
  pages: 'page-limit',
  stopping: 'stopping',
  program: 'program',
};

export function bindingConstraint(measures: CrawlMeasures): Constraint {
  if (measures.paused !== '') return PAUSES[measures.paused];
  const { exchanging, resolving, pausing, atAddressGate, atRate, withoutSlot } = measures;
  const hosts = exchanging + resolving + pausing + atAddressGate + atRate + withoutSlot;
  if (measures.queued === 0 && exchanging + resolving === 0) return 'no-urls';
  if (measures.windowMs < MEASURED_MIN_MS) return 'nothing';
  if (measures.heldBack >= HELD_BACK_SHARE) return 'disk';
  if (measures.busy >= BUSY_SHARE) return 'cpu';
  if (hosts === 0) return 'nothing';
  if (isAtRate(measures)) return 'rate';
  const working = exchanging + resolving;
  if (measures.ceiling > 0 && working >= AT_LIMIT * measures.ceiling) return resolving > exchanging ? 'dns' : 'connections';
  return mostHosts(measures);
}

function isAtRate({ ratePerS, requestsPerS, atRate }: CrawlMeasures): boolean {
  return ratePerS > 0 && atRate > 0 && requestsPerS >= AT_LIMIT * ratePerS;
}

/** The state in which most hosts are. More slots help only when what holds the slots is the hosts' own pauses and exchanges. */
function mostHosts(measures: CrawlMeasures): Constraint {
  const { exchanging, resolving, pausing, atAddressGate, atRate, withoutSlot, slotsInUse, slotsTotal } = measures;
  const states: readonly (readonly [Constraint, number])[] = [
    ['dns', resolving],
    ['address-gate', atAddressGate],
    ['rate', atRate],
    ['servers', exchanging],
    ['too-few-hosts', pausing],
  ];
  let [constraint, most] = states[0]!;
  for (const [state, hosts] of states) if (hosts > most) [constraint, most] = [state, hosts];
  const slotsHelp = constraint === 'servers' || constraint === 'too-few-hosts' || most === 0;
  if (slotsHelp && withoutSlot >= 1 && slotsInUse >= AT_LIMIT * slotsTotal) return 'back-queues';
  return most === 0 ? 'nothing' : constraint;
}

/** One short sentence for people: the constraint with its figures, and what could be done about it where something can. */
export function constraintInWords(constraint: Constraint, measures: CrawlMeasures): string {
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  switch (constraint) {
    case 'nothing':
      return 'nothing yet: too little has been measured';
    case 'stopping':
      return 'stopping: exchanges in flight end first';
    case 'operator':
      return 'paused by the operator';
    case 'disk-space':
      return 'the disk is nearly full: paused until there is space';
    case 'page-limit':
      return 'the page limit: what is in flight ends';
    case 'program':
      return 'the program: as many pages wait for it as may';
    case 'no-urls':
      return 'no URLs wait';
    case 'disk':
      return `the disk: ${percent(measures.heldBack)} of the time results wait for their commit (${count(measures.commitMs)} ms each)`;
    case 'cpu':
      return `the processor: a thread is busy ${percent(measures.busy)} of the time`;
    case 'rate':
      return `the request rate of ${measures.ratePerS}/s (politeness.rate)`;
    case 'dns':
      return `DNS: ${counted(measures.resolving, 'host waits for its address', 'hosts wait for their address')}`;
    case 'connections':
      return `the ceiling of ${counted(measures.ceiling, 'exchange')} at once (fetch.connections)`;
    case 'back-queues':
      return `back queues: all ${count(measures.slotsTotal)} are in use, ${counted(measures.withoutSlot, 'host waits', 'hosts wait')} for one (frontier.backQueues)`;
    case 'address-gate':
      return `the address gate: ${counted(measures.atAddressGate, 'host shares its', 'hosts share their')} IP address with one that is being fetched from`;
    case 'servers':
      return `the servers: ${counted(measures.exchanging, 'host has its', 'hosts have their')} one request under way`;
    case 'too-few-hosts':
      return `too few hosts: ${count(Math.max(1, measures.pausing))} ${Math.round(measures.pausing) > 1 ? 'have URLs, each in its pause' : 'has URLs and is in its pause'}`;
  }
}

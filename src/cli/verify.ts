/**
 * `portolan verify`: replays the politeness ledger of each directory and says what it finds. A directory is a crawl, or no more than a copy of its
 * ledger/: then bytes missing at the very end cannot be seen, and it says so. Each directory is judged by itself.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createFileBlobStore } from '../adapters/file/blob-store.ts';
import { openDisk } from '../adapters/file/disk.ts';
import { PortolanError } from '../core/errors.ts';
import { isoDate } from '../output/iso-date.ts';
import type { LedgerPrior } from '../output/politeness-ledger.ts';
import { type HostReport, HostReporter } from '../verify/host-report.ts';
import { UNDECIDABLES, type Undecidable, type VerifyReport, VIOLATIONS, type Violation, verifyLedger } from '../verify/verify.ts';
import { openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import { bytes, count, counted, kinds, printable } from './numbers.ts';

export interface VerifyFlags {
  readonly host?: string;
  readonly json?: boolean;
}

/** Findings that are printed one by one; --json has more. */
const SHOWN_MAX = 20;

interface Verdict {
  readonly dir: string;
  /** The state's own marks were at hand. */
  readonly ends: boolean;
  readonly report: VerifyReport;
  readonly host: HostReport | undefined;
}

export function verify(dirs: readonly string[], flags: VerifyFlags): number {
  const verdicts = dirs.map((dir) => verifyDir(resolve(dir), flags.host));
  const json = flags.json === true;
  for (const verdict of verdicts) {
    if (flags.host !== undefined && verdict.host === undefined && verdicts.every((one) => one.host === undefined)) {
      throw new PortolanError('PORTOLAN_USAGE_INVALID', `no request to ${flags.host} is in the ledger`, {
        remedy: 'name the host as it stands in the URLs that were asked for, with its port when it is not the usual one',
      });
    }
    if (json) process.stdout.write(`${JSON.stringify(asJson(verdict))}\n`);
    else process.stdout.write(`${verdict.host === undefined ? describe(verdict) : describeHost(verdict.host)}\n`);
  }
  return verdicts.every((verdict) => verdict.report.violationsTotal === 0) ? EXIT.finished : EXIT.impolite;
}

function verifyDir(dir: string, host: string | undefined): Verdict {
  if (!existsSync(join(dir, 'ledger'))) {
    throw new PortolanError('PORTOLAN_STATE_MISSING', `${dir} holds no politeness ledger`, {
      remedy: 'name the directory given to crawl with --out, or one with a copy of its ledger/',
    });
  }
  const committed = existsSync(join(dir, 'crawl.json')) ? committedMarks(dir) : undefined;
  const listener = host === undefined ? undefined : new HostReporter(host);
  const report = verifyLedger(createFileBlobStore(openDisk(dir), ''), {
    ...(committed === undefined ? {} : { committed }),
    ...(listener === undefined ? {} : { listener }),
  });
  return { dir, ends: committed !== undefined, report, host: listener?.report(report.findings) };
}

/** Read before the ledger is: a crawl that runs only makes it longer. */
function committedMarks(dir: string): ReadonlyMap<number, LedgerPrior> {
  const marks = new Map<number, LedgerPrior>();
  const crawl = openCrawlDir(dir);
  try {
    for (const reader of crawl.readers()) {
      const mark = reader.marks === '' ? undefined : (JSON.parse(reader.marks) as { readonly ledger?: LedgerPrior }).ledger;
      if (mark !== undefined) marks.set(reader.shard, { segment: mark.segment, length: mark.length, chain: mark.chain });
    }
  } finally {
    crawl.close();
  }
  return marks;
}

function asJson(verdict: Verdict): unknown {
  const { dir, report, host } = verdict;
  if (host !== undefined) return { dir, ...host };
  return { dir, endsKnown: verdict.ends, ...report };
}

function describe({ dir, ends, report }: Verdict): string {
  const lines = [
    `${dir}: ${counted(report.requests, 'request')} (${counted(report.pages, 'page')}, ${count(report.robotsRequests)} for robots.txt) to ${counted(report.hosts, 'host')} at ${counted(report.addresses, 'address', 'addresses')}`,
    `  ${counted(report.shards, 'shard')}, ${counted(report.commits, 'commit')}, opened ${counted(report.openings, 'time')}, ${counted(report.cutOff, 'request')} cut off, ${bytes(report.bytes)} of ledger`,
  ];
  if (!ends) lines.push('  only a ledger, no state: what is missing at its very end cannot be seen');
  for (const [kind, n] of Object.entries(report.undecidable)) lines.push(`  undecidable: ${count(n)} ${UNDECIDABLES[kind as Undecidable]}`);
  if (report.violationsTotal === 0) return [...lines, '  no violation'].join('\n');
  for (const [kind, n] of Object.entries(report.violations)) lines.push(`  ${kind} ${count(n)}: ${VIOLATIONS[kind as Violation]}`);
  for (const finding of report.findings.slice(0, SHOWN_MAX)) {
    const records = finding.records.map(({ file, offset }) => `${file} at ${offset}`).join(', ');
    lines.push(`  - ${isoDate(finding.epochMs)} ${finding.kind}: ${printable(finding.text)}\n    records: ${records}`);
  }
  if (report.violationsTotal > SHOWN_MAX)
    lines.push(`  and ${count(report.violationsTotal - SHOWN_MAX)} more (--json has the first ${count(report.findings.length)})`);
  return lines.join('\n');
}

function describeHost(host: HostReport): string {
  const { pauses } = host;
  const lines = [
    `Requests to ${host.hostKeys.join(', ')}`,
    '',
    `From ${host.firstAt} to ${host.lastAt} (UTC): ${counted(host.requests, 'request')}, ${count(host.pageRequests)} of them for pages and ${count(host.robotsRequests)} for robots.txt; ${bytes(host.bytes)} of answers.`,
    `The day with the most requests was ${host.busiestDay.day}, with ${count(host.busiestDay.requests)}.`,
    `Answers: ${kinds(host.statuses)}.`,
    pauses.count === 0
      ? 'There was no more than one request.'
      : `Never two requests at once. Between the end of one and the start of the next lay ${count(pauses.minMs)} ms at least, ${count(pauses.meanMs)} ms on average.`,
    `What set these pauses: ${kinds(host.rules)}.`,
    `Answers 429 or 503, after which the pauses were doubled or Retry-After was waited for: ${count(host.slowDowns)}.`,
    '',
    'robots.txt:',
    ...host.robots.map(
      ({ at, origin, state, hash }) => `  ${at}  ${origin}  ${STATES[state] ?? state}${hash === '' ? '' : `, version ${hash}`}`,
    ),
    '',
    host.violations.length === 0
      ? 'The replay of the ledger found no request that came too soon, that robots.txt forbids, or that should not have been made.'
      : `The replay of the ledger found ${counted(host.violations.length, 'request')} that should not have been made:`,
    ...host.violations.map((finding) => `  ${isoDate(finding.epochMs)}  ${VIOLATIONS[finding.kind]}: ${printable(finding.text)}`),
    '',
    `${host.latest.length === 1 ? 'The last request' : `The last ${count(host.latest.length)} requests`} (time, status, pause before it, path):`,
    ...host.latest.map(
      ({ at, status, pauseMs, path }) =>
        `  ${at}  ${status < 0 ? 'cut' : status === 0 ? '-' : status}  ${pauseMs === undefined ? 'first' : `${count(pauseMs)} ms`}  ${printable(path)}`,
    ),
  ];
  if (host.violations.some(({ kind }) => kind === 'host-overlap')) lines[5] = lines[5]!.replace('Never two requests at once. ', '');
  return lines.join('\n');
}

const STATES: Readonly<Record<string, string>> = {
  rules: 'its rules were followed',
  'allow-all': 'there was none: all pages were allowed',
  'deny-all': 'it could not be reached: no page was asked for',
  'last-good': 'it could not be reached: the last version was followed',
};

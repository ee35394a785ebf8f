/** `portolan verify` on what a crawl left: no test crawl and no benchmark ends without it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifyReport } from '../../src/verify/verify.ts';
import { capture, portolan } from './process.ts';

/** Fails with the first findings when the ledger shows anything that was not allowed, or is not whole. Returns what was counted. */
export async function assertVerified(out: string): Promise<VerifyReport> {
  const report = await verified(out);
  const told = report.findings.slice(0, 5).map((finding) => `${finding.kind} ${finding.text} ${JSON.stringify(finding.records)}`);
  assert.equal(report.violationsTotal, 0, `portolan verify ${out}: ${JSON.stringify(report.violations)}\n${told.join('\n')}`);
  return report;
}

/** A directory in which a crawl was stopped before it had a ledger is an empty one. */
export async function verified(out: string): Promise<VerifyReport> {
  if (!existsSync(join(out, 'ledger'))) return NOTHING;
  const { command, args } = portolan('verify', out, '--json');
  const { code, stdout, stderr } = await capture(command, args);
  assert.ok(stdout.startsWith('{'), `verify says nothing, exit code ${code}: ${stderr}`);
  const report = JSON.parse(stdout) as VerifyReport;
  assert.equal(code, report.violationsTotal === 0 ? 0 : 6, stderr);
  return report;
}

const NOTHING: VerifyReport = {
  ...{ requests: 0, pages: 0, robotsRequests: 0, cutOff: 0, openings: 0, commits: 0, robotsFiles: 0, pausesKept: 0, robotsIgnored: 0 },
  ...{ shards: 0, files: 0, bytes: 0, hosts: 0, addresses: 0, violations: {}, violationsTotal: 0, findings: [], undecidable: {} },
};

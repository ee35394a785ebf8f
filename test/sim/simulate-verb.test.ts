/** `portolan simulate` as a user meets it: a process, its output, its exit code. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

const dir = mkdtempSync(join(tmpdir(), 'portolan-simulate-'));
after(() => rmSync(dir, { recursive: true, force: true }));

function portolan(...args: readonly string[]): { readonly status: number | null; readonly out: string; readonly err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/portolan.js', 'simulate', ...args], { encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

describe('portolan simulate', () => {
  it('holds two configurations side by side, as JSON with a hash each and as a page without script', () => {
    const slow = join(dir, 'slow.yaml');
    const fast = join(dir, 'fast.yaml');
    const web = join(dir, 'web.yaml');
    const page = join(dir, 'plan.html');
    writeFileSync(slow, 'politeness:\n  delay: 4s\n');
    writeFileSync(fast, 'politeness:\n  delay: 1s\n');
    writeFileSync(web, 'preset: small\nsites: 6\nhosts: { dead-name: 0, refusing: 0 }\n');
    const args = ['-c', slow, '--against', fast, '--web', web, '--for', '2m', '--seed', '7', '--hosts', '3', '--json', '--html', page];
    const { status, out, err } = portolan(...args);
    assert.equal(status, 0, err);
    const [one, two] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { eventHash: string; plan: { pagesPerDay: number; constraintWords: string }; series: unknown[] });
    assert.match(one!.eventHash, /^[0-9a-f]{16}$/);
    assert.notEqual(one!.eventHash, two!.eventHash);
    assert.ok(one!.plan.pagesPerDay < two!.plan.pagesPerDay, 'four times the delay fetches less');
    assert.ok(one!.series.length > 2 && one!.plan.constraintWords !== '');
    const html = readFileSync(page, 'utf8');
    assert.match(html, /^<!doctype html>/);
    assert.doesNotMatch(html, /<script|https?:\/\//);
    assert.ok(html.includes(two!.eventHash));
  });

  it('says what is wrong with a web that it does not know', () => {
    const web = join(dir, 'typo.yaml');
    writeFileSync(web, 'preset: small\nsitse: 6\n');
    const { status, err } = portolan('--web', web);
    assert.equal(status, 2);
    assert.match(err, /PORTOLAN_CONFIG_UNKNOWN_KEY.*"sitse"/);
    assert.match(portolan('--for', 'never').err, /PORTOLAN_USAGE_INVALID/);
  });
});

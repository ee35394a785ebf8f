/**
 * What a program costs: CPU time and peak memory of its whole process tree, by GNU time (wait4 of every descendant) and by reading /proc while it runs.
 * Linux only.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Cost {
  readonly code: number;
  readonly wallS: number;
  readonly userS: number;
  readonly systemS: number;
  /** Largest sum of resident memory over the tree that was seen, or the largest single process, whichever is more. */
  readonly rssMB: number;
}

const GNU_TIME = '/usr/bin/time';
const SAMPLE_MS = 250;

/** Runs a command to its end; its output goes to the file. */
export async function measure(command: string, args: readonly string[], options: { readonly outputFile: string }): Promise<Cost> {
  if (!existsSync(GNU_TIME)) throw new Error(`${GNU_TIME} is missing; scripts/install-debian.sh installs it`);
  const dir = mkdtempSync(join(tmpdir(), 'portolan-measure-'));
  const report = join(dir, 'time');
  const output = openSync(options.outputFile, 'w');
  try {
    const child = spawn(GNU_TIME, ['-q', '-o', report, '-f', '%e %U %S %M', command, ...args], { stdio: ['ignore', output, output] });
    let treeKB = 0;
    const sampler = setInterval(() => {
      treeKB = Math.max(treeKB, residentKB(child.pid ?? 0));
    }, SAMPLE_MS);
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (status) => resolve(status ?? 1));
    });
    clearInterval(sampler);
    const [wallS = 0, userS = 0, systemS = 0, processKB = 0] = readFileSync(report, 'utf8').trim().split(' ').map(Number);
    return { code, wallS, userS, systemS, rssMB: Math.round(Math.max(treeKB, processKB) / 1_024) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** VmRSS of a process and all below it; a process that has just ended counts nothing. */
function residentKB(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const own = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
    return children.reduce((sum, child) => sum + residentKB(child), own);
  } catch {
    return 0;
  }
}

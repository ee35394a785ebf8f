/**
 * The crawler, and other programs, as real processes in a process group of their own, so that a kill reaches all of it at once.
 * Standard output is read line by line; standard error is kept up to a bound for the message of a failed test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface RunningProcess {
  readonly pid: number;
  /** Resolves when the process has ended and its output has been read. */
  readonly ended: Promise<ProcessEnd>;
  /** SIGKILL to the whole group. */
  killGroup(): void;
  signal(name: NodeJS.Signals): void;
  /** The last part of standard error. */
  complaints(): string;
}

export interface ProcessEnd {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Epoch ms at which the end was noticed. */
  readonly atMs: number;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

const COMPLAINTS_MAX = 8_000;

export function start(command: string, args: readonly string[], options: StartOptions = {}): RunningProcess {
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    complaints = (complaints + piece).slice(-COMPLAINTS_MAX);
  });
  readLines(child, options.onLine ?? (() => {}));
  return {
    pid: child.pid ?? 0,
    ended: new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve({ code, signal, atMs: Date.now() }));
    }),
    killGroup: () => signalGroup(child, 'SIGKILL'),
    signal: (name) => signalGroup(child, name),
    complaints: () => complaints,
  };
}

/** Runs to the end and answers with everything it wrote to standard output. */
export async function capture(
  command: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<ProcessEnd & { readonly stdout: string; readonly stderr: string }> {
  const lines: string[] = [];
  const running = start(command, args, { ...options, onLine: (line) => lines.push(line) });
  const end = await running.ended;
  return { ...end, stdout: lines.join('\n'), stderr: running.complaints() };
}

/** The crawler's program and the Node it is run with, as a user of this checkout would. */
export function portolan(...args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  return { command: process.execPath, args: [fileURLToPath(new URL('../../bin/portolan.js', import.meta.url)), ...args] };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  child.stdout?.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}

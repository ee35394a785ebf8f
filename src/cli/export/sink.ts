/**
 * Where an export goes: standard output, or a file that appears whole or not at all (written under another name, synced, renamed; an interrupt or an error
 * removes what there is, and the next export to that name what a kill has left) and is then told of on standard error. A reader of standard output that goes
 * away (`| head`) ends the export silently.
 */
import { closeSync, fsyncSync, openSync, readdirSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PortolanError } from '../../core/errors.ts';
import { bytes } from '../numbers.ts';

/** Thrown by `write` when nobody reads any more. */
export class ReaderGone extends Error {}

export interface Sink {
  /** Resolves when more may be written. Throws PORTOLAN_DISK_* or ReaderGone. */
  write(bytes: Uint8Array): Promise<void>;
  /** The whole is there. */
  finish(): Promise<void>;
  /** Nothing is left of it. Idempotent; does nothing after `finish`. */
  discard(): void;
  /** What an interrupt leaves, for whoever has waited. */
  readonly remains: string;
}

export function openSink(file: string): Sink {
  return file === '-' ? new OutputSink() : openFileSink(file);
}

/** A sink whose earlier bytes may be written over: an archive knows the head of an entry only at its end. */
export interface FileSink extends Sink {
  /** Bytes written so far. */
  readonly length: number;
  patch(offset: number, bytes: Uint8Array): void;
}

export function openFileSink(file: string): FileSink {
  return new RenamedFile(file);
}

class RenamedFile implements FileSink {
  readonly #file: string;
  readonly #temporary: string;
  /** What is replaced: behind a symbolic link the file that it names. */
  readonly #target: string;
  #fd: number | undefined;
  #isDone = false;
  length = 0;

  /** Throws PORTOLAN_USAGE_INVALID for what is there and no file, as a directory or a device, which the rename would take the place of. */
  constructor(file: string) {
    this.#file = file;
    const there = onDisk(file, () => statSync(file, { throwIfNoEntry: false }));
    if (there !== undefined && !there.isFile()) {
      throw new PortolanError('PORTOLAN_USAGE_INVALID', `${file} is not a regular file`, {
        remedy: 'name another file with --out, or - for standard output',
      });
    }
    this.#target = there === undefined ? file : realpathSync(file);
    this.#temporary = `${this.#target}${ownMark()}${process.pid}.part`;
    this.#fd = onDisk(file, () => openSync(this.#temporary, 'w'));
    removeLeftOver(this.#target);
  }

  get remains(): string {
    return `${this.#file} was not written`;
  }

  async write(piece: Uint8Array): Promise<void> {
    const fd = this.#fd;
    if (fd === undefined) return;
    onDisk(this.#file, () => {
      for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at, piece.length - at, this.length + at);
    });
    this.length += piece.length;
    // Signals are heard between two pieces.
    await new Promise((done) => setImmediate(done));
  }

  patch(offset: number, piece: Uint8Array): void {
    const fd = this.#fd;
    if (fd !== undefined) onDisk(this.#file, () => writeSync(fd, piece, 0, piece.length, offset));
  }

  async finish(): Promise<void> {
    const fd = this.#fd;
    if (fd === undefined) return;
    onDisk(this.#file, () => {
      fsyncSync(fd);
      closeSync(fd);
      this.#fd = undefined;
      renameSync(this.#temporary, this.#target);
      this.#isDone = true;
    });
    process.stderr.write(`written: ${this.#file}, ${bytes(this.length)}\n`);
  }

  discard(): void {
    if (this.#isDone) return;
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#isDone = true;
    rmSync(this.#temporary, { force: true });
  }
}

class OutputSink implements Sink {
  #failure: NodeJS.ErrnoException | undefined;

  constructor() {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure ??= error;
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((done) => process.stdout.write(bytes, () => done()));
    await new Promise((done) => setImmediate(done));
    if (this.#failure?.code === 'EPIPE' || process.stdout.destroyed) throw new ReaderGone();
    if (this.#failure !== undefined) throw diskError('standard output', this.#failure);
  }

  async finish(): Promise<void> {}

  discard(): void {}

  readonly remains = 'what was written to standard output is not the whole';
}

/** Stands in the name of an unfinished file, before the process's number: nobody else's file is called so, and a process of another machine is not ours to judge. */
function ownMark(): string {
  return `.portolan-${hostname()}-`;
}

/** Unfinished files of processes of this machine that were killed: they have no one to finish them. Best effort. */
function removeLeftOver(file: string): void {
  const [dir, start] = [dirname(file), `${basename(file)}${ownMark()}`];
  try {
    for (const name of readdirSync(dir)) {
      const pid = name.startsWith(start) ? /^(\d+)\.part$/.exec(name.slice(start.length))?.[1] : undefined;
      if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dir, name), { force: true });
    }
  } catch {
    // A directory that cannot be listed or cleaned can be written to all the same.
  }
}

/** Whether there is such a process on this machine, whoever it belongs to. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Opens a sink, does the work and finishes the sink; an interrupt or an error leaves nothing of it. Returns the exit code. */
export async function untilDone<S extends Sink>(
  open: () => S,
  codes: { readonly finished: number; readonly interrupted: number },
  work: (sink: S) => Promise<void>,
): Promise<number> {
  let sink: S | undefined;
  const interrupt = (): void => {
    sink?.discard();
    if (sink !== undefined) process.stderr.write(`interrupted: ${sink.remains}\n`);
    process.exit(codes.interrupted);
  };
  // Before there is a file that would be left.
  for (const signal of INTERRUPTS) process.on(signal, interrupt);
  try {
    sink = open();
    await work(sink);
    await sink.finish();
    return codes.finished;
  } catch (error) {
    sink?.discard();
    if (error instanceof ReaderGone) return codes.finished;
    throw error;
  } finally {
    for (const signal of INTERRUPTS) process.off(signal, interrupt);
  }
}

function onDisk<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw diskError(file, error as NodeJS.ErrnoException);
  }
}

export function diskError(file: string, error: NodeJS.ErrnoException): PortolanError {
  const full = error.code === 'ENOSPC' || error.code === 'EDQUOT';
  const denied = error.code === 'EACCES' || error.code === 'EROFS' || error.code === 'EPERM';
  return new PortolanError(
    full ? 'PORTOLAN_DISK_FULL' : denied ? 'PORTOLAN_DISK_READ_ONLY' : 'PORTOLAN_DISK_FAILED',
    `${file} cannot be written: ${error.message}`,
    { cause: error, remedy: 'make space, make the directory writable, or name another file with --out' },
  );
}

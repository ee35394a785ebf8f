/**
 * Worker threads as the node runs them: one entry module, data handed in at the start, ports between every pair of threads and to the coordinator.
 */
import { MessageChannel, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';

/** Spares memory: pages live for milliseconds. */
const YOUNG_GENERATION_MB = 6;
/** What a thread's objects need beside its bounded caches; with a smaller bound V8 also lets less garbage pile up. */
const OLD_GENERATION_BASE_MB = 256;

export interface SpawnedThread {
  post(message: unknown): void;
  onMessage(handler: (message: unknown) => void): void;
  /** Called once when the thread has ended, with the error that ended it if any. */
  onExit(handler: (error: Error | undefined) => void): void;
  terminate(): Promise<void>;
}

export interface ThreadStart<T> {
  readonly thread: number;
  readonly data: T;
  /** Ports to the other threads by number; −1 is the coordinator. */
  readonly ports: readonly { readonly thread: number; readonly port: MessagePort }[];
}

export interface SpawnedGroup {
  readonly threads: readonly SpawnedThread[];
  /** The coordinator's port to each thread. */
  readonly ports: readonly MessagePort[];
}

/** Starts one thread per entry of `data`; `memoryBytes` bounds the caches of all of them together. */
export function spawnThreads<T>(entry: URL, data: readonly T[], memoryBytes = 0): SpawnedGroup {
  const count = data.length;
  const portsOf: { thread: number; port: MessagePort }[][] = Array.from({ length: count }, () => []);
  const coordinator: MessagePort[] = [];
  for (let a = 0; a < count; a++) {
    const toCoordinator = new MessageChannel();
    coordinator.push(toCoordinator.port1);
    portsOf[a]!.push({ thread: -1, port: toCoordinator.port2 });
    for (let b = a + 1; b < count; b++) {
      const pair = new MessageChannel();
      portsOf[a]!.push({ thread: b, port: pair.port1 });
      portsOf[b]!.push({ thread: a, port: pair.port2 });
    }
  }
  const threads = data.map((own, thread) => {
    const start: ThreadStart<T> = { thread, data: own, ports: portsOf[thread]! };
    const worker = new Worker(entry, {
      workerData: start,
      transferList: portsOf[thread]!.map(({ port }) => port),
      resourceLimits: {
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
        maxOldGenerationSizeMb: OLD_GENERATION_BASE_MB + Math.ceil(memoryBytes / 1_048_576),
      },
    });
    return wrap(worker);
  });
  return { threads, ports: coordinator };
}

function wrap(worker: Worker): SpawnedThread {
  let failure: Error | undefined;
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (handler) => void worker.on('message', handler),
    onExit: (handler) => void worker.on('exit', () => handler(failure)),
    terminate: async () => {
      await worker.terminate();
    },
  };
}

/** Within a thread: what it was started with, and its way back. */
export function threadStart<T>(): ThreadStart<T> {
  return workerData as ThreadStart<T>;
}

export function postToCoordinator(message: unknown): void {
  parentPort?.postMessage(message);
}

export function onCoordinatorMessage(handler: (message: unknown) => void): void {
  parentPort?.on('message', handler);
}

export function closeThread(): void {
  parentPort?.close();
}

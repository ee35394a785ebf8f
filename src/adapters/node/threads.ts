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

interface ThreadPlace {
  readonly thread: number;
  /** Brings the thread's data. A port of its own: what the coordinator says meanwhile waits until the thread listens. */
  readonly begin: MessagePort;
  /** Ports to the other threads by number; −1 is the coordinator. */
  readonly ports: readonly { readonly thread: number; readonly port: MessagePort }[];
}

export interface ThreadStart<T> extends Omit<ThreadPlace, 'begin'> {
  readonly data: T;
}

export interface SpawnedGroup {
  readonly threads: readonly SpawnedThread[];
  /** The coordinator's port to each thread. */
  readonly ports: readonly MessagePort[];
}

/** Threads that load their modules and wait for their data. They keep no process alive. */
export interface WarmThreads {
  /** The threads, for whoever starts this entry with so many of them and this memory; undefined for others, and the second time. */
  take(entry: URL, count: number, memoryBytes: number): SpawnedWorkers | undefined;
  /** Ends them unless they were taken. Idempotent. */
  discard(): void;
}

interface SpawnedWorkers extends SpawnedGroup {
  readonly workers: readonly Worker[];
  readonly begins: readonly MessagePort[];
}

/** Starts threads before it is known what they will work on: loading the code takes most of the time to a crawl's first request. */
export function warmThreads(entry: URL, count: number, memoryBytes: number): WarmThreads {
  let spawned: SpawnedWorkers | undefined = spawnWorkers(entry, count, memoryBytes);
  for (const worker of spawned.workers) worker.unref();
  return {
    take: (wanted, wantedCount, wantedBytes) => {
      if (wanted.href !== entry.href || wantedCount !== count || wantedBytes !== memoryBytes) return undefined;
      const taken = spawned;
      spawned = undefined;
      for (const worker of taken?.workers ?? []) worker.ref();
      return taken;
    },
    discard: () => {
      for (const port of [...(spawned?.ports ?? []), ...(spawned?.begins ?? [])]) port.close();
      for (const worker of spawned?.workers ?? []) void worker.terminate();
      spawned = undefined;
    },
  };
}

/** Starts one thread per entry of `data`, or takes warm ones that fit; `memoryBytes` bounds the caches of all of them together. */
export function spawnThreads<T>(entry: URL, data: readonly T[], memoryBytes = 0, warm?: WarmThreads): SpawnedGroup {
  const group = warm?.take(entry, data.length, memoryBytes) ?? spawnWorkers(entry, data.length, memoryBytes);
  group.begins.forEach((begin, thread) => {
    begin.postMessage(data[thread]);
  });
  return group;
}

function spawnWorkers(entry: URL, count: number, memoryBytes: number): SpawnedWorkers {
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
  const begins = portsOf.map(() => new MessageChannel());
  const workers = portsOf.map(
    (ports, thread) =>
      new Worker(entry, {
        workerData: { thread, ports, begin: begins[thread]!.port2 } satisfies ThreadPlace,
        transferList: [...ports.map(({ port }) => port), begins[thread]!.port2],
        resourceLimits: {
          maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
          maxOldGenerationSizeMb: OLD_GENERATION_BASE_MB + Math.ceil(memoryBytes / 1_048_576),
        },
      }),
  );
  return { workers, threads: workers.map(wrap), ports: coordinator, begins: begins.map(({ port1 }) => port1) };
}

/** A thread may end before anybody listens, when it cannot load: that is told to whoever listens later. */
function wrap(worker: Worker): SpawnedThread {
  let failure: Error | undefined;
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const exited = new Promise<void>((resolve) => void worker.once('exit', () => resolve()));
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (handler) => void worker.on('message', handler),
    onExit: (handler) => void exited.then(() => handler(failure)),
    terminate: async () => {
      await worker.terminate();
    },
  };
}

/** Within a thread: what it works on, once that is known, and its way back. */
export async function threadStart<T>(): Promise<ThreadStart<T>> {
  const { begin, ...place } = workerData as ThreadPlace;
  const data = await new Promise<T>((resolve) => void begin.once('message', resolve));
  begin.close();
  return { ...place, data };
}

export function postToCoordinator(message: unknown, moved: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, moved);
}

export function onCoordinatorMessage(handler: (message: unknown) => void): void {
  parentPort?.on('message', handler);
}

export function closeThread(): void {
  parentPort?.close();
}

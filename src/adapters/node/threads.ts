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

/** What a thread is born with. */
interface Birth {
  /** Brings the thread's place and data. A port of its own: what the coordinator says meanwhile waits until the thread listens. */
  readonly begin: MessagePort;
}

export interface ThreadStart<T> {
  readonly thread: number;
  /** Ports to the other threads by number; −1 is the coordinator. */
  readonly ports: readonly { readonly thread: number; readonly port: MessagePort }[];
  readonly data: T;
}

export interface SpawnedGroup {
  readonly threads: readonly SpawnedThread[];
  /** The coordinator's port to each thread. */
  readonly ports: readonly MessagePort[];
}

/** A thread that loads its modules and waits for its place and data. It keeps no process alive. */
export interface WarmThread {
  /** The thread, for whoever starts this entry with this memory; undefined for others, and the second time. */
  take(entry: URL, memoryBytes: number): SpawnedWorker | undefined;
  /** Ends it unless it was taken. Idempotent. */
  discard(): void;
}

interface SpawnedWorker {
  readonly worker: Worker;
  readonly thread: SpawnedThread;
  readonly begin: MessagePort;
}

/**
 * Starts a thread before it is known what it will work on: loading the code takes most of the time to a crawl's first request. One alone, since a second one
 * would take the processor away from the main thread, which reads the configuration meanwhile.
 */
export function warmThread(entry: URL, memoryBytes: number): WarmThread {
  let spawned: SpawnedWorker | undefined = spawnWorker(entry, memoryBytes);
  spawned.worker.unref();
  return {
    take: (wanted, wantedBytes) => {
      if (wanted.href !== entry.href || wantedBytes !== memoryBytes) return undefined;
      const taken = spawned;
      spawned = undefined;
      taken?.worker.ref();
      return taken;
    },
    discard: () => {
      spawned?.begin.close();
      void spawned?.worker.terminate();
      spawned = undefined;
    },
  };
}

export interface SpawnOptions {
  /** Bounds the caches of all threads together. Default 0. */
  readonly memoryBytes?: number;
  /** Taken when it fits, for the thread number `first` (default 0). */
  readonly warm?: WarmThread | undefined;
  readonly first?: number;
}

/** Starts one thread per entry of `data`. */
export function spawnThreads<T>(entry: URL, data: readonly T[], { memoryBytes = 0, warm, first = 0 }: SpawnOptions = {}): SpawnedGroup {
  const { coordinator, portsOf } = portsBetween(data.length);
  const begin = (thread: number, given?: SpawnedWorker): SpawnedWorker => {
    const spawned = given ?? spawnWorker(entry, memoryBytes);
    const ports = portsOf[thread]!;
    spawned.begin.postMessage(
      { thread, ports, data: data[thread]! } satisfies ThreadStart<T>,
      ports.map(({ port }) => port),
    );
    return spawned;
  };
  // What waits already goes to work before the others are started.
  const taken = warm?.take(entry, memoryBytes);
  if (taken !== undefined) begin(first, taken);
  const spawned = data.map((_, thread) => (taken !== undefined && thread === first ? taken : begin(thread)));
  return { threads: spawned.map(({ thread }) => thread), ports: coordinator };
}

/** A port between every pair of threads, and to each of them one of the coordinator's. */
function portsBetween(count: number): {
  readonly coordinator: readonly MessagePort[];
  readonly portsOf: readonly (readonly { readonly thread: number; readonly port: MessagePort }[])[];
} {
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
  return { coordinator, portsOf };
}

function spawnWorker(entry: URL, memoryBytes: number): SpawnedWorker {
  const begin = new MessageChannel();
  const worker = new Worker(entry, {
    workerData: { begin: begin.port2 } satisfies Birth,
    transferList: [begin.port2],
    resourceLimits: {
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      maxOldGenerationSizeMb: OLD_GENERATION_BASE_MB + Math.ceil(memoryBytes / 1_048_576),
    },
  });
  return { worker, thread: wrap(worker), begin: begin.port1 };
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

/** Within a thread: what it works on, once that is known, and its way to the others. */
export async function threadStart<T>(): Promise<ThreadStart<T>> {
  const { begin } = workerData as Birth;
  const start = await new Promise<ThreadStart<T>>((resolve) => void begin.once('message', resolve));
  begin.close();
  return start;
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

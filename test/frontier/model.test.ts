import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSqliteStore } from '../../src/adapters/sqlite/shard-store.ts';
import type { ShardStore } from '../../src/ports/shard-store.ts';
import { type Command, HOSTS, Rig } from './model.ts';

const host = fc.integer({ min: 1, max: HOSTS });
const ms = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 20_000, max: 90_000 }));
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      host,
      level: fc.integer({ min: 0, max: 4 }),
      count: fc.integer({ min: 1, max: 4 }),
      bytes: fc.constant(3),
    }),
  },
  // More than the heads kept in memory, and more than a chunk.
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      host,
      level: fc.integer({ min: 0, max: 4 }),
      count: fc.integer({ min: 60, max: 140 }),
      bytes: fc.constantFrom(20, 300),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      how: fc.constantFrom(
        'fetch' as const,
        'fetch' as const,
        'drop' as const,
        'wait' as const,
        'sleep' as const,
        'apart' as const,
        'address' as const,
        'address' as const,
      ),
      ms,
      count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 50, max: 90 })),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      which: fc.nat(5),
      how: fc.constantFrom('done' as const, 'done' as const, 'retry' as const, 'fault' as const, 'expire' as const),
      ms,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('advance' as const), ms }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('wake' as const, 'errand' as const), host }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('freeze' as const, 'commit' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'crash' as const) }) },
);

async function agrees(rig: Rig, commands: readonly Command[]): Promise<void> {
  try {
    for (const one of commands) await rig.run(one);
    await rig.drain();
  } finally {
    rig.close();
  }
}

test('R-B1 R-B3 R-B5 R-B6 R-B7 the frontier agrees with plain arrays under any commands, restarts and crashes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 120, size: 'max' }), (commands) => agrees(new Rig(), commands)),
    { numRuns: 400 },
  );
});

test('R-B7 R-L1 the same holds over the SQLite file', async () => {
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'portolan-frontier-'));
  let run = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 80, size: 'max' }), async (commands) => {
        const file = join(root, `${++run}.db`);
        let open: ShardStore | undefined;
        const rig = new Rig(
          () => (open = createSqliteStore({ file, cacheBytes: 1_048_576 })),
          () => open?.close(),
        );
        await agrees(rig, commands);
      }),
      { numRuns: 40 },
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

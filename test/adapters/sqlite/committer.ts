/**
 * A process that does nothing but commit, for tests that kill it or break its disk: `committer.ts FILE COUNT`. It says on standard output what
 * was promised: `opened N` (the commit it goes on from), `durable N` after each, `rejected CODE` when a commit fails, and what it tried after that.
 */
import { writeSync } from 'node:fs';
import { createSqliteStore } from '../../../src/adapters/sqlite/shard-store.ts';
import { PortolanError } from '../../../src/core/errors.ts';
import { historyBatch } from './history.ts';

const [, , file = '', count = '1'] = process.argv;
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};
const codeOf = (error: unknown): string => (error instanceof PortolanError ? error.code : String(error));

const store = createSqliteStore({ file, cacheBytes: 1_048_576 });
try {
  const { commitSeq } = store.open(0);
  say(`opened ${commitSeq}`);
  for (let seq = commitSeq + 1; seq <= commitSeq + Number(count); seq++) {
    await store.commit(historyBatch(seq));
    say(`durable ${seq}`);
  }
} catch (error) {
  say(`rejected ${codeOf(error)}`);
  await store.commit(historyBatch(1_000_000)).catch((again: unknown) => say(`again ${codeOf(again)}`));
} finally {
  store.close();
}

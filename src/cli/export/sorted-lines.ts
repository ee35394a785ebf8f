/** Lines sorted by their bytes, however many: they lie in a temporary database, which SQLite keeps in a file and deletes when it is closed. */
import Database from 'better-sqlite3';

/** Lines added in one transaction. */
const LINES_PER_BATCH = 10_000;

export class SortedLines {
  readonly #db = new Database('');
  readonly #put: Database.Statement<unknown[], unknown>;
  #batch: string[] = [];

  constructor() {
    this.#db.pragma('cache_size = -16384');
    this.#db.pragma('temp_store = FILE');
    this.#db.exec('CREATE TABLE line(text TEXT NOT NULL)');
    this.#put = this.#db.prepare('INSERT INTO line VALUES (?)');
  }

  add(line: string): void {
    this.#batch.push(line);
    if (this.#batch.length >= LINES_PER_BATCH) this.#flush();
  }

  #flush(): void {
    this.#db.transaction(() => {
      for (const line of this.#batch) this.#put.run(line);
    })();
    this.#batch = [];
  }

  *sorted(): Iterable<string> {
    this.#flush();
    yield* this.#db.prepare('SELECT text FROM line ORDER BY text').pluck().iterate() as IterableIterator<string>;
  }

  close(): void {
    this.#db.close();
  }
}

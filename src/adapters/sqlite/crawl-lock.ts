/**
 * One process per crawl directory: a database held in an exclusive transaction for as long as the process lives (the kernel lets go of it when
 * the process dies, however it dies). Node has no flock.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { PortolanError } from '../../core/errors.ts';

/** Returns what lets go of it. Throws PORTOLAN_STATE_LOCKED when another process holds it, PORTOLAN_DISK_* when the file cannot be written. */
export function lockCrawl(file: string): () => void {
  let db: Database.Database | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true });
    db = new Database(file, { timeout: 0 });
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE');
    return () => db?.close();
  } catch (error) {
    db?.close();
    const code = (error as { code?: string }).code ?? '';
    if (code.startsWith('SQLITE_BUSY')) {
      throw new PortolanError('PORTOLAN_STATE_LOCKED', `another process is crawling into ${dirname(file)}`, {
        cause: error,
        remedy: 'wait for it to end, stop it, or choose another directory with --out',
      });
    }
    if (code === 'ENOSPC' || code === 'SQLITE_FULL') {
      throw new PortolanError('PORTOLAN_DISK_FULL', `no space is left for ${dirname(file)}`, {
        cause: error,
        remedy: 'make space and run the same command again',
      });
    }
    throw new PortolanError('PORTOLAN_DISK_READ_ONLY', `${dirname(file)} cannot be written: ${(error as Error).message}`, {
      cause: error,
      remedy: 'make the directory writable for this user, or choose another with --out',
    });
  }
}

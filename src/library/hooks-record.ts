/**
 * Which hooks the last run of a crawl had: hooks change what a crawl collects, and are no part of its configuration. A run with others goes on, and
 * says so in a notice.
 *
 * Invariant: two runs have the same hooks when the text of the module is the same; where it lies does not count. What the module imports or reads is
 * not looked at, and neither is what the hooks do.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Disk } from '../ports/disk.ts';

/** Absent while no run has had hooks. */
const STORED_HOOKS = 'state/hooks.json';
const FROM_NOW_ON = 'what was judged before is not judged again';

interface HooksRecord {
  /** URL of the module; null: the last run had none. */
  readonly module: string | null;
  /** Of the module's text, hexadecimal; '' without one. */
  readonly sha256: string;
}

const NO_HOOKS: HooksRecord = { module: null, sha256: '' };

/** Remembers the hooks of this run. `module`: a file: URL. Returns the notice when they are not those of the last run. Throws PORTOLAN_DISK_*. */
export async function recordHooks(disk: Disk, module: string | undefined, isNew: boolean): Promise<string | undefined> {
  const last = readRecord(disk);
  const now = recordOf(module);
  if (last.module === now.module && last.sha256 === now.sha256) return undefined;
  await disk.writeWhole(STORED_HOOKS, Buffer.from(`${JSON.stringify(now, undefined, 1)}\n`));
  return isNew || last.sha256 === now.sha256 ? undefined : difference(last, now);
}

function difference(last: HooksRecord, now: HooksRecord): string {
  if (now.module === null) return `the last run of this crawl had the hooks of ${nameOf(last)}, this run has none; ${FROM_NOW_ON}`;
  if (last.module === null) return `the last run of this crawl had no hooks, this run has those of ${nameOf(now)}; ${FROM_NOW_ON}`;
  if (last.module === now.module) return `the module of hooks ${nameOf(now)} has changed since the last run of this crawl; ${FROM_NOW_ON}`;
  return `the last run of this crawl had the hooks of ${nameOf(last)}, this run has those of ${nameOf(now)}; ${FROM_NOW_ON}`;
}

function nameOf({ module }: HooksRecord): string {
  return module === null ? '' : fileURLToPath(module);
}

/** A module that cannot be read is one whose text is not known: each thread refuses it in its own words. */
function recordOf(module: string | undefined): HooksRecord {
  if (module === undefined) return NO_HOOKS;
  try {
    return {
      module,
      sha256: createHash('sha256')
        .update(readFileSync(fileURLToPath(module)))
        .digest('hex'),
    };
  } catch {
    return { module, sha256: 'unreadable' };
  }
}

/** A record that cannot be read is none: nothing else depends on it. */
function readRecord(disk: Disk): HooksRecord {
  if (!disk.exists(STORED_HOOKS)) return NO_HOOKS;
  try {
    const { module, sha256 } = JSON.parse(Buffer.from(disk.readWhole(STORED_HOOKS)).toString('utf8')) as Partial<HooksRecord>;
    return typeof module === 'string' && typeof sha256 === 'string' ? { module, sha256 } : NO_HOOKS;
  } catch {
    return NO_HOOKS;
  }
}

/** A data directory with a quota: a tmpfs of that size, which can be made larger while the program runs. Needs the right to mount. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class QuotaDir {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** undefined where mounting is not allowed. */
  static create(megabytes: number): QuotaDir | undefined {
    const path = mkdtempSync(join(tmpdir(), 'portolan-quota-'));
    if (mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path)) return new QuotaDir(path);
    rmSync(path, { recursive: true });
    return undefined;
  }

  raise(megabytes: number): boolean {
    return mount('-o', `remount,size=${megabytes}m`, this.path);
  }

  remove(): void {
    spawnSync('umount', [this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

function mount(...args: readonly string[]): boolean {
  return spawnSync('mount', args).status === 0;
}

/** What a power cut or a bad disk does to the newest file of the crawl's state. */
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fields, type Findings, numberOf, show, textOf } from './format.ts';

const TAIL_BYTES = 1_024;

/** The newest file with the state or a journal of it; locks and the index of a journal, which is made anew at open, are neither. */
function newestStateFile(out: string): string | undefined {
  const dir = join(out, 'state');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile() && statSync(path).size > 0 && !/-shm$|lock/.test(path));
  return files.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

export function damage(out: string, how: Fields, findings: Findings): void {
  findings.onlyKnown('damage', how, ['target', 'how', 'n']);
  const target = textOf(how, 'target');
  const file = newestStateFile(out);
  if (target !== '' && target !== 'newest state or journal file') findings.notUnderstood(`damage to ${show(target)}`);
  else if (file === undefined) findings.fail('there is no state to damage');
  else if (!damageFile(file, textOf(how, 'how'), numberOf(how, 'n') ?? 0)) findings.notUnderstood(`damage ${show(how)}`);
}

/** False for a word that is not known. */
function damageFile(file: string, how: string, n: number): boolean {
  const { size } = statSync(file);
  if (how === 'truncate_to_zero') truncateSync(file, 0);
  else if (how === 'cut_last_bytes') truncateSync(file, Math.max(0, size - n));
  else if (how === 'append_garbage') writeFileSync(file, Buffer.alloc(n, '\x5a\xa5'), { flag: 'a' });
  else if (how === 'flip_byte_in_last_kilobyte') flipByte(file, Math.max(0, size - Math.floor(TAIL_BYTES / 2)));
  else if (how === 'leave_temp_file') writeFileSync(`${file}.tmp`, readFileSync(file).subarray(0, size / 2));
  else return false;
  return true;
}

function flipByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = bytes[at]! ^ 0x40;
  writeFileSync(file, bytes);
}

/**
 * What reasons, outcomes and gap rules mean, in the words of the documents that the package ships: they are written down once, in docs/REASONS.md and
 * docs/EXPLAIN.md. A copy of the package without its documents gives the names alone.
 */
import { readFileSync } from 'node:fs';

export interface Words {
  /** When it applies. */
  readonly when: string;
  /** Configuration key that rules it; '' when none does. */
  readonly key: string;
  /** What the operator can do; '' when nothing is said. */
  readonly advice: string;
}

export interface WordList {
  readonly rejected: ReadonlyMap<string, Words>;
  readonly dropped: ReadonlyMap<string, Words>;
  readonly outcomes: ReadonlyMap<string, Words>;
  readonly gapRules: ReadonlyMap<string, Words>;
}

export function readWords(): WordList {
  const reasons = document('REASONS.md');
  return {
    rejected: table(reasons, 'Rejected', ([, when = '', key = '', advice = '']) => ({ when, key, advice })),
    dropped: table(reasons, 'Dropped', ([, when = '', key = '', advice = '']) => ({ when, key, advice })),
    outcomes: table(reasons, 'Outcomes', ([, , when = '', key = '']) => ({ when, key, advice: '' })),
    gapRules: table(document('EXPLAIN.md'), 'Gap rules', ([, when = '', key = '']) => ({ when, key, advice: '' })),
  };
}

function document(name: string): string {
  // Beside dist/, which a bundle runs from, or beside src/.
  for (const folder of ['../docs/', '../../docs/']) {
    try {
      return readFileSync(new URL(folder + name, import.meta.url), 'utf8');
    } catch {
      // not there
    }
  }
  return '';
}

function table(text: string, heading: string, words: (cells: readonly string[]) => Words): Map<string, Words> {
  const start = text.indexOf(`\n## ${heading}\n`);
  const rows = new Map<string, Words>();
  if (start < 0) return rows;
  const end = text.indexOf('\n## ', start + 4);
  for (const line of text.slice(start, end < 0 ? undefined : end).split('\n')) {
    if (!line.startsWith('| `')) continue;
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => plain(cell.trim()));
    rows.set(cells[0]!, words(cells));
  }
  return rows;
}

/** Markdown as it is read on a terminal: a link to another document becomes its name in the package. */
function plain(markdown: string): string {
  return markdown.replaceAll('`', '').replace(/\[[^\]]*\]\(([\w-]+\.md)(?:#[^)]*)?\)/g, 'docs/$1');
}

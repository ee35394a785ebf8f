/**
 * Writes docs/PUBLIC-API.md: what `import 'portolan'` gives, declaration by declaration, as a program's compiler sees it. A test holds the file and the
 * code together, so that a change of the surface is seen in review as one.
 *
 * It reads the .d.ts files that `npm run build` makes, and follows re-exports of src/index.ts and the names that exported declarations speak of. It does
 * not expand them: the keys of the configuration are docs/CONFIG.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const PUBLIC_API_DOC = join(ROOT, 'docs/PUBLIC-API.md');
/** The schema's own declaration is a long type without words: docs/CONFIG.md says it better. */
const NOT_FOLLOWED = new Set(['ConfigSchema']);

/** Closed lists that grow, and the document that has each of their words. */
const LISTS: Readonly<Record<string, string>> = { ERROR_CODES: 'ERRORS.md', REJECT_REASONS: 'REASONS.md', DROP_REASONS: 'REASONS.md' };

const HEAD = `# Public API

What \`import 'portolan'\` gives. Made by \`node scripts/public-api.ts\` from the declarations of the compiled package; [LIBRARY.md](LIBRARY.md) explains it, and
[CONFIG.md](CONFIG.md) has the keys of \`ConfigInput\`. What is not here may change without notice.
`;

/** Compiles the declarations and renders them. */
export function renderPublicApi(): string {
  const dist = mkdtempSync(join(tmpdir(), 'portolan-api-'));
  try {
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', dist, '--emitDeclarationOnly']);
    return render(join(dist, 'index.d.ts'));
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
}

interface Place {
  readonly file: string;
  readonly name: string;
}

function render(index: string): string {
  const exported = exportsOf(index);
  const declared = new Map<string, string>();
  const spoken = new Map<string, Place>();
  for (const place of exported) {
    declared.set(place.name, declarationOf(place));
    for (const other of namesIn(place)) spoken.set(other.name, other);
  }
  const isExported = new Set(exported.map(({ name }) => name));
  const hidden: string[] = [];
  for (const place of spoken.values()) {
    if (isExported.has(place.name) || NOT_FOLLOWED.has(place.name) || !place.file.startsWith(dirname(index))) continue;
    hidden.push(declarationOf(place));
    for (const other of namesIn(place)) if (!spoken.has(other.name)) spoken.set(other.name, other);
  }
  const block = (text: readonly string[]): string => `\`\`\`ts\n${[...text].sort().join('\n\n')}\n\`\`\`\n`;
  return `${HEAD}\n## Exported\n\n${block([...declared.values()])}\n## Spoken of\n\nNot exported by name, and part of the above.\n\n${block(hidden)}`;
}

/** Names of the index and where they are declared. */
function exportsOf(index: string): Place[] {
  const text = readFileSync(index, 'utf8');
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '(\.[^']+)';/gm)].flatMap(([, names = '', from = '']) =>
    names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter(Boolean)
      .map((name) => ({ name, file: declarationFile(index, from) })),
  );
}

function declarationFile(from: string, target: string): string {
  return join(dirname(from), target).replace(/\.(?:js|ts)$/, '.d.ts');
}

const TOP = /^(?:export |declare |import |type |interface |class |const |function )/;

/** Statements of a declaration file, without comments. */
function statementsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8').replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, '');
  const statements: string[] = [];
  for (const line of text.split('\n')) {
    if (TOP.test(line)) statements.push(line);
    else if (statements.length > 0 && line !== '') statements.push(`${statements.pop()}\n${line}`);
  }
  return statements;
}

function declares(statement: string, name: string): boolean {
  return new RegExp(`^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|const|function) ${name}\\b`).test(statement);
}

function declarationOf({ file, name }: Place): string {
  if (LISTS[name] !== undefined) return `const ${name}: readonly [/* the words of docs/${LISTS[name]} */];`;
  const found = statementsOf(file).filter((statement) => declares(statement, name));
  if (found.length === 0) throw new Error(`${file} does not declare ${name}`);
  return found.map((statement) => statement.replace(/^export /, '').replace(/^declare /, '')).join('\n');
}

/** Types that a declaration speaks of, with the place of each that is ours. */
function namesIn(place: Place): Place[] {
  const words = new Set(declarationOf(place).match(/\b[A-Z]\w*\b/g) ?? []);
  words.delete(place.name);
  return [...words].flatMap((name) => placeOf(place.file, name));
}

function placeOf(file: string, name: string): Place[] {
  const statements = statementsOf(file);
  if (statements.some((statement) => declares(statement, name))) return [{ file, name }];
  for (const statement of statements) {
    const [, names = '', from = ''] = /^(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']+)';/.exec(statement) ?? [];
    if (names.split(',').some((one) => one.trim().replace(/^type /, '') === name)) return [{ file: declarationFile(file, from), name }];
  }
  return [];
}

if (import.meta.main) writeFileSync(PUBLIC_API_DOC, renderPublicApi());

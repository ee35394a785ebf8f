/**
 * The commented configuration file of `portolan init`, made from the schema: every section and key with its meaning, price, unit and default. What nobody
 * needs to think of is commented out with its default; the few keys that a first crawl wants are active. Without any change it is a valid file.
 */
import { type ConfigKeyDoc, configKeyDocs, hostKeyDocs, SECTIONS } from './key-docs.ts';

/** Active keys, and what stands there when it is not the default. */
const ACTIVE: Readonly<Record<string, string | undefined>> = {
  seeds: 'https://example.com/',
  'agent.contact': undefined,
  'scope.mode': undefined,
  'limits.maxPages': '100',
  'politeness.delay': undefined,
  'output.dir': undefined,
};
const WIDTH = 110;

const HEAD = `# Portolan configuration. Start it with: portolan crawl --config FILE   (see first what it does: add --dry-run)
# A flag wins over this file. A line such as "#delay: 1s" shows a default: take the # away to set it. "# " begins an explanation.
# Durations are numbers with ms, s, m, h or d; sizes with KB, MB, GB (1,000) or KiB, MiB, GiB (1,024). An unknown key is an error that names the right one.
`;

export function sampleConfig(): string {
  const sections = Object.groupBy(configKeyDocs(), ({ key }) => key.split('.')[0]!);
  const blocks = Object.entries(sections).map(([name, keys]) => sectionText(name, (SECTIONS[name] ?? '').replaceAll('`', ''), keys ?? []));
  return `${HEAD}\n${blocks.join('\n')}`;
}

function sectionText(name: string, title: string, keys: readonly ConfigKeyDoc[]): string {
  const head = title === '' ? '' : comment(title, '');
  if (name === 'hosts') return `${head}${hostsText()}`;
  const [only] = keys;
  if (only !== undefined && only.key === name) return `${head}${keyText(only, name, '')}`;
  return `${head}${name}:\n${keys.map((key) => keyText(key, key.key.slice(name.length + 1), '  ')).join('')}`;
}

/** One entry with every key, commented out. */
function hostsText(): string {
  const keys = hostKeyDocs().map(({ key, meaning, value, example = '' }) => {
    const name = key.slice(key.lastIndexOf('.') + 1);
    return `${comment(`${meaning} (${value})`, '    ')}    #${name}: ${example}\n`;
  });
  return `#hosts:\n  #'*.example.org':\n${keys.join('')}`;
}

function keyText(doc: ConfigKeyDoc, name: string, indent: string): string {
  const isActive = doc.key in ACTIVE;
  const value = ACTIVE[doc.key] ?? (doc.default === '' || doc.default === '[]' ? doc.example : undefined);
  const meaning = `${doc.meaning}${doc.price === undefined ? '' : `. Price: ${doc.price}`} (${valueWords(doc)})`;
  const lines =
    doc.value === 'list'
      ? listText(name, value === undefined ? undefined : [value], doc.default)
      : `${name}: ${quoted(value ?? doc.default, doc)}`;
  const mark = isActive ? '' : '#';
  const body = lines.split('\n').map((line) => `${indent}${mark}${line}\n`);
  return `${comment(meaning, indent)}${body.join('')}`;
}

function valueWords(doc: ConfigKeyDoc): string {
  const kind = doc.value.replaceAll('`', '');
  if (doc.default === '' || doc.default === '[]') return `${kind}; no default${doc.default === '[]' ? ', an empty list' : ''}`;
  return doc.key in ACTIVE && ACTIVE[doc.key] !== undefined ? `${kind}; default ${doc.default}` : kind;
}

function listText(name: string, items: readonly string[] | undefined, written: string): string {
  if (items === undefined) return `${name}: ${written}`;
  return [`${name}:`, ...items.map((item) => `  - ${plainOrQuoted(item)}`)].join('\n');
}

function quoted(value: string, doc: ConfigKeyDoc): string {
  return doc.value === 'text' ? plainOrQuoted(value) : value;
}

/** Quotes what YAML would read as something else than this text. */
function plainOrQuoted(text: string): string {
  return /^[A-Za-z/][\w./-]*(?::\/\/[\w./-]+)?$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : `'${text.replaceAll("'", "''")}'`;
}

/** Broken into lines, each with its #. */
function comment(text: string, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one) => `${indent}# ${one}\n`).join('');
}

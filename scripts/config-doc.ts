/**
 * Makes docs/CONFIG.md from the configuration schema and the table of flags: key, value, default, flag, meaning and price of every key.
 *
 *   node scripts/config-doc.ts            writes docs/CONFIG.md
 *   node scripts/config-doc.ts --check    exit code 1 when the file is not what would be written
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { FLAGS } from '../src/cli/crawl-options.ts';
import { type ConfigKeyDoc, configKeyDocs, hostKeyDocs, SECTIONS } from '../src/config/key-docs.ts';

const FILE = new URL('../docs/CONFIG.md', import.meta.url);

const HEAD = `# Configuration

<!-- Made by scripts/config-doc.ts from src/config/schema.ts. Do not edit: run \`node scripts/config-doc.ts\`. -->

One schema stands behind the file (\`--config portolan.yaml\`), the flags and the library. A flag wins over the file. An unknown key is an error that names the
nearest right one. The file is YAML:

\`\`\`yaml
seeds:
  - https://site.example/
scope:
  mode: domain
  exclude: ['\\?print=']
politeness:
  delay: 2s
output:
  dir: site-example
  warcSize: 500MB
\`\`\`

A **duration** is a number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\` (a bare number is milliseconds). A **size** is a number with \`KB\`, \`MB\`, \`GB\`, \`TB\` (powers of
1,000) or \`KiB\`, \`MiB\`, \`GiB\`, \`TiB\` (powers of 1,024); a bare number is bytes. Flags marked \\* may be given several times.

Between two runs of one directory everything may change but \`run.shards\` (that of the first run stays) and, without \`--force\`, \`scope.mode\`, \`scope.include\`
and \`scope.exclude\`.
`;

export function renderConfigDoc(): string {
  const bySection = Object.groupBy([...configKeyDocs(), ...hostKeyDocs()], ({ key }) => key.split('.')[0]!);
  const sections = Object.entries(bySection).map(([name, keys]) => {
    const rows = keys!.map((key) => `| \`${key.key}\` | ${key.value} | ${cell(key.default)} | ${flagOf(key.key)} | ${meaningOf(key)} |`);
    return `## ${name}\n\n${SECTIONS[name] ?? ''}\n\n| key | value | default | flag | meaning |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${HEAD}\n${sections.join('\n')}`;
}

function cell(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

function flagOf(key: string): string {
  if (key === 'seeds') return 'arguments, `--seeds`';
  const flag = FLAGS.find((one) => one.key === key);
  if (flag === undefined) return '';
  return `\`${flag.flag.split(' ')[0]}\`${flag.kind === 'list' ? ' \\*' : ''}`;
}

function meaningOf({ meaning, price }: ConfigKeyDoc): string {
  const text = price === undefined ? meaning : `${meaning}. Price: ${price}`;
  return text.replaceAll('|', '\\|').replaceAll('*/*', '`*/*`').replaceAll('type/*', '`type/*`');
}

if (import.meta.main) {
  const wanted = renderConfigDoc();
  if (process.argv.includes('--check')) {
    if (readFileSync(FILE, 'utf8') !== wanted) {
      process.stderr.write('docs/CONFIG.md is not up to date: run node scripts/config-doc.ts\n');
      process.exitCode = 1;
    }
  } else writeFileSync(FILE, wanted);
}

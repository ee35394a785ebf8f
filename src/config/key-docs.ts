/** Every configuration key with what docs/CONFIG.md says of it, read from the schema. */
import { HostSchema } from './hosts.ts';
import { ConfigSchema, type KeyDoc } from './schema.ts';
import { DURATION, SIZE } from './units.ts';

/** What the keys of a section are about, in Markdown. */
export const SECTIONS: Readonly<Record<string, string>> = {
  seeds: 'Where the crawl begins.',
  agent: 'How the crawler introduces itself. `User-Agent` is `token/version (+contact)`; a mail address also stands in `From`.',
  scope: 'Which URLs may be crawled. Seeds always may, and so may the host to which a seed redirects.',
  limits: 'When to stop although there is more to do.',
  politeness: 'How much a server is asked to bear. The gap after a fetch is the greatest that any rule asks for.',
  frontier: 'How waiting URLs and hosts are ordered.',
  fetch: 'One request and its bounds.',
  hosts:
    'What is another for single hosts: `HOST`, `HOST:PORT`, or `*.DOMAIN` for a domain with its sub-domains. Key by key the most specific one counts. A secret may be `{ env: NAME }`, a variable of the environment. See docs/OWN-SITES.md.',
  dns: 'How names become addresses.',
  net: 'Which addresses may be contacted beyond the public internet.',
  robots: 'How robots.txt is kept. It is obeyed, but for hosts that are excepted with a reason (`hosts`).',
  dedup: 'What counts as the same page.',
  output: 'What is written, and where.',
  run: 'How much of the machine is used.',
};

export interface ConfigKeyDoc {
  readonly key: string;
  /** How it is written: duration, size, number, list, on/off, text, or the words it may be. */
  readonly value: string;
  /** As it would be written in the file; '' when there is none. */
  readonly default: string;
  readonly meaning: string;
  readonly price: string | undefined;
  /** Something sensible to write where there is no default. */
  readonly example: string | undefined;
}

/** What is looked at of a zod type. */
interface Type {
  readonly def: {
    readonly type: string;
    readonly innerType?: Type;
    readonly defaultValue?: unknown;
    readonly entries?: Readonly<Record<string, string>>;
  };
  readonly shape?: Readonly<Record<string, Type>>;
  meta(): (Partial<KeyDoc> & { readonly description?: string }) | undefined;
}

/** In the order of the schema. */
export function configKeyDocs(): ConfigKeyDoc[] {
  return Object.entries(ConfigSchema.shape as unknown as Readonly<Record<string, Type>>).flatMap(([name, type]) => {
    const shape = type.def.innerType?.shape;
    if (shape === undefined) return [keyDoc(name, type)];
    return Object.entries(shape).map(([key, inner]) => keyDoc(`${name}.${key}`, inner));
  });
}

/** Keys of one entry of `hosts`, as `hosts.HOST.key`. */
export function hostKeyDocs(): ConfigKeyDoc[] {
  const shape = HostSchema.shape as unknown as Readonly<Record<string, Type>>;
  return Object.entries(shape).map(([key, type]) => keyDoc(`hosts.HOST.${key}`, type));
}

function keyDoc(key: string, type: Type): ConfigKeyDoc {
  const inner = type.def.innerType ?? type;
  const { description = '', unit, price, example } = inner.meta() ?? {};
  return { key, value: wayToWrite(inner, unit), default: defaultOf(type, unit), meaning: description, price, example };
}

function wayToWrite(type: Type, unit: KeyDoc['unit']): string {
  if (unit === 'duration' || unit === 'size') return unit;
  switch (type.def.type) {
    case 'enum':
      return Object.keys(type.def.entries ?? {})
        .map((word) => `\`${word}\``)
        .join(', ');
    case 'array':
      return 'list';
    case 'record':
    case 'object':
    case 'pipe':
      return 'map';
    case 'union':
      return 'text or map';
    case 'boolean':
      return 'true, false';
    case 'string':
      return 'text';
    default:
      return type.def.type;
  }
}

function defaultOf(type: Type, unit: KeyDoc['unit']): string {
  if (type.def.type !== 'default') return '';
  const value = type.def.defaultValue;
  if (typeof value === 'number' && unit === 'duration') return DURATION.write(value);
  if (typeof value === 'number' && unit === 'size') return SIZE.write(value);
  if (Array.isArray(value)) return `[${value.join(', ')}]`;
  if (typeof value === 'object') return '{}';
  return String(value);
}

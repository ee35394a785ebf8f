/** Every configuration key with what docs/CONFIG.md says of it, read from the schema. */
import { ConfigSchema, type KeyDoc } from './schema.ts';

export interface ConfigKeyDoc {
  readonly key: string;
  /** How it is written: duration, size, number, list, on/off, text, or the words it may be. */
  readonly value: string;
  /** As it would be written in the file; '' when there is none. */
  readonly default: string;
  readonly meaning: string;
  readonly price: string | undefined;
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

const DURATION_STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;
const SIZE_STEPS = [
  ['GiB', 1_073_741_824],
  ['GB', 1_000_000_000],
  ['MiB', 1_048_576],
  ['MB', 1_000_000],
  ['KiB', 1_024],
  ['KB', 1_000],
] as const;

/** In the order of the schema. */
export function configKeyDocs(): ConfigKeyDoc[] {
  return Object.entries(ConfigSchema.shape as unknown as Readonly<Record<string, Type>>).flatMap(([name, type]) => {
    const shape = type.def.innerType?.shape;
    if (shape === undefined) return [keyDoc(name, type)];
    return Object.entries(shape).map(([key, inner]) => keyDoc(`${name}.${key}`, inner));
  });
}

function keyDoc(key: string, type: Type): ConfigKeyDoc {
  const inner = type.def.innerType ?? type;
  const { description = '', unit, price } = inner.meta() ?? {};
  return { key, value: wayToWrite(inner, unit), default: defaultOf(type, unit), meaning: description, price };
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
  if (typeof value === 'number' && unit === 'duration') return inSteps(value, DURATION_STEPS, 'ms');
  if (typeof value === 'number' && unit === 'size') return inSteps(value, SIZE_STEPS, '');
  if (Array.isArray(value)) return `[${value.join(', ')}]`;
  return String(value);
}

/** The largest unit that divides it. */
function inSteps(value: number, steps: readonly (readonly [string, number])[], smallest: string): string {
  if (value === 0) return '0';
  for (const [unit, factor] of steps) if (value % factor === 0) return `${value / factor}${unit}`;
  return `${value}${smallest}`;
}

/** Makers of the schema's fields: how a kind of value is written, bounded and refused, and what the documentation says of it. */
import * as z from 'zod';
import { DURATION, SIZE, shown, type Unit } from './units.ts';

// A configuration is read once: to compile a checker of its own for each section takes longer than the checking.
z.config({ jitless: true });

/** What docs/CONFIG.md says of a key beside its default: how it is written, what it does, and what more of it costs. */
export interface KeyDoc {
  readonly description: string;
  readonly unit: 'duration' | 'size' | 'count' | 'list' | undefined;
  readonly price: string | undefined;
  /** Something sensible to write, for a key without a default and for an empty list. */
  readonly example?: string;
}
export const doc = (unit: KeyDoc['unit'], description: string, price?: string, example?: string): KeyDoc & Record<string, unknown> => ({
  ...{ description, unit, price },
  ...(example === undefined ? {} : { example }),
});

/** Bounds of a value, both included. */
interface Range {
  readonly min?: number;
  readonly max?: number;
}

export const duration = (meaning: string, range: Range = {}, price?: string, example?: string) =>
  measured(DURATION, range, doc('duration', meaning, price, example));
export const size = (meaning: string, range: Range = {}, price?: string) => measured(SIZE, range, doc('size', meaning, price));

function measured(unit: Unit, range: Range, meta: KeyDoc & Record<string, unknown>) {
  const { min = 0, max = unit.max } = range;
  return z
    .union([z.string(), z.number()], { error: ({ input }) => unit.refusal(input) })
    .transform((value, context) => {
      const parsed = unit.parse(value);
      if (parsed !== undefined && parsed >= min && parsed <= max) return parsed;
      const message = parsed === undefined ? unit.refusal(value) : outOfRange(unit, value, parsed, range);
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    })
    .meta(meta);
}

function outOfRange(unit: Unit, value: unknown, parsed: number, { min = 0, max }: Range): string {
  const possible =
    max === undefined && parsed < min ? `at least ${unit.write(min)}` : `from ${unit.write(min)} to ${unit.write(max ?? unit.max)}`;
  return `${shown(value)} is too ${parsed < min ? 'small' : 'large'}: ${possible} is possible`;
}

export const count = (meaning: string, minimum = 0, price?: string, example?: string) =>
  z
    .number()
    .int()
    .min(minimum)
    .meta(doc('count', meaning, price, example));
export const texts = (meaning: string, price?: string, example?: string) => z.array(z.string()).meta(doc('list', meaning, price, example));

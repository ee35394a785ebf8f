/** The vectors of test/vectors/robots.json in the form the tests use. Sources and kinds are named in the file. */
import { readFileSync } from 'node:fs';

type Packed = string | readonly (string | readonly [string, number])[] | { readonly base64: string };

export interface AccessVector {
  readonly id: string;
  readonly kind: 'rfc' | 'rfc-strict' | 'google-doc' | 'common' | 'google-only';
  readonly body: Uint8Array;
  readonly agent: string;
  readonly url: string;
  readonly allowed: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: readonly (readonly [string, string])[];
}

export interface ServedPage {
  readonly host: string;
  readonly port?: number;
  readonly path: string;
  readonly reply: Reply;
}

/** Each incident has the fields that it needs. */
export interface Incident {
  readonly id: string;
  readonly happened: string;
  readonly input: {
    readonly agent: string;
    readonly other_agent?: string;
    readonly third_agent?: string;
    readonly robots?: string;
    readonly robots_b64?: string;
    readonly answers?: readonly { readonly id: string; readonly status?: number; readonly body?: string; readonly error?: string }[];
    readonly server?: readonly ServedPage[];
    readonly seeds?: readonly string[];
  };
  readonly expected: {
    readonly allowed: readonly string[];
    readonly disallowed: readonly string[];
    readonly other_allowed?: readonly string[];
    readonly other_disallowed?: readonly string[];
    readonly third_allowed?: readonly string[];
    readonly third_disallowed?: readonly string[];
    readonly must_request?: readonly string[];
  };
}

export interface RobotsVectors {
  readonly access: readonly AccessVector[];
  readonly paths: readonly { readonly url: string; readonly path: string }[];
  readonly escapes: readonly { readonly pattern: string; readonly escaped: string }[];
  readonly agentTokens: readonly { readonly token: string; readonly valid: boolean }[];
  readonly sitemaps: readonly { readonly body: string; readonly sitemaps: readonly string[] }[];
  readonly crawlDelays: readonly { readonly body: string; readonly agent: string; readonly seconds: number | null }[];
  readonly incidents: readonly Incident[];
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function unpackText(packed: Exclude<Packed, { readonly base64: string }>): string {
  if (typeof packed === 'string') return packed;
  return packed.map((part) => (typeof part === 'string' ? part : part[0].repeat(part[1]))).join('');
}

function unpackBytes(packed: Packed): Uint8Array {
  if (typeof packed === 'object' && 'base64' in packed) return Buffer.from(packed.base64, 'base64');
  return bytesOf(unpackText(packed));
}

export function readRobotsVectors(): RobotsVectors {
  const file = JSON.parse(readFileSync(new URL('../vectors/robots.json', import.meta.url), 'utf8'));
  const access = file.access.map((entry: AccessVector & { body: number; url: string }) => ({
    ...entry,
    body: unpackBytes(file.bodies[entry.body]),
    url: unpackText(entry.url),
  }));
  return { ...file, access };
}

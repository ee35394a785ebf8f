/**
 * What a room must not touch by itself, since the engine must run in virtual time over a simulated disk and network: clocks, timers, randomness, files,
 * sockets, threads, the process. Each ban names what to use instead.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOnly, importsOf, read, roomOf, sourceFiles } from './source.ts';

/** Roots: they name adapters, or are where the process begins. */
const ROOTS = [
  'cli',
  'compose.ts',
  'compose-thread.ts',
  'compose-sim.ts',
  'thread-data.ts',
  'worker.ts',
  'warm.ts',
  'read-ranks.ts',
  'library',
  'index.ts',
];
const FREE = (room: string): boolean => room.startsWith('adapters/') || ROOTS.includes(room);

/** Names in code, and their replacement. */
const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bDate\b/, 'Clock.nowEpochMs; output/iso-date.ts and fetch/http-date.ts for text'],
  [/\bperformance\b/, 'Clock.nowMonoMs'],
  [/\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/, 'Clock.setTimer, ThreadContext.yieldTurn'],
  [/\bMath\s*\.\s*random\b/, 'Random.next, Random.int'],
  [/\b(?:randomBytes|randomUUID|randomInt|getRandomValues|webcrypto)\b|\bcrypto\s*\./, 'Random.uuid, Random.int'],
  [/(?<![.\w#])process\b/, 'the configuration, or a port'],
  [/\bconsole\b/, 'ShardEvents.notice, Metrics.count'],
  [/\bAbortSignal\b|\bAbortController\b/, 'the function that Transport.start and Clock.setTimer return'],
  [/\b(?:MessagePort|MessageChannel|BroadcastChannel|Worker)\b/, 'LinkChannel'],
  [/\b(?:Atomics|SharedArrayBuffer)\b/, 'AddressGate'],
  [/\b(?:FinalizationRegistry|WeakRef)\b/, 'an owner that closes what it opened'],
  [/(?<![.\w#])fetch\s*\(/, 'Transport'],
  [/\bglobalThis\b|\beval\b|\bnew Function\b/, 'an argument'],
];

/** node: modules that a room may use, with the names taken from them where only some are harmless. */
const NODE_MODULES: Readonly<Record<string, RegExp>> = {
  'node:crypto': /^(?:createHash|Hash|hash)$/,
  'node:zlib': /^(?:\w+Sync|constants|crc32)$/,
  'node:buffer': /^(?:Buffer|isAscii|isUtf8|transcode|latin1Slice)$/,
};

/** A module imported whole: the members of it that are used stand in for the names. */
const WHOLE_MODULES: Readonly<Record<string, RegExp>> = {
  // createGunzip and the like: their engine is given one output buffer and called synchronously (see there); no stream is read.
  'src/fetch/content-coding.ts zlib':
    /^(?:\w+Sync|constants|crc32|ZlibOptions|create(?:Gunzip|Inflate|InflateRaw|BrotliDecompress|ZstdDecompress))$/,
};

function membersOf(code: string, name: string): string[] {
  return [...code.matchAll(new RegExp(`\\b${name}\\.(\\w+)`, 'g'))].map(([, member = '']) => member);
}

function findings(file: string, text: string): string[] {
  const found: string[] = [];
  const code = codeOnly(text).split('\n');
  code.forEach((line, index) => {
    for (const [pattern, instead] of BANNED) {
      const hit = pattern.exec(line);
      if (hit !== null) found.push(`${file}:${index + 1}: ${hit[0]} is banned in rooms; use ${instead}`);
    }
    if (/^(?:let|var)\b|^export (?:let|var)\b/.test(line))
      found.push(`${file}:${index + 1}: state of a module is shared by all shards; put it into an object`);
  });
  for (const { to, names } of importsOf(file, text)) {
    if (!to.startsWith('node:')) continue;
    const allowed = NODE_MODULES[to];
    if (allowed === undefined) found.push(`${file}: ${to} is banned in rooms; use a port (src/ports)`);
    else if (WHOLE_MODULES[`${file} ${names[0]}`] !== undefined) {
      for (const member of membersOf(code.join('\n'), names[0]!)) {
        if (!WHOLE_MODULES[`${file} ${names[0]}`]!.test(member))
          found.push(`${file}: ${names[0]}.${member} is not among what is used of it`);
      }
    } else
      for (const name of names)
        if (!allowed.test(name))
          found.push(`${file}: ${name} of ${to} is banned in rooms (only what ends at once and is the same each time)`);
  }
  return found;
}

test('rooms touch time, chance, files, sockets and the process through ports alone', () => {
  const broken = sourceFiles()
    .filter((file) => !FREE(roomOf(file)))
    .flatMap((file) => findings(file, read(file)));
  assert.deepEqual(broken, []);
});

test('no module keeps state of its own', () => {
  const broken = sourceFiles()
    .filter((file) => FREE(roomOf(file)))
    .flatMap((file) => findings(file, read(file)).filter((finding) => finding.includes('state of a module')));
  assert.deepEqual(broken, []);
});

test('each banned thing is found, and a word in a comment or a text is not', () => {
  const caught = [
    'const now = Date.now();',
    'performance.now()',
    'setTimeout(f, 1)',
    'setImmediate(f)',
    'Math.random()',
    "import { randomUUID } from 'node:crypto';",
    "import { readFileSync } from 'node:fs';",
    "import net from 'node:net';",
    "import { gzip } from 'node:zlib';",
    'process.exit(1)',
    'Atomics.load(x, 0)',
    'await fetch(url)',
    'let count = 0;',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source that is looked at
    'const text = `${Date.now()}`;',
  ];
  for (const line of caught) assert.notDeepEqual(findings('src/robots/x.ts', line), [], line);
  const harmless = [
    '// Date.now() is not called here',
    "const name = 'Date';",
    'const pattern = /Date: (.*)/;',
    'const header = `Date: x`;',
    "import { hash } from 'node:crypto';",
    'this.#fetch(url); record.fetched++; config.fetch.accept',
    'const lastModifiedDate = 1;',
  ];
  for (const line of harmless) assert.deepEqual(findings('src/robots/x.ts', line), [], line);
});

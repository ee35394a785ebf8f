/**
 * SHA-256 (FIPS 180-4) of a short text, for an answer about a handful of URLs: to load node:crypto takes longer than all the rest of `explain` with its databases
 * (10 ms of 90). A crawl hashes with node:crypto. A test holds the two against each other.
 */

/** First 32 bits of the fractional parts of the cube roots of the first 64 primes (section 4.2.2). */
// biome-ignore format: eight in a row
const ROUND_WORDS = new Uint32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);
/** And of the square roots of the first 8 (section 5.3.3). */
// biome-ignore format: eight in a row
const FIRST_STATE = new Uint32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);

/** The 8 words of the digest of the text's UTF-8. */
export function sha256Words(text: string): Uint32Array {
  const state = FIRST_STATE.slice();
  const padded = paddedMessage(Buffer.from(text, 'utf8'));
  const schedule = new Uint32Array(64);
  for (let at = 0; at < padded.byteLength; at += 64) {
    for (let t = 0; t < 16; t++) schedule[t] = padded.getUint32(at + 4 * t);
    addBlock(state, schedule);
  }
  return state;
}

/** A one bit, zeros, and the length in bits, up to whole blocks of 64 bytes (section 5.1.1). */
function paddedMessage(message: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(message.length) * 8n);
  return view;
}

/** One block, whose 16 words stand at the beginning of the schedule (section 6.2.2). */
function addBlock(state: Uint32Array, schedule: Uint32Array): void {
  for (let t = 16; t < 64; t++) {
    const [before, late] = [schedule[t - 15]!, schedule[t - 2]!];
    const small0 = right(before, 7) ^ right(before, 18) ^ (before >>> 3);
    const small1 = right(late, 17) ^ right(late, 19) ^ (late >>> 10);
    schedule[t] = schedule[t - 16]! + small0 + schedule[t - 7]! + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t++) {
    const large1 = right(e, 6) ^ right(e, 11) ^ right(e, 25);
    const first = (h + large1 + ((e & f) ^ (~e & g)) + ROUND_WORDS[t]! + schedule[t]!) | 0;
    const large0 = right(a, 2) ^ right(a, 13) ^ right(a, 22);
    const second = (large0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index]! += word;
}

function right(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

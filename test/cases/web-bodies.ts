/** Bodies of answers: as written, in base64, or generated as a stream so that gigabytes cost no memory here. */
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { bytesOf, type Fields, type Findings, fieldsOf, numberOf, textOf } from './format.ts';

/** Name under which a body that was made beforehand stands in a reply. */
export const GENERATED = 'made';

type Body = Uint8Array | AsyncIterable<Buffer>;

const PIECE_BYTES = 65_536;
/** Compressed bodies stop here: a bound of the crawler lies far below, and nothing is learned from more. */
const CODED_BYTES_MAX = 256 * 1_048_576;

export function bodyOf(reply: Fields, findings: Findings): Body {
  if (reply[GENERATED] instanceof Uint8Array) return reply[GENERATED];
  if (reply['body_gen'] === undefined) return bytesOf(reply, 'body') ?? Buffer.alloc(0);
  return generated(fieldsOf(reply, 'body_gen'), findings);
}

function generated(gen: Fields, findings: Findings): AsyncIterable<Buffer> {
  findings.onlyKnown('body_gen', gen, ['head', 'repeat', 'total_bytes', 'tail', 'encode']);
  const encode = textOf(gen, 'encode');
  const plain = pieces(gen, encode === '' ? Number.POSITIVE_INFINITY : CODED_BYTES_MAX);
  if (encode === '') return plain;
  const coder = encode === 'gzip' ? zlib.createGzip({ level: 6 }) : encode === 'br' ? brotli() : undefined;
  if (coder === undefined) {
    findings.notUnderstood(`coding ${encode}`);
    return plain;
  }
  return Readable.from(plain).pipe(coder);
}

function brotli(): zlib.BrotliCompress {
  return zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } });
}

async function* pieces(gen: Fields, bytesMax: number): AsyncGenerator<Buffer> {
  const repeat = fieldsOf(gen, 'repeat');
  const unit = Buffer.from(textOf(repeat, 'text'), 'utf8');
  const tail = Buffer.from(textOf(gen, 'tail'), 'utf8');
  const head = Buffer.from(textOf(gen, 'head'), 'utf8');
  let left = Math.min(unit.length * (numberOf(repeat, 'times') ?? 0), bytesMax);
  let room = numberOf(gen, 'total_bytes') ?? Number.POSITIVE_INFINITY;
  const cut = (bytes: Buffer): Buffer => {
    const kept = bytes.subarray(0, Math.min(bytes.length, room));
    room -= kept.length;
    return kept;
  };
  if (head.length > 0) yield cut(head);
  const piece = unit.length === 0 ? unit : Buffer.concat(new Array<Buffer>(Math.max(1, Math.floor(PIECE_BYTES / unit.length))).fill(unit));
  for (; left > 0 && room > 0 && piece.length > 0; left -= piece.length) yield cut(piece.subarray(0, Math.min(piece.length, left)));
  if (tail.length > 0 && room > 0) yield cut(tail);
}

/** Replies with coded generated bodies get them made now, so that no time-out of the crawl is spent on making them. */
export async function madeBeforehand(entries: readonly Fields[], findings: Findings): Promise<readonly Fields[]> {
  return Promise.all(
    entries.map(async (entry) => {
      const reply = fieldsOf(entry, 'reply');
      const gen = fieldsOf(reply, 'body_gen');
      if (textOf(gen, 'encode') === '') return entry;
      return { ...entry, reply: { ...reply, [GENERATED]: await madeBody(reply, findings) } };
    }),
  );
}

/** The whole generated body of an entry. */
export async function madeBody(entry: Fields, findings: Findings): Promise<Buffer> {
  const made: Buffer[] = [];
  for await (const piece of generated(fieldsOf(entry, 'body_gen'), findings)) made.push(piece);
  return Buffer.concat(made);
}

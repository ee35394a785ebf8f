/**
 * Inflates one whole gzip body after another with one engine, which is reset between them. An engine of its own for each body (zlib.gunzipSync) costs a stream
 * object, 47 KB of native state and, since the collector of young objects takes a native handle for alive, an early full collection every few hundred pages.
 *
 * What it does not do: explain or mend. A body that is not whole, is damaged, has something behind it or more bytes than the cap gives undefined; who wants to know more
 * asks again in another way (content-coding.ts).
 */
import { constants } from 'node:zlib';
import { Gunzip } from 'minizlib';

/** The engine's output buffer, kept; what fits in is copied once, more of it twice. */
const CHUNK_BYTES = 128 * 1024;

export class BodyGunzip {
  #engine: Gunzip | undefined;
  #maxBytes = 0;
  #pieces: Uint8Array[] = [];
  #hasFailed = false;

  /** All of the body, at most `maxBytes`, in memory of its own; undefined when it is not that simple. */
  all(body: Uint8Array, maxBytes: number): Uint8Array | undefined {
    const engine = this.#engineFor(maxBytes);
    this.#pieces = [];
    this.#hasFailed = false;
    engine.reset();
    engine.write(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    const pieces = this.#pieces;
    this.#pieces = [];
    // After an error the engine has closed itself.
    if (this.#hasFailed) this.#engine = undefined;
    return this.#hasFailed ? undefined : pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  }

  #engineFor(maxBytes: number): Gunzip {
    if (this.#engine !== undefined && this.#maxBytes === maxBytes) return this.#engine;
    this.#engine?.close();
    // With Z_FINISH the end of the input has to be the end of the stream.
    const options = { chunkSize: CHUNK_BYTES, maxOutputLength: maxBytes, flush: constants.Z_FINISH };
    const engine = new Gunzip(options);
    engine.on('data', (piece: Uint8Array) => this.#pieces.push(piece));
    engine.on('error', () => {
      this.#hasFailed = true;
    });
    this.#engine = engine;
    this.#maxBytes = maxBytes;
    return engine;
  }
}

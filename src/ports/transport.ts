/**
 * One HTTP request over a connection to exactly the address that was vetted.
 *
 * Contract: never follows a redirect, never retries, never asks DNS, sends no request when the connected peer is another address than
 * `address`. One connection per (origin, address), one request on it at a time. `onEnd` is called exactly once, after it no other callback.
 * A body is delivered as it came over the wire, without the transfer coding (chunk frames), with its content coding.
 */
export interface Transport {
  /** Starts the exchange. The returned function breaks it off (idempotent): onEnd then follows with `aborted`. */
  start(request: TransportRequest, handler: TransportHandler): () => void;
  /** Closes idle connections of an origin: its host's slot was released (I3). */
  release(origin: string): void;
  /** Connections open now. */
  openConnections(): number;
  close(): Promise<void>;
}
export interface TransportRequest {
  readonly method: 'GET';
  /** scheme://host[:port], without a path. */
  readonly origin: string;
  /** Path and query, begins with '/'. */
  readonly path: string;
  /** Address to connect to, without port and brackets. */
  readonly address: string;
  /** Name and value in order; the Host header is the transport's. */
  readonly headers: readonly (readonly [string, string])[];
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  /** Longest pause between two pieces of the body. */
  readonly stallTimeoutMs: number;
}
export interface TransportHandler {
  /** Final status (1xx are skipped), raw header names and values alternating as they came (latin-1), and the peer's address. */
  onHead(status: number, statusText: string, rawHeaders: readonly string[], remoteAddress: string): void;
  /** The bytes are the callee's to keep. */
  onData(bytes: Uint8Array): void;
  onEnd(end: TransportEnd): void;
}
export type TransportEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'error';
      readonly code: 'timeout' | 'reset' | 'connect-failed' | 'tls-failed' | 'protocol-error' | 'address-changed' | 'aborted';
      readonly detail: string;
    };

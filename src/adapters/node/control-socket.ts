/**
 * The control socket of a running crawl: DIR/control.sock, a Unix socket that its owner alone may open (mode 0600), one line in, one line out.
 *
 * The socket is made in a directory nobody else may enter and is renamed into its place when its mode is set, so that it never stands open and what a killed
 * crawl left is replaced in one step. Who calls holds the crawl's lock, so that what is there already is stale.
 * A path too long for a socket address (103 bytes here, which every system takes) is replaced by a directory of its own under XDG_RUNTIME_DIR or the
 * directory for temporary files, named in DIR/control.json.
 *
 * A client is never trusted with memory: lines, clients and the time that one may be silent are bounded, requests of a client are read one at a time.
 */
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';

const SOCKET = 'control.sock';
const PLACE = 'control.json';
const DRAFT_PREFIX = '.control-';
const FAR_PREFIX = 'portolan-';
/** What mkdtemp adds. */
const RANDOM_CHARS = 6;
/** sun_path holds 104 bytes with its NUL on macOS and the BSDs, 108 on Linux. */
const PATH_BYTES_MAX = 103;
const CLIENTS_MAX = 16;
/** A client that neither sends nor reads for so long is let go. */
const SILENT_MS = 600_000;
const LINE_FEED = 0x0a;

export interface ControlHandler {
  /** Longest request, line feed included. */
  readonly lineBytesMax: number;
  /** Answers with a line, its line feed included. Never rejects. */
  readonly answer: (line: string) => Promise<string>;
  /** Said before a client is let go whose line is too long, or that is one too many. */
  readonly tooLong: string;
  readonly tooMany: string;
}

export interface ControlSocket {
  readonly path: string;
  /** Takes the socket away and hangs up on every client. Idempotent. */
  close(): void;
}

/** Rejects with the error of the system when no socket can be made there. */
export async function serveControl(dir: string, handler: ControlHandler): Promise<ControlSocket> {
  removeStale(dir);
  const near = join(dir, SOCKET);
  const isNear = Buffer.byteLength(join(dir, DRAFT_PREFIX)) + RANDOM_CHARS + '/s'.length <= PATH_BYTES_MAX;
  const made = mkdtempSync(isNear ? join(dir, DRAFT_PREFIX) : join(runtimeDir(), FAR_PREFIX));
  const drafted = join(made, isNear ? 's' : SOCKET);
  const clients = new Set<Socket>();
  const server = createServer((client) => serveClient(client, clients, handler));
  try {
    await listen(server, drafted);
    chmodSync(drafted, 0o600);
    if (isNear) {
      renameSync(drafted, near);
      rmdirSync(made);
    } else writePlace(dir, drafted);
  } catch (error) {
    server.close();
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
  server.unref();
  let open = true;
  return {
    path: isNear ? near : drafted,
    close() {
      if (!open) return;
      open = false;
      server.close();
      for (const client of clients) client.destroy();
      if (isNear) rmSync(near, { force: true });
      else removeStale(dir);
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(path, () => {
      server.off('error', failed);
      // A client that cannot be accepted, as without free descriptors, is that client's loss.
      server.on('error', () => {});
      done();
    });
  });
}

function runtimeDir(): string {
  return process.env['XDG_RUNTIME_DIR'] || tmpdir();
}

function writePlace(dir: string, path: string): void {
  const draft = join(dir, `${PLACE}.draft`);
  writeFileSync(draft, `${JSON.stringify({ v: 1, path, pid: process.pid })}\n`, { mode: 0o600 });
  renameSync(draft, join(dir, PLACE));
}

/** What a killed crawl has left: its socket, and the directory that was made for one elsewhere. */
function removeStale(dir: string): void {
  const far = farPath(dir);
  if (far !== undefined && basename(far) === SOCKET && basename(dirname(far)).startsWith(FAR_PREFIX)) {
    rmSync(far, { force: true });
    try {
      rmdirSync(dirname(far));
    } catch {
      // gone already, or not ours
    }
  }
  rmSync(join(dir, PLACE), { force: true });
  rmSync(join(dir, SOCKET), { force: true });
}

function farPath(dir: string): string | undefined {
  try {
    const { path } = JSON.parse(readFileSync(join(dir, PLACE), 'utf8')) as { path?: unknown };
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Pieces of a line are kept until it is whole; while it is answered nothing more is read. */
function serveClient(client: Socket, clients: Set<Socket>, handler: ControlHandler): void {
  client.on('error', () => client.destroy());
  if (clients.size >= CLIENTS_MAX) {
    client.end(handler.tooMany);
    return;
  }
  clients.add(client);
  client.on('close', () => clients.delete(client));
  client.setTimeout(SILENT_MS, () => client.destroy());
  let pieces: Buffer[] = [];
  let length = 0;
  let answering = false;
  const take = (piece: Buffer): void => {
    const end = piece.indexOf(LINE_FEED);
    if (length + (end < 0 ? piece.length : end + 1) > handler.lineBytesMax) {
      client.end(handler.tooLong);
      client.removeAllListeners('data');
      client.resume();
      return;
    }
    if (end < 0) {
      pieces.push(piece);
      length += piece.length;
      return;
    }
    const line = Buffer.concat([...pieces, piece.subarray(0, end)]).toString('utf8');
    const rest = piece.subarray(end + 1);
    pieces = [];
    length = 0;
    answering = true;
    client.pause();
    void handler.answer(line).then((answer) => {
      answering = false;
      if (client.destroyed) return;
      client.write(answer, () => {
        if (rest.length > 0) take(rest);
        if (!answering) client.resume();
      });
    });
  };
  client.on('data', take);
}

/** A conversation with a running crawl. */
export interface ControlClient {
  /** The answer without its line feed. Rejects when the crawl hangs up before. */
  ask(line: string): Promise<string>;
  /** Resolves when the crawl has hung up, as it does at its end. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Undefined: nobody listens there. Rejects with the error of the system otherwise (EACCES: not permitted). */
export function connectControl(dir: string, answerBytesMax: number): Promise<ControlClient | undefined> {
  return new Promise((done, failed) => {
    const socket = connect(farPath(dir) ?? shorter(join(dir, SOCKET)));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTDIR') done(undefined);
      else failed(error);
    });
    socket.once('connect', () => done(clientOf(socket, answerBytesMax)));
  });
}

/** The address of a socket may be relative, which helps below a long working directory. */
function shorter(path: string): string {
  const short = relative(process.cwd(), path);
  return short !== '' && Buffer.byteLength(short) < Buffer.byteLength(path) ? short : path;
}

function clientOf(socket: Socket, answerBytesMax: number): ControlClient {
  let text = '';
  let waiting: { readonly done: (line: string) => void; readonly failed: (error: Error) => void } | undefined;
  const closed = new Promise<void>((done) => socket.once('close', () => done()));
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.on('data', (piece: string) => {
    text += piece;
    const end = text.indexOf('\n');
    if (end < 0 && text.length > answerBytesMax) socket.destroy();
    if (end < 0) return;
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    waiting?.done(line);
    waiting = undefined;
  });
  socket.on('close', () => waiting?.failed(new Error('the crawl hung up')));
  return {
    ask: (line) =>
      new Promise((done, failed) => {
        waiting = { done, failed };
        if (socket.destroyed) failed(new Error('the crawl hung up'));
        else socket.write(line);
      }),
    closed,
    close: () => socket.destroy(),
  };
}

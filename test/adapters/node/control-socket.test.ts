/** The control socket over real sockets: who may open it, what is left behind, and clients that mean no good. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ControlHandler, connectControl, serveControl } from '../../../src/adapters/node/control-socket.ts';

const HANDLER: ControlHandler = {
  lineBytesMax: 1_000,
  answer: (line) => Promise.resolve(`<${line}>\n`),
  tooLong: 'too long\n',
  tooMany: 'too many\n',
};

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'pc-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function served(t: TestContext, dir: string, handler: Partial<ControlHandler> = {}) {
  const socket = await serveControl(dir, { ...HANDLER, ...handler });
  t.after(() => socket.close());
  return socket;
}

async function client(t: TestContext, dir: string) {
  const made = await connectControl(dir, 10_000);
  assert.ok(made !== undefined);
  t.after(() => made.close());
  return made;
}

/** What a client hears that sends these pieces, until the server hangs up or `lines` have come. */
function hear(path: string, pieces: readonly (string | Uint8Array)[], lines = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((done) => {
    let heard = '';
    const socket: Socket = connect(path, () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.setEncoding('utf8');
    const end = (): void => {
      socket.destroy();
      done(heard);
    };
    socket.on('data', (text: string) => {
      heard += text;
      if (heard.split('\n').length > lines) end();
    });
    socket.on('close', end);
    socket.on('error', end);
  });
}

test('the socket is its owner’s alone, answers line by line, and is gone at the end', async (t) => {
  const dir = directory(t);
  const socket = await served(t, dir);
  assert.equal(socket.path, join(dir, 'control.sock'));
  assert.equal(statSync(socket.path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dir), ['control.sock']);
  const operator = await client(t, dir);
  assert.equal(await operator.ask('a\n'), '<a>');
  assert.equal(await operator.ask('b\n'), '<b>');
  socket.close();
  socket.close();
  await operator.closed;
  await assert.rejects(operator.ask('c\n'), /hung up/);
  assert.deepEqual(readdirSync(dir), []);
  assert.equal(await connectControl(dir, 10_000), undefined);
});

test('what a killed crawl has left is nobody to talk to, and is replaced', async (t) => {
  const dir = directory(t);
  const dead = createServer();
  await new Promise<void>((done) => void dead.listen(join(dir, 'dead'), done));
  // Closed under another name it stays, with nobody behind it.
  renameSync(join(dir, 'dead'), join(dir, 'control.sock'));
  await new Promise((done) => dead.close(done));
  assert.ok(statSync(join(dir, 'control.sock')).isSocket());
  assert.equal(await connectControl(dir, 10_000), undefined);
  await served(t, dir);
  const operator = await client(t, dir);
  assert.equal(await operator.ask('x\n'), '<x>');
});

test('a path that is too long for a socket is replaced by a short one, named in control.json, and both go at the end', async (t) => {
  const base = directory(t);
  const dir = join(base, 'd'.repeat(60), 'e'.repeat(60));
  mkdirSync(dir, { recursive: true });
  const socket = await served(t, dir);
  const { path } = JSON.parse(readFileSync(join(dir, 'control.json'), 'utf8')) as { path: string };
  assert.equal(path, socket.path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  const operator = await client(t, dir);
  assert.equal(await operator.ask('far\n'), '<far>');
  // A crawl that was killed leaves both; the next one takes them away.
  const second = await served(t, dir);
  assert.ok(!existsSync(path), 'what was left elsewhere is taken away');
  second.close();
  assert.deepEqual(readdirSync(dir), []);
  assert.ok(!existsSync(dirname(second.path)));
});

test('a line may come in pieces, several may come at once, and each is answered in order', async (t) => {
  const dir = directory(t);
  const order: string[] = [];
  const { path } = await served(t, dir, {
    answer: async (line) => {
      order.push(`+${line}`);
      await new Promise((done) => setImmediate(done));
      order.push(`-${line}`);
      return `<${line}>\n`;
    },
  });
  assert.equal(await hear(path, ['on', 'e\ntwo\nthr', 'ee\n'], 3), '<one>\n<two>\n<three>\n');
  assert.deepEqual(order, ['+one', '-one', '+two', '-two', '+three', '-three']);
});

test('a line that is too long ends its client and no other', async (t) => {
  const dir = directory(t);
  const { path } = await served(t, dir);
  const operator = await client(t, dir);
  assert.equal(await hear(path, ['x'.repeat(999), 'yz\n']), 'too long\n');
  assert.equal(await hear(path, [Buffer.alloc(5_000_000)]), 'too long\n');
  assert.equal(await hear(path, [`${'x'.repeat(999)}\n`], 1), `<${'x'.repeat(999)}>\n`);
  assert.equal(await operator.ask('still here\n'), '<still here>');
});

test('clients beyond the bound are told so; those before them are served on', async (t) => {
  const dir = directory(t);
  const { path } = await served(t, dir);
  const all = await Promise.all(Array.from({ length: 16 }, () => client(t, dir)));
  assert.equal(await hear(path, ['x\n']), 'too many\n');
  assert.deepEqual(
    await Promise.all(all.map((one, at) => one.ask(`${at}\n`))),
    Array.from(all, (_, at) => `<${at}>`),
  );
  all[0]!.close();
  await all[0]!.closed;
  let heard = '';
  for (let attempt = 0; attempt < 100 && heard !== '<y>\n'; attempt++) heard = await hear(path, ['y\n'], 1);
  assert.equal(heard, '<y>\n', 'a place that is given back is taken');
});

test('a client that hangs up before its answer hurts nobody', async (t) => {
  const dir = directory(t);
  let release = (): void => {};
  const { path } = await served(t, dir, {
    answer: (line) => (line === 'slow' ? new Promise((done) => (release = () => done('late\n'))) : Promise.resolve('now\n')),
  });
  await new Promise<void>((done) => {
    const gone = connect(path, () => gone.write('slow\n', () => gone.destroy()));
    gone.on('close', () => done());
  });
  assert.equal(await hear(path, ['fast\n'], 1), 'now\n');
  release();
  assert.equal(await hear(path, ['fast\n'], 1), 'now\n');
});

test('a directory in which no socket can be made is an error of the system', async (t) => {
  const dir = directory(t);
  await assert.rejects(serveControl(join(dir, 'missing'), HANDLER), /ENOENT/);
});

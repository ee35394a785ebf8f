import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { WARCParser } from 'warcio';
import { createRandom } from '../../src/adapters/node/random.ts';
import { base32 } from '../../src/output/digest.ts';
import { wholeMembersLength } from '../../src/output/gzip-member.ts';
import { type WarcEncoded, WarcEncoder, type WarcExchange, type WarcOriginal, type WarcTruncation } from '../../src/output/warc.ts';

const DATE_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const PAGE = '<!doctype html><title>chunk</title><p>one two three four five</p>\n';
const REQUIRED = ['WARC-Record-ID', 'WARC-Date', 'WARC-Type', 'WARC-Target-URI', 'Content-Length', 'Content-Type'];

interface ReadRecord {
  readonly type: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly block: Buffer;
}

/** Reads the records with warcio (fields and lengths) and cuts the block out of the inflated bytes (exact bytes of the HTTP head). */
async function readRecords(file: Uint8Array): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  const parser = new WARCParser([file], { parseHttp: false, keepHeadersCase: true });
  for await (const record of parser) {
    const block = Buffer.from(await record.readFully(false));
    const fields = new Map<string, string>([...record.warcHeaders.headers]);
    records.push({ type: record.warcType ?? '', fields, block });
  }
  return records;
}

function splitBlock(block: Buffer): { head: string; body: Buffer } {
  const end = block.indexOf('\r\n\r\n') + 4;
  return { head: block.subarray(0, end).toString('latin1'), body: block.subarray(end) };
}

function encoder(): WarcEncoder {
  return new WarcEncoder({ random: createRandom(7) });
}

interface Given {
  readonly url?: string;
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: readonly string[];
  readonly body?: Uint8Array | readonly Uint8Array[];
  readonly truncated?: WarcTruncation;
  readonly original?: WarcOriginal;
}

function exchange(given: Given): WarcExchange {
  const url = given.url ?? 'http://w.example/a';
  const body = given.body ?? [];
  return {
    url,
    dateMs: DATE_MS,
    address: '192.0.2.7',
    request: { method: 'GET', path: '/a', host: 'w.example', headers: [['User-Agent', 'portolan']] },
    response: {
      status: given.status ?? 200,
      statusText: given.statusText ?? 'OK',
      rawHeaders: given.headers ?? ['Content-Type', 'text/html'],
      body: body instanceof Uint8Array ? [body] : body,
      truncated: given.truncated,
    },
    original: given.original,
  };
}

function keep(encoded: WarcEncoded): WarcEncoded {
  return { ...encoded, bytes: Uint8Array.from(encoded.bytes) };
}

async function responseOf(given: Given): Promise<{ record: ReadRecord; head: string; body: Buffer; encoded: WarcEncoded }> {
  const encoded = keep(encoder().exchange(exchange(given)));
  const [record] = await readRecords(encoded.bytes);
  assert.ok(record !== undefined);
  return { record, ...splitBlock(record.block), encoded };
}

test('R-J1 warc-01: pages that differ in their chunks alone have the same payload digests, taken with the content coding on', async () => {
  const pieces = (size: number) =>
    Array.from({ length: Math.ceil(PAGE.length / size) }, (_, i) => Buffer.from(PAGE.slice(i * size, (i + 1) * size)));
  const chunked = ['Content-Type', 'text/html', 'Transfer-Encoding', 'chunked'];
  const a = await responseOf({ headers: chunked, body: pieces(7) });
  const b = await responseOf({ headers: chunked, body: pieces(25) });
  const c = await responseOf({ headers: ['Content-Type', 'text/html', 'Content-Length', '66'], body: Buffer.from(PAGE) });
  for (const { record, encoded } of [a, b, c]) {
    assert.equal(record.fields.get('WARC-Payload-Digest'), 'sha1:3YVL4FGK577RHWQNWG4NP3IJ2WF754LM');
    assert.equal(
      record.fields.get('WARC-Payload-Digest-SHA-256'),
      'sha256:d57ea9b283eadc513b85ea13db5f330d399b4a18c8d54efbb07c289d1ca76aa0',
    );
    assert.equal(encoded.payloadSha1, record.fields.get('WARC-Payload-Digest'));
    assert.equal(encoded.payloadSha256, record.fields.get('WARC-Payload-Digest-SHA-256'));
  }
  const coded = gzipSync(PAGE);
  const d = await responseOf({ headers: ['Content-Encoding', 'gzip'], body: coded });
  assert.equal(d.encoded.payloadSha1, `sha1:${base32(hash('sha1', coded, 'binary'))}`);
  assert.notEqual(d.encoded.payloadSha1, a.encoded.payloadSha1);
});

test('R-J1 warc-02: a head never promises chunks or a length that the stored body does not have', async () => {
  const chunked = await responseOf({ headers: ['Content-Type', 'text/html', 'Transfer-Encoding', 'chunked'], body: Buffer.from(PAGE) });
  assert.equal(
    chunked.head,
    `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Crawler-Transfer-Encoding: chunked\r\nContent-Length: ${PAGE.length}\r\n\r\n`,
  );
  assert.equal(chunked.body.toString(), PAGE);

  const coded = gzipSync(PAGE);
  const whole = await responseOf({ headers: ['Content-Encoding', 'gzip', 'Content-Length', String(coded.length)], body: coded });
  assert.equal(whole.head, `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n\r\n`);
  assert.equal(gunzipSync(whole.body).toString(), PAGE);

  const cut = await responseOf({ headers: ['content-length', '99999'], body: Buffer.from(PAGE), truncated: 'length' });
  assert.equal(cut.head, `HTTP/1.1 200 OK\r\nX-Crawler-content-length: 99999\r\nContent-Length: ${PAGE.length}\r\n\r\n`);
  assert.equal(cut.record.fields.get('WARC-Truncated'), 'length');
});

test('RFC 9110 section 8.6: the length that a 304 tells of the body it does not have stays', async () => {
  const { head } = await responseOf({ status: 304, statusText: 'Not Modified', headers: ['Content-Length', '1234'] });
  assert.equal(head, 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n');
});

test('R-J1 warc-04: order, letter case, repetitions and bytes above 127 of a head stay as received', async () => {
  const { head, body } = await responseOf({
    status: 404,
    statusText: 'P\xc3\xa1gina no hallada',
    headers: [
      ...['Content-Type', 'text/plain', 'Location', '/t\xc3\xadtulo', 'X-Latin', 'caf\xe9'],
      ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Empty', '', 'Content-Length', '2'],
    ],
    body: Buffer.from('ok'),
  });
  const received =
    'HTTP/1.1 404 P\xc3\xa1gina no hallada\r\nContent-Type: text/plain\r\nLocation: /t\xc3\xadtulo\r\nX-Latin: caf\xe9\r\n' +
    'Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Empty:\r\nContent-Length: 2\r\n\r\n';
  assert.equal(head, received);
  assert.equal(body.toString(), 'ok');
});

test('a line break inside a value cannot begin a header, and a text that was read as UTF-8 goes back to its bytes', async () => {
  const { head } = await responseOf({ statusText: 'снят', headers: ['X-A', 'a\r\nSet-Cookie: evil=1', 'Content-Length', '0'] });
  assert.equal(head, `HTTP/1.1 200 ${Buffer.from('снят').toString('latin1')}\r\nX-A: a Set-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`);
});

test('R-J1 warc-05: lengths count the block alone, each record is one member and ends with CRLF CRLF, no byte is left over', async () => {
  const bodies = [
    Buffer.alloc(0),
    Buffer.from('x'),
    Buffer.from('line\r\n\r\n'),
    Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
    Buffer.from('0123456789abcdef'.repeat(131_072)),
  ];
  for (const contentType of ['text/html', 'image/png']) {
    for (const body of bodies) {
      const encoded = keep(encoder().exchange(exchange({ headers: ['Content-Type', contentType], body })));
      const members = [encoded.bytes.subarray(0, encoded.responseBytes), encoded.bytes.subarray(encoded.responseBytes)];
      for (const member of members) {
        assert.equal(
          wholeMembersLength((at, n) => member.subarray(at, at + n), 0, member.length),
          member.length,
        );
        const record = gunzipSync(member).toString('latin1');
        const length = Number(/\r\nContent-Length: (\d+)\r\n\r\n/.exec(record)?.[1]);
        const blockAt = record.indexOf('\r\n\r\n') + 4;
        assert.equal(record.slice(blockAt + length), '\r\n\r\n');
      }
      const [response, request] = await readRecords(encoded.bytes);
      assert.deepEqual(splitBlock(response!.block).body, body);
      for (const record of [response!, request!]) {
        for (const field of REQUIRED) assert.ok(record.fields.has(field), `${record.type} has ${field}`);
        assert.equal(record.fields.get('WARC-Block-Digest'), `sha1:${base32(hash('sha1', record.block, 'binary'))}`);
      }
    }
  }
});

test('R-J1 a response and its request name each other, the address, and one moment', async () => {
  const encoded = keep(encoder().exchange(exchange({ url: 'http://w.example/a?b=|', body: Buffer.from(PAGE) })));
  const [response, request] = await readRecords(encoded.bytes);
  assert.equal(response?.type, 'response');
  assert.equal(request?.type, 'request');
  assert.equal(response.fields.get('WARC-Record-ID'), `<${encoded.recordId}>`);
  assert.equal(request.fields.get('WARC-Concurrent-To'), `<${encoded.recordId}>`);
  for (const { fields } of [response, request]) {
    assert.equal(fields.get('WARC-Date'), '2026-01-02T03:04:05.678Z');
    assert.equal(fields.get('WARC-IP-Address'), '192.0.2.7');
    assert.equal(fields.get('WARC-Target-URI'), 'http://w.example/a?b=|');
  }
  assert.equal(request.block.toString(), 'GET /a HTTP/1.1\r\nHost: w.example\r\nUser-Agent: portolan\r\n\r\n');
});

test('R-H1 a byte-identical copy becomes a revisit record that refers to the first capture and keeps its own head', async () => {
  const body = gzipSync(PAGE);
  const encode = encoder();
  const first = keep(encode.exchange(exchange({ body })));
  const original: WarcOriginal = { url: 'http://w.example/a', dateMs: DATE_MS, payloadSha1: first.payloadSha1, recordId: first.recordId };
  const copy = keep(encode.exchange(exchange({ url: 'http://w.example/copy', headers: ['X-Copy', 'yes'], body, original })));
  const [revisit] = await readRecords(copy.bytes);
  assert.equal(copy.kind, 'revisit');
  assert.equal(revisit?.type, 'revisit');
  assert.equal(revisit.fields.get('WARC-Profile'), 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest');
  assert.equal(revisit.fields.get('WARC-Refers-To-Target-URI'), 'http://w.example/a');
  assert.equal(revisit.fields.get('WARC-Refers-To-Date'), '2026-01-02T03:04:05.678Z');
  assert.equal(revisit.fields.get('WARC-Refers-To'), `<${first.recordId}>`);
  assert.equal(revisit.fields.get('WARC-Payload-Digest'), first.payloadSha1);
  assert.equal(revisit.block.toString(), 'HTTP/1.1 200 OK\r\nX-Copy: yes\r\n\r\n');
});

test('R-H1 a copy that differs on the wire is stored in full, whatever it was said to be a copy of', async () => {
  const original: WarcOriginal = { url: 'http://w.example/a', dateMs: DATE_MS, payloadSha1: 'sha1:3YVL4FGK577RHWQNWG4NP3IJ2WF754LM' };
  const { encoded, body } = await responseOf({ body: gzipSync(PAGE), original });
  assert.equal(encoded.kind, 'response');
  assert.equal(gunzipSync(body).toString(), PAGE);
});

test('a 304 becomes a revisit record of the server-not-modified profile with the digest of the original', async () => {
  const original: WarcOriginal = { url: 'http://w.example/a', dateMs: DATE_MS, payloadSha1: 'sha1:3YVL4FGK577RHWQNWG4NP3IJ2WF754LM' };
  const { record } = await responseOf({ status: 304, statusText: 'Not Modified', headers: ['ETag', '"x"'], original });
  assert.equal(record.type, 'revisit');
  assert.equal(record.fields.get('WARC-Profile'), 'http://netpreserve.org/warc/1.1/revisit/server-not-modified');
  assert.equal(record.fields.get('WARC-Payload-Digest'), original.payloadSha1);
  assert.equal(record.fields.get('WARC-Payload-Digest-SHA-256'), undefined);
});

test('a body that is compressed already is not compressed again, an identity body is', () => {
  const body = brotliCompressSync(Buffer.from(PAGE.repeat(50)));
  const coded = encoder().exchange(exchange({ headers: ['Content-Encoding', 'br'], body }));
  assert.ok(Buffer.from(coded.bytes).includes(body), 'the body stands in the file as it is');
  const plain = encoder().exchange(exchange({ body: Buffer.from(PAGE.repeat(50)) }));
  assert.ok(plain.responseBytes < PAGE.length * 25);
});

test('R-J1 the warcinfo record says who crawled, as what and how', async () => {
  const info = { software: 'Portolan/0.1.0', userAgent: 'portolan/0.1', operator: 'Jürgen\r\nEvil: 1', configuration: '{"a":"ü"}' };
  const [record] = await readRecords(encoder().warcinfo(info, 'portolan-s0-00000.warc.gz', DATE_MS));
  assert.equal(record?.type, 'warcinfo');
  assert.equal(record.fields.get('WARC-Filename'), 'portolan-s0-00000.warc.gz');
  assert.equal(record.fields.get('Content-Type'), 'application/warc-fields');
  const lines = record.block.toString('utf8').split('\r\n');
  for (const line of [
    'software: Portolan/0.1.0',
    'http-header-user-agent: portolan/0.1',
    'operator: Jürgen Evil: 1',
    'configuration: {"a":"ü"}',
  ]) {
    assert.ok(lines.includes(line), line);
  }
});

const headerName = fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,12}$/).filter((name) => !/^(transfer-encoding|content-length)$/i.test(name));
const headerValue = fc.stringMatching(/^[!-~\xa0-\xff]([ -~\xa0-\xff]{0,30}[!-~\xa0-\xff])?$/);

test('R-J1 property: decode(encode(x)) = x for any head and any body in any pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(headerName, headerValue), { maxLength: 8 }),
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }),
      fc.integer({ min: 100, max: 599 }).filter((status) => status !== 304),
      fc.option(fc.webUrl({ withQueryParameters: true }), { nil: undefined }),
      async (headers, pieces, status, url) => {
        const given = { headers: headers.flat(), body: pieces, status, ...(url === undefined ? {} : { url: new URL(url).href }) };
        const { record, head, body } = await responseOf(given);
        assert.equal(head, `HTTP/1.1 ${status} OK\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
        assert.deepEqual(body, Buffer.concat(pieces));
        assert.equal(record.fields.get('WARC-Target-URI'), exchange(given).url);
      },
    ),
    { numRuns: 150 },
  );
});

test('one encoder writes records of any size after one another without mixing them', async () => {
  const encode = encoder();
  const bodies = [10, 3_000_000, 0, 70_000, 5_000_000, 100].map((size, i) => Buffer.alloc(size, `${i}-`));
  const files = bodies.map((body) => keep(encode.exchange(exchange({ headers: ['Content-Type', 'image/png'], body }))).bytes);
  const records = await readRecords(Buffer.concat(files));
  assert.equal(records.length, bodies.length * 2);
  bodies.forEach((body, i) => {
    assert.deepEqual(splitBlock(records[i * 2]!.block).body, body);
  });
  assert.equal(new Set(records.map(({ fields }) => fields.get('WARC-Record-ID'))).size, records.length);
});

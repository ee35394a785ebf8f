/** A scriptable name server on a loopback UDP port: answers, TTLs, NXDOMAIN, SERVFAIL, silence, and answers that change each time. */

import dgram from 'node:dgram';
import { createRequire } from 'node:module';

/** What the server says to one question. `addresses` of the family that was not asked for are left out. */
export type DnsReply =
  | { readonly kind: 'answer'; readonly addresses: readonly string[]; readonly ttlS?: number; readonly delayMs?: number }
  | { readonly kind: 'nxdomain' | 'servfail' | 'refused' }
  | { readonly kind: 'silence' };

export interface DnsServer {
  /** ADDR:PORT, as a resolver's `servers` wants it. */
  readonly server: string;
  /** Questions received, as `A name` or `AAAA name`, resends included. */
  readonly questions: string[];
  close(): Promise<void>;
}

interface Question {
  readonly name: string;
  readonly type: string;
}

interface Packet {
  readonly id?: number;
  readonly questions?: readonly Question[];
}

// dns-packet brings no types and is CommonJS; only these two calls are used.
const dnsPacket = createRequire(import.meta.url)('dns-packet') as {
  decode(bytes: Uint8Array): Packet;
  encode(packet: object): Buffer;
};

const RCODES = { nxdomain: 3, servfail: 2, refused: 5 } as const;
const RESPONSE_FLAGS = 0x8180; // a response, recursion desired and available

/** `script` answers a question; `nth` counts the questions for that name and type from 0. Names that it leaves undefined are NXDOMAIN. */
export async function startDnsServer(script: (name: string, type: string, nth: number) => DnsReply | undefined): Promise<DnsServer> {
  const socket = dgram.createSocket('udp4');
  const questions: string[] = [];
  const asked = new Map<string, number>();
  let isClosed = false;

  socket.on('message', (message, peer) => {
    const packet = dnsPacket.decode(message);
    const question = packet.questions?.[0];
    if (question === undefined) return;
    const key = `${question.type} ${question.name}`;
    const nth = asked.get(key) ?? 0;
    asked.set(key, nth + 1);
    questions.push(key);
    const reply = script(question.name.toLowerCase(), question.type, nth) ?? { kind: 'nxdomain' };
    if (reply.kind === 'silence') return;
    const send = (): void => {
      if (!isClosed) socket.send(encode(packet, question, reply), peer.port, peer.address);
    };
    if (reply.kind === 'answer' && reply.delayMs !== undefined) setTimeout(send, reply.delayMs);
    else send();
  });

  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    server: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () =>
      new Promise((resolve) => {
        isClosed = true;
        socket.close(() => resolve());
      }),
  };
}

function encode(packet: Packet, question: Question, reply: Exclude<DnsReply, { kind: 'silence' }>): Buffer {
  const base = { type: 'response', id: packet.id, questions: packet.questions };
  if (reply.kind !== 'answer') return dnsPacket.encode({ ...base, flags: RESPONSE_FLAGS | RCODES[reply.kind], answers: [] });
  const isIpv6 = question.type === 'AAAA';
  const answers = reply.addresses
    .filter((address) => address.includes(':') === isIpv6)
    .map((address) => ({ type: question.type, name: question.name, ttl: reply.ttlS ?? 60, data: address }));
  return dnsPacket.encode({ ...base, flags: RESPONSE_FLAGS, answers });
}

/** A DNS server on loopback that knows a few hosts; `*.` stands for every host below. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface DnsServer {
  /** `address:port`, as resolvers are told it. */
  readonly address: string;
  /** Host, or `*.host`, -> IPv4 address. */
  readonly records: Map<string, string>;
  stop(): void;
}

const headBytes = 12;
const typeA = 1;

export async function startDnsServer(records: Readonly<Record<string, string>>): Promise<DnsServer> {
  const known = new Map(Object.entries(records));
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => socket.send(answer(query, known), from.port, from.address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, records: known, stop: () => socket.close() };
}

/** RFC 1035 §4.1: one question, at most one answer. */
function answer(query: Buffer, records: ReadonlyMap<string, string>): Buffer {
  const labels: string[] = [];
  let at = headBytes;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(headBytes, at + 5);
  const host = labels.join('.');
  const address = records.get(host) ?? records.get(`*.${labels.slice(1).join('.')}`);
  const head = Buffer.alloc(headBytes);
  query.copy(head, 0, 0, 2);
  // An answer, recursion available; name error (3) where the host is unknown.
  head.writeUInt16BE(0x8180 | (address === undefined ? 3 : 0), 2);
  head.writeUInt16BE(1, 4);
  if (address === undefined || type !== typeA) return Buffer.concat([head, question]);
  head.writeUInt16BE(1, 6);
  const record = Buffer.alloc(16);
  // The name is that of the question, at byte 12.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(typeA, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(0, 6);
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return Buffer.concat([head, question, record]);
}

/** WebSockets (RFC 6455) for texts: as much of the protocol as clients of a ledger speak. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const maxMessage = 64 * 1024;
/** Bytes that may wait for a reader that does not read; then it is cut off. */
const maxBacklog = 1024 * 1024;

const opcode = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;

export interface TextSocket {
  send(text: string): void;
  close(): void;
}

export interface SocketEvents {
  message(text: string): void;
  closed(): void;
}

/** Answers the handshake; undefined (and the connection closed) where it is none. */
export function acceptWebSocket(
  request: IncomingMessage,
  stream: Duplex,
  makeEvents: (socket: TextSocket) => SocketEvents,
): TextSocket | undefined {
  const key = request.headers['sec-websocket-key'];
  const version = request.headers['sec-websocket-version'];
  if (key === undefined || version !== '13' || request.headers.upgrade?.toLowerCase() !== 'websocket') {
    stream.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return undefined;
  }
  const accept = createHash('sha1')
    .update(key + magic)
    .digest('base64');
  stream.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  );
  const socket: TextSocket = {
    send(text) {
      if (stream.writableLength > maxBacklog) stream.destroy();
      else if (stream.writable) stream.write(frame(opcode.text, Buffer.from(text)));
    },
    close() {
      if (!stream.writable) return;
      stream.end(frame(opcode.close, Buffer.from([0x03, 0xe8])), () => stream.destroy());
    },
  };
  const events = makeEvents(socket);
  const frames = new FrameReader();
  let parts: Buffer[] = [];
  const fail = () => stream.destroy();
  stream.on('data', (chunk: Buffer) => {
    for (const { code, final, payload } of frames.read(chunk)) {
      if (code === opcode.ping) stream.write(frame(opcode.pong, payload));
      else if (code === opcode.close) socket.close();
      else if (code === opcode.text || code === opcode.continuation) {
        parts.push(payload);
        if (parts.reduce((sum, part) => sum + part.length, 0) > maxMessage) {
          fail();
          return;
        }
        if (!final) continue;
        const text = Buffer.concat(parts).toString('utf8');
        parts = [];
        events.message(text);
      } else if (code !== opcode.pong) fail();
    }
    if (frames.broken) fail();
  });
  stream.on('error', () => {});
  stream.on('close', () => events.closed());
  return socket;
}

/** Server frames are not masked. */
function frame(code: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head =
    length < 126
      ? Buffer.from([0x80 | code, length])
      : length < 65_536
        ? Buffer.from([0x80 | code, 126, length >> 8, length & 0xff])
        : longHead(code, length);
  return Buffer.concat([head, payload]);
}

function longHead(code: number, length: number): Buffer {
  const head = Buffer.alloc(10);
  head[0] = 0x80 | code;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

interface Frame {
  readonly code: number;
  readonly final: boolean;
  readonly payload: Buffer;
}

/** Cuts the stream into frames. Client frames are masked, and none is longer than a message may be. */
class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  broken = false;

  read(chunk: Buffer): Frame[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const found: Frame[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) found.push(next);
    return found;
  }

  #next(): Frame | undefined {
    const rest = this.#rest;
    if (this.broken || rest.length < 2) return undefined;
    const short = rest[1]! & 0x7f;
    if ((rest[1]! & 0x80) === 0 || (rest[0]! & 0x70) !== 0 || short === 127) {
      this.broken = true;
      return undefined;
    }
    const start = short === 126 ? 4 : 2;
    if (rest.length < start + 4) return undefined;
    const length = short === 126 ? rest.readUInt16BE(2) : short;
    const end = start + 4 + length;
    if (rest.length < end) return undefined;
    const mask = rest.subarray(start, start + 4);
    const payload = Buffer.from(rest.subarray(start + 4, end));
    for (let index = 0; index < payload.length; index += 1) payload[index]! ^= mask[index % 4]!;
    this.#rest = rest.subarray(end);
    return { code: rest[0]! & 0x0f, final: (rest[0]! & 0x80) !== 0, payload };
  }
}

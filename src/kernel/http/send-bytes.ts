/**
 * The path on which stored bytes leave: positional reads from an open file into pooled buffers, straight to the
 * socket. No stream object and no fresh memory per request; both cost more than the framework does.
 *
 * Up to 1 MiB is one read and one write. Beyond that, 256 KiB pieces: one is read while the other is on its way out,
 * and a slow client stops the reading. When many clients are slow at once, each has one buffer of 16 KiB. An answer is
 * whole or its connection is cut: never a short body that looks complete.
 */
import { read } from 'node:fs';
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Reply } from './app.ts';

const pieceSize = 256 * 1024;
const wholeLimit = 1024 * 1024;
/** Beyond this, to copy bytes into a text costs more than a second write. */
const oneWriteLimit = 4 * 1024;

/** Memory in buffers on their way out beyond which only small ones are given out. */
const crowdedBytes = 32 * 1024 * 1024;

/** Buffers of one size, used again and again; a bounded number is kept when traffic falls. */
class BufferPool {
  readonly size: number;
  readonly #keep: number;
  readonly #free: Buffer[] = [];
  #lent = 0;

  constructor(size: number, keep: number) {
    this.size = size;
    this.#keep = keep;
  }

  /** Bytes of the buffers that are in use. */
  get lentBytes(): number {
    return this.#lent * this.size;
  }

  take(): Buffer {
    this.#lent += 1;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size);
  }

  give(buffer: Buffer): void {
    this.#lent -= 1;
    if (this.#free.length < this.#keep) this.#free.push(buffer);
  }
}

const smallPieces = new BufferPool(16 * 1024, 256);
const pieces = new BufferPool(pieceSize, 128);
const pools = [smallPieces, pieces, new BufferPool(wholeLimit, 16)];

export interface SendOptions {
  /** A client that takes no byte for this long is cut off. */
  readonly stallTimeoutMs?: number;
}

export interface SendFileOptions extends SendOptions {
  /** Asked when everything was read, before the last of it is sent: throws where the file was changed meanwhile. */
  readonly check?: () => void | Promise<void>;
}

/**
 * Takes the answer out of the framework's hands and writes its head, with the headers that the kernel and the
 * route have set on the reply so far. The caller then sends exactly the promised bytes.
 */
export function takeOver(reply: Reply, status: number, headers: OutgoingHttpHeaders): ServerResponse {
  const head: OutgoingHttpHeader[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) head.push(name, value);
  }
  return writeHead(reply, status, head, headers);
}

/** The whole of a small answer at once: `head` is names and values in turn, those set on the reply join them. */
export function sendNow(
  reply: Reply,
  status: number,
  head: readonly string[],
  bytes: Buffer | undefined,
  options: SendOptions = {},
): number {
  return endNow(writeHead(reply, status, head.slice()), bytes, options);
}

/**
 * Ends the answer with a small body. No promise and no listener, unless the client does not take it at once. Says
 * how many bytes went out.
 */
export function endNow(raw: ServerResponse, bytes: Buffer | undefined, options: SendOptions = {}): number {
  // Head and body as one text are one write; as text and bytes they are two.
  if (bytes !== undefined && bytes.length <= oneWriteLimit) raw.end(bytes.toString('latin1'), 'latin1');
  else raw.end(bytes);
  if ((raw.socket?.writableLength ?? 0) > 0) cutWhenStalled(raw, options);
  return raw.destroyed || bytes === undefined ? 0 : bytes.length;
}

/** As node:http takes a head quickest: names and values in turn. */
function writeHead(
  reply: Reply,
  status: number,
  head: OutgoingHttpHeader[],
  given: OutgoingHttpHeaders = {},
): ServerResponse {
  reply.hijack();
  const set = reply.getHeaders();
  for (const name in set) {
    const value = set[name];
    if (value !== undefined && given[name] === undefined) head.push(name, value);
  }
  return reply.raw.writeHead(status, head);
}

/** Ends the answer with a body that is in memory. Says how many bytes went out: all, or none if the client left. */
export async function sendBuffer(
  raw: ServerResponse,
  bytes: Uint8Array,
  options: SendOptions = {},
): Promise<number> {
  cutWhenStalled(raw, options);
  return (await send(raw, bytes, true)) ? bytes.length : 0;
}

/**
 * Ends the answer with the bytes `start` (inclusive) to `end` (exclusive) of an open file. Says how many bytes
 * went out; fewer than asked for only when the client left. A file that fails, ends early or was changed cuts the
 * connection and throws.
 */
export async function sendFile(
  raw: ServerResponse,
  fd: number,
  start: number,
  end: number,
  options: SendFileOptions = {},
): Promise<number> {
  cutWhenStalled(raw, options);
  const { check = unchecked } = options;
  try {
    const inOne = end - start <= (isCrowded() ? smallPieces.size : wholeLimit);
    return await (inOne ? sendWhole(raw, fd, start, end, check) : sendPieces(raw, fd, start, end, check));
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

type Check = NonNullable<SendFileOptions['check']>;

const unchecked: Check = () => {};

async function sendWhole(
  raw: ServerResponse,
  fd: number,
  start: number,
  end: number,
  check: Check,
): Promise<number> {
  const length = Math.max(0, end - start);
  const pool = poolFor(length);
  const buffer = pool.take();
  try {
    await readExactly(fd, buffer, length, start);
    await check();
    return (await send(raw, buffer.subarray(0, length), true)) ? length : 0;
  } finally {
    pool.give(buffer);
  }
}

async function sendPieces(
  raw: ServerResponse,
  fd: number,
  start: number,
  end: number,
  check: Check,
): Promise<number> {
  let out = 0;
  let leaving: Promise<boolean> = Promise.resolve(true);
  for (let position = start; position < end; ) {
    const pool = isCrowded() ? smallPieces : pieces;
    // Where many wait nothing is read ahead, so that each holds one small buffer.
    if (pool === smallPieces && !(await leaving)) return out;
    const buffer = pool.take();
    const length = Math.min(pool.size, end - position);
    try {
      await readExactly(fd, buffer, length, position);
      if (position + length === end) await check();
    } catch (error) {
      pool.give(buffer);
      throw error;
    }
    if (!(await leaving)) {
      pool.give(buffer);
      return out;
    }
    position += length;
    leaving = send(raw, buffer.subarray(0, length), position === end).then((sent) => {
      pool.give(buffer);
      if (sent) out += length;
      return sent;
    });
  }
  await leaving;
  return out;
}

/** Buffers that are on their way hold so much memory that only small ones are given out. */
function isCrowded(): boolean {
  return pools.reduce((bytes, pool) => bytes + pool.lentBytes, 0) > crowdedBytes;
}

/** The pool of the smallest buffers that hold so many bytes. */
function poolFor(length: number): BufferPool {
  for (const pool of pools) if (length <= pool.size) return pool;
  throw new RangeError(`no pooled buffer holds ${length} bytes`);
}

function readExactly(fd: number, buffer: Buffer, length: number, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let done = 0;
    const next = (): void => {
      read(fd, buffer, done, length - done, position + done, (error, count) => {
        if (error !== null) reject(error);
        else if (count === 0) reject(new Error(`the file ends ${length - done} bytes early`));
        else {
          done += count;
          if (done < length) next();
          else resolve();
        }
      });
    };
    if (length === 0) resolve();
    else next();
  });
}

/** The socket's own time-out knows of progress within a write, so a slow client is not taken for a dead one. */
function cutWhenStalled(raw: ServerResponse, { stallTimeoutMs = 60_000 }: SendOptions): void {
  raw.setTimeout(stallTimeoutMs, () => raw.destroy());
}

/** True when the bytes have left our memory, so that their buffer may be used again; false: the client is gone. */
function send(raw: ServerResponse, bytes: Uint8Array, last: boolean): Promise<boolean> {
  return new Promise((resolve) => {
    if (raw.destroyed || raw.socket?.destroyed === true) {
      resolve(false);
      return;
    }
    const onClose = (): void => resolve(false);
    const onSent = (error?: Error | null): void => {
      raw.off('close', onClose);
      resolve(!(error instanceof Error));
    };
    raw.on('close', onClose);
    if (last) raw.on('finish', onSent).end(bytes);
    else raw.write(bytes, onSent);
  });
}

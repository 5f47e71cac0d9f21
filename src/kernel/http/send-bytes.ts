/**
 * The path on which stored bytes leave: positional reads from an open file into pooled buffers, straight to the
 * socket. No stream object, no fresh memory per request (both cost more than the framework does).
 *
 * Up to 1 MiB is one read and one write. Beyond that, 256 KiB pieces from two buffers in turn: one is read while
 * the other is on its way out, and a slow client stops the reading. An answer is whole or its connection is cut:
 * never a short body that looks complete.
 */
import { read } from 'node:fs';
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Reply } from './app.ts';
import { BufferPool } from './buffer-pool.ts';

const pieceSize = 256 * 1024;
const wholeLimit = 1024 * 1024;
/** A client that takes nothing for this long has left or means harm. */
const stallTimeoutMs = 60_000;

const pieces = new BufferPool(pieceSize, 256);
const small = new BufferPool(16 * 1024, 256);
const whole = new BufferPool(wholeLimit, 32);

/** The client went away before the answer was out: nothing to log, nothing to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Takes the answer out of the framework's hands and writes its head, with the headers that the kernel and the
 * route have set on the reply so far. The caller then sends exactly the promised bytes.
 */
export function takeOver(reply: Reply, status: number, headers: OutgoingHttpHeaders): ServerResponse {
  reply.hijack();
  const all: Record<string, OutgoingHttpHeader> = {};
  for (const [name, value] of [...Object.entries(reply.getHeaders()), ...Object.entries(headers)]) {
    if (value !== undefined) all[name] = value;
  }
  reply.raw.writeHead(status, all);
  return reply.raw;
}

/** Sends a body that is in memory. Resolves when it is handed to the system, throws `ClientGone` if it cannot be. */
export function sendBuffer(raw: ServerResponse, bytes: Uint8Array): Promise<void> {
  return endWith(raw, bytes);
}

/** Sends the bytes `start` (inclusive) to `end` (exclusive) of an open file and ends the answer. */
export async function sendFile(raw: ServerResponse, fd: number, start: number, end: number): Promise<void> {
  const length = end - start;
  try {
    if (length <= 0) await endWith(raw, emptyBytes);
    else if (length <= wholeLimit) await sendWhole(raw, fd, start, length);
    else await sendPieces(raw, fd, start, end);
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

const emptyBytes = new Uint8Array(0);

async function sendWhole(raw: ServerResponse, fd: number, start: number, length: number): Promise<void> {
  const pool = length <= small.size ? small : length <= pieces.size ? pieces : whole;
  const buffer = pool.take();
  try {
    await readExactly(fd, buffer, length, start);
    await endWith(raw, buffer.subarray(0, length));
  } finally {
    pool.give(buffer);
  }
}

async function sendPieces(raw: ServerResponse, fd: number, start: number, end: number): Promise<void> {
  const reading = [pieces.take(), pieces.take()] as const;
  try {
    let sent: Promise<void> = Promise.resolve();
    let turn: 0 | 1 = 0;
    for (let position = start; position < end; position += pieceSize) {
      const length = Math.min(pieceSize, end - position);
      const buffer = reading[turn];
      turn = turn === 0 ? 1 : 0;
      await readExactly(fd, buffer, length, position);
      await sent;
      const piece = buffer.subarray(0, length);
      sent = position + length === end ? endWith(raw, piece) : writePiece(raw, piece);
      sent.catch(() => {});
    }
    await sent;
  } finally {
    for (const buffer of reading) pieces.give(buffer);
  }
}

function readExactly(fd: number, buffer: Buffer, length: number, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let done = 0;
    const next = (): void => {
      read(fd, buffer, done, length - done, position + done, (error, count) => {
        if (error !== null) return reject(error);
        if (count === 0) return reject(new Error(`the file ends ${length - done} bytes early`));
        done += count;
        if (done < length) next();
        else resolve();
      });
    };
    next();
  });
}

/** Resolves when the piece has left our memory, so its buffer may be used again. */
function writePiece(raw: ServerResponse, piece: Uint8Array): Promise<void> {
  return settle(raw, (done) => raw.write(piece, done));
}

function endWith(raw: ServerResponse, piece: Uint8Array): Promise<void> {
  return settle(raw, (done) => raw.end(piece, () => done()));
}

function settle(raw: ServerResponse, send: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (raw.destroyed || raw.socket?.destroyed === true) return reject(new ClientGone('the client is gone'));
    const timer = setTimeout(() => gone('the client stopped reading'), stallTimeoutMs);
    const onClose = (): void => gone('the client went away');
    const gone = (message: string): void => {
      clearTimeout(timer);
      raw.off('close', onClose);
      reject(new ClientGone(message));
    };
    raw.on('close', onClose);
    send((error) => {
      clearTimeout(timer);
      raw.off('close', onClose);
      if (error instanceof Error) reject(new ClientGone(error.message));
      else resolve();
    });
  });
}

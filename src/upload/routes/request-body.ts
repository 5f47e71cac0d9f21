/**
 * The body of an upload as it comes off the socket: piece by piece, with back-pressure, never parsed. A client
 * that sends nothing for a minute has left. What a refused client still sends is read for a while and thrown away,
 * because a connection that is cut while the client writes loses the answer.
 */
import type { IncomingMessage } from 'node:http';
import type { App, Request } from '../../kernel/http/server.ts';
import { countStreamedBytes } from '../../kernel/minor-gc.ts';
import { uploadErrors } from '../errors.ts';

const defaultIdleMs = 60_000;
const smallBytes = 64 * 1024;
const wastedBytes = 16 * 1024 * 1024;
const wastedMs = 10_000;

/** Bodies of this scope's routes stay on the socket until `uploadBody` reads them. */
export function takeRawBodies(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

export async function* uploadBody(request: Request, idleMs = defaultIdleMs): AsyncGenerator<Buffer> {
  const { raw } = request;
  const length = contentLength(request);
  if (length !== undefined && length <= smallBytes) {
    yield await wholeBody(raw, idleMs);
    return;
  }
  let isOurTurn = false;
  const idle = setTimeout(() => {
    // While we are busy with what came, it is not the client who keeps us waiting.
    if (isOurTurn) idle.refresh();
    else raw.destroy();
  }, idleMs);
  try {
    for await (const piece of raw.iterator({ destroyOnReturn: false })) {
      isOurTurn = true;
      yield piece;
      countStreamedBytes(piece.length);
      isOurTurn = false;
      idle.refresh();
    }
    if (!raw.complete) throw uploadErrors.cutShort();
  } finally {
    clearTimeout(idle);
    if (!raw.readableEnded) discardRest(raw);
  }
}

/** A body that fits in a few reads, without the cost of a stream that is iterated. */
function wholeBody(raw: IncomingMessage, idleMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // A client that left while the route was busy has closed already, and says nothing more.
    if (raw.destroyed) {
      reject(uploadErrors.cutShort());
      return;
    }
    const pieces: Buffer[] = [];
    const idle = setTimeout(() => raw.destroy(), idleMs);
    raw.on('data', (piece: Buffer) => pieces.push(piece));
    raw.once('end', () => {
      clearTimeout(idle);
      if (!raw.complete) reject(uploadErrors.cutShort());
      else resolve(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces));
    });
    raw.once('error', (error) => {
      clearTimeout(idle);
      reject(error);
    });
    raw.once('close', () => {
      clearTimeout(idle);
      reject(uploadErrors.cutShort());
    });
  });
}

function discardRest(raw: IncomingMessage): void {
  let wasted = 0;
  const timer = setTimeout(() => raw.destroy(), wastedMs).unref();
  raw.on('data', (piece: Buffer) => {
    wasted += piece.length;
    if (wasted > wastedBytes) raw.destroy();
  });
  raw.on('close', () => clearTimeout(timer));
  raw.on('error', () => {});
  raw.resume();
}

/** The stated length; undefined for a body in chunks. Node refuses what is no number before we see it. */
export function contentLength(request: Request): number | undefined {
  const text = request.headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

/** Raw bytes say so or say nothing. */
export function checkContentType(request: Request): void {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== undefined && type !== '' && type !== 'application/octet-stream') {
    throw uploadErrors.invalidContentType();
  }
}

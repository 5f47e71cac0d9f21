/** What the upload routes read of a request: its body, its length, who pays, and where it comes from. */
import type { IncomingMessage } from 'node:http';
import { MAX_PAYERS } from '../../credits/credits.ts';
import { HttpError } from '../../kernel/errors.ts';
import { clientAddress, networkOf, plainAddress } from '../../kernel/http/client-network.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { countStreamedBytes } from '../../kernel/minor-gc.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { uploadErrors } from '../errors.ts';
import type { Accepted } from '../intake/intake.ts';

const defaultIdleMs = 60_000;
const smallBytes = 64 * 1024;
const wastedBytes = 16 * 1024 * 1024;
const wastedMs = 10_000;

/** Bodies of this scope's routes stay on the socket until `uploadBody` reads them. */
export function takeRawBodies(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/**
 * The body of an upload as it comes off the socket: piece by piece, with back-pressure, never parsed. A client
 * that sends nothing for a minute has left. What a refused client still sends is read for a while and thrown away,
 * because a connection that is cut while the client writes loses the answer.
 */
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
    // Every request closes in the end: an error is made only for one that had not ended by then.
    const closed = () => {
      clearTimeout(idle);
      reject(uploadErrors.cutShort());
    };
    raw.on('data', (piece: Buffer) => pieces.push(piece));
    raw.once('end', () => {
      clearTimeout(idle);
      raw.off('close', closed);
      if (!raw.complete) reject(uploadErrors.cutShort());
      else resolve(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces));
    });
    raw.once('error', (error) => {
      clearTimeout(idle);
      reject(error);
    });
    raw.once('close', closed);
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

/**
 * `x-paid-by`: payers in order of preference, separated by commas, in one header or several. What is no address
 * can have lent nothing and is passed over, as is a wallet that lent nothing.
 */
export function readPaidBy(request: Request): string[] {
  const header = request.headers['x-paid-by'];
  if (header === undefined) return [];
  const text = Array.isArray(header) ? header.join(',') : header;
  const named = text.split(',').flatMap((part) => normalizeAddress(part.trim()) ?? []);
  const payers = [...new Set(named)];
  if (payers.length > MAX_PAYERS) throw new HttpError(400, `At most ${MAX_PAYERS} payers can be asked`);
  return payers;
}

/** The client's network: behind `proxies` proxies of ours, of the address that the outermost of them saw. */
export function clientNetwork(request: Request, proxies: number): string {
  return networkOf(plainAddress(clientAddress(request, proxies)));
}

/** 202 says that the item was here before. */
export function sendAccepted(reply: Reply, accepted: Accepted): Reply {
  return reply.code(accepted.duplicate ? 202 : 200).send(accepted.receipt);
}

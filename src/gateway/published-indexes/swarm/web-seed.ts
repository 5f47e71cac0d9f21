/** Pieces from the publisher's own web seed (BEP 19), one range per piece; used when peers bring nothing. */
import { type Dispatcher, request } from 'undici';
import type { PieceBoard } from './board.ts';

export interface WebSeedOptions {
  /** `…/webseed/<torrent name>/`: of the publisher that the operator named, never from a torrent. */
  readonly url: string;
  readonly board: PieceBoard;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly received: (bytes: number) => void;
}

/** Takes pieces until none is left to take; throws when the web seed fails or gives a wrong one. */
export async function takeFromWebSeed(options: WebSeedOptions): Promise<void> {
  const { board, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const piece = board.take(() => true);
    if (piece === undefined) return;
    let right = false;
    try {
      right = await board.put(piece, await fetchPiece(piece, options));
    } finally {
      board.giveBack(piece);
    }
    if (!right) throw new Error(`${options.url} gives a wrong piece`);
  }
}

async function fetchPiece(piece: number, options: WebSeedOptions): Promise<Buffer> {
  const { board, url, received } = options;
  const { file, start } = board.place(piece);
  const length = board.lengthOf(piece);
  const { statusCode, headers, body } = await request(`${url}${file.name}`, {
    headers: { 'accept-encoding': 'identity', range: `bytes=${start}-${start + length - 1}` },
    dispatcher: options.dispatcher,
    signal: options.signal,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    if (statusCode !== 206 || headers['content-encoding'] !== undefined)
      throw new Error(`${url} answered ${statusCode}`);
    for await (const part of body) {
      size += part.length;
      if (size > length) throw new Error(`${url} sends more than was asked for`);
      pieces.push(part);
      received(part.length);
    }
  } finally {
    body.on('error', () => {}).destroy();
  }
  if (size < length) throw new Error(`${url} stopped early`);
  return Buffer.concat(pieces);
}

/**
 * Sends a body that is still on its way, with the reader's pace. A body that fails or has another length than was
 * promised cuts the connection, also where none was promised: nothing unproven ever looks complete.
 */
import type { ServerResponse } from 'node:http';

/** What may wait for the reader in our memory. Below it, a piece that was not taken at once is no reason to wait. */
export const maxUntaken = 256 * 1024;

export interface StreamOptions {
  /** undefined: the body is chunked. */
  readonly length: number | undefined;
  /** A reader that takes no byte for this long is cut off. */
  readonly stallTimeoutMs?: number;
  /** Told of each piece when its bytes have left our memory. */
  readonly sent?: (piece: Buffer) => void;
}

/** Says how many bytes went out; throws when the body failed, not when the reader left. */
export async function sendStream(
  raw: ServerResponse,
  open: (gone: AbortSignal) => AsyncIterable<Buffer>,
  { length, stallTimeoutMs = 60_000, sent: told }: StreamOptions,
): Promise<number> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error('the reader left'));
  // Who left before the answer began says so no more.
  if (raw.destroyed) onClose();
  else raw.once('close', onClose);
  let sent = 0;
  try {
    for await (const piece of open(gone.signal)) {
      if (gone.signal.aborted) return sent;
      sent += piece.length;
      if (length !== undefined && sent > length) throw new Error('a body is longer than was promised');
      const isTaken =
        told === undefined
          ? raw.write(piece)
          : raw.write(piece, (error) => {
              if (!(error instanceof Error)) told(piece);
            });
      if (isTaken || raw.writableLength < maxUntaken) continue;
      if (!(await drained(raw, stallTimeoutMs))) return sent - piece.length;
    }
    if (length !== undefined && sent < length) throw new Error('a body is shorter than was promised');
    // The last bytes may wait for a reader that stopped just before them.
    raw.setTimeout(stallTimeoutMs, () => raw.destroy());
    raw.end();
    return sent;
  } catch (error) {
    if (gone.signal.aborted) return sent;
    raw.destroy();
    throw error;
  } finally {
    raw.off('close', onClose);
  }
}

/** False when the reader left or takes nothing for too long; a body that is late itself is no fault of its. */
function drained(raw: ServerResponse, stallTimeoutMs: number): Promise<boolean> {
  if (raw.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => raw.destroy(), stallTimeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      raw.off('drain', settle).off('close', settle);
      resolve(!raw.destroyed);
    };
    raw.on('drain', settle).on('close', settle);
  });
}

/**
 * Sends a stream of exactly the promised length. A stream that fails, or is shorter or longer, cuts the connection
 * and throws, so that no client takes it for complete.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** A client that takes nothing for this long has left or means harm. */
const stallTimeoutMs = 60_000;

/** Says how many bytes went out: fewer than promised only when the client left. */
export async function sendStream(
  raw: ServerResponse,
  stream: AsyncIterable<Buffer>,
  length: number,
): Promise<number> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  raw.once('close', onClose);
  raw.setTimeout(stallTimeoutMs);
  let sent = 0;
  try {
    for await (const piece of stream) {
      if (gone.signal.aborted) return sent;
      sent += piece.length;
      if (sent > length) throw new Error('a body is longer than was promised');
      if (!raw.write(piece) && !(await drained(raw, gone.signal))) return sent - piece.length;
    }
    if (sent < length) throw new Error(`a body is ${length - sent} bytes short of what was promised`);
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

async function drained(raw: ServerResponse, gone: AbortSignal): Promise<boolean> {
  try {
    await once(raw, 'drain', { signal: gone });
    return true;
  } catch {
    return false;
  }
}

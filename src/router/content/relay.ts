/** A gateway's body on its way through: each piece to the reader as it comes, at the reader's pace. */
import type { ServerResponse } from 'node:http';
import { maxUntaken } from '../../kernel/http/send-stream.ts';
import { giveBack } from '../../outside/read-buffers.ts';
import type { AnswerBody } from '../gateways/answer-body.ts';

/**
 * Says how many bytes went out. Rejects when the body failed or was not as long as promised; the connection is cut
 * then, so that what is incomplete never looks complete. A reader that left is no failure.
 */
export function relay(
  body: AnswerBody,
  raw: ServerResponse,
  length: number | undefined,
  stallTimeoutMs: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    let isOver = false;
    let stalled: NodeJS.Timeout | undefined;
    raw.on('close', () => {
      clearTimeout(stalled);
      if (isOver) return;
      isOver = true;
      resolve(sent);
      body.destroy();
    });
    raw.on('drain', () => {
      clearTimeout(stalled);
      if (!isOver) body.resume();
    });
    const failed = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(stalled);
      raw.destroy();
      reject(error);
    };
    body.take({
      piece(bytes) {
        if (isOver) return false;
        sent += bytes.length;
        if (length !== undefined && sent > length) {
          failed(new Error('a body is longer than was promised'));
          body.destroy();
          return false;
        }
        const isTaken = raw.write(bytes, (error) => {
          if (!(error instanceof Error)) giveBack(bytes);
        });
        if (isTaken || raw.writableLength < maxUntaken) return true;
        // A body that is late is no fault of the reader's; not to take what is there is.
        stalled = setTimeout(() => raw.destroy(), stallTimeoutMs).unref();
        return false;
      },
      end() {
        if (isOver) return;
        if (length !== undefined && sent < length) {
          failed(new Error('a body is shorter than was promised'));
          return;
        }
        isOver = true;
        // The last bytes may wait for a reader that stopped just before them.
        raw.setTimeout(stallTimeoutMs, () => raw.destroy());
        raw.end();
        resolve(sent);
      },
      failed,
    });
  });
}

/** Small bodies, taken whole. */
import { createHash } from 'node:crypto';
import { MinimumSpeed, slowAfterMs } from '../../delivery/minimum-speed.ts';
import type { AnswerBody } from '../gateways/answer-body.ts';

/** All of a body that has so many bytes, hashed as they come. */
export function collect(
  { body }: { readonly body: Pick<AnswerBody, 'take' | 'destroy'> },
  size: number,
  slowAfter: number = slowAfterMs,
): Promise<{ pieces: Buffer[]; digest: string }> {
  return new Promise((resolve, reject) => {
    const hash = createHash('sha256');
    const pieces: Buffer[] = [];
    const pace = new MinimumSpeed(slowAfter);
    let arrived = 0;
    body.take({
      piece(bytes) {
        arrived += bytes.length;
        try {
          pace.arrived(bytes.length);
          if (arrived > size) throw new Error('the answer is too long');
          pace.waiting();
        } catch (error) {
          reject(error);
          body.destroy();
          return false;
        }
        hash.update(bytes);
        pieces.push(bytes);
        return true;
      },
      end() {
        if (arrived === size) resolve({ pieces, digest: hash.digest('hex') });
        else reject(new Error('the body ended early'));
      },
      failed: reject,
    });
  });
}

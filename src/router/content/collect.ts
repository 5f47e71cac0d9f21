/** Small bodies, taken whole. */
import { createHash } from 'node:crypto';
import { type AnswerBody, readPieces } from '../gateways/answer-body.ts';

/** All of a body that has so many bytes, hashed as they come. */
export async function collect(
  { body }: { readonly body: Pick<AnswerBody, 'take' | 'destroy'> },
  size: number,
  slowAfterMs?: number,
): Promise<{ pieces: Buffer[]; digest: string }> {
  const hash = createHash('sha256');
  let arrived = 0;
  const pieces = await readPieces(body, size, slowAfterMs, (piece) => {
    arrived += piece.length;
    hash.update(piece);
  });
  if (arrived < size) throw new Error('the body ended early');
  return { pieces, digest: hash.digest('hex') };
}

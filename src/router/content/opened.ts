/** What a reader is given, wherever it comes from. */
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { Fill } from './fill.ts';
import type { Known } from './known.ts';

/** At most one of `pieces`, `reader` and `fill` is there; none for those who only ask about the content. */
export interface Opened {
  readonly size: number | undefined;
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  /** Hex; undefined while it is on its way. */
  readonly digest: string | undefined;
  readonly method: string;
  readonly by: readonly string[];
  /** Origin of the gateway, or `cache`. */
  readonly from: string;
  readonly verifiedAt: number | undefined;
  /** How long fetching and proving took, where that was over before the answer began. */
  readonly verificationMs?: number;
  /** Where it lies in its bundle, where that is known; not proven. */
  readonly placement?: Readonly<Record<string, string>>;
  /** The whole in memory, in the pieces in which it came: to join them would be to copy them. */
  readonly pieces?: readonly Buffer[];
  readonly reader?: BlobReader;
  readonly fill?: Fill;
}

export function fromCache(known: Known): Opened {
  return { ...known, from: 'cache' };
}

/** For content that was opened, whether it was read or not: nothing stays open or comes in for nobody. */
export async function letGo({ reader, fill }: Opened): Promise<void> {
  fill?.release();
  await reader?.close();
}

/** The bytes `start` (inclusive) to `end` (exclusive) of what the pieces are together. */
export function spanOf(pieces: readonly Buffer[], start: number, end: number): Buffer[] {
  const span: Buffer[] = [];
  let position = 0;
  for (const piece of pieces) {
    const from = Math.max(0, start - position);
    const to = Math.min(piece.length, end - position);
    if (from < to) span.push(piece.subarray(from, to));
    position += piece.length;
  }
  return span;
}

export function joined(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/** What a reader is given, wherever it comes from. */

import type { Download } from '../../delivery/download.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { ProvenContent } from './proven-store.ts';

/** At most one of `pieces`, `reader` and `download` is there; none for those who only ask about the content. */
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
  /** False where it is only what others say about content that was not fetched. */
  readonly verified?: false;
  /** How long fetching and proving took, where that was over before the answer began. */
  readonly verificationMs?: number;
  /** Where it lies in its bundle, where that is known; not proven. */
  readonly placement?: Readonly<Record<string, string>>;
  /** The whole in memory, in the pieces in which it came: to join them would be to copy them. */
  readonly pieces?: readonly Buffer[];
  readonly reader?: BlobReader;
  readonly download?: Download;
}

export function fromCache(known: ProvenContent): Opened {
  return { ...known, from: 'cache' };
}

/** For content that was opened, whether it was read or not: nothing stays open or comes in for nobody. */
export async function letGo({ reader, download }: Opened): Promise<void> {
  download?.release();
  await reader?.close();
}

/** The manifest of a folder: made of the ids that its files have got. */

import type { Tag } from '../../../../formats/avro-tags.ts';
import { manifestContentType, manifestText } from '../../../../formats/manifest/manifest.ts';
import { itemBytes } from '../../../items/item.ts';
import type { UploadEntry } from './entry.ts';

export interface ManifestPlan {
  /** Path of the file that opens at the folder's own address; '' for none. */
  readonly index: string;
  /** Path of the file that opens at addresses that are not there; '' for none. */
  readonly fallback: string;
}

/** Who opens the folder sees its first page. */
export function likelyIndex(paths: readonly string[]): string {
  return ['index.html', 'index.htm'].find((name) => paths.includes(name)) ?? '';
}

export function writeManifest(ids: ReadonlyMap<string, string>, { index, fallback }: ManifestPlan): string {
  const fallbackId = ids.get(fallback);
  return manifestText({
    paths: ids,
    ...(ids.has(index) && { indexPath: index }),
    ...(fallbackId !== undefined && { fallbackId }),
  });
}

/** The ids of what was sent, by path. */
export function sentIds(entries: readonly UploadEntry[]): Map<string, string> {
  return new Map(
    entries.flatMap(({ path, receipt, isManifest }) =>
      receipt === undefined || isManifest ? [] : [[path, receipt.id] as const],
    ),
  );
}

export const manifestTags: readonly Tag[] = [{ name: 'Content-Type', value: manifestContentType }];

/** Ids have one length: what the manifest's item will be is known before any of them is. */
export function manifestItemBytes(
  signatureType: number,
  paths: readonly string[],
  plan: ManifestPlan,
): number {
  const anyId = 'A'.repeat(43);
  const text = writeManifest(new Map(paths.map((path) => [path, anyId])), plan);
  return itemBytes(signatureType, manifestTags, new TextEncoder().encode(text).length);
}

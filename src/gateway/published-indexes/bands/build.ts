/**
 * `index build`: brings the bands of the gateway's own index up to date. Closed ranges lie on a fixed grid of
 * heights and are written again only when the number of their items changed; the range at the tip is open and,
 * like those that a fork can still reach, always read again. A new band names those it replaces, so that the next
 * publication drops them.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Sql } from '../../../storage/sql/sql.ts';
import { STABLE_DEPTH } from '../../import/write-block.ts';
import { withLock } from '../files.ts';
import { heightRangeOf } from './manifest.ts';
import { type BandSummary, bandRecords, summarize, tipOf } from './source.ts';
import { type StoredBand, storedBands } from './stored.ts';
import { removeScratch, writeBand } from './write.ts';

/** The index that every gateway publishes: data item → root transaction and offsets. */
export const rootIndex = { name: 'root-tx-index', kind: 'cdb64-root-tx' } as const;

export interface BuildOptions {
  readonly sql: Sql;
  /** `published/` of the data folder. */
  readonly published: string;
  /** Heights in one closed band. */
  readonly bandHeights: number;
  /** The wallet that publishes, base58. */
  readonly publisher: string;
  /** Lowest and highest height to look at; all without them. */
  readonly from?: number;
  readonly to?: number;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface BuildReport {
  readonly built: readonly { readonly id: string; readonly records: number }[];
  readonly kept: number;
}

/** One build at a time, whichever process wants it. */
export function buildBands(options: BuildOptions): Promise<BuildReport> {
  return withLock(join(options.published, '.build.lock'), () => build(options));
}

async function build(options: BuildOptions): Promise<BuildReport> {
  const { sql, bandHeights } = options;
  const indexFolder = join(options.published, rootIndex.name);
  await removeScratch(indexFolder);
  const tag = hash('sha256', options.publisher, 'hex').slice(0, 8);
  const tip = await tipOf(sql);
  const built: { id: string; records: number }[] = [];
  let kept = 0;
  const first = Math.floor((options.from ?? 0) / bandHeights) * bandHeights;
  const last = Math.max(0, Math.min(tip, options.to ?? tip));
  for (let from = first; from <= last; from += bandHeights) {
    const to = from + bandHeights - 1;
    const open = to >= tip;
    const summary = await summarize(sql, { from, to });
    const existing = (await storedBands(indexFolder)).filter((band) => startsAt(band, from));
    // Where a fork can still reach, an equal number may be of other items.
    const settled = to <= tip - STABLE_DEPTH;
    const upToDate =
      settled && existing.some((band) => !isOpen(band) && band.manifest.totalRecords === summary.records);
    if (upToDate || (!open && summary.records === 0 && existing.length === 0)) {
      kept += upToDate ? 1 : 0;
      continue;
    }
    const written = await writeBand({
      indexFolder,
      heightRange: [from, open ? null : to],
      kind: open ? 'd' : 'h',
      tag,
      supersedes: existing.map(({ id }) => id),
      existing: existing
        .filter((band) => isOpen(band) === open)
        .map(({ id, manifest }) => ({ id, contentSha256: manifest.metadata.contentSha256 })),
      createdAt: timeOf(summary),
      records: bandRecords(sql, { from, to }),
      onRecord: (count) => options.onProgress?.(count, summary.records),
    });
    options.onProgress?.(written.records, summary.records);
    if (written.written) built.push({ id: written.id, records: written.records });
    else kept += 1;
  }
  return { built, kept };
}

function startsAt({ manifest }: StoredBand, from: number): boolean {
  return heightRangeOf(manifest)?.[0] === from;
}

function isOpen({ manifest }: StoredBand): boolean {
  return heightRangeOf(manifest)?.[1] === null;
}

function timeOf({ newestAt }: BandSummary): string {
  return new Date(newestAt * 1000).toISOString();
}

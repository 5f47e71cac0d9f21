/**
 * `index build`: brings the bands of the gateway's own index up to date. Closed ranges lie on a fixed grid of
 * heights and are written again only when the number of their items changed; the range at the tip is open and,
 * like those that a fork can still reach, always read again. A new band names those it replaces, so that the next
 * publication drops them. It is refused where one of those has records that the index does not know any more: others
 * find items by them.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Sql } from '../../../storage/sql/sql.ts';
import { STABLE_DEPTH } from '../../import/write-block.ts';
import { withLock } from '../files.ts';
import { type BandFiles, lostKeys } from './lost-keys.ts';
import { heightRangeOf } from './manifest.ts';
import { type BandSummary, bandRecords, summarize, tipOf, unknownIds } from './source.ts';
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
  /** Builds bands too that lose records, and marks them so that subscribers let the fuller ones go. */
  readonly allowFewer?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface RefusedBand {
  readonly heightRange: readonly [number, number | null];
  /** The band that stays. */
  readonly keeps: string;
  /** Records that it has, and that the new one would have had. */
  readonly records: number;
  readonly wouldHave: number;
  /** An item of it that the index does not know any more. */
  readonly lost: string;
}

export interface BuildReport {
  readonly built: readonly { readonly id: string; readonly records: number }[];
  readonly kept: number;
  /** Bands that would lose records and were not built. */
  readonly refused: readonly RefusedBand[];
}

export function refusalText({ heightRange: [from, to], keeps, ...refused }: RefusedBand): string {
  const { records, wouldHave, lost } = refused;
  return (
    `The index of heights ${from}–${to ?? 'tip'} would lose records (${lost} is one; ${records} before, ${wouldHave} after) ` +
    `and was not built: ${keeps} stays. Queue the bundles of those items again, or run index build with --allow-fewer.`
  );
}

class RecordsLost extends Error {
  override readonly name = 'RecordsLost';
  readonly refused: RefusedBand;

  constructor(refused: RefusedBand) {
    super(refusalText(refused));
    this.refused = refused;
  }
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
  const refused: RefusedBand[] = [];
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
    const heightRange = [from, open ? null : to] as const;
    const written = await writeBand({
      indexFolder,
      heightRange,
      kind: open ? 'd' : 'h',
      tag,
      supersedes: existing.map(({ id }) => id),
      existing: existing
        .filter((band) => isOpen(band) === open)
        .map(({ id, manifest }) => ({ id, contentSha256: manifest.metadata.contentSha256 })),
      createdAt: timeOf(summary),
      records: bandRecords(sql, { from, to }),
      onRecord: (count) => options.onProgress?.(count, summary.records),
      losesRecords: (fresh) => losesRecords(options, heightRange, existing, fresh),
    }).catch((error: unknown) => {
      if (!(error instanceof RecordsLost)) throw error;
      refused.push(error.refused);
      return undefined;
    });
    if (written === undefined) continue;
    options.onProgress?.(written.records, summary.records);
    if (written.written) built.push({ id: written.id, records: written.records });
    else kept += 1;
  }
  return { built, kept, refused };
}

/** What a fork moved elsewhere is not lost. Throws `RecordsLost` where the publisher did not say that it may be. */
async function losesRecords(
  { sql, allowFewer = false }: BuildOptions,
  heightRange: RefusedBand['heightRange'],
  existing: readonly StoredBand[],
  fresh: BandFiles,
): Promise<boolean> {
  for (const { id: keeps, folder, manifest } of existing) {
    const { partitions, totalRecords: records } = manifest;
    for await (const keys of lostKeys({ folder, partitions }, fresh)) {
      const [unknown] = await unknownIds(sql, keys);
      if (unknown === undefined) continue;
      if (allowFewer) return true;
      const wouldHave = fresh.partitions.reduce((sum, { recordCount }) => sum + recordCount, 0);
      const lost = unknown.toString('base64url');
      throw new RecordsLost({ heightRange, keeps, records, wouldHave, lost });
    }
  }
  return false;
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

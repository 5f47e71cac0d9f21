/** What operators see of the indexes: what is published here, and what is followed elsewhere. */
import type { Publication, PublishedIndex } from './publication/document.ts';

export interface IndexesState {
  /** Null while nothing is published. */
  readonly publication: PublicationState | null;
  /** There is a document, which cannot be served. */
  readonly isDamaged: boolean;
  readonly problems: readonly string[];
  readonly subscriptions: readonly SubscriptionState[];
  /** Bands of others that content is found with. */
  readonly bandsInUse: number;
}

export interface PublicationState {
  readonly publisher: string;
  readonly sequence: number;
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly indexes: readonly IndexState[];
}

export interface IndexState {
  readonly name: string;
  readonly kind: string;
  readonly bands: number;
  readonly files: number;
  readonly bytes: number;
  readonly records: number;
  /** Of the lowest and the highest band; null where no band says. The second is null too while the top band is open. */
  readonly heights: readonly [number, number | null] | null;
}

export interface SubscriptionState {
  readonly publisher: string;
  readonly url: string;
  /** Only these indexes; null for all. */
  readonly names: readonly string[] | null;
  /** Unix milliseconds; null before the first look. */
  readonly lastLookAt: number | null;
  readonly outcome: string | null;
  readonly reason: string | null;
}

export function stateOfPublication({
  publisher,
  sequence,
  issuedAt,
  expiresAt,
  indexes,
}: Publication): PublicationState {
  return { publisher, sequence, issuedAt, expiresAt, indexes: indexes.map(stateOfIndex) };
}

function stateOfIndex({ name, kind, bands }: PublishedIndex): IndexState {
  const files = bands.flatMap((band) => band.files);
  const ranges = bands.flatMap(({ heightRange }) => (heightRange === undefined ? [] : [heightRange]));
  const ends = ranges.map(([, end]) => end);
  return {
    name,
    kind,
    bands: bands.length,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    records: bands.reduce((sum, { records = 0 }) => sum + records, 0),
    heights:
      ranges.length === 0
        ? null
        : [
            Math.min(...ranges.map(([start]) => start)),
            ends.includes(null) ? null : Math.max(...ends.map(Number)),
          ],
  };
}

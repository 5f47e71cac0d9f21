/** What operators see of the indexes: what is published here, and what is followed elsewhere. */
import type { IndexState, PublicationState } from '../../formats/gateway-admin-answers.ts';
import type { Publication, PublishedIndex } from './publication/document.ts';

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

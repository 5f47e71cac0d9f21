/** The lists of a publication, read strictly: names that are no paths, digests, bounded counts, nothing twice. */
import { isTxId } from '../../../formats/base64url.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { isIndexName, isPartName, isSha256 } from '../names.ts';
import type { PublishedIndex } from './document.ts';

export interface BandFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export interface BandTorrent {
  readonly infohashV1: string;
  readonly infohashV2?: string;
  readonly magnet: string;
  readonly torrentUrl: string;
}

export interface Band {
  readonly id: string;
  readonly files: readonly BandFile[];
  /** The second is null for the band that is open at the tip. */
  readonly heightRange?: readonly [number, number | null];
  readonly records?: number;
  readonly http?: { readonly baseUrl: string };
  readonly torrent?: BandTorrent;
  readonly arweave?: { readonly manifestTxId: string };
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const limits = { indexes: 64, bands: 1024, files: 1024 };

export function readIndexes(value: unknown): PublishedIndex[] {
  return readList(value, 'indexes', 0, limits.indexes, readIndex, ({ name }) => name);
}

function readIndex(value: unknown): PublishedIndex {
  const { name, kind, filter, bands } = members(value, 'an index');
  if (typeof name !== 'string' || !isIndexName(name)) throw new FormatError('the name of an index is wrong');
  if (typeof kind !== 'string' || !isIndexName(kind)) throw new FormatError('the kind of an index is wrong');
  const list = readList(bands, 'bands', 0, limits.bands, readBand, ({ id }) => id);
  return { name, kind, ...(filter !== undefined && { filter }), bands: list };
}

function readBand(value: unknown): Band {
  const { id, files, heightRange, records, http, torrent, arweave, metadata } = members(value, 'a band');
  if (typeof id !== 'string' || !isPartName(id)) throw new FormatError('the id of a band is wrong');
  return {
    id,
    files: readList(files, 'files', 1, limits.files, readFile, ({ name }) => name),
    ...(heightRange !== undefined && { heightRange: readHeights(heightRange) }),
    ...(records !== undefined && { records: readCount(records, 'records') }),
    ...(http !== undefined && { http: { baseUrl: readText(members(http, 'http').baseUrl, 'baseUrl') } }),
    ...(torrent !== undefined && { torrent: readTorrent(torrent) }),
    ...(arweave !== undefined && { arweave: readArweave(arweave) }),
    ...(metadata !== undefined && { metadata: members(metadata, 'metadata') }),
  };
}

function readFile(value: unknown): BandFile {
  const { name, size, sha256 } = members(value, 'a file');
  if (typeof name !== 'string' || !isPartName(name)) throw new FormatError('the name of a file is wrong');
  if (typeof sha256 !== 'string' || !isSha256(sha256)) throw new FormatError('the digest of a file is wrong');
  return { name, size: readCount(size, 'size'), sha256 };
}

function readHeights(value: unknown): [number, number | null] {
  if (!Array.isArray(value) || value.length !== 2) throw new FormatError('a height range has two ends');
  const from = readCount(value[0], 'heightRange');
  const to = value[1] === null ? null : readCount(value[1], 'heightRange');
  if (to !== null && to < from) throw new FormatError('a height range ends before it starts');
  return [from, to];
}

function readTorrent(value: unknown): BandTorrent {
  const { infohashV1, infohashV2, magnet, torrentUrl } = members(value, 'torrent');
  if (typeof infohashV1 !== 'string' || !/^[0-9a-f]{40}$/.test(infohashV1))
    throw new FormatError('infohashV1 is wrong');
  if (infohashV2 !== undefined && !(typeof infohashV2 === 'string' && isSha256(infohashV2)))
    throw new FormatError('infohashV2 is wrong');
  return {
    infohashV1,
    ...(infohashV2 !== undefined && { infohashV2 }),
    magnet: readText(magnet, 'magnet'),
    torrentUrl: readText(torrentUrl, 'torrentUrl'),
  };
}

function readArweave(value: unknown): { manifestTxId: string } {
  const { manifestTxId } = members(value, 'arweave');
  if (typeof manifestTxId !== 'string' || !isTxId(manifestTxId))
    throw new FormatError('manifestTxId must be an id');
  return { manifestTxId };
}

function readList<T>(
  value: unknown,
  what: string,
  min: number,
  max: number,
  read: (item: unknown) => T,
  key: (item: T) => string,
): T[] {
  if (!Array.isArray(value) || value.length < min || value.length > max)
    throw new FormatError(`${what} must be a list of ${min} to ${max}`);
  const items = value.map(read);
  if (new Set(items.map(key)).size !== items.length) throw new FormatError(`${what} name something twice`);
  return items;
}

/** Own members only: nothing is ever inherited from a prototype. */
function members(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FormatError(`${what} must be an object`);
  return Object.assign(Object.create(null), value);
}

function readCount(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new FormatError(`${what} must be a whole number`);
  return value;
}

function readText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > 4096)
    throw new FormatError(`${what} must be a text`);
  return value;
}

/**
 * Reads torrents from elsewhere. Only `info` is covered by the infohashes; trackers are a hint of the sender, and
 * web seeds in the file are not even read.
 */
import { hash } from 'node:crypto';
import { FormatError } from '../format-error.ts';
import { type BencodedDictionary, type BencodedValue, bdecode, isDictionary } from './bdecode.ts';

export interface TorrentFile {
  readonly name: string;
  readonly length: number;
  /** The first of its pieces; every file starts a piece. */
  readonly firstPiece: number;
}

export interface TorrentInfo {
  readonly infohashV1: string;
  readonly infohashV2: string;
  readonly name: string;
  readonly pieceLength: number;
  readonly pieceCount: number;
  /** SHA-1 of the pieces, 20 bytes each. */
  readonly pieces: Buffer;
  /** Without padding, in the order of the torrent. */
  readonly files: readonly TorrentFile[];
}

const noLayers: BencodedDictionary = { members: new Map(), bytes: Buffer.from('de') };
const maxFiles = 1024;
const smallestPiece = 16 * 1024;
const largestPiece = 64 * 1024 * 1024;

export interface ReadTorrent {
  /** Bytes as they stand in the file. */
  readonly info: Buffer;
  /** The hashes of larger files that v2 of the protocol wants beside `info`. */
  readonly layers: Buffer;
  readonly trackers: readonly string[];
}

export function readTorrentFile(bytes: Buffer): ReadTorrent {
  const { members } = dictionary(bdecode(bytes), 'a torrent');
  const lists = members.get('announce-list');
  const tiers = Array.isArray(lists) ? lists.flat() : [];
  const trackers = [members.get('announce'), ...tiers]
    .filter((one) => Buffer.isBuffer(one))
    .map((one) => one.toString('utf8'));
  return {
    info: dictionary(members.get('info'), 'info').bytes,
    layers: dictionary(members.get('piece layers') ?? noLayers, 'piece layers').bytes,
    trackers: [...new Set(trackers)].slice(0, 16),
  };
}

/** Reads `info` of a torrent of one folder, whose files each start a piece; throws `FormatError`. */
export function readTorrentInfo(info: Buffer): TorrentInfo {
  const { members } = dictionary(bdecode(info), 'info');
  const pieceLength = members.get('piece length');
  if (
    typeof pieceLength !== 'number' ||
    pieceLength < smallestPiece ||
    pieceLength > largestPiece ||
    !Number.isInteger(Math.log2(pieceLength))
  )
    throw new FormatError('the piece length is wrong');
  const { files, total } = readFiles(members.get('files'), pieceLength);
  const pieces = members.get('pieces');
  const pieceCount = Math.ceil(total / pieceLength);
  if (!Buffer.isBuffer(pieces) || pieces.length !== pieceCount * 20)
    throw new FormatError('the torrent has another number of pieces than its files');
  const name = members.get('name');
  if (!Buffer.isBuffer(name)) throw new FormatError('the torrent has no name');
  return {
    infohashV1: hash('sha1', info, 'hex'),
    infohashV2: hash('sha256', info, 'hex'),
    name: name.toString('utf8'),
    pieceLength,
    pieceCount,
    pieces,
    files,
  };
}

function readFiles(
  value: BencodedValue | undefined,
  pieceLength: number,
): { files: TorrentFile[]; total: number } {
  if (!Array.isArray(value) || value.length > 2 * maxFiles)
    throw new FormatError('the torrent lists no files');
  const files: TorrentFile[] = [];
  let total = 0;
  for (const entry of value) {
    const { members } = dictionary(entry, 'a file');
    const length = members.get('length');
    const path = members.get('path');
    const attributes = members.get('attr');
    if (typeof length !== 'number' || length < 0) throw new FormatError('a file has no length');
    if (!Array.isArray(path)) throw new FormatError('a file has no path');
    if (Buffer.isBuffer(attributes)) {
      if (attributes.toString('latin1') !== 'p') throw new FormatError('a file is not plain');
      if (length !== pieceLength - (total % pieceLength)) throw new FormatError('padding has another length');
    } else {
      const [name] = path;
      if (path.length !== 1 || !Buffer.isBuffer(name))
        throw new FormatError('a file is not in the folder itself');
      if (total % pieceLength !== 0) throw new FormatError('a file does not start a piece');
      files.push({ name: name.toString('utf8'), length, firstPiece: total / pieceLength });
    }
    total += length;
    if (!Number.isSafeInteger(total)) throw new FormatError('the torrent is too large');
  }
  return { files, total };
}

function dictionary(value: BencodedValue | undefined, what: string): BencodedDictionary {
  if (!isDictionary(value)) throw new FormatError(`${what} is no dictionary`);
  return value;
}

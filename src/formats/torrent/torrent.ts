/**
 * Torrents that both versions of the protocol read (BEP 3 and BEP 52), made so that equal files give equal
 * infohashes: fixed piece length, files in name order, each padded to a whole piece, the last too, and nothing in
 * `info` but what the files determine.
 */
import { createHash, hash } from 'node:crypto';
import { FormatError } from '../format-error.ts';
import { type Bencoded, bdecode, bencode, isDictionary } from './bencode.ts';

export const pieceLength = 256 * 1024;
const blockLength = 16 * 1024;
const zeroLeaf = Buffer.alloc(32);

export interface HashedFile {
  readonly name: string;
  readonly length: number;
  /** SHA-1 of each piece, the last filled with zeros. */
  readonly pieces: Buffer;
  /** Root of the tree over 16 KiB blocks; undefined for an empty file. */
  readonly root: Buffer | undefined;
  /** The tree's level of one hash per piece, for files longer than a piece. */
  readonly layer: Buffer | undefined;
}

/** Hashes one file as it is read: one piece is held at a time. */
export class FileHasher {
  readonly #name: string;
  readonly #pieceLength: number;
  readonly #piece: Buffer;
  #used = 0;
  #length = 0;
  readonly #sha1: Buffer[] = [];
  /** Per whole piece the root of its blocks; of the last one its blocks. */
  readonly #pieceRoots: Buffer[] = [];
  #lastBlocks: Buffer[] = [];

  constructor(name: string, length = pieceLength) {
    this.#name = name;
    this.#pieceLength = length;
    this.#piece = Buffer.allocUnsafe(length);
  }

  update(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(this.#piece, this.#used, at);
      at += copied;
      this.#used += copied;
      this.#length += copied;
      if (this.#used === this.#pieceLength) this.#finishPiece();
    }
  }

  end(): HashedFile {
    if (this.#used > 0) this.#finishPiece();
    const several = this.#pieceRoots.length > 1;
    const emptyPiece = merkleRoot([zeroLeaf], zeroLeaf, this.#pieceLength / blockLength);
    return {
      name: this.#name,
      length: this.#length,
      pieces: Buffer.concat(this.#sha1),
      root:
        this.#length === 0
          ? undefined
          : several
            ? merkleRoot(this.#pieceRoots, emptyPiece)
            : merkleRoot(this.#lastBlocks, zeroLeaf),
      layer: several ? Buffer.concat(this.#pieceRoots) : undefined,
    };
  }

  #finishPiece(): void {
    const piece = this.#piece.subarray(0, this.#used);
    const blocks: Buffer[] = [];
    for (let at = 0; at < piece.length; at += blockLength)
      blocks.push(hash('sha256', piece.subarray(at, at + blockLength), 'buffer'));
    this.#lastBlocks = blocks;
    this.#pieceRoots.push(merkleRoot(blocks, zeroLeaf, this.#pieceLength / blockLength));
    this.#sha1.push(hash('sha1', this.#piece.fill(0, this.#used), 'buffer'));
    this.#used = 0;
  }
}

/** Leaves are filled up with `filler` to a power of two, or to `width`. */
function merkleRoot(leaves: readonly Buffer[], filler: Buffer, width?: number): Buffer {
  const size = width ?? 2 ** Math.ceil(Math.log2(Math.max(1, leaves.length)));
  let level = [...leaves, ...Array.from({ length: size - leaves.length }, () => filler)];
  while (level.length > 1) {
    const above: Buffer[] = [];
    for (let at = 0; at < level.length; at += 2)
      above.push(
        createHash('sha256')
          .update(level[at]!)
          .update(level[at + 1]!)
          .digest(),
      );
    level = above;
  }
  return level[0]!;
}

export interface Torrent {
  readonly infohashV1: string;
  readonly infohashV2: string;
  readonly info: Buffer;
  /** The `.torrent` file. */
  readonly bytes: Buffer;
}

export interface TorrentOptions {
  readonly name: string;
  readonly files: readonly HashedFile[];
  readonly pieceLength?: number;
  /** Web seeds (BEP 19), not covered by the infohashes: the client adds torrent name and file name. */
  readonly webSeeds?: readonly string[];
}

export function makeTorrent(options: TorrentOptions): Torrent {
  const { name } = options;
  const length = options.pieceLength ?? pieceLength;
  const files = inNameOrder(options.files);
  const list: Bencoded[] = [];
  for (const file of files) {
    list.push(
      new Map<string, Bencoded>([
        ['length', file.length],
        ['path', [file.name]],
      ]),
    );
    const rest = file.length % length;
    if (rest === 0) continue;
    const pad = length - rest;
    list.push(
      new Map<string, Bencoded>([
        ['attr', 'p'],
        ['length', pad],
        ['path', ['.pad', String(pad)]],
      ]),
    );
  }
  const tree = new Map<string, Bencoded>();
  for (const file of files) {
    const leaf = new Map<string, Bencoded>([['length', file.length]]);
    if (file.root !== undefined) leaf.set('pieces root', file.root);
    tree.set(file.name, new Map([['', leaf]]));
  }
  const info = bencode(
    new Map<string, Bencoded>([
      ['file tree', tree],
      ['files', list],
      ['meta version', 2],
      ['name', name],
      ['piece length', length],
      ['pieces', Buffer.concat(files.map(({ pieces }) => pieces))],
    ]),
  );
  const layers = new Map<Buffer, Bencoded>();
  for (const { root, layer } of files) if (root !== undefined && layer !== undefined) layers.set(root, layer);
  return {
    infohashV1: hash('sha1', info, 'hex'),
    infohashV2: hash('sha256', info, 'hex'),
    info,
    bytes: torrentFile(info, bencode(layers), options.webSeeds ?? []),
  };
}

/** A `.torrent` file around `info` and `piece layers` as they were hashed. */
function torrentFile(info: Buffer, layers: Buffer, webSeeds: readonly string[]): Buffer {
  // Keys in order: info, piece layers, url-list.
  return Buffer.concat([
    Buffer.from('d'),
    bencode('info'),
    info,
    bencode('piece layers'),
    layers,
    ...(webSeeds.length === 0 ? [] : [bencode('url-list'), bencode(webSeeds)]),
    Buffer.from('e'),
  ]);
}

/** A torrent made before, with other web seeds and nothing else outside of what the infohashes cover. */
export function withWebSeeds(
  bytes: Buffer,
  webSeeds: readonly string[],
): Torrent & { readonly name: string } {
  const file = bdecode(bytes);
  const info = isDictionary(file) ? file.members.get('info') : undefined;
  const layers = isDictionary(file) ? file.members.get('piece layers') : undefined;
  const name = isDictionary(info) ? info.members.get('name') : undefined;
  if (!isDictionary(info) || !isDictionary(layers) || !Buffer.isBuffer(name))
    throw new FormatError('the bytes are no hybrid torrent');
  return {
    name: name.toString('utf8'),
    infohashV1: hash('sha1', info.bytes, 'hex'),
    infohashV2: hash('sha256', info.bytes, 'hex'),
    info: info.bytes,
    bytes: torrentFile(info.bytes, layers.bytes, webSeeds),
  };
}

export interface NamedFile {
  readonly name: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/**
 * The name of a band's torrent (interface §4.4, web seed), which follows from the files alone: first 16 hex digits of
 * SHA-256 over name, NUL, size, NUL, digest, newline per file, in bytewise name order.
 */
export function torrentName(files: readonly NamedFile[]): string {
  const hash = createHash('sha256');
  for (const { name, size, sha256 } of inNameOrder(files)) hash.update(`${name}\0${size}\0${sha256}\n`);
  return hash.digest('hex').slice(0, 16);
}

function inNameOrder<T extends { readonly name: string }>(files: readonly T[]): T[] {
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

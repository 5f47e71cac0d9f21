/**
 * The pieces of one download. A piece counts when its SHA-1 is right, and is then on disk; after a break whatever
 * lies there is hashed again, so that no record of progress can ever be wrong.
 */
import { hash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFully } from '../../../formats/cdb64/layout.ts';
import type { TorrentFile, TorrentInfo } from '../../../formats/torrent/index.ts';
import { hasCode } from '../files.ts';

export interface BoardOptions {
  readonly info: TorrentInfo;
  /** Files lie here under their names. */
  readonly folder: string;
  /** Only these are wanted. */
  readonly wanted: ReadonlySet<string>;
}

/** What all peers together may hold in memory of pieces that are not whole. */
const maxHeldBytes = 64 * 1024 * 1024;

const missing = 0;
const asked = 1;
const there = 2;
const unwanted = 3;

export class PieceBoard {
  readonly info: TorrentInfo;
  readonly #folder: string;
  readonly #state: Uint8Array;
  readonly #left: Map<TorrentFile, number>;
  #missing = 0;
  #asked = 0;
  /** Grows when a piece is to be had again: until then, who had nothing to give has nothing. */
  round = 0;
  /** The next piece is looked for from here: peers get neighbouring pieces, files grow one after the other. */
  #from = 0;

  private constructor({ info, folder, wanted }: BoardOptions) {
    this.info = info;
    this.#folder = folder;
    this.#state = new Uint8Array(info.pieceCount).fill(unwanted);
    this.#left = new Map();
    for (const file of info.files) {
      if (!wanted.has(file.name)) continue;
      const pieces = piecesOf(file, info.pieceLength);
      this.#state.fill(missing, file.firstPiece, file.firstPiece + pieces);
      this.#left.set(file, pieces);
      this.#missing += pieces;
    }
  }

  /** Takes up what an earlier attempt left in the folder. */
  static async open(options: BoardOptions): Promise<PieceBoard> {
    const board = new PieceBoard(options);
    await mkdir(options.folder, { recursive: true });
    for (const file of [...board.#left.keys()]) await board.#takeUp(file);
    return board;
  }

  /** Nothing is missing and nothing on its way. */
  get done(): boolean {
    return this.#missing === 0 && this.#asked === 0;
  }

  /** Pieces that are not there yet. */
  get left(): number {
    return this.#missing + this.#asked;
  }

  /** Whether nobody has been asked for the piece. */
  misses(piece: number): boolean {
    return this.#state[piece] === missing;
  }

  /** Whether there is a piece that nobody has been asked for and this peer has. */
  wants(has: (piece: number) => boolean): boolean {
    return this.#find(has) !== undefined;
  }

  /** No more pieces can be on their way for now. */
  get full(): boolean {
    return this.#asked > 0 && (this.#asked + 1) * this.info.pieceLength > maxHeldBytes;
  }

  /** A piece to ask this peer for; it must come back by `put` or `giveBack`. */
  take(has: (piece: number) => boolean): number | undefined {
    if (this.full) return undefined;
    const piece = this.#find(has);
    if (piece === undefined) return undefined;
    this.#state[piece] = asked;
    this.#missing -= 1;
    this.#asked += 1;
    this.#from = piece + 1;
    return piece;
  }

  giveBack(piece: number): void {
    if (this.#state[piece] !== asked) return;
    this.#state[piece] = missing;
    this.#missing += 1;
    this.#asked -= 1;
    this.#from = Math.min(this.#from, piece);
    this.round += 1;
  }

  /** How many bytes of a piece belong to its file; the rest is padding and is never asked for. */
  lengthOf(piece: number): number {
    const { file, start } = this.place(piece);
    return Math.min(this.info.pieceLength, file.length - start);
  }

  /** The file that a piece belongs to, and where in it. */
  place(piece: number): { file: TorrentFile; start: number } {
    const file = this.info.files.findLast(({ firstPiece, length }) => length > 0 && firstPiece <= piece);
    if (file === undefined) throw new RangeError(`no file has piece ${piece}`);
    return { file, start: (piece - file.firstPiece) * this.info.pieceLength };
  }

  /** Writes a piece that was taken, without its padding. False: it is not the one that was promised. */
  async put(piece: number, bytes: Buffer): Promise<boolean> {
    if (!this.#isRight(piece, bytes)) {
      this.giveBack(piece);
      return false;
    }
    const { file, start } = this.place(piece);
    try {
      await this.#write(file, start, bytes);
    } catch (error) {
      this.giveBack(piece);
      throw error;
    }
    this.#state[piece] = there;
    this.#asked -= 1;
    return true;
  }

  async #write(file: TorrentFile, start: number, bytes: Buffer): Promise<void> {
    const handle = await openForUpdate(join(this.#folder, file.name));
    try {
      await writeFully(handle, bytes, bytes.length, start);
      const left = (this.#left.get(file) ?? 0) - 1;
      if (left === 0) await handle.sync();
      this.#left.set(file, left);
    } finally {
      await handle.close();
    }
  }

  async #takeUp(file: TorrentFile): Promise<void> {
    const handle = await openForUpdate(join(this.#folder, file.name));
    try {
      if ((await handle.stat()).size > file.length) await handle.truncate(file.length);
      const buffer = Buffer.allocUnsafe(this.info.pieceLength);
      for (let piece = file.firstPiece, start = 0; start < file.length; piece += 1, start += buffer.length) {
        const length = Math.min(buffer.length, file.length - start);
        const { bytesRead } = await handle.read(buffer, 0, length, start);
        if (bytesRead < length) break;
        if (!this.#isRight(piece, buffer.subarray(0, length))) continue;
        this.#state[piece] = there;
        this.#missing -= 1;
        this.#left.set(file, (this.#left.get(file) ?? 0) - 1);
      }
    } finally {
      await handle.close();
    }
  }

  #isRight(piece: number, bytes: Buffer): boolean {
    const { pieceLength, pieces } = this.info;
    const whole =
      bytes.length === pieceLength
        ? bytes
        : Buffer.concat([bytes, Buffer.alloc(Math.max(0, pieceLength - bytes.length))], pieceLength);
    return hash('sha1', whole, 'buffer').equals(pieces.subarray(piece * 20, piece * 20 + 20));
  }

  #find(has: (piece: number) => boolean): number | undefined {
    const count = this.#state.length;
    for (let step = 0; step < count && this.#missing > 0; step += 1) {
      const piece = (this.#from + step) % count;
      if (this.#state[piece] === missing && has(piece)) return piece;
    }
    return undefined;
  }
}

function piecesOf({ length }: TorrentFile, pieceLength: number): number {
  return Math.ceil(length / pieceLength);
}

async function openForUpdate(path: string) {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return open(path, 'w+');
  }
}

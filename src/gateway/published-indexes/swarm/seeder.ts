/**
 * Gives the pieces of published bands to peers. Nothing is taken from them: what a peer asks for is checked against
 * the torrent, its requests wait in a bounded queue, and all uploads together keep to one rate.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { FormatError } from '../../../formats/format-error.ts';
import {
  type Block,
  encodeExtensions,
  encodeHandshake,
  encodeMessage,
  encodeMetadata,
  fullBitfield,
  type Handshake,
  metadataPieceBytes,
  type PeerMessage,
  pieceHead,
  readExtensions,
  readMetadata,
} from '../../../formats/torrent/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { PeerConnection } from './connection.ts';
import { peerIdOf } from './peer-id.ts';
import { RateLimit } from './rate-limit.ts';

/** A band that is published as a torrent. */
export interface Offer {
  readonly infohash: string;
  readonly info: Buffer;
  readonly pieceLength: number;
  readonly pieceCount: number;
  readonly files: readonly { readonly path: string; readonly length: number; readonly firstPiece: number }[];
}

export interface SeederOptions {
  readonly host: string;
  readonly port: number;
  /** Several processes listen on it. */
  readonly sharePort?: boolean;
  readonly maxConnections: number;
  readonly bytesPerSecond: number;
  /** The band of an infohash, as long as it is published. */
  readonly offer: (infohash: string) => Promise<Offer | undefined>;
  readonly log: Logger;
  readonly uploaded?: (bytes: number) => void;
}

const maxWaiting = 500;
const maxEarly = 64;
const maxBlock = 128 * 1024;
const maxPerAddress = 8;

export class Seeder {
  readonly peerId: Buffer = peerIdOf(randomBytes(12));
  readonly #options: SeederOptions;
  readonly #server: Server;
  readonly #rate: RateLimit;
  readonly #uploads = new Set<Upload>();

  constructor(options: SeederOptions) {
    this.#options = options;
    this.#rate = new RateLimit(options.bytesPerSecond);
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = options.maxConnections;
    this.#server.on('error', (error) => options.log.warn({ err: error }, 'the seeder of the indexes failed'));
  }

  get connections(): number {
    return this.#uploads.size;
  }

  /** The port it listens on; rejects where it is taken. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { host, port, sharePort = false } = this.#options;
      this.#server.listen({ host, port, reusePort: sharePort }, () => {
        this.#server.off('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Ends uploads of what is not published any more. */
  keepOnly(infohashes: ReadonlySet<string>): void {
    for (const upload of this.#uploads) {
      if (upload.infohash !== undefined && !infohashes.has(upload.infohash)) upload.close();
    }
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const upload of this.#uploads) upload.close();
    await closed;
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const same = [...this.#uploads].filter((upload) => upload.address === address).length;
    if (same >= maxPerAddress) {
      socket.destroy();
      return;
    }
    const upload = new Upload(socket, address, this.peerId, this.#rate, this.#options, () =>
      this.#uploads.delete(upload),
    );
    this.#uploads.add(upload);
  }
}

class Upload {
  readonly address: string;
  readonly #connection: PeerConnection;
  readonly #peerId: Buffer;
  readonly #rate: RateLimit;
  readonly #options: SeederOptions;
  readonly #waiting: Block[] = [];
  /** Messages that came before it was known what the peer wants. */
  readonly #early: PeerMessage[] = [];
  #offer: Offer | undefined;
  #metadataId: number | undefined;
  #infoAsked = 0;
  #unchoked = false;
  #working = false;
  #open: { readonly path: string; readonly file: FileHandle } | undefined;

  constructor(
    socket: Socket,
    address: string,
    peerId: Buffer,
    rate: RateLimit,
    options: SeederOptions,
    ended: () => void,
  ) {
    this.address = address;
    this.#peerId = peerId;
    this.#rate = rate;
    this.#options = options;
    this.#connection = new PeerConnection(socket, {
      greeted: (handshake) => void this.#greet(handshake).catch(() => this.close()),
      message: (message) => this.#take(message),
      closed: () => {
        ended();
        if (!this.#working) void this.#closeFile();
      },
    });
  }

  get infohash(): string | undefined {
    return this.#offer?.infohash;
  }

  close(): void {
    this.#connection.close();
  }

  async #greet({ infohash, extended, peerId }: Handshake): Promise<void> {
    const offer = peerId.equals(this.#peerId) ? undefined : await this.#options.offer(infohash);
    if (offer === undefined) throw new FormatError('that is not published here');
    this.#offer = offer;
    this.#connection.send(encodeHandshake(infohash, this.#peerId));
    if (extended)
      this.#connection.send(encodeExtensions({ requests: maxWaiting, infoBytes: offer.info.length }));
    this.#connection.send(encodeMessage({ kind: 'bitfield', bits: fullBitfield(offer.pieceCount) }));
    for (const message of this.#early.splice(0)) this.#take(message);
  }

  #take(message: PeerMessage): void {
    const offer = this.#offer;
    if (offer === undefined) {
      if (this.#early.push(message) > maxEarly) throw new FormatError('too much is said at once');
      return;
    }
    switch (message.kind) {
      case 'interested':
        this.#unchoked = true;
        this.#connection.send(encodeMessage({ kind: 'unchoke' }));
        break;
      case 'request':
        if (!this.#unchoked || !isIn(offer, message))
          throw new FormatError('the request is not in the torrent');
        if (this.#waiting.length >= maxWaiting) throw new FormatError('too many requests wait');
        this.#waiting.push(message);
        if (!this.#working) void this.#work(offer).catch(() => this.close());
        break;
      case 'cancel': {
        const at = this.#waiting.findIndex(
          ({ piece, begin }) => piece === message.piece && begin === message.begin,
        );
        if (at !== -1) this.#waiting.splice(at, 1);
        break;
      }
      case 'extended':
        if (message.id === 0) this.#metadataId = readExtensions(message.payload).metadata;
        else this.#giveInfo(offer.info, message.payload);
        break;
      default:
      // What a peer has itself is of no interest: this side has everything.
    }
  }

  #giveInfo(info: Buffer, payload: Buffer): void {
    const asked = readMetadata(payload);
    if (asked.kind !== 'request' || this.#metadataId === undefined) return;
    // It is given beside the rate of the pieces: as often as a peer may need it, not as often as it likes.
    this.#infoAsked += metadataPieceBytes;
    if (this.#infoAsked > 4 * info.length + 16 * metadataPieceBytes)
      throw new FormatError('the metadata is asked for again and again');
    const start = asked.piece * metadataPieceBytes;
    const bytes = info.subarray(start, start + metadataPieceBytes);
    const answer =
      start < info.length
        ? ({ kind: 'data', piece: asked.piece, bytes } as const)
        : ({ kind: 'reject', piece: asked.piece } as const);
    this.#connection.send(encodeMessage(encodeMetadata(this.#metadataId, answer, info.length)));
  }

  async #work(offer: Offer): Promise<void> {
    this.#working = true;
    try {
      for (let block = this.#waiting.shift(); block !== undefined; block = this.#waiting.shift()) {
        await this.#rate.take(block.length);
        if (this.#connection.closed) return;
        const message = Buffer.alloc(13 + block.length);
        pieceHead(block).copy(message);
        await this.#read(offer, block, message);
        if (!this.#connection.send(message)) await this.#connection.drained();
        this.#options.uploaded?.(block.length);
      }
    } finally {
      this.#working = false;
      if (this.#connection.closed) await this.#closeFile();
    }
  }

  /** What lies behind the end of a file is padding: zeros. */
  async #read(offer: Offer, { piece, begin, length }: Block, into: Buffer): Promise<void> {
    const file = offer.files.findLast(({ firstPiece, length }) => length > 0 && firstPiece <= piece);
    if (file === undefined) throw new Error('no file has the piece');
    const start = (piece - file.firstPiece) * offer.pieceLength + begin;
    const wanted = Math.max(0, Math.min(length, file.length - start));
    if (wanted === 0) return;
    if (this.#open?.path !== file.path) {
      await this.#closeFile();
      this.#open = { path: file.path, file: await open(file.path, 'r') };
    }
    const { bytesRead } = await this.#open.file.read(into, 13, wanted, start);
    if (bytesRead !== wanted) throw new Error('the file ends early');
  }

  async #closeFile(): Promise<void> {
    const opened = this.#open;
    this.#open = undefined;
    await opened?.file.close();
  }
}

function isIn({ pieceCount, pieceLength }: Offer, { piece, begin, length }: Block): boolean {
  return piece < pieceCount && length > 0 && length <= maxBlock && begin + length <= pieceLength;
}

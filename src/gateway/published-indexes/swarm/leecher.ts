/**
 * One peer that pieces are asked of. A piece comes whole from one peer, so that a wrong one is that peer's doing;
 * requests are pipelined, and a peer that promises and does not deliver is left.
 */
import { connect } from 'node:net';
import { FormatError } from '../../../formats/format-error.ts';
import {
  blockBytes,
  encodeExtensions,
  encodeHandshake,
  encodeMessage,
  hasPiece,
  type PeerAddress,
  type PeerMessage,
  setPiece,
} from '../../../formats/torrent/index.ts';
import type { PieceBoard } from './board.ts';
import { PeerConnection } from './connection.ts';

export interface LeecherOptions {
  readonly peer: PeerAddress;
  readonly board: PieceBoard;
  readonly peerId: Buffer;
  readonly received: (bytes: number) => void;
  /** A piece is on disk. */
  readonly progressed: () => void;
  /** Called once: how it ended, and whether it brought anything. */
  readonly ended: (end: LeechEnd) => void;
  /** The disk failed: no peer can help. */
  readonly failed: (error: unknown) => void;
}

export interface LeechEnd {
  /** It sent a piece that was not the one promised. */
  readonly lied: boolean;
  readonly pieces: number;
}

interface Assembly {
  readonly piece: number;
  readonly bytes: Buffer;
  /** Blocks that have not come, by where they begin. */
  readonly open: Set<number>;
}

/** Two or more pieces of the usual length are on their way at any time. */
const pipelined = 48;
const stalledMs = 30_000;
const dialMs = 10_000;
/** Times that a peer may take back its promise without having brought a piece. */
const maxChokes = 64;

export class Leecher {
  readonly #options: LeecherOptions;
  readonly #connection: PeerConnection;
  readonly #bits: Buffer;
  readonly #assemblies = new Map<number, Assembly>();
  #stalled: NodeJS.Timeout;
  #choked = true;
  #interested = false;
  #outstanding = 0;
  #pieces = 0;
  #chokes = 0;
  #lied = false;
  /** The round of the board in which this peer had nothing: to look again costs a walk over all pieces. */
  #nothingIn: number | undefined;

  constructor(options: LeecherOptions) {
    this.#options = options;
    const { peer, board, peerId } = options;
    this.#bits = Buffer.alloc(Math.ceil(board.info.pieceCount / 8));
    const socket = connect({ host: peer.host, port: peer.port });
    this.#stalled = setTimeout(() => this.close(), dialMs + stalledMs);
    this.#connection = new PeerConnection(socket, {
      greeted: ({ infohash, peerId: theirs, extended }) => {
        if (infohash !== board.info.infohashV1 || theirs.equals(peerId))
          throw new FormatError('the peer has another torrent');
        if (extended) this.#connection.send(encodeExtensions({ requests: 0 }));
      },
      message: (message) => this.#take(message),
      closed: () => this.#end(),
    });
    socket.once('connect', () => this.#connection.send(encodeHandshake(board.info.infohashV1, peerId)));
  }

  close(): void {
    this.#connection.close();
  }

  /** Asks for more where others gave pieces back. */
  wake(): void {
    this.#ask();
  }

  #take(message: PeerMessage): void {
    const { pieceCount } = this.#options.board.info;
    switch (message.kind) {
      case 'bitfield':
        if (message.bits.length !== this.#bits.length) throw new FormatError('the bitfield is wrong');
        message.bits.copy(this.#bits);
        this.#nothingIn = undefined;
        break;
      case 'have':
        if (message.piece >= pieceCount) throw new FormatError('there is no such piece');
        setPiece(this.#bits, message.piece);
        if (!this.#options.board.misses(message.piece)) return;
        this.#nothingIn = undefined;
        break;
      case 'choke':
        this.#choked = true;
        if (this.#outstanding > 0) this.#chokes += 1;
        if (this.#chokes > maxChokes + this.#pieces)
          throw new FormatError('the peer promises again and again');
        this.#giveBack();
        break;
      case 'unchoke':
        this.#choked = false;
        break;
      case 'piece':
        this.#put(message.piece, message.begin, message.bytes);
        break;
      default:
        return;
    }
    this.#ask();
  }

  #has = (piece: number): boolean => hasPiece(this.#bits, piece);

  #ask(): void {
    const { board } = this.#options;
    if (this.#connection.closed || !this.#connection.greeted || this.#nothingIn === board.round) return;
    if (!this.#interested) {
      if (!board.wants(this.#has)) {
        this.#nothingIn = board.round;
        return;
      }
      this.#interested = true;
      this.#connection.send(encodeMessage({ kind: 'interested' }));
    }
    while (!this.#choked && this.#outstanding < pipelined) {
      if (board.full) return;
      const piece = board.take(this.#has);
      if (piece === undefined) {
        this.#nothingIn = board.round;
        return;
      }
      const bytes = Buffer.allocUnsafe(board.lengthOf(piece));
      const open = new Set<number>();
      const requests: Buffer[] = [];
      for (let begin = 0; begin < bytes.length; begin += blockBytes) {
        open.add(begin);
        const length = Math.min(blockBytes, bytes.length - begin);
        requests.push(encodeMessage({ kind: 'request', piece, begin, length }));
      }
      this.#assemblies.set(piece, { piece, bytes, open });
      this.#outstanding += open.size;
      this.#connection.send(Buffer.concat(requests));
    }
  }

  #put(piece: number, begin: number, block: Buffer): void {
    const assembly = this.#assemblies.get(piece);
    // A block that was asked for before a choke may still come.
    if (assembly === undefined || !assembly.open.has(begin)) return;
    if (block.length !== Math.min(blockBytes, assembly.bytes.length - begin))
      throw new FormatError('a block has another length');
    block.copy(assembly.bytes, begin);
    assembly.open.delete(begin);
    this.#outstanding -= 1;
    this.#options.received(block.length);
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(() => this.close(), stalledMs);
    if (assembly.open.size > 0) return;
    this.#assemblies.delete(piece);
    this.#options.board.put(piece, assembly.bytes).then(
      (right) => {
        if (right) {
          this.#pieces += 1;
          this.#options.progressed();
          this.#ask();
        } else {
          this.#lied = true;
          this.close();
        }
      },
      (error: unknown) => this.#options.failed(error),
    );
  }

  #giveBack(): void {
    for (const piece of this.#assemblies.keys()) this.#options.board.giveBack(piece);
    this.#assemblies.clear();
    this.#outstanding = 0;
  }

  #end(): void {
    clearTimeout(this.#stalled);
    this.#giveBack();
    this.#options.ended({ lied: this.#lied, pieces: this.#pieces });
  }
}

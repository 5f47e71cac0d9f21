/** The peer wire protocol (BEP 3) with its extension message (BEP 10): bytes to messages and back. */
import { FormatError } from '../format-error.ts';

export const handshakeBytes = 68;
/** The unit in which pieces are asked for. */
export const blockBytes = 16 * 1024;
/** No message is longer: a block with its head, or a bitfield of eight million pieces. */
export const maxMessageBytes = 1024 * 1024;
const maxHeldPieces = 256;

const protocol = Buffer.from('\x13BitTorrent protocol', 'latin1');
const extensionByte = protocol.length + 5;
const extensionBit = 0x10;

export interface Handshake {
  /** Lower-case hex. */
  readonly infohash: string;
  readonly peerId: Buffer;
  /** Whether the peer speaks extension messages. */
  readonly extended: boolean;
}

export function encodeHandshake(infohash: string, peerId: Buffer): Buffer {
  const bytes = Buffer.alloc(handshakeBytes);
  protocol.copy(bytes);
  bytes[extensionByte] = extensionBit;
  bytes.write(infohash, 28, 'hex');
  peerId.copy(bytes, 48);
  return bytes;
}

export function decodeHandshake(bytes: Buffer): Handshake {
  if (bytes.length < handshakeBytes || !bytes.subarray(0, protocol.length).equals(protocol))
    throw new FormatError('the peer speaks another protocol');
  return {
    infohash: bytes.toString('hex', 28, 48),
    peerId: Buffer.from(bytes.subarray(48, 68)),
    extended: (bytes[extensionByte]! & extensionBit) !== 0,
  };
}

export interface Block {
  readonly piece: number;
  readonly begin: number;
  readonly length: number;
}

export type PeerMessage =
  | { readonly kind: 'choke' | 'unchoke' | 'interested' | 'not interested' | 'other' }
  | { readonly kind: 'have'; readonly piece: number }
  | { readonly kind: 'bitfield'; readonly bits: Buffer }
  | ({ readonly kind: 'request' | 'cancel' } & Block)
  | { readonly kind: 'piece'; readonly piece: number; readonly begin: number; readonly bytes: Buffer }
  | { readonly kind: 'extended'; readonly id: number; readonly payload: Buffer };

const plain = ['choke', 'unchoke', 'interested', 'not interested'] as const;

export function encodeMessage(message: PeerMessage): Buffer {
  switch (message.kind) {
    case 'have':
      return framed(4, [message.piece]);
    case 'bitfield':
      return framed(5, [], message.bits);
    case 'request':
      return framed(6, [message.piece, message.begin, message.length]);
    case 'piece':
      return framed(7, [message.piece, message.begin], message.bytes);
    case 'cancel':
      return framed(8, [message.piece, message.begin, message.length]);
    case 'extended':
      return framed(20, [], Buffer.concat([Buffer.of(message.id), message.payload]));
    case 'other':
      throw new FormatError('there is no such message');
    default:
      return framed(plain.indexOf(message.kind), []);
  }
}

/** The head of a `piece` message, for a block that is written after it. */
export function pieceHead({ piece, begin, length }: Block): Buffer {
  const bytes = Buffer.allocUnsafe(13);
  bytes.writeUInt32BE(9 + length, 0);
  bytes[4] = 7;
  bytes.writeUInt32BE(piece, 5);
  bytes.writeUInt32BE(begin, 9);
  return bytes;
}

export const keepAlive = Buffer.alloc(4);

function framed(id: number, numbers: readonly number[], payload: Buffer = empty): Buffer {
  const bytes = Buffer.allocUnsafe(5 + numbers.length * 4 + payload.length);
  bytes.writeUInt32BE(bytes.length - 4, 0);
  bytes[4] = id;
  for (const [at, number] of numbers.entries()) bytes.writeUInt32BE(number, 5 + at * 4);
  payload.copy(bytes, 5 + numbers.length * 4);
  return bytes;
}

const empty = Buffer.alloc(0);

/** Cuts the byte stream of a peer into its handshake and its messages. Holds at most one message. */
export class PeerReader {
  readonly #held: Buffer[] = [];
  #size = 0;
  #greeted = false;

  /** Throws `FormatError` for what no peer may send. */
  push(bytes: Buffer): (Handshake | PeerMessage)[] {
    this.#held.push(bytes);
    this.#size += bytes.length;
    // A peer that drips its bytes must not cost more than the bytes.
    if (this.#held.length > maxHeldPieces) this.#held.splice(0, this.#held.length, Buffer.concat(this.#held));
    const found: (Handshake | PeerMessage)[] = [];
    if (!this.#greeted) {
      if (this.#size < handshakeBytes) return found;
      found.push(decodeHandshake(this.#take(handshakeBytes)));
      this.#greeted = true;
    }
    while (this.#size >= 4) {
      const length = this.#peekLength();
      if (length > maxMessageBytes) throw new FormatError('the message is too long');
      if (this.#size < 4 + length) break;
      const message = this.#take(4 + length).subarray(4);
      if (length > 0) found.push(decodeMessage(message));
    }
    return found;
  }

  #peekLength(): number {
    const [first] = this.#held;
    if (first !== undefined && first.length >= 4) return first.readUInt32BE(0);
    const joined = Buffer.concat(this.#held);
    this.#held.splice(0, this.#held.length, joined);
    return joined.readUInt32BE(0);
  }

  #take(length: number): Buffer {
    const joined = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#held.length = 0;
    this.#size -= length;
    if (joined.length > length) this.#held.push(joined.subarray(length));
    return joined.subarray(0, length);
  }
}

function decodeMessage(bytes: Buffer): PeerMessage {
  const id = bytes[0]!;
  const number = (at: number) => bytes.readUInt32BE(1 + at * 4);
  const exactly = (length: number) => {
    if (bytes.length !== length) throw new FormatError('a message has another length');
  };
  const named = plain[id];
  if (named !== undefined) {
    exactly(1);
    return { kind: named };
  }
  switch (id) {
    case 4:
      exactly(5);
      return { kind: 'have', piece: number(0) };
    case 5:
      return { kind: 'bitfield', bits: bytes.subarray(1) };
    case 6:
    case 8:
      exactly(13);
      return {
        kind: id === 6 ? 'request' : 'cancel',
        piece: number(0),
        begin: number(1),
        length: number(2),
      };
    case 7:
      if (bytes.length < 9) throw new FormatError('a message has another length');
      return { kind: 'piece', piece: number(0), begin: number(1), bytes: bytes.subarray(9) };
    case 20:
      if (bytes.length < 2) throw new FormatError('a message has another length');
      return { kind: 'extended', id: bytes[1]!, payload: bytes.subarray(2) };
    default:
      return { kind: 'other' };
  }
}

/** One bit per piece, the first in the highest bit; spare bits are zero. */
export function fullBitfield(pieces: number): Buffer {
  const bits = Buffer.alloc(Math.ceil(pieces / 8), 0xff);
  if (pieces % 8 !== 0) bits[bits.length - 1] = (0xff << (8 - (pieces % 8))) & 0xff;
  return bits;
}

export function hasPiece(bits: Buffer, piece: number): boolean {
  return ((bits[piece >> 3] ?? 0) & (0x80 >> (piece & 7))) !== 0;
}

export function setPiece(bits: Buffer, piece: number): void {
  const at = piece >> 3;
  if (at < bits.length) bits[at] = bits[at]! | (0x80 >> (piece & 7));
}

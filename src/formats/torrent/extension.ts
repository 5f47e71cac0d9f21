/** Extension messages (BEP 10) and the exchange of `info` between peers (BEP 9, ut_metadata). */
import { FormatError } from '../format-error.ts';
import { bdecode, bdecodeFirst, isDictionary } from './bdecode.ts';
import { bencode } from './bencode.ts';
import { encodeMessage, type PeerMessage } from './peer-wire.ts';

/** How we wish metadata messages to be numbered when they are sent to us. */
export const metadataId = 2;
export const metadataPieceBytes = 16 * 1024;
export const maxInfoBytes = 16 * 1024 * 1024;

/** `reqq`: how many requests may wait here. */
export function encodeExtensions(options: { requests: number; infoBytes?: number }): Buffer {
  const members = new Map<string, Parameters<typeof bencode>[0]>([
    ['m', new Map([['ut_metadata', metadataId]])],
    ['reqq', options.requests],
  ]);
  if (options.infoBytes !== undefined) members.set('metadata_size', options.infoBytes);
  return encodeMessage({ kind: 'extended', id: 0, payload: bencode(members) });
}

export interface PeerExtensions {
  /** How the peer numbers metadata messages; undefined where it has none. */
  readonly metadata: number | undefined;
  readonly infoBytes: number | undefined;
}

export function readExtensions(payload: Buffer): PeerExtensions {
  const value = bdecode(payload);
  if (!isDictionary(value)) throw new FormatError('the extension handshake is no dictionary');
  const names = value.members.get('m');
  const metadata = isDictionary(names) ? names.members.get('ut_metadata') : undefined;
  const size = value.members.get('metadata_size');
  return {
    metadata: typeof metadata === 'number' && metadata > 0 && metadata < 256 ? metadata : undefined,
    infoBytes: typeof size === 'number' && size > 0 && size <= maxInfoBytes ? size : undefined,
  };
}

export type MetadataMessage =
  | { readonly kind: 'request' | 'reject'; readonly piece: number }
  | { readonly kind: 'data'; readonly piece: number; readonly bytes: Buffer };

const kinds = ['request', 'data', 'reject'] as const;

export function encodeMetadata(id: number, message: MetadataMessage, infoBytes = 0): PeerMessage {
  const head = new Map([
    ['msg_type', kinds.indexOf(message.kind)],
    ['piece', message.piece],
  ]);
  if (message.kind === 'data') head.set('total_size', infoBytes);
  const bytes = message.kind === 'data' ? message.bytes : Buffer.alloc(0);
  return { kind: 'extended', id, payload: Buffer.concat([bencode(head), bytes]) };
}

export function readMetadata(payload: Buffer): MetadataMessage {
  const { value, end } = bdecodeFirst(payload);
  if (!isDictionary(value)) throw new FormatError('a metadata message has no head');
  const piece = value.members.get('piece');
  const type = value.members.get('msg_type');
  const kind = typeof type === 'number' ? kinds[type] : undefined;
  if (kind === undefined || typeof piece !== 'number' || piece < 0)
    throw new FormatError('a metadata message is wrong');
  return kind === 'data' ? { kind, piece, bytes: payload.subarray(end) } : { kind, piece };
}

/**
 * Finds the `info` of a torrent: from the publisher's `.torrent` file, or else from peers (BEP 9). Whoever gives it,
 * it counts only with both infohashes that were signed.
 */
import { hash } from 'node:crypto';
import { connect } from 'node:net';
import { FormatError } from '../../../formats/format-error.ts';
import {
  encodeExtensions,
  encodeHandshake,
  encodeMessage,
  encodeMetadata,
  metadataId,
  metadataPieceBytes,
  type PeerAddress,
  type PeerMessage,
  readExtensions,
  readMetadata,
} from '../../../formats/torrent/index.ts';
import { PeerConnection } from './connection.ts';

export interface SignedHashes {
  readonly infohashV1: string;
  readonly infohashV2?: string;
}

export function isSignedInfo(info: Buffer, { infohashV1, infohashV2 }: SignedHashes): boolean {
  return (
    hash('sha1', info, 'hex') === infohashV1 &&
    (infohashV2 === undefined || hash('sha256', info, 'hex') === infohashV2)
  );
}

const patienceMs = 20_000;
const pipelined = 16;

/** Asks one peer; undefined where it has nothing that is right. */
export function infoFromPeer(
  peer: PeerAddress,
  hashes: SignedHashes,
  peerId: Buffer,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const { infohashV1 } = hashes;
    const socket = connect({ host: peer.host, port: peer.port });
    const parts: Buffer[] = [];
    let size = 0;
    let asked = 0;
    let answered = 0;
    let found: Buffer | undefined;
    let ask = () => {};
    const close = () => connection.close();
    const timer = setTimeout(close, patienceMs);
    signal.addEventListener('abort', close);
    const take = (message: PeerMessage): void => {
      if (message.kind !== 'extended') return;
      if (message.id === 0) {
        const { metadata, infoBytes } = readExtensions(message.payload);
        if (metadata === undefined || infoBytes === undefined || size > 0)
          throw new FormatError('the peer has no metadata');
        size = infoBytes;
        ask = () => {
          if (asked * metadataPieceBytes >= size) return;
          connection.send(encodeMessage(encodeMetadata(metadata, { kind: 'request', piece: asked })));
          asked += 1;
        };
        for (let count = 0; count < pipelined; count += 1) ask();
      } else if (message.id === metadataId) {
        const answer = readMetadata(message.payload);
        if (answer.kind === 'request') return;
        const start = answer.piece * metadataPieceBytes;
        const length = Math.min(metadataPieceBytes, size - start);
        if (answer.kind !== 'data' || answer.bytes.length !== length || parts[answer.piece] !== undefined)
          throw new FormatError('the peer gives no metadata');
        parts[answer.piece] = Buffer.from(answer.bytes);
        answered += 1;
        if (answered * metadataPieceBytes < size) {
          ask();
          return;
        }
        const info = Buffer.concat(parts);
        if (isSignedInfo(info, hashes)) found = info;
        close();
      }
    };
    const connection = new PeerConnection(socket, {
      greeted: ({ infohash, extended, peerId: theirs }) => {
        if (infohash !== infohashV1 || !extended || theirs.equals(peerId))
          throw new FormatError('the peer has no metadata');
        connection.send(encodeExtensions({ requests: 0 }));
      },
      message: take,
      closed: () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', close);
        resolve(found);
      },
    });
    socket.once('connect', () => connection.send(encodeHandshake(infohashV1, peerId)));
    if (signal.aborted) close();
  });
}

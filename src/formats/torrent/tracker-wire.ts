/** What clients and trackers say to each other (BEP 3, compact peers BEP 23 and BEP 7). */
import { isIPv4, isIPv6 } from 'node:net';
import { FormatError } from '../format-error.ts';
import { type BencodedValue, bdecode, isDictionary } from './bdecode.ts';

export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

export interface Announced {
  /** Seconds until the tracker wants to hear again. */
  readonly interval: number;
  readonly peers: readonly PeerAddress[];
}

const maxPeers = 200;

/** Throws `FormatError` for an answer that is none, or is the tracker's refusal. */
export function readAnnounceAnswer(bytes: Buffer): Announced {
  const value = bdecode(bytes);
  if (!isDictionary(value)) throw new FormatError('the tracker gave no answer');
  const failure = value.members.get('failure reason');
  if (Buffer.isBuffer(failure))
    throw new FormatError(`the tracker refuses: ${failure.toString('utf8', 0, 200)}`);
  const interval = value.members.get('interval');
  return {
    interval: typeof interval === 'number' && interval > 0 ? interval : 300,
    peers: [
      ...readPeers(value.members.get('peers')),
      ...unpack(value.members.get('peers6'), 16, ipv6Text),
    ].slice(0, maxPeers),
  };
}

function readPeers(value: BencodedValue | undefined): PeerAddress[] {
  if (!Array.isArray(value)) return unpack(value, 4, (bytes) => bytes.join('.'));
  const peers: PeerAddress[] = [];
  for (const one of value) {
    if (!isDictionary(one)) continue;
    const host = one.members.get('ip');
    const port = one.members.get('port');
    if (Buffer.isBuffer(host) && typeof port === 'number' && port > 0 && port < 65_536)
      peers.push({ host: host.toString('latin1'), port });
  }
  return peers;
}

function unpack(
  value: BencodedValue | undefined,
  width: number,
  show: (address: Buffer) => string,
): PeerAddress[] {
  if (!Buffer.isBuffer(value)) return [];
  const peers: PeerAddress[] = [];
  for (let at = 0; at + width + 2 <= value.length; at += width + 2) {
    const port = value.readUInt16BE(at + width);
    if (port > 0) peers.push({ host: show(value.subarray(at, at + width)), port });
  }
  return peers;
}

/** Addresses of one family, packed: 6 bytes each for IPv4, 18 for IPv6. */
export function packPeers(peers: readonly PeerAddress[], family: 4 | 6): Buffer {
  const packed = peers
    .filter(({ host }) => (family === 4 ? isIPv4(host) : isIPv6(host)))
    .map(({ host, port }) => {
      const address = family === 4 ? Buffer.from(host.split('.').map(Number)) : ipv6Bytes(host);
      return Buffer.concat([address, Buffer.of(port >> 8, port & 0xff)]);
    });
  return Buffer.concat(packed);
}

function ipv6Text(bytes: Buffer): string {
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) groups.push(bytes.readUInt16BE(at).toString(16));
  return groups.join(':');
}

/** Of an address that `isIPv6` accepts, without a zone. */
function ipv6Bytes(text: string): Buffer {
  const [plain = ''] = text.split('%');
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain);
  const hex = (high = '0', low = '0') => ((Number(high) << 8) | Number(low)).toString(16);
  const full =
    dotted === null ? plain : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`;
  const [left = '', right] = full.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [first, last] = [groups(left), groups(right ?? '')];
  const all =
    right === undefined ? first : [...first, ...new Array(8 - first.length - last.length).fill('0'), ...last];
  const bytes = Buffer.alloc(16);
  for (const [at, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(String(group), 16), at * 2);
  return bytes;
}

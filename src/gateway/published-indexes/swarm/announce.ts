/** Asks an HTTP tracker for peers (BEP 3). Answers are small; redirects are none. */
import { isIP } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import { type Announced, readAnnounceAnswer } from '../../../formats/torrent/index.ts';
import { type AddressRules, allowedAddresses } from './addresses.ts';

export interface Announcement {
  readonly infohash: string;
  readonly peerId: Buffer;
  readonly left: number;
  readonly event?: 'started' | 'stopped';
}

const maxAnswerBytes = 64 * 1024;
const patienceMs = 15_000;
/** Nobody listens behind it: a download that does not upload says so by this port. */
const noPort = 1;

/** Connections go to allowed addresses only, also where a name leads elsewhere by the time it is dialled. */
export function trackerDispatcher(rules: AddressRules): Dispatcher {
  return new Agent({
    connections: 4,
    connect: {
      timeout: 10_000,
      lookup(host, _options, done) {
        allowedAddresses(host, rules).then(
          ([address]) => {
            if (address === undefined) done(new Error(`${host} is no public host`), '', 4);
            else done(null, [{ address, family: isIP(address) }]);
          },
          (error: Error) => done(error, '', 4),
        );
      },
    },
  });
}

export async function announce(
  tracker: URL,
  { infohash, peerId, left, event }: Announcement,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Announced> {
  const query = [
    `info_hash=${percent(Buffer.from(infohash, 'hex'))}`,
    `peer_id=${percent(peerId)}`,
    `port=${noPort}&uploaded=0&downloaded=0&left=${left}&compact=1&numwant=50`,
    ...(event === undefined ? [] : [`event=${event}`]),
  ].join('&');
  const { statusCode, body } = await request(`${tracker.href}${tracker.search === '' ? '?' : '&'}${query}`, {
    dispatcher,
    signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
  });
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > maxAnswerBytes) throw new Error(`${tracker.host} answers too much`);
    pieces.push(piece);
  }
  if (statusCode !== 200) throw new Error(`${tracker.host} answered ${statusCode}`);
  return readAnnounceAnswer(Buffer.concat(pieces));
}

function percent(bytes: Buffer): string {
  return bytes.toString('hex').replace(/../g, '%$&');
}

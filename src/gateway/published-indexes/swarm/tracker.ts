/**
 * A closed tracker: knows peers of published bands only, forgets them in time, and bounds whatever strangers can make
 * it keep. Without a database: peers announce themselves anew.
 */
import { isIP } from 'node:net';
import { type Bencoded, bencode, type PeerAddress, packPeers } from '../../../formats/torrent/index.ts';
import { isPublicAddress } from '../../../kernel/http/public-addresses.ts';

export interface AnnounceRequest {
  /** Lower-case hex. */
  readonly infohash: string;
  readonly port: number;
  readonly left: number;
  readonly stopped: boolean;
  readonly wanted: number;
}

export interface TrackerOptions {
  /** Whether peers of this infohash may meet here. */
  readonly registered: (infohash: string) => boolean;
  readonly now?: () => number;
}

interface Known extends PeerAddress {
  readonly seeds: boolean;
  readonly expires: number;
}

const interval = 300;
const minInterval = Math.max(30, interval / 4);
const expiryMs = (2 * interval + 60) * 1000;
const maxSample = 50;
const maxPerSwarm = 2_000;
const maxPeers = 50_000;
const portsPerAddress = 4;
const announcesPerMinute = 10;
/** Port 1 is said by peers that do not listen. */
const noPort = 1;

/** The peers of one band, with the counts that every announce needs. */
class Swarm {
  readonly peers = new Map<string, Known>();
  readonly #perNetwork = new Map<string, number>();
  seeders = 0;

  add(key: string, peer: Known): void {
    this.remove(key);
    this.peers.set(key, peer);
    this.#count(peer, 1);
  }

  remove(key: string): boolean {
    const peer = this.peers.get(key);
    if (peer === undefined) return false;
    this.peers.delete(key);
    this.#count(peer, -1);
    return true;
  }

  from(host: string): number {
    return this.#perNetwork.get(network(host)) ?? 0;
  }

  /** Somebody who has nothing to give. */
  leecher(): string | undefined {
    if (this.seeders === this.peers.size) return undefined;
    for (const [key, { seeds }] of this.peers) if (!seeds) return key;
    return undefined;
  }

  #count({ host, seeds }: Known, by: 1 | -1): void {
    const count = this.from(host) + by;
    if (count === 0) this.#perNetwork.delete(network(host));
    else this.#perNetwork.set(network(host), count);
    if (seeds) this.seeders += by;
  }
}

export class Tracker {
  readonly #options: TrackerOptions;
  readonly #now: () => number;
  readonly #swarms = new Map<string, Swarm>();
  #heard = new Map<string, number>();
  #minute = 0;
  #count = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get peers(): number {
    return this.#count;
  }

  /** The bencoded answer to an announce from that address; `own` is this gateway's own seeder. */
  announce(request: AnnounceRequest, address: string, own?: PeerAddress): Buffer {
    const { infohash, port } = request;
    const host = plainAddress(address);
    if (!this.#options.registered(infohash)) return failure('unregistered torrent');
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return failure('invalid port');
    this.#everyMinute();
    if (this.#tooOften(`${network(host)} ${infohash}`)) return failure('slow down');
    const swarm = this.#swarms.get(infohash) ?? new Swarm();
    this.#swarms.set(infohash, swarm);
    const key = `${host} ${port}`;
    if (swarm.remove(key)) this.#count -= 1;
    if (!request.stopped && port !== noPort) this.#add(swarm, key, host, request);
    const peers = this.#sample(swarm, key, own, !isPublicAddress(host), Math.min(request.wanted, maxSample));
    return bencode(
      new Map<string, Bencoded>([
        ['interval', interval],
        ['min interval', minInterval],
        ['complete', swarm.seeders + (own === undefined ? 0 : 1)],
        ['incomplete', swarm.peers.size - swarm.seeders],
        ['peers', packPeers(peers, 4)],
        ['peers6', packPeers(peers, 6)],
      ]),
    );
  }

  #add(swarm: Swarm, key: string, host: string, { port, left }: AnnounceRequest): void {
    if (swarm.from(host) >= portsPerAddress || this.#count >= maxPeers) return;
    if (swarm.peers.size >= maxPerSwarm) {
      const leecher = swarm.leecher();
      if (leecher === undefined) return;
      swarm.remove(leecher);
      this.#count -= 1;
    }
    swarm.add(key, { host, port, seeds: left === 0, expires: this.#now() + expiryMs });
    this.#count += 1;
  }

  /** The own seeder first, then others by chance; addresses of a private network stay inside it. */
  #sample(
    swarm: Swarm,
    asker: string,
    own: PeerAddress | undefined,
    inside: boolean,
    wanted: number,
  ): PeerAddress[] {
    const now = this.#now();
    const others = [...swarm.peers];
    const start = Math.floor(Math.random() * others.length);
    const found: PeerAddress[] = [];
    const take = (peer: PeerAddress) => {
      if (inside || isPublicAddress(peer.host)) found.push(peer);
    };
    if (own !== undefined && wanted > 0) take(own);
    for (let step = 0; step < others.length && found.length < wanted; step += 1) {
      const [key, peer] = others[(start + step) % others.length]!;
      if (key !== asker && peer.expires > now) take(peer);
    }
    return found;
  }

  /** Forgets who has not been heard of, and what is not published any more. */
  #everyMinute(): void {
    const now = this.#now();
    const minute = Math.floor(now / 60_000);
    if (minute === this.#minute && this.#heard.size <= maxPeers) return;
    this.#minute = minute;
    this.#heard = new Map();
    for (const [infohash, swarm] of this.#swarms) {
      const gone = !this.#options.registered(infohash);
      for (const [key, { expires }] of swarm.peers) {
        if ((gone || expires <= now) && swarm.remove(key)) this.#count -= 1;
      }
      if (swarm.peers.size === 0) this.#swarms.delete(infohash);
    }
  }

  #tooOften(who: string): boolean {
    const times = (this.#heard.get(who) ?? 0) + 1;
    this.#heard.set(who, times);
    return times > announcesPerMinute;
  }
}

export function failure(reason: string): Buffer {
  return bencode(new Map([['failure reason', reason]]));
}

/** The query of an announce, whose hash is raw bytes and must not be read as text. */
export function readAnnounce(query: string): AnnounceRequest | string {
  const fields = new Map<string, string>();
  for (const part of query.slice(0, 4096).split('&')) {
    const at = part.indexOf('=');
    if (at > 0 && !fields.has(part.slice(0, at))) fields.set(part.slice(0, at), part.slice(at + 1));
  }
  const infohash = rawBytes(fields.get('info_hash') ?? '');
  if (infohash?.length !== 20) return 'invalid info_hash';
  const number = (name: string, fallback: number) => {
    const text = fields.get(name);
    return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : fallback;
  };
  return {
    infohash: infohash.toString('hex'),
    port: number('port', 0),
    left: number('left', 1),
    stopped: fields.get('event') === 'stopped',
    wanted: number('numwant', maxSample),
  };
}

function rawBytes(text: string): Buffer | undefined {
  const bytes: number[] = [];
  for (const [, hex, plain = ''] of text.matchAll(/%([0-9A-Fa-f]{2})|([\s\S])/g)) {
    if (hex === undefined && !/[\x21-\x24\x26-\x7e]/.test(plain)) return undefined;
    bytes.push(hex === undefined ? plain.charCodeAt(0) : Number.parseInt(hex, 16));
  }
  return Buffer.from(bytes);
}

/** IPv4 addresses that a socket shows as IPv6 are shown as what they are. */
function plainAddress(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '');
  return isIP(mapped) === 4 ? mapped : address;
}

/** One household of IPv6 is one address. */
function network(host: string): string {
  return isIP(host) === 6 ? packPeers([{ host, port: 1 }], 6).toString('hex', 0, 8) : host;
}

/**
 * Downloads the files of one band as a torrent: peers first; the publisher's web seed when they bring nothing for a
 * while; and an end after a time limit, or as soon as nobody is left to ask. What it leaves on disk is pieces with the
 * right SHA-1: whoever installs a file checks its SHA-256.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { FormatError } from '../../../formats/format-error.ts';
import {
  maxInfoBytes,
  type PeerAddress,
  type ReadTorrent,
  readTorrentFile,
  readTorrentInfo,
  type TorrentInfo,
} from '../../../formats/torrent/index.ts';
import type { Band, BandTorrent } from '../publication/read-indexes.ts';
import { type AddressRules, allowedAddresses, allowedTrackers, readPeerAddress } from './addresses.ts';
import { announce, trackerDispatcher } from './announce.ts';
import { PieceBoard } from './board.ts';
import { infoFromPeer, isSignedInfo } from './find-info.ts';
import { peerIdOf } from './peer-id.ts';
import { Peers } from './peers.ts';
import { takeFromWebSeed } from './web-seed.ts';

export interface SwarmOptions {
  readonly rules: AddressRules;
  readonly maxPeers: number;
  /** The web seed is used after so long without a new piece. */
  readonly webSeedAfterMs: number;
  /** The whole download is given up after so long. */
  readonly timeoutMs: number;
}

export interface BandDownload extends SwarmOptions {
  /** The publisher as the operator named it. */
  readonly url: string;
  readonly band: Band;
  readonly torrent: BandTorrent;
  /** Names of the files that are wanted. */
  readonly wanted: ReadonlySet<string>;
  readonly folder: string;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly received: (from: 'peers' | 'webseed', bytes: number) => void;
}

/** Resolves when every wanted file is whole in the folder. */
export async function downloadBand(options: BandDownload): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal, AbortSignal.timeout(options.timeoutMs)]);
  const trackerAgent = trackerDispatcher(options.rules);
  try {
    const { sources, info: fetched } = await lookAround(options, signal);
    const finder = new PeerFinder(options, sources.trackers, trackerAgent, signal);
    const first = [...sources.peers, ...(await finder.ask())];
    const info = readTorrentInfo(fetched ?? (await infoFromAny(options, first, finder.peerId, signal)));
    checkFiles(info, options.band);
    const board = await PieceBoard.open({ info, folder: options.folder, wanted: options.wanted });
    await new Run(options, board, finder, signal).finish(first);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    ended.abort();
    await trackerAgent.close().catch(() => {});
  }
}

interface Sources {
  readonly peers: PeerAddress[];
  readonly trackers: URL[];
}

/** Peers and trackers of the signed magnet; `info` and more trackers of the `.torrent`, if it is to be had. */
async function lookAround(
  options: BandDownload,
  signal: AbortSignal,
): Promise<{ sources: Sources; info: Buffer | undefined }> {
  const { torrent, rules } = options;
  const magnet = new URLSearchParams(torrent.magnet.replace(/^magnet:\?/, ''));
  const peers = magnet
    .getAll('x.pe')
    .slice(0, 16)
    .flatMap((text) => readPeerAddress(text) ?? []);
  const file = await fetchTorrentFile(options, signal).catch(() => undefined);
  const urls = [...new Set([...magnet.getAll('tr').slice(0, 16), ...(file?.trackers ?? [])])];
  return { sources: { peers, trackers: allowedTrackers(urls, rules) }, info: file?.info };
}

async function fetchTorrentFile(
  { url, torrent, dispatcher }: BandDownload,
  signal: AbortSignal,
): Promise<ReadTorrent> {
  const { statusCode, body } = await request(`${url}/gw/indexes/torrents/${torrent.infohashV1}.torrent`, {
    headers: { 'accept-encoding': 'identity' },
    dispatcher,
    signal,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > maxInfoBytes) throw new FormatError('the torrent is too large');
    pieces.push(piece);
  }
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  const file = readTorrentFile(Buffer.concat(pieces));
  if (!isSignedInfo(file.info, torrent)) throw new FormatError('the torrent is not the one that was signed');
  return file;
}

async function infoFromAny(
  { rules, torrent }: BandDownload,
  peers: readonly PeerAddress[],
  peerId: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  for (const { host, port } of peers) {
    for (const address of await allowedAddresses(host, rules)) {
      const info = await infoFromPeer({ host: address, port }, torrent, peerId, signal);
      if (info !== undefined) return info;
    }
  }
  throw new Error('nobody has the torrent');
}

/** The torrent must hold exactly the files that were signed. */
function checkFiles(info: TorrentInfo, band: Band): void {
  const listed = (files: readonly { name: string; size: number }[]) =>
    files
      .map(({ name, size }) => `${name}\0${size}`)
      .sort()
      .join('\n');
  const inTorrent = info.files.map(({ name, length }) => ({ name, size: length }));
  if (listed(inTorrent) !== listed(band.files))
    throw new FormatError('the torrent has other files than the publication');
}

/** Asks the trackers now and then. */
class PeerFinder {
  readonly peerId: Buffer = peerIdOf(randomBytes(12));
  readonly #options: BandDownload;
  readonly #trackers: readonly URL[];
  readonly #dispatcher: Dispatcher;
  readonly #signal: AbortSignal;
  #intervalMs = 60_000;

  constructor(options: BandDownload, trackers: readonly URL[], dispatcher: Dispatcher, signal: AbortSignal) {
    this.#options = options;
    this.#trackers = trackers;
    this.#dispatcher = dispatcher;
    this.#signal = signal;
  }

  get silent(): boolean {
    return this.#trackers.length === 0;
  }

  async ask(): Promise<PeerAddress[]> {
    const { infohashV1: infohash } = this.#options.torrent;
    const left = this.#options.band.files.reduce((sum, { size }) => sum + size, 0);
    const answers = await Promise.allSettled(
      this.#trackers.map((tracker) =>
        announce(tracker, { infohash, peerId: this.peerId, left }, this.#dispatcher, this.#signal),
      ),
    );
    const heard = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    this.#intervalMs = Math.max(30, Math.min(600, ...heard.map(({ interval }) => interval))) * 1000;
    return heard.flatMap(({ peers }) => peers);
  }

  async again(): Promise<PeerAddress[]> {
    await sleep(this.#intervalMs, undefined, { signal: this.#signal, ref: false });
    return this.ask();
  }
}

const lookMs = 1_000;
const webSeedWorkers = 2;

class Run {
  readonly #options: BandDownload;
  readonly #board: PieceBoard;
  readonly #finder: PeerFinder;
  readonly #signal: AbortSignal;
  readonly #peers: Peers;
  readonly #finished = Promise.withResolvers<void>();
  #progressAt = performance.now();
  #webSeed: 'unused' | 'used' | 'failed' = 'unused';

  constructor(options: BandDownload, board: PieceBoard, finder: PeerFinder, signal: AbortSignal) {
    this.#options = options;
    this.#board = board;
    this.#finder = finder;
    this.#signal = signal;
    this.#peers = new Peers({
      board,
      peerId: finder.peerId,
      rules: options.rules,
      maxPeers: options.maxPeers,
      received: (bytes) => options.received('peers', bytes),
      changed: (progressed) => this.#look(progressed),
      failed: (error) => this.#finished.reject(error),
    });
  }

  async finish(first: readonly PeerAddress[]): Promise<void> {
    const timer = setInterval(() => this.#look(false), lookMs);
    const abort = () => this.#finished.reject(this.#signal.reason);
    this.#signal.addEventListener('abort', abort);
    if (this.#signal.aborted) abort();
    try {
      const started = this.#peers.add(first).then(() => this.#look(false));
      void this.#searchOn();
      await Promise.all([started, this.#finished.promise]);
    } finally {
      clearInterval(timer);
      this.#signal.removeEventListener('abort', abort);
      this.#peers.close();
    }
  }

  async #searchOn(): Promise<void> {
    while (!this.#finder.silent && !this.#signal.aborted) {
      const peers = await this.#finder.again().catch(() => []);
      if (!this.#signal.aborted) await this.#peers.add(peers);
    }
  }

  #look(progressed: boolean): void {
    if (progressed) this.#progressAt = performance.now();
    if (this.#board.done) {
      this.#finished.resolve();
      return;
    }
    this.#peers.dial();
    const { hopeful } = this.#peers;
    const waited = performance.now() - this.#progressAt >= this.#options.webSeedAfterMs;
    if (this.#webSeed === 'unused' && (waited || !hopeful)) this.#useWebSeed();
    if (this.#webSeed === 'failed' && !hopeful)
      this.#finished.reject(new Error(`nobody gives ${this.#board.left} pieces of ${this.#options.band.id}`));
  }

  #useWebSeed(): void {
    this.#webSeed = 'used';
    const work = () =>
      takeFromWebSeed({
        url: `${this.#options.url}/gw/indexes/webseed/${this.#board.info.name}/`,
        board: this.#board,
        dispatcher: this.#options.dispatcher,
        signal: this.#signal,
        received: (bytes) => this.#options.received('webseed', bytes),
      });
    Promise.all(Array.from({ length: webSeedWorkers }, work)).then(
      () => {
        // The rest is on its way by others; should they fail, the next look starts it again.
        this.#webSeed = 'unused';
        this.#progressAt = performance.now();
        if (this.#board.done) this.#look(false);
      },
      () => {
        this.#webSeed = 'failed';
        this.#look(false);
      },
    );
  }
}

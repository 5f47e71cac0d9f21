import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, mock, test } from 'node:test';
import { Agent } from 'undici';
import { Random } from '../../../../test/support/random.ts';
import {
  encodeExtensions,
  encodeHandshake,
  encodeMessage,
  encodeMetadata,
  FileHasher,
  makeTorrent,
  type PeerMessage,
  PeerReader,
  readTorrentInfo,
  type Torrent,
} from '../../../formats/torrent/index.ts';
import { createLogger } from '../../../kernel/log.ts';
import { sha256Hex } from '../publication/document.ts';
import type { Band } from '../publication/read-indexes.ts';
import { PieceBoard } from './board.ts';
import { type BandDownload, downloadBand } from './download.ts';
import { type LeechEnd, Leecher } from './leecher.ts';
import { type Offer, Seeder } from './seeder.ts';
import { failure, readAnnounce, Tracker } from './tracker.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const random = new Random(31);
const contents = new Map([
  ['00.cdb', random.bytes(900_000)],
  ['01.cdb', random.bytes(262_144)],
  ['02.cdb', Buffer.alloc(0)],
  ['manifest.json', random.bytes(321)],
]);
const total = [...contents.values()].reduce((sum, bytes) => sum + bytes.length, 0);

let root: string;
let torrent: Torrent;
let band: Band;
let http: Server;
let url: string;
/** What the publisher's HTTP gives; everything else is 503. */
let serves: { torrent?: boolean; webSeed?: boolean; tracker?: Tracker; silence?: boolean };
let asked: string[];
const open = new Set<{ close(): Promise<void> }>();
const dispatcher = new Agent();

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-swarm-'));
  mkdirSync(join(root, 'right'));
  mkdirSync(join(root, 'wrong'));
  const files = [...contents].map(([name, bytes]) => {
    writeFileSync(join(root, 'right', name), bytes);
    const altered = Buffer.from(bytes);
    if (altered.length > 0) altered[altered.length >> 1]! ^= 1;
    writeFileSync(join(root, 'wrong', name), altered);
    const hasher = new FileHasher(name);
    hasher.update(bytes);
    return hasher.end();
  });
  torrent = makeTorrent({ name: '0123456789abcdef', files });
  http = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const file = contents.get(path.split('/').at(-1) ?? '');
    if (serves.silence === true) return;
    if (path.startsWith('/gw/indexes/torrents/') && serves.torrent === true) response.end(torrent.bytes);
    else if (path.startsWith('/gw/indexes/webseed/') && serves.webSeed === true && file !== undefined) {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      response.writeHead(206).end(file.subarray(Number(start), Number(end) + 1));
    } else if (path.startsWith('/announce') && serves.tracker !== undefined) {
      const announced = readAnnounce(path.split('?')[1] ?? '');
      response.end(
        typeof announced === 'string' ? failure(announced) : serves.tracker.announce(announced, '127.0.0.1'),
      );
    } else response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${portOf(http)}`;
});

beforeEach(() => {
  serves = {};
  asked = [];
  band = {
    id: 'band',
    files: [...contents].map(([name, bytes]) => ({ name, size: bytes.length, sha256: sha256Hex(bytes) })),
  };
});

after(async () => {
  for (const one of open) await one.close();
  http.close();
  http.closeAllConnections();
  await dispatcher.close();
  rmSync(root, { recursive: true, force: true });
});

function portOf(server: { address(): unknown }): number {
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null && 'port' in address);
  return Number(address.port);
}

function offerOf(folder: string): Offer {
  const { infohashV1: infohash, pieceLength, pieceCount, files } = readTorrentInfo(torrent.info);
  return {
    infohash,
    info: torrent.info,
    pieceLength,
    pieceCount,
    files: files.map(({ name, ...file }) => ({ path: join(root, folder, name), ...file })),
  };
}

async function seed(
  folder = 'right',
  bytesPerSecond = 1e9,
): Promise<{ seeder: Seeder; port: number; up(): number }> {
  let uploaded = 0;
  const offer = offerOf(folder);
  const seeder = new Seeder({
    host: '127.0.0.1',
    port: 0,
    maxConnections: 10,
    bytesPerSecond,
    offer: async (infohash) => (infohash === offer.infohash ? offer : undefined),
    log,
    uploaded: (bytes) => {
      uploaded += bytes;
    },
  });
  open.add(seeder);
  return { seeder, port: await seeder.listen(), up: () => uploaded };
}

interface Came {
  readonly peers: number;
  readonly webseed: number;
}

async function download(
  options: Partial<BandDownload> & { readonly peers?: readonly number[]; readonly tracker?: string } = {},
  folder = join(root, `download-${randomBytes(4).toString('hex')}`),
): Promise<Came> {
  const came = { peers: 0, webseed: 0 };
  const where = [
    ...(options.peers ?? []).map((port) => `&x.pe=127.0.0.1:${port}`),
    ...(options.tracker === undefined ? [] : [`&tr=${encodeURIComponent(options.tracker)}`]),
  ].join('');
  await downloadBand({
    rules: { allowPrivate: true },
    maxPeers: 5,
    webSeedAfterMs: 60_000,
    timeoutMs: 20_000,
    url,
    band,
    torrent: {
      infohashV1: torrent.infohashV1,
      infohashV2: torrent.infohashV2,
      magnet: `magnet:?xt=urn:btih:${torrent.infohashV1}${where}`,
      torrentUrl: '/',
    },
    wanted: new Set(contents.keys()),
    folder,
    dispatcher,
    signal: new AbortController().signal,
    received: (from, bytes) => {
      came[from] += bytes;
    },
    ...options,
  });
  for (const name of options.wanted ?? contents.keys())
    assert.ok(readFileSync(join(folder, name)).equals(contents.get(name) ?? Buffer.of()), name);
  return came;
}

test('a band comes from a peer alone, its torrent too, with no HTTP that works', async () => {
  const { port, up } = await seed();
  assert.deepEqual(await download({ peers: [port] }), { peers: total, webseed: 0 });
  // What is sent is counted when it is out, which may be after it is there.
  for (const deadline = performance.now() + 30_000; up() < total && performance.now() < deadline; )
    await new Promise(setImmediate);
  assert.equal(up(), total);
});

test('the torrent comes from the publisher where it can be had, and peers from the tracker', async () => {
  const { port } = await seed();
  serves = { torrent: true, tracker: new Tracker({ registered: () => true }) };
  serves.tracker?.announce(
    { infohash: torrent.infohashV1, port, left: 0, stopped: false, wanted: 50 },
    '127.0.0.1',
  );
  assert.deepEqual(await download({ tracker: `${url}/announce` }), { peers: total, webseed: 0 });
  assert.ok(asked.some((path) => path.startsWith('/announce?info_hash=%')));
});

test('a torrent file that is not the signed one is not used', async () => {
  const { port } = await seed();
  serves = { torrent: true };
  const right = torrent;
  const files = [...contents.keys()].map((name) => new FileHasher(name).end());
  torrent = { ...right, bytes: makeTorrent({ name: 'other', files }).bytes };
  try {
    assert.equal((await download({ peers: [port] })).peers, total);
  } finally {
    torrent = right;
  }
});

test('a peer that gives wrong bytes is left, and another gives the right ones', async () => {
  const liar = await seed('wrong');
  const honest = await seed();
  assert.ok((await download({ peers: [liar.port, honest.port] })).peers >= total);
  await assert.rejects(download({ peers: [liar.port] }), /nobody gives/);
});

test('a download that broke off is continued: only what is missing is asked for', async () => {
  const { port } = await seed();
  const folder = join(root, 'broken-off');
  await download({ peers: [port], wanted: new Set(['01.cdb']) }, folder);
  const half = Buffer.from(contents.get('00.cdb') ?? '');
  half.fill(0, 262_144, 300_000);
  writeFileSync(join(folder, '00.cdb'), half);
  assert.deepEqual(await download({ peers: [port] }, folder), {
    peers: 262_144 + (contents.get('manifest.json')?.length ?? 0),
    webseed: 0,
  });
});

test('the web seed is used when peers bring nothing, and at once when there are none', async () => {
  serves = { torrent: true, webSeed: true };
  assert.deepEqual(await download(), { peers: 0, webseed: total });
  const silent = createServer()
    .on('connection', () => {})
    .listen(0, '127.0.0.1');
  open.add({
    async close() {
      silent.close();
      silent.closeAllConnections();
    },
  });
  await once(silent, 'listening');
  const came = await download({ peers: [portOf(silent)], webSeedAfterMs: 50 });
  assert.deepEqual(came, { peers: 0, webseed: total });
});

test('with nobody to ask a download fails at once, and by its time limit where somebody only pretends', async () => {
  serves = { torrent: true };
  await assert.rejects(download(), /nobody gives/);
  const stingy = await seed('right', 16_384);
  await assert.rejects(download({ peers: [stingy.port], timeoutMs: 300 }), { name: 'TimeoutError' });
  serves = { silence: true };
  await assert.rejects(download({ timeoutMs: 300 }), { name: 'TimeoutError' });
  serves = { torrent: true };
  const stop = new AbortController();
  const running = download({ peers: [stingy.port], signal: stop.signal });
  setImmediate(() => stop.abort(new Error('shutting down')));
  await assert.rejects(running, /shutting down/);
});

test('a torrent with other files than were signed is refused', async () => {
  const { port } = await seed();
  band = { ...band, files: band.files.map((file) => ({ ...file, size: file.size + 1 })) };
  await assert.rejects(download({ peers: [port] }), /other files than the publication/);
});

test('trackers and peers on private addresses are not talked to unless that is allowed', async () => {
  const { port, up } = await seed();
  serves = { torrent: true, tracker: new Tracker({ registered: () => true }) };
  const strict = { rules: { allowPrivate: false } };
  await assert.rejects(download({ peers: [port], tracker: `${url}/announce`, ...strict }), /nobody gives/);
  assert.equal(up(), 0);
  assert.ok(!asked.some((path) => path.startsWith('/announce')));
});

/** What the seeder answers to raw bytes; resolves when it hangs up or has said enough. */
async function converse(
  port: number,
  bytes: readonly Buffer[],
  enough: number,
): Promise<PeerMessage[] | 'hung up'> {
  const socket = connect(port, '127.0.0.1');
  const reader = new PeerReader();
  const found: PeerMessage[] = [];
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => resolve('hung up'));
    socket.on('data', (chunk) => {
      for (const one of reader.push(Buffer.from(chunk))) if ('kind' in one) found.push(one);
      if (found.length < enough) return;
      resolve(found);
      socket.destroy();
    });
    for (const one of bytes) socket.write(one);
  });
}

test('the seeder hangs up on whoever breaks the rules, and serves the next', async () => {
  const { port, seeder } = await seed();
  const hello = encodeHandshake(torrent.infohashV1, Buffer.alloc(20, 'x'));
  const interested = encodeMessage({ kind: 'interested' });
  const request = (piece: number, begin: number, length: number) =>
    encodeMessage({ kind: 'request', piece, begin, length });
  const metadata = encodeMessage(encodeMetadata(2, { kind: 'request', piece: 0 }));
  for (const bytes of [
    [Buffer.alloc(68, 'G')],
    [encodeHandshake('00'.repeat(20), Buffer.alloc(20))],
    [hello, request(0, 0, 16_384)],
    [hello, interested, request(6, 0, 16_384)],
    [hello, interested, request(0, 0, 262_145)],
    [hello, interested, request(0, 262_000, 16_384)],
    [hello, interested, request(0, 0, 0)],
    [hello, Buffer.from('7fffffff', 'hex')],
    [hello, Buffer.from('0000000306ffff', 'hex')],
    [hello, interested, Buffer.concat(Array.from({ length: 3_000 }, () => request(0, 0, 16_384)))],
    [hello, encodeExtensions({ requests: 0 }), ...Array.from({ length: 40 }, () => metadata)],
  ])
    assert.equal(await converse(port, bytes, 10_000), 'hung up');
  const said = await converse(port, [hello, interested, request(3, 100_000, 20_000)], 4);
  assert.ok(Array.isArray(said));
  const [, , , block] = said;
  assert.ok(block?.kind === 'piece');
  const file = contents.get('00.cdb') ?? Buffer.of();
  const right = Buffer.alloc(20_000);
  file.copy(right, 0, 3 * 262_144 + 100_000);
  assert.ok(block.bytes.equals(right), 'what lies behind the end of the file is zeros');
  seeder.keepOnly(new Set());
});

test('several processes may listen on one port, a stranger may not', async () => {
  const make = (port: number, sharePort: boolean) => {
    const seeder = new Seeder({
      host: '127.0.0.1',
      port,
      sharePort,
      maxConnections: 1,
      bytesPerSecond: 1e6,
      offer: async () => undefined,
      log,
    });
    open.add(seeder);
    return seeder.listen();
  };
  const port = await make(0, true);
  assert.equal(await make(port, true), port);
  await assert.rejects(make(port, false), { code: 'EADDRINUSE' });
});

test('uploads of a band that is no longer published end', async () => {
  const { port, seeder } = await seed();
  const socket = connect(port, '127.0.0.1');
  socket.write(encodeHandshake(torrent.infohashV1, Buffer.alloc(20, 'y')));
  await once(socket, 'data');
  assert.equal(seeder.connections, 1);
  seeder.keepOnly(new Set([torrent.infohashV1]));
  assert.equal(seeder.connections, 1);
  seeder.keepOnly(new Set());
  await once(socket.resume(), 'close');
  assert.equal(seeder.connections, 0);
});

/** What a download makes of a peer that says these things and nothing else. */
async function hear(said: readonly Buffer[]): Promise<{ looks: number; end: LeechEnd }> {
  const info = readTorrentInfo(torrent.info);
  const folder = mkdtempSync(join(root, 'heard-'));
  const board = await PieceBoard.open({ info, folder, wanted: new Set(['00.cdb']) });
  const looks = [mock.method(board, 'wants'), mock.method(board, 'take')];
  const peer = createSocketServer((socket) => {
    socket.on('error', () => {});
    socket.resume().end(Buffer.concat([encodeHandshake(info.infohashV1, Buffer.alloc(20, 'y')), ...said]));
  }).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const { promise, resolve } = Promise.withResolvers<LeechEnd>();
  new Leecher({
    peer: { host: '127.0.0.1', port: portOf(peer) },
    board,
    peerId: Buffer.alloc(20, 'x'),
    received: () => {},
    progressed: () => {},
    failed: () => {},
    ended: resolve,
  });
  const end = await promise;
  peer.close();
  return { looks: looks.reduce((sum, { mock }) => sum + mock.callCount(), 0), end };
}

test('a peer that talks and gives nothing costs no look at all pieces for each word', async () => {
  const words = (count: number, ...messages: PeerMessage[]) =>
    Array.from({ length: count }, () => messages.map(encodeMessage)).flat();
  const unwanted = { kind: 'have', piece: 4 } as const;
  const idle = await hear(words(3_000, { kind: 'unchoke' }, unwanted));
  assert.ok(idle.looks < 10, `${idle.looks} looks`);
  const fickle = await hear([
    encodeMessage({ kind: 'have', piece: 3 }),
    ...words(3_000, { kind: 'unchoke' }, { kind: 'choke' }),
  ]);
  assert.ok(fickle.looks < 200, `${fickle.looks} looks`);
  assert.equal(fickle.end.pieces, 0);
});

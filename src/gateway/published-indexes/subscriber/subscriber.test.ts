import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { flipByte } from '../../../../test/support/damage.ts';
import { encodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import { torrentName } from '../../../formats/torrent/torrent.ts';
import { createLogger } from '../../../kernel/log.ts';
import type { Steps } from '../../../storage/pace.ts';
import type { BandRecord } from '../bands/source.ts';
import { writeBand } from '../bands/write.ts';
import { type IndexFolders, indexFolders } from '../folders.ts';
import type { Band } from '../publication/document.ts';
import { type Publication, sha256Hex, signPublication } from '../publication/document.ts';
import { type Observer, observerOf } from '../publication/observer.ts';
import { InstalledBands } from './installed.ts';
import { InstalledFiles } from './installed-files.ts';
import { noteSeen, readSeen, Subscriber } from './subscriber.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const observer: Observer = observerOf(generateKeyPairSync('ed25519').privateKey);
const stranger: Observer = observerOf(generateKeyPairSync('ed25519').privateKey);
const now = Date.parse('2026-06-01T00:00:00Z');

let root: string;
let server: Server;
let url: string;
/** What the publisher serves: the document, and files by digest. */
let document: Buffer;
let blobs: Map<string, Buffer>;
let ranges: (string | undefined)[];
/** How the document was answered. */
let documents: number[];
let cutAfter: number | undefined;
let folders: IndexFolders;
let bands: InstalledBands;
let subscriber: Subscriber;

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-subscriber-'));
  server = createServer((request, response) => {
    if (request.url === '/gw/indexes') {
      const etag = `"${sha256Hex(document)}"`;
      const same = request.headers['if-none-match'] === etag;
      documents.push(same ? 304 : 200);
      return void response.writeHead(same ? 304 : 200, { etag }).end(same ? undefined : document);
    }
    const bytes = blobs.get(request.url?.split('/').at(-1) ?? '');
    if (bytes === undefined) return void response.writeHead(404).end();
    const { range } = request.headers;
    ranges.push(range);
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': bytes.length - start,
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (cutAfter === undefined || bytes.length - start <= cutAfter)
      return void response.end(bytes.subarray(start));
    const size = cutAfter;
    response.write(bytes.subarray(start, start + size));
    void untilArrived(size).then(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  url = `http://127.0.0.1:${address.port}`;
});
/** Resolves when so many bytes of a file are on the subscriber's disk: only then is there something to continue. */
async function untilArrived(size: number): Promise<void> {
  for (;;) {
    const files = existsSync(folders.incoming)
      ? readdirSync(folders.incoming, { recursive: true, withFileTypes: true })
      : [];
    const sizes = files.map((file) => (file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0));
    if (sizes.includes(size)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

after(() => {
  server.close();
  server.closeAllConnections();
  rmSync(root, { recursive: true, force: true });
});

let runs = 0;
beforeEach(async (t) => {
  runs += 1;
  folders = indexFolders(join(root, `run-${runs}`));
  blobs = new Map();
  ranges = [];
  documents = [];
  cutAfter = undefined;
  bands = new InstalledBands(folders.installed);
  subscriber = new Subscriber({
    folders,
    log,
    concurrency: 2,
    maxDiskBytes: undefined,
    changed: () => bands.refresh(),
    now: () => now,
  });
  const [mine, theirs] = [bands, subscriber];
  if ('after' in t) t.after(() => Promise.all([mine.close(), theirs.close()]));
});

const idOf = (name: string) => createHash('sha256').update(name).digest();
const subscription = () => ({ publisher: observer.address, key: observer.address, url, names: undefined });

/** A band with these items, served by the publisher. */
async function offer(
  names: readonly string[],
  heightRange: readonly [number, number | null] = [0, null],
): Promise<Band> {
  const indexFolder = join(root, `built-${runs}`);
  const sorted = names.map(idOf).sort(Buffer.compare);
  async function* records(): AsyncGenerator<BandRecord[]> {
    yield sorted.map((key, at) => ({
      key,
      value: encodeRootEntry({ path: [idOf('root')], offsets: { item: at, data: at + 100, size: 200 } }),
    }));
  }
  const { id } = await writeBand({
    indexFolder,
    heightRange,
    kind: 'd',
    tag: 'test',
    supersedes: [],
    existing: [],
    createdAt: '2026-01-01T00:00:00.000Z',
    records: records(),
  });
  const files = readdirSync(join(indexFolder, id))
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(indexFolder, id, name));
      blobs.set(sha256Hex(bytes), bytes);
      return { name, size: bytes.length, sha256: sha256Hex(bytes) };
    });
  return { id, files, heightRange, records: names.length };
}

function sign(
  sequence: number,
  offered: readonly Band[],
  changes: Partial<Publication> = {},
  by = observer,
): void {
  document = signPublication(
    {
      version: 1,
      publisher: observer.address,
      sequence,
      previousManifestSha256: null,
      issuedAt: '2026-05-31T12:00:00.000Z',
      expiresAt: '2026-06-01T12:00:00.000Z',
      indexes: [{ name: 'root-tx-index', kind: 'cdb64-root-tx', bands: offered }],
      ...changes,
    },
    by,
  );
}

const poll = async () => (await subscriber.poll(subscription())).outcome;
const knows = async (name: string) => (await bands.locate(idOf(name).toString('base64url'))) !== undefined;

test('a band is downloaded, checked, used, followed by the next and retired', async () => {
  sign(5, [await offer(['a', 'b', 'c'])]);
  assert.equal(await poll(), 'installed');
  assert.deepEqual(await bands.locate(idOf('b').toString('base64url')), {
    root: idOf('root').toString('base64url'),
    itemOffset: [idOf('a'), idOf('b'), idOf('c')]
      .sort(Buffer.compare)
      .findIndex((id) => id.equals(idOf('b'))),
    dataOffset:
      [idOf('a'), idOf('b'), idOf('c')].sort(Buffer.compare).findIndex((id) => id.equals(idOf('b'))) + 100,
    itemSize: 200,
  });
  assert.equal(await knows('d'), false);
  assert.equal(await poll(), 'unchanged');
  sign(6, [await offer(['a', 'b', 'c', 'd'])]);
  const report = await subscriber.poll(subscription());
  assert.deepEqual([report.outcome, report.installed.length, report.retired.length], ['installed', 1, 1]);
  assert.equal(await knows('d'), true);
  assert.equal(bands.count, 1);
  assert.equal(readdirSync(join(folders.installed, observer.address, 'root-tx-index')).length, 1);
});

test('a closed band stays beside a successor that lacks records of it, unless that is meant so', async () => {
  const closed = [0, 99] as const;
  const full = await offer(['a', 'b', 'c'], closed);
  const other = await offer(['e'], [100, 199]);
  sign(1, [full, other]);
  assert.equal(await poll(), 'installed');
  const smaller = await offer([], closed);
  const another = await offer(['a', 'b', 'd'], closed);
  for (const [at, successor] of [smaller, another].entries()) {
    sign(2 + at, [successor, other]);
    for (let time = 0; time < 2; time += 1) {
      const report = await subscriber.poll(subscription());
      assert.ok(report.kept.some((name) => name.startsWith(full.id)));
      assert.ok(!report.retired.some((name) => name.startsWith(full.id)));
    }
    for (const name of ['a', 'b', 'c', 'e']) assert.ok(await knows(name), name);
  }
  assert.ok(await knows('d'));
  // One that has everything takes the place of all, and one that is meant to have less of that.
  sign(4, [await offer(['a', 'b', 'c', 'd'], closed), other]);
  const followed = await subscriber.poll(subscription());
  assert.deepEqual([followed.kept, followed.retired.length], [[], 2]);
  sign(5, [{ ...(await offer(['a'], closed)), metadata: { fewer: true } }, other]);
  assert.equal((await subscriber.poll(subscription())).retired.length, 1);
  assert.deepEqual([await knows('a'), await knows('b'), await knows('e')], [true, false, true]);
  // What is no longer offered at all goes.
  sign(6, [other]);
  assert.equal((await subscriber.poll(subscription())).retired.length, 1);
});

test('a band that was damaged on disk costs no other, and is had again', async () => {
  const [first, second] = [await offer(['a']), await offer(['b'])];
  sign(1, [first, second]);
  assert.equal(await poll(), 'installed');
  const target = join(folders.installed, observer.address, 'root-tx-index');
  const [broken = '', whole = ''] = readdirSync(target).sort();
  const nameIn = async () => [await knows('a'), await knows('b')].filter(Boolean).length;
  // As a gateway finds them when it starts.
  truncateSync(join(target, broken, 'manifest.json'), 3);
  await bands.close();
  bands = new InstalledBands(folders.installed);
  await assert.rejects(bands.refresh(), /cannot be opened/);
  assert.deepEqual([bands.count, await nameIn()], [1, 1]);
  assert.equal(await poll(), 'installed');
  assert.deepEqual([bands.count, await nameIn()], [2, 2]);
  // While it is in use.
  for (const file of readdirSync(join(target, whole))) {
    if (file.endsWith('.cdb')) truncateSync(join(target, whole, file), 10);
  }
  assert.equal(await poll(), 'installed');
  assert.deepEqual([bands.count, await nameIn()], [2, 2]);
  await bands.close();
});

test('a band in which a byte flipped is found out, and its wrong files alone are had again', async (t) => {
  const band = await offer(['a', 'b', 'c', 'd']);
  sign(1, [band]);
  assert.equal(await poll(), 'installed');
  const target = join(folders.installed, observer.address, 'root-tx-index');
  const [name = ''] = readdirSync(target);
  const [file = '', untouched = ''] = readdirSync(join(target, name)).filter((one) => one.endsWith('.cdb'));
  assert.notEqual(untouched, '');
  const damaged: string[] = [];
  const installed = new InstalledFiles(folders.installed, (folder) => damaged.push(folder));
  const slowly: Steps = (step) => step();
  const pass = async () => {
    const found: (boolean | undefined)[] = [];
    for await (const one of installed.namesAfter('', slowly))
      found.push((await installed.inspect(one, slowly))?.isSound);
    return found;
  };
  assert.deepEqual(await pass(), [true]);
  const changed: string[] = [];
  bands.onChanged((folder) => changed.push(folder));
  t.after(() => bands.close());
  // Opened anew, so that look-ups read from the disk.
  await bands.close();
  await bands.refresh();
  flipByte(join(target, name, file), 20);
  for (const key of ['a', 'b', 'c', 'd']) await knows(key);
  assert.deepEqual([...new Set(changed)], [join(target, name)]);
  assert.equal(await poll(), 'unchanged', 'sizes tell nothing');
  assert.deepEqual(await pass(), [false]);
  assert.deepEqual(damaged, [join(target, name)]);
  for (const folder of damaged) subscriber.bringAgain(folder);
  ranges = [];
  assert.equal(await poll(), 'installed');
  assert.equal(ranges.length, 1, 'one file was asked for');
  assert.deepEqual(await pass(), [true]);
  assert.deepEqual(
    [bands.count, await knows('a'), await knows('b'), await knows('c'), await knows('d')],
    [1, true, true, true, true],
  );
  assert.equal(await poll(), 'unchanged');
});

test('what was seen of publishers begins anew where the file of it was damaged', async () => {
  sign(5, [await offer(['a'])]);
  assert.equal(await poll(), 'installed');
  writeFileSync(folders.subscriptions, '{"half');
  assert.equal(await poll(), 'unchanged');
  sign(4, [await offer(['b'])]);
  assert.equal(await poll(), 'replayed');
});

test('a document that is forged, old, expired or by somebody else changes nothing', async () => {
  const first = await offer(['a']);
  sign(10, [first]);
  assert.equal(await poll(), 'installed');
  const second = await offer(['z']);
  const refused: [string, () => void][] = [
    ['replayed', () => sign(9, [second])],
    ['sequence_jump', () => sign(2_000_000, [second])],
    ['expired', () => sign(11, [second], { expiresAt: '2026-05-31T23:59:59.000Z' })],
    ['signature_failed', () => sign(11, [second], {}, stranger)],
    ['signature_failed', () => sign(11, [second], { publisher: stranger.address })],
    [
      'signature_failed',
      () => {
        sign(11, [second]);
        document = Buffer.from(document.toString().replace('"sequence":11', '"sequence":12'));
      },
    ],
    ['signature_failed', () => sign(11, [{ ...second, id: '../../escape' }])],
    [
      'signature_failed',
      () =>
        sign(11, [{ ...second, files: second.files.map((file) => ({ ...file, name: `..${file.name}` })) }]),
    ],
  ];
  for (const [outcome, make] of refused) {
    make();
    assert.equal(await poll(), outcome);
    assert.deepEqual([await knows('a'), await knows('z')], [true, false], outcome);
  }
  sign(11, [second]);
  assert.equal(await poll(), 'installed', 'a refused document does not spoil the sequence');
});

test('a file that is altered, short or long is never installed, and the old band keeps serving', async () => {
  sign(1, [await offer(['a'])]);
  assert.equal(await poll(), 'installed');
  const second = await offer(['a', 'z']);
  sign(2, [second]);
  const file = second.files.find(({ name }) => name.endsWith('.cdb'));
  assert.ok(file !== undefined);
  const right = blobs.get(file.sha256);
  assert.ok(right !== undefined);
  const altered = Buffer.from(right);
  altered[4100] = altered[4100]! ^ 1;
  for (const [bytes, outcome] of [
    [altered, 'verify_failed'],
    [Buffer.concat([right, Buffer.of(0)]), 'verify_failed'],
    [right.subarray(0, -1), 'download_failed'],
  ] as const) {
    blobs.set(file.sha256, bytes);
    assert.equal(await poll(), outcome);
    assert.deepEqual([await knows('a'), await knows('z'), bands.count], [true, false, 1]);
  }
  blobs.set(file.sha256, right);
  assert.equal(await poll(), 'installed');
  assert.equal(await knows('z'), true);
});

test('a signed band whose files contradict each other is refused', async () => {
  const good = await offer(['a', 'b']);
  sign(1, [{ ...good, records: 3 }]);
  assert.equal(await poll(), 'verify_failed');
  const bytes = Buffer.from(
    '{"version":1,"createdAt":"","totalRecords":0,"partitions":[{"prefix":"00","location":{"type":"http","url":"http://10.0.0.1/"},"recordCount":0,"size":1}]}',
  );
  blobs.set(sha256Hex(bytes), bytes);
  sign(2, [{ id: 'x', files: [{ name: 'manifest.json', size: bytes.length, sha256: sha256Hex(bytes) }] }]);
  assert.equal(await poll(), 'verify_failed');
  assert.equal(bands.count, 0);
});

test('a download that breaks off is continued where it stopped', async () => {
  sign(1, [await offer(['a'])]);
  cutAfter = 4000;
  assert.equal(await poll(), 'download_failed');
  cutAfter = undefined;
  ranges = [];
  assert.equal(await poll(), 'installed');
  assert.ok(ranges.includes('bytes=4000-'), String(ranges));
});

test('what the publisher breaks off is continued at its web seed, and counted as from there', async () => {
  const band = await offer(['a']);
  const asked: (string | undefined)[] = [];
  const name = torrentName(band.files);
  const webSeed = createServer((request, response) => {
    const file = band.files.find((one) => request.url === `/seed/${name}/${one.name}`);
    const bytes = blobs.get(file?.sha256 ?? '') ?? Buffer.of();
    asked.push(request.headers.range);
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
    response.writeHead(start > 0 ? 206 : 200, start > 0 ? { 'content-range': range } : {});
    response.end(bytes.subarray(start));
  }).listen(0, '127.0.0.1');
  await once(webSeed, 'listening');
  const at = encodeURIComponent(`http://127.0.0.1:${Object(webSeed.address()).port}/seed/`);
  const torrent = { infohashV1: '0'.repeat(40), magnet: `magnet:?xt=urn:btih:0&ws=${at}`, torrentUrl: '/' };
  sign(1, [{ ...band, torrent }]);
  cutAfter = 4000;
  try {
    const { outcome, bytes } = await subscriber.poll(subscription());
    assert.equal(outcome, 'installed');
    assert.ok(asked.includes('bytes=4000-'), String(asked));
    assert.ok(bytes.http >= 4000 && bytes.webseed > 0, JSON.stringify(bytes));
    assert.equal(await knows('a'), true);
  } finally {
    webSeed.close();
    webSeed.closeAllConnections();
  }
});

test('what a crash left half-way is not used, and the next poll finishes', async () => {
  const band = await offer(['a']);
  const half = join(folders.incoming, observer.address, `${band.id}~000000000000`);
  mkdirSync(half, { recursive: true });
  writeFileSync(join(half, 'manifest.json'), '{');
  // An earlier release took pieces from peers.
  mkdirSync(join(folders.incoming, observer.address, `swarm-${'0'.repeat(40)}`));
  const retiring = join(folders.installed, observer.address, 'root-tx-index', 'gone~000000000000');
  mkdirSync(retiring, { recursive: true });
  await bands.refresh();
  assert.equal(bands.count, 0);
  sign(1, [band]);
  assert.equal(await poll(), 'installed');
  assert.equal(bands.count, 1);
  assert.equal(existsSync(join(folders.incoming, observer.address)), false);
});

test('sequences of publishers that are followed at the same time are all kept', async () => {
  const { subscriptions } = folders;
  await Promise.all(
    Array.from({ length: 12 }, (_, at) => noteSeen(subscriptions, `publisher ${at}/key`, at + 1)),
  );
  await noteSeen(subscriptions, 'publisher 7/key', 3);
  const seen = await readSeen(subscriptions);
  for (let at = 0; at < 12; at += 1) assert.equal(seen.get(`publisher ${at}/key`), at + 1);
});

test('several who look at once install once', async () => {
  sign(1, [await offer(['a', 'b'])]);
  const outcomes = await Promise.all([poll(), poll(), poll()]);
  assert.deepEqual(outcomes.sort(), ['installed', 'unchanged', 'unchanged']);
  assert.equal(bands.count, 1);
});

test('a publication that did not change is not sent again, and what failed is tried again all the same', async () => {
  const band = await offer(['a']);
  sign(1, [band]);
  const [file] = band.files;
  assert.ok(file !== undefined);
  const bytes = blobs.get(file.sha256) ?? Buffer.of();
  blobs.delete(file.sha256);
  assert.equal(await poll(), 'download_failed');
  blobs.set(file.sha256, bytes);
  assert.equal(await poll(), 'installed');
  assert.equal(await poll(), 'unchanged');
  assert.deepEqual(documents, [200, 304, 304]);
});

test('what is half downloaded counts for the disk budget, the band itself only once', async () => {
  const first = await offer(['a']);
  const size = first.files.reduce((sum, file) => sum + file.size, 0);
  const tight = new Subscriber({
    folders,
    log,
    concurrency: 1,
    maxDiskBytes: size + 100,
    changed: () => bands.refresh(),
    now: () => now,
  });
  const half = join(folders.incoming, stranger.address, 'parts');
  mkdirSync(half, { recursive: true });
  writeFileSync(join(half, 'ab'.repeat(32)), Buffer.alloc(200));
  sign(1, [first]);
  assert.equal((await tight.poll(subscription())).outcome, 'skipped_disk_budget');
  rmSync(half, { recursive: true });
  const mine = join(folders.incoming, observer.address, 'parts');
  mkdirSync(mine, { recursive: true });
  const [file] = first.files;
  writeFileSync(
    join(mine, file?.sha256 ?? ''),
    (blobs.get(file?.sha256 ?? '') ?? Buffer.of()).subarray(0, 200),
  );
  assert.equal((await tight.poll(subscription())).outcome, 'installed');
  await tight.close();
});

test('bands beyond the disk budget are left out', async () => {
  const small = new Subscriber({
    folders,
    log,
    concurrency: 1,
    maxDiskBytes: 100,
    changed: () => bands.refresh(),
    now: () => now,
  });
  sign(1, [await offer(['a'])]);
  assert.equal((await small.poll(subscription())).outcome, 'skipped_disk_budget');
  assert.equal(bands.count, 0);
  await small.close();
});

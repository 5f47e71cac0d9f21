import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type AdminGateway,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { flipByte } from '../../../../test/support/damage.ts';
import { until } from '../../../../test/support/local-gateway.ts';
import type { IndexesState } from '../../../formats/gateway-admin-answers.ts';
import { torrentName, withWebSeeds } from '../../../formats/torrent/torrent.ts';
import { silentLog, testServer } from '../../../kernel/testing.ts';
import type { Meter } from '../../meter.ts';
import { buildBands } from '../bands/build.ts';
import { indexFolders } from '../folders.ts';
import { Catalog } from '../publication/catalog.ts';
import { type VerifiedPublication, verifyPublication } from '../publication/document.ts';
import { readObserver } from '../publication/observer.ts';
import { PinnedFiles } from '../publication/pinned-files.ts';
import { type Publisher, publisherOf } from '../publication/publisher.ts';
import { indexRoutes } from './indexes.ts';

let gateway: AdminGateway;
let publisher: Publisher;
const prefix = '/gw/indexes';

before(async () => {
  gateway = await startAdminGateway({
    overrides: { INDEX_BAND_HEIGHTS: '1000' },
  });
  const { config } = gateway.inside;
  publisher = publisherOf(config, await readObserver(config));
});
after(() => gateway.stop());

const folders = () => indexFolders(gateway.inside.config.DATA_DIR);

async function build(): Promise<void> {
  await buildBands({
    sql: gateway.inside.index.sql,
    published: folders().published,
    bandHeights: 1000,
    publisher: 'me',
  });
}

async function publish(): Promise<VerifiedPublication> {
  const { sequence } = await publisher.publish();
  return listed(sequence);
}

/** A new document is looked for a few times a second. */
function listed(sequence: number): Promise<VerifiedPublication> {
  return until(`publication ${sequence} is listed`, async () => {
    const answer = await fetch(`${gateway.url}${prefix}`);
    if (answer.status !== 200) return undefined;
    const publication = verifyPublication(Buffer.from(await answer.arrayBuffer()));
    return publication.sequence === sequence && publication;
  });
}

async function listing(): Promise<VerifiedPublication> {
  const answer = await fetch(`${gateway.url}${prefix}`);
  assert.equal(answer.status, 200);
  return verifyPublication(Buffer.from(await answer.arrayBuffer()));
}

async function ask(path: string, init: RequestInit = {}, from = gateway.url) {
  const answer = await fetch(`${from}${path}`, init);
  return {
    status: answer.status,
    body: Buffer.from(await answer.arrayBuffer()),
    header: (name: string) => answer.headers.get(name),
  };
}

async function mineItems(texts: readonly string[]): Promise<void> {
  const items = await Promise.all(texts.map((text) => makeItem({ data: Buffer.from(text) })));
  await postBundle(gateway.stack, items);
  for (const { id } of items) {
    await until('an item is indexed', async () => {
      const found = await gateway.inside.index.locate(id);
      return found?.placement !== undefined && found.height !== undefined;
    });
  }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('while nothing is published every route answers 404 and may not be kept', async () => {
  for (const path of [
    '',
    '/',
    '/x/y/z',
    `/blob/${'0'.repeat(64)}`,
    `/webseed/${'0'.repeat(16)}/f`,
    `/torrents/${'0'.repeat(40)}.torrent`,
    '/a/b/c/d',
  ]) {
    const answer = await ask(`${prefix}${path}`);
    assert.deepEqual(
      [answer.status, answer.body.toString(), answer.header('cache-control')],
      [404, '{}', 'no-store'],
      path,
    );
  }
  const info: unknown = JSON.parse((await ask('/gw/info')).body.toString());
  assert.ok(typeof info === 'object' && info !== null && !('indexes' in info));
  const state = (await gateway.call('GET', 'indexes')).body;
  const nothing = { isDamaged: false, problems: [], subscriptions: [], bandsInUse: 0 };
  assert.deepEqual(state, { publication: null, ...nothing });
});

test('an empty gateway can build and publish', async () => {
  await build();
  const { indexes, sequence } = await publish();
  assert.equal(sequence, 1);
  assert.equal(indexes[0]?.bands[0]?.records, 0);
});

test('items are built into a band that replaces the one before, and the listing is signed and cacheable', async () => {
  const before = await listing();
  await mineItems(Array.from({ length: 40 }, (_, at) => `item ${at}`));
  await build();
  const publication = await publish();
  const [band] = publication.indexes[0]?.bands ?? [];
  assert.equal(band?.records, 40);
  assert.deepEqual(band?.heightRange, [0, null]);
  assert.deepEqual(band?.metadata?.supersedes, [before.indexes[0]?.bands[0]?.id]);
  assert.equal(publication.sequence, 2);
  const { publication: told } = (await gateway.call('GET', 'indexes')).body as IndexesState;
  assert.deepEqual([told?.publisher, told?.sequence], [publication.publisher, 2]);
  const files = band?.files ?? [];
  assert.deepEqual(told?.indexes[0], {
    name: publication.indexes[0]?.name,
    kind: publication.indexes[0]?.kind,
    bands: 1,
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    records: 40,
    heights: [0, null],
  });
  const first = await ask(prefix);
  assert.equal(first.header('cache-control'), 'public, max-age=60');
  assert.equal(first.header('content-type'), 'application/json');
  assert.equal(first.header('etag'), `"${sha256(first.body)}"`);
  const digest = createHash('sha256').update(first.body).digest('base64');
  assert.equal(first.header('content-digest'), `sha-256=:${digest}:`);
  const head = await ask(prefix, { method: 'HEAD' });
  assert.deepEqual(
    [head.status, head.header('content-length'), head.body.length],
    [200, String(first.body.length), 0],
  );
  const again = await ask(prefix, { headers: { 'if-none-match': first.header('etag') ?? '' } });
  assert.deepEqual([again.status, again.header('cache-control')], [304, 'public, max-age=60']);
  assert.deepEqual((await ask('/ar-io/indexes')).body, first.body);
  assert.match(
    (await ask('/gw/info')).body.toString(),
    /"indexes":\{"manifestUrl":"\/gw\/indexes","names":\["root-tx-index"\]\}/,
  );
});

test('building and publishing again changes nothing', async () => {
  const before = (await ask(prefix)).body;
  await build();
  await publish();
  assert.deepEqual((await ask(prefix)).body, before);
});

test('every file is served by name, by digest and as a web seed, with its exact caching', async () => {
  const [band] = (await listing()).indexes[0]?.bands ?? [];
  assert.ok(band?.torrent !== undefined && band.http !== undefined);
  const seed = /dn=([0-9a-f]{16})/.exec(band.torrent.magnet)?.[1];
  for (const file of band.files) {
    const addresses: [string, string][] = [
      [`${band.http.baseUrl}${file.name}`, 'public, no-cache'],
      [`${prefix}/blob/${file.sha256}`, 'public, max-age=31536000, immutable'],
      [`${prefix}/webseed/${seed}/${file.name}`, 'public, max-age=31536000, immutable'],
      [`/ar-io/indexes/blob/${file.sha256}`, 'public, max-age=31536000, immutable'],
    ];
    for (const [path, caching] of addresses) {
      const answer = await ask(path);
      assert.equal(answer.status, 200, path);
      assert.equal(sha256(answer.body), file.sha256);
      assert.equal(answer.header('cache-control'), caching);
      assert.equal(answer.header('etag'), `"${file.sha256}"`);
      assert.equal(answer.header('accept-ranges'), 'bytes');
      assert.equal(answer.header('x-ar-io-index-file'), file.sha256);
      assert.equal(answer.header('content-digest'), answer.header('repr-digest'));
    }
  }
  const torrent = await ask(band.torrent.torrentUrl);
  assert.deepEqual(
    [torrent.status, torrent.header('content-type'), torrent.header('cache-control')],
    [200, 'application/x-bittorrent', 'public, max-age=86400'],
  );
  const start = torrent.body.indexOf('4:info') + 6;
  const end = torrent.body.indexOf('12:piece layers');
  assert.equal(
    createHash('sha1').update(torrent.body.subarray(start, end)).digest('hex'),
    band.torrent.infohashV1,
  );
});

test('ranges and conditions follow RFC 9110, and errors are never kept', async () => {
  const file = (await listing()).indexes[0]?.bands[0]?.files[0];
  assert.ok(file !== undefined);
  const path = `${prefix}/blob/${file.sha256}`;
  const whole = (await ask(path)).body;
  const ranged = (range: string, more: Record<string, string> = {}) =>
    ask(path, { headers: { range, ...more } });
  for (const [range, start, end] of [
    ['bytes=10-19', 10, 20],
    ['bytes=4000-', 4000, whole.length],
    ['bytes=-7', whole.length - 7, whole.length],
    ['bytes=0-9,10-19', 0, 20],
  ] as const) {
    const answer = await ranged(range);
    assert.deepEqual(
      [answer.status, answer.header('content-range')],
      [206, `bytes ${start}-${end - 1}/${whole.length}`],
    );
    assert.deepEqual(answer.body, whole.subarray(start, end));
    assert.equal(answer.header('content-digest'), null);
    assert.match(answer.header('repr-digest') ?? '', /^sha-256=:/);
  }
  assert.equal((await ranged('bytes=0-1,50-60')).body.length, whole.length);
  assert.equal((await ranged('items=0-1')).status, 200);
  assert.equal((await ranged('bytes=0-1', { 'if-range': '"other"' })).status, 200);
  assert.equal((await ranged('bytes=0-1', { 'if-range': `"${file.sha256}"` })).status, 206);
  const beyond = await ranged(`bytes=${whole.length}-`);
  assert.deepEqual(
    [beyond.status, beyond.header('content-range'), beyond.header('cache-control'), beyond.body.toString()],
    [416, `bytes */${whole.length}`, 'no-store', 'Range not satisfiable'],
  );
  for (const wrong of ['bytes=x', 'bytes=5-2', 'bytes=', 'bytes=-', 'bytes=1-2,x']) {
    const answer = await ranged(wrong);
    assert.deepEqual(
      [answer.status, answer.header('cache-control'), answer.body.toString()],
      [400, 'no-store', "Malformed 'range' header"],
      wrong,
    );
  }
  const unchanged = await ask(path, { headers: { 'if-none-match': `"x", W/"${file.sha256}"` } });
  assert.deepEqual(
    [unchanged.status, unchanged.header('cache-control')],
    [304, 'public, max-age=31536000, immutable'],
  );
});

test('the padding of a torrent is zeros, of exactly its lengths', async () => {
  const files = (await listing()).indexes[0]?.bands[0]?.files ?? [];
  const name = torrentName(files);
  const pad = 262_144 - ((files[0]?.size ?? 0) % 262_144);
  const whole = await ask(`${prefix}/webseed/${name}/.pad/${pad}`);
  assert.deepEqual([whole.status, whole.body.equals(Buffer.alloc(pad))], [200, true]);
  const part = await ask(`${prefix}/webseed/${name}/.pad/${pad}`, { headers: { range: 'bytes=0-9' } });
  assert.deepEqual([part.status, part.header('content-range')], [206, `bytes 0-9/${pad}`]);
  for (const path of [`${name}/.pad/${pad + 1}`, `${name}/.pad/0${pad}`, `${'0'.repeat(16)}/.pad/${pad}`]) {
    const answer = await ask(`${prefix}/webseed/${path}`);
    assert.deepEqual([answer.status, answer.header('cache-control')], [404, 'no-store'], path);
  }
});

test('no trick with names reaches a file that is not listed', async () => {
  for (const path of [
    '/root-tx-index/..%2F..%2Fpublication.json/x',
    '/root-tx-index/%2e%2e/publication.json',
    '/root-tx-index/x/..%5c..%5cstate.json',
    '/root-tx-index/__proto__/x',
    '/constructor/x/y',
    '/ROOT/x/y',
    '/webseed/constructor/x',
  ]) {
    const answer = await ask(`${prefix}${path}`);
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
    assert.equal(answer.header('cache-control'), 'no-store', path);
  }
  const bad = await ask(`${prefix}/root-tx-index/a%2Fb/c`);
  assert.deepEqual([bad.status, bad.body.toString()], [400, 'Invalid index, band or file name']);
  const torrent = await ask(`${prefix}/torrents/..%2Fx.torrent`);
  assert.deepEqual([torrent.status, torrent.header('cache-control')], [400, 'no-store']);
});

test('a metered gateway prices bytes only, and marks them private', async (t) => {
  const file = (await listing()).indexes[0]?.bands[0]?.files[0];
  assert.ok(file !== undefined);
  const charged: number[] = [];
  const meter: Meter = {
    enabled: true,
    charge: (_request, bytes, resource) => {
      assert.equal(resource, file.sha256);
      charged.push(bytes);
      return undefined;
    },
    chargeNow: () => false,
  };
  const server = testServer();
  const catalog = new Catalog(folders(), silentLog);
  const pinned = new PinnedFiles(folders().blobs, () => {});
  server.mount((app) => indexRoutes(app, { catalog, folders: folders(), pinned, meter }), ['/gw']);
  await server.listen();
  t.after(() => server.close());
  const path = `${prefix}/blob/${file.sha256}`;
  const from = server.url;
  assert.equal((await ask(path, {}, from)).header('cache-control'), 'private, max-age=31536000, immutable');
  await ask(path, { headers: { range: 'bytes=0-9' } }, from);
  await ask(path, { headers: { 'if-none-match': '*' } }, from);
  await ask(path, { headers: { range: 'bytes=x' } }, from);
  await ask(prefix, {}, from);
  assert.deepEqual(charged, [file.size, 10]);
});

test('a link that is missing or disagrees is 503, and publishing again mends it', async () => {
  const publication = await listing();
  const band = publication.indexes[0]?.bands[0];
  const file = band?.files[0];
  assert.ok(band?.http !== undefined && file !== undefined);
  const link = join(folders().blobs, file.sha256);
  rmSync(link);
  const missing = await ask(`${band.http.baseUrl}${file.name}`);
  assert.deepEqual(
    [missing.status, missing.header('retry-after'), missing.header('cache-control')],
    [503, '60', 'no-store'],
  );
  writeFileSync(link, 'x');
  const other = await ask(`${prefix}/blob/${file.sha256}`);
  assert.deepEqual([other.status, other.body.toString()], [503, 'Index file is being updated']);
  await publish();
  assert.equal(sha256((await ask(`${prefix}/blob/${file.sha256}`)).body), file.sha256);
});

test('a file that is changed while the gateway runs is never served, and mended', async () => {
  const corruption = async () =>
    Number(
      /^index_files_corruption_total (\d+)$/m.exec((await ask('/gw/__gateway_metrics')).body.toString())?.[1],
    );
  const someFile = async () => {
    const band = (await listing()).indexes[0]?.bands[0];
    const file = band?.files.find(({ name }) => name.endsWith('.cdb'));
    assert.ok(band !== undefined && file !== undefined);
    const path = `${prefix}/blob/${file.sha256}`;
    assert.equal(sha256((await ask(path)).body), file.sha256);
    return { band, file, path, link: join(folders().blobs, file.sha256) };
  };
  const before = await corruption();
  // Only the name under the digest: the band has the right file still.
  const one = await someFile();
  writeFileSync(`${one.link}.new`, readFileSync(one.link).fill(7, 0, 10));
  renameSync(`${one.link}.new`, one.link);
  const refused = await ask(one.path);
  assert.deepEqual([refused.status, refused.header('cache-control')], [503, 'no-store']);
  await until('it is pinned again', async () => (await ask(one.path)).status === 200);
  assert.equal(sha256((await ask(one.path)).body), one.file.sha256);
  // The band's own file, whose time of writing is put back: it is built again.
  const other = await someFile();
  flipByte(join(folders().published, 'root-tx-index', other.band.id, other.file.name), 20);
  for (const path of [other.path, `${other.band.http?.baseUrl}${other.file.name}`]) {
    assert.equal((await ask(path, { headers: { range: 'bytes=0-9' } })).status, 503);
  }
  const published = await until('all that is listed is there', async () => {
    const { indexes } = await listing();
    for (const { files } of indexes.flatMap(({ bands }) => bands))
      for (const file of files) {
        const { status, body } = await ask(`${prefix}/blob/${file.sha256}`);
        if (status !== 200) return undefined;
        assert.equal(sha256(body), file.sha256);
      }
    return indexes;
  });
  assert.ok(published.length > 0);
  assert.equal(await corruption(), before + 2);
  // What it published of its own is listed before the next test looks.
  await publish();
});

test('a crash between links and document leaves the old publication whole, and the next publish cleans up', async () => {
  const before = await listing();
  writeFileSync(join(folders().blobs, 'f'.repeat(64)), 'left behind');
  writeFileSync(`${folders().document}.abc.tmp`, 'half a document');
  await mineItems(['one more']);
  await build();
  assert.deepEqual(await listing(), before);
  const after = await publish();
  assert.equal(after.sequence, before.sequence + 1);
  const listed = new Set(after.indexes[0]?.bands.flatMap(({ files }) => files.map((file) => file.sha256)));
  assert.deepEqual(new Set(readdirSync(folders().blobs)), listed);
  rmSync(folders().state);
  await mineItems(['and one more']);
  await build();
  assert.equal((await publish()).sequence, after.sequence + 1, 'the document itself says the sequence');
});

test('torrents are hashed once: a later publish reads no file again, whatever else changed', async () => {
  const { torrents, blobs } = folders();
  const before = await listing();
  const files = readdirSync(torrents).map((name) => [name, statSync(join(torrents, name)).mtimeMs]);
  // A blob whose bytes are gone but whose size is not: whoever hashed it again would get another infohash.
  const [file] = before.indexes[0]?.bands[0]?.files ?? [];
  assert.ok(file !== undefined);
  const blob = join(blobs, file.sha256);
  const bytes = readFileSync(blob);
  rmSync(blob);
  writeFileSync(blob, Buffer.alloc(bytes.length));
  const renewed = await publisherOf(
    { ...gateway.inside.config, INDEX_PUBLISH_TTL_SECONDS: 0 },
    await readObserver(gateway.inside.config),
  ).publish();
  assert.equal(renewed.published, true);
  assert.deepEqual((await listed(renewed.sequence)).indexes, before.indexes);
  assert.deepEqual(
    readdirSync(torrents).map((name) => [name, statSync(join(torrents, name)).mtimeMs]),
    files,
  );
  writeFileSync(blob, bytes);
});

test('a torrent that was tampered with is made again, and one with an old web seed is brought up to date', async () => {
  const { torrents } = folders();
  const [name = ''] = readdirSync(torrents);
  const right = readFileSync(join(torrents, name));
  writeFileSync(join(torrents, name), right.subarray(1));
  await publisher.publish();
  assert.ok(readFileSync(join(torrents, name)).equals(right));
  const moved = publisherOf(
    { ...gateway.inside.config, INDEX_PUBLIC_URL: 'http://elsewhere.example' },
    await readObserver(gateway.inside.config),
  );
  await moved.publish();
  const changed = readFileSync(join(torrents, name));
  assert.ok(changed.includes('http://elsewhere.example/gw/indexes/webseed/'));
  assert.deepEqual(withWebSeeds(changed, []).bytes, withWebSeeds(right, []).bytes);
});

test('a document that was tampered with publishes nothing', async () => {
  const { document } = folders();
  truncateSync(document, statSync(document).size - 1);
  await until('it is noticed', async () => (await ask(prefix)).status === 404);
});

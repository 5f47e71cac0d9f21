/**
 * `kill -9` at acts on the disk from the first to the last: a publication is whole or the old one, a band in use is
 * whole or the old one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { withWebSeeds } from '../../src/formats/torrent/torrent.ts';
import { storedBands } from '../../src/gateway/published-indexes/bands/stored.ts';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import {
  sha256Hex,
  type VerifiedPublication,
  verifyPublication,
} from '../../src/gateway/published-indexes/publication/document.ts';
import { checkRootBand } from '../../src/gateway/published-indexes/subscriber/check-band.ts';
import { installedName } from '../../src/gateway/published-indexes/subscriber/incoming.ts';
import { InstalledBands } from '../../src/gateway/published-indexes/subscriber/installed.ts';
import { buildTestBand, itemId, pollOnce, testObserver, testPublisher } from '../support/bands.ts';

const script = resolve(import.meta.dirname, '../support/index-process.ts');
const root = mkdtempSync(join(tmpdir(), 'turnpike-index-crash-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** True when it came through, false when it was killed. */
async function run(
  mode: string,
  dataDir: string,
  killAt: number,
  url = '',
): Promise<{ through: boolean; acts: number }> {
  const child = spawn(process.execPath, [script, mode, dataDir, String(killAt), url], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const [code, signal] = await once(child, 'close');
  if (signal === 'SIGKILL') return { through: false, acts: killAt };
  assert.equal(code, 0, errors);
  return { through: true, acts: Number(/^done (\d+)/.exec(out)?.[1]) };
}

/** How many of the acts are tried; TEST_EVERY_ACT=1 tries them all. */
const tries = process.env.TEST_EVERY_ACT === '1' ? Number.POSITIVE_INFINITY : 14;

/** Spread from the first act to the last, two at a time. */
async function overAll(acts: number, work: (killAt: number) => Promise<void>): Promise<void> {
  const count = Math.min(acts, tries);
  const points = Array.from({ length: count }, (_, at) => 1 + Math.round((at * (acts - 1)) / (count - 1)));
  const worker = async () => {
    for (let killAt = points.shift(); killAt !== undefined; killAt = points.shift()) await work(killAt);
  };
  await Promise.all([worker(), worker()]);
}

/** The publication on disk, with everything that it promises. */
function published(dataDir: string): VerifiedPublication {
  const folders = indexFolders(dataDir);
  const publication = verifyPublication(readFileSync(folders.document));
  for (const { files, torrent } of publication.indexes.flatMap(({ bands }) => bands)) {
    for (const { sha256 } of files)
      assert.equal(sha256Hex(readFileSync(join(folders.blobs, sha256))), sha256);
    const file = readFileSync(join(folders.torrents, `${torrent?.infohashV1}.torrent`));
    assert.equal(withWebSeeds(file, []).infohashV1, torrent?.infohashV1);
  }
  return publication;
}

test('a publisher that is killed at any act leaves a whole publication, and the next run finishes', async () => {
  const start = join(root, 'publish-start');
  await buildTestBand(start, ['old']);
  await testPublisher(start).publish();
  const before = published(start);
  const { acts } = await run('publish', copyOf(start, 'publish-through'), 0);
  assert.ok(acts > 20, `${acts} acts`);
  let killed = 0;
  await overAll(acts, async (killAt) => {
    const dataDir = copyOf(start, `publish-${killAt}`);
    const { through } = await run('publish', dataDir, killAt);
    if (!through) killed += 1;
    const found = published(dataDir);
    assert.ok(found.sequence >= before.sequence, `killed at ${killAt}`);
    await storedBands(join(indexFolders(dataDir).published, 'root-tx-index'));
    await buildTestBand(dataDir, ['old', 'new', 'more']);
    await testPublisher(dataDir).publish();
    const finished = published(dataDir);
    assert.ok(finished.sequence > before.sequence);
    assert.equal(finished.indexes[0]?.bands[0]?.records, 3);
    assert.equal(finished.indexes[0]?.bands.length, 1);
    const { blobs, published: folder } = indexFolders(dataDir);
    const listed = new Set(
      finished.indexes.flatMap(({ bands }) =>
        bands.flatMap(({ files }) => files.map(({ sha256 }) => sha256)),
      ),
    );
    assert.deepEqual(new Set(readdirSync(blobs)), listed, `nothing is left behind after ${killAt}`);
    assert.ok(!existsSync(join(folder, '.lock')));
    rmSync(dataDir, { recursive: true });
  });
  assert.ok(killed >= 12, `${killed} of ${acts} were killed`);
});

let server: Server;
let url: string;
let serves: string;
before(async () => {
  server = createServer((request, response) => {
    const { document, blobs } = indexFolders(serves);
    const path = request.url === '/gw/indexes' ? document : join(blobs, request.url?.split('/').at(-1) ?? '');
    const bytes = readFileSync(path);
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    response.end(bytes.subarray(start));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${Object(server.address()).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

test('a subscriber that is killed at any act keeps serving, and the next look finishes', async () => {
  const [old, renewed] = [join(root, 'served-old'), join(root, 'served-new')];
  await buildTestBand(old, ['old', 'both']);
  await testPublisher(old).publish();
  cpSync(old, renewed, { recursive: true });
  await buildTestBand(renewed, ['old', 'both', 'new']);
  await testPublisher(renewed).publish();
  const start = join(root, 'subscribe-start');
  serves = old;
  assert.equal(await pollOnce(start, url), 'installed');
  serves = renewed;
  const offered = published(renewed).indexes[0]?.bands ?? [];
  const { acts } = await run('subscribe', copyOf(start, 'subscribe-through'), 0, url);
  assert.ok(acts > 20, `${acts} acts`);
  let killed = 0;
  await overAll(acts, async (killAt) => {
    const dataDir = copyOf(start, `subscribe-${killAt}`);
    const { through } = await run('subscribe', dataDir, killAt, url);
    if (!through) killed += 1;
    const { installed, incoming } = indexFolders(dataDir);
    const bands = new InstalledBands(installed);
    const knows = async (name: string) =>
      (await bands.locate(itemId(name).toString('base64url'))) !== undefined;
    await bands.refresh();
    assert.ok((await knows('old')) && (await knows('both')), `what was there is served after ${killAt}`);
    for (const band of offered) {
      const folder = join(installed, testObserver.address, 'root-tx-index', installedName(band));
      if (existsSync(folder)) await checkRootBand(folder, band);
    }
    assert.match(await pollOnce(dataDir, url), /^(installed|unchanged)$/, `after ${killAt}`);
    await bands.refresh();
    assert.ok((await knows('new')) && (await knows('old')));
    assert.equal(bands.count, 1, `one band is left after ${killAt}`);
    await bands.close();
    assert.deepEqual(
      readdirSync(incoming).filter((name) => !name.startsWith('.')),
      [],
    );
    rmSync(dataDir, { recursive: true });
  });
  assert.ok(killed >= 12, `${killed} of ${acts} were killed`);
});

function copyOf(folder: string, name: string): string {
  const copy = join(root, name);
  cpSync(folder, copy, { recursive: true });
  return copy;
}

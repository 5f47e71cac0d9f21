/** A full disk, and bands that are replaced while somebody reads them: what was there goes on serving. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { openContentCache } from '../../src/gateway/content/part.ts';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import { sha256Hex, verifyPublication } from '../../src/gateway/published-indexes/publication/document.ts';
import { InstalledBands } from '../../src/gateway/published-indexes/subscriber/installed.ts';
import { Subscriber } from '../../src/gateway/published-indexes/subscriber/subscriber.ts';
import { createGatewaySurface } from '../../src/gateway/surface.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { buildTestBand, filesBelow, itemId, testObserver, testPublisher } from '../support/bands.ts';
import { until } from '../support/local-gateway.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const log = silentLog;
const root = mkdtempSync(join(tmpdir(), 'turnpike-index-faults-'));
after(() => rmSync(root, { recursive: true, force: true }));

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix} ${at}`);
const bandsOf = (dataDir: string) =>
  verifyPublication(readFileSync(indexFolders(dataDir).document)).indexes[0]?.bands ?? [];

/** Leaves so many bytes free. */
function fill(disk: SmallDisk, free: number): void {
  const { bavail, bsize } = statfsSync(disk.folder);
  writeFileSync(join(disk.folder, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - free)));
}

/** A publisher's document and files by HTTP, as they are on disk. */
async function serve(dataDir: () => string): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { document, blobs } = indexFolders(dataDir());
    const path = request.url === '/gw/indexes' ? document : join(blobs, request.url?.split('/').at(-1) ?? '');
    response.end(readFileSync(path));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${Object(server.address()).port}` };
}

async function poll(dataDir: string, url: string): Promise<string> {
  const subscriber = new Subscriber({
    folders: indexFolders(dataDir),
    log,
    concurrency: 2,
    maxDiskBytes: undefined,
    changed: async () => {},
  });
  const key = testObserver.address;
  const { outcome } = await subscriber.poll({ publisher: key, key, url, names: undefined });
  await subscriber.close();
  return outcome;
}

describe('a full disk', () => {
  const disk = mountSmallDisk();
  const options = { skip: disk === undefined && 'the tests may not mount' };
  after(() => disk?.remove());

  test('while a band is built or published leaves the publication as it was', options, async () => {
    assert.ok(disk !== undefined);
    const dataDir = join(disk.folder, 'publisher');
    await buildTestBand(dataDir, names('old', 20));
    await testPublisher(dataDir).publish();
    const before = filesBelow(indexFolders(dataDir).published);
    fill(disk, 64 * 1024);
    await assert.rejects(buildTestBand(dataDir, names('new', 200)), { code: 'ENOSPC' });
    assert.deepEqual(filesBelow(indexFolders(dataDir).published), before);
    rmSync(join(disk.folder, 'filler'));
    const id = await buildTestBand(dataDir, names('new', 40));
    const built = filesBelow(indexFolders(dataDir).published);
    fill(disk, 0);
    await assert.rejects(testPublisher(dataDir).publish(), { code: 'ENOSPC' });
    const after = filesBelow(indexFolders(dataDir).published);
    for (const [path, bytes] of built) assert.ok(after.get(path)?.equals(bytes), `${path} is as it was`);
    rmSync(join(disk.folder, 'filler'));
    await testPublisher(dataDir).publish();
    assert.deepEqual(
      bandsOf(dataDir).map((band) => band.id),
      [id],
    );
    rmSync(dataDir, { recursive: true });
  });

  test('while a band is downloaded keeps the old one, and the next look finishes', options, async () => {
    assert.ok(disk !== undefined);
    const small = join(root, 'small');
    const large = join(root, 'large');
    await buildTestBand(small, names('old', 10));
    await testPublisher(small).publish();
    cpSync(small, large, { recursive: true });
    await buildTestBand(large, [...names('old', 10), ...names('new', 150)]);
    await testPublisher(large).publish();
    let serving = small;
    const { server, url } = await serve(() => serving);
    const dataDir = join(disk.folder, 'subscriber');
    mkdirSync(dataDir);
    const bands = new InstalledBands(indexFolders(dataDir).installed);
    const knows = async (name: string) => {
      await bands.refresh();
      return (await bands.locate(itemId(name).toString('base64url'))) !== undefined;
    };
    try {
      assert.equal(await poll(dataDir, url), 'installed');
      serving = large;
      fill(disk, 200 * 1024);
      assert.equal(await poll(dataDir, url), 'error');
      assert.deepEqual([await knows('old 3'), await knows('new 3'), bands.count], [true, false, 1]);
      rmSync(join(disk.folder, 'filler'));
      assert.equal(await poll(dataDir, url), 'installed');
      assert.deepEqual([await knows('old 3'), await knows('new 3'), bands.count], [true, true, 1]);
    } finally {
      await bands.close();
      server.close();
      server.closeAllConnections();
      rmSync(join(disk.folder, 'filler'), { force: true });
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe('a band that is replaced', () => {
  test('is sent to its end to whoever is reading it, byte for byte', async () => {
    const dataDir = join(root, 'replaced-while-served');
    // One partition of several MiB, so that its answer is on the way for a while.
    await buildTestBand(dataDir, names('x', 60_000), 0x42);
    await testPublisher(dataDir).publish();
    const file = bandsOf(dataDir)[0]?.files.find(({ name }) => name === '42.cdb');
    assert.ok(file !== undefined && file.size > 6 * 1024 * 1024, `${file?.size} bytes`);
    const gateway = createGatewaySurface(
      readConfig({ DATA_DIR: dataDir, GATEWAY_PORT: '0', START_WRITERS: 'false' }),
      {
        log,
        nodeUrls: [],
        release: 'test',
        cache: await openContentCache({ DATA_DIR: dataDir, CONTIGUOUS_DATA_CACHE_MAX_BYTES: 1_000_000 }),
        uploadUrl: () => undefined,
        names: [],
        adminKey: 'key',
      },
    );
    await gateway.start();
    try {
      const reading = await answerTo(`${gateway.url}/gw/indexes/blob/${file.sha256}`);
      await buildTestBand(dataDir, names('other', 20));
      await testPublisher(dataDir).publish();
      const pieces: Buffer[] = [];
      for await (const piece of reading) pieces.push(piece);
      assert.equal(sha256Hex(Buffer.concat(pieces)), file.sha256);
      await until('the replaced one is gone', async () => {
        const answer = await answerTo(`${gateway.url}/gw/indexes/blob/${file.sha256}`);
        answer.resume();
        return answer.statusCode === 404;
      });
    } finally {
      await gateway.stop();
    }
  });

  test('is found in by every look-up, however often it is replaced', async () => {
    const served = join(root, 'replaced-often');
    const dataDir = join(root, 'reader');
    const { server, url } = await serve(() => served);
    const bands = new InstalledBands(indexFolders(dataDir).installed);
    let stopped = false;
    let looked = 0;
    try {
      await buildTestBand(served, ['always', 'round 0']);
      await testPublisher(served).publish();
      assert.equal(await poll(dataDir, url), 'installed');
      await bands.refresh();
      const id = itemId('always').toString('base64url');
      const looking = (async () => {
        while (!stopped) {
          assert.ok((await bands.locate(id)) !== undefined, `look-up ${looked}`);
          looked += 1;
          if (looked % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      for (let round = 1; round <= 8; round += 1) {
        const before = looked;
        await buildTestBand(served, ['always', `round ${round}`]);
        await testPublisher(served).publish();
        assert.equal(await poll(dataDir, url), 'installed');
        // As when another process installed and retired: both are seen at once.
        await bands.refresh();
        assert.ok((await bands.locate(itemId(`round ${round}`).toString('base64url'))) !== undefined);
        await until('look-ups in each round', async () => looked > before + 10);
      }
      stopped = true;
      await looking;
    } finally {
      stopped = true;
      await bands.close();
      server.close();
      server.closeAllConnections();
    }
  });
});

async function answerTo(url: string): Promise<IncomingMessage> {
  const [answer] = await once(get(url, { agent: false }), 'response');
  return answer;
}

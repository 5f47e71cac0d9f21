/** A published band is taken by a BitTorrent client that others wrote: from the web seed, and from the seeder. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import WebTorrent from 'webtorrent';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import { buildBands } from '../../src/gateway/published-indexes/index.ts';
import { verifyPublication } from '../../src/gateway/published-indexes/publication/document.ts';
import { publisherOf, readObserver } from '../../src/gateway/published-indexes/publication/open.ts';
import type { Band } from '../../src/gateway/published-indexes/publication/read-indexes.ts';
import { type AdminGateway, makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { freePort } from '../support/free-port.ts';
import { text, until } from '../support/local-gateway.ts';

let gateway: AdminGateway;
let band: Band;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-torrent-client-'));
  gateway = await startAdminGateway({
    overrides: { GATEWAY_PORT: String(await freePort()), INDEX_SEED_PORT: String(await freePort()) },
  });
  const items = await Promise.all(
    Array.from({ length: 40 }, (_, at) => makeItem({ data: Buffer.from(`item ${at}`) })),
  );
  await postBundle(gateway.stack, items);
  for (const { id } of items)
    await until(
      'an item is indexed',
      async () => (await gateway.inside.index.locate(id))?.height !== undefined,
    );
  const { config } = gateway.inside;
  const observer = await readObserver(config.DATA_DIR);
  await buildBands({
    sql: gateway.inside.index.sql,
    published: indexFolders(config.DATA_DIR).published,
    bandHeights: 1000,
    publisher: observer.address,
  });
  await publisherOf(config, observer).publish();
  const document = await until('it is published', async () => {
    const answer = await fetch(`${gateway.url}/gw/indexes`);
    return answer.ok && Buffer.from(await answer.arrayBuffer());
  });
  const [first] = verifyPublication(document).indexes[0]?.bands ?? [];
  assert.ok(first?.torrent !== undefined);
  assert.ok(first.files.length > 20, 'many files, each padded to a whole piece');
  band = first;
});

after(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function seeded(): Promise<number> {
  const lines = (await text(`${gateway.url}/gw/__gateway_metrics`)).split('\n');
  return Number(lines.find((line) => line.startsWith('index_seeder_bytes_total '))?.split(' ')[1]);
}

/** The client checks every piece; what it wrote is compared with the signed digests too. */
async function take(what: string | Buffer, options: object): Promise<{ received: number }> {
  const client = new WebTorrent({
    dht: false,
    lsd: false,
    utp: false,
    natUpnp: false,
    natPmp: false,
    ...options,
  });
  const path = mkdtempSync(join(folder, 'taken-'));
  try {
    const torrent = client.add(what, { path });
    await new Promise((resolve, reject) => {
      torrent.on('done', resolve);
      torrent.on('error', reject);
      client.on('error', reject);
    });
    assert.equal(torrent.infoHash, band.torrent?.infohashV1);
    for (const { name, sha256 } of band.files) {
      const bytes = readFileSync(join(path, torrent.name, name));
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, name);
    }
    return { received: torrent.received };
  } finally {
    await new Promise((resolve) => client.destroy(resolve));
  }
}

async function torrentFile(): Promise<Buffer> {
  const answer = await fetch(`${gateway.url}${band.torrent?.torrentUrl}`);
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

test('a band is taken from the web seed alone', { timeout: 300_000 }, async () => {
  const before = await seeded();
  await take(await torrentFile(), { tracker: false });
  assert.equal(await seeded(), before, 'no peer was asked');
});

test('a band is taken from the seeder, found through the tracker', { timeout: 300_000 }, async () => {
  const before = await seeded();
  const { received } = await take(await torrentFile(), { webSeeds: false });
  const given = (await seeded()) - before;
  assert.ok(given >= band.files.reduce((sum, { size }) => sum + size, 0), `${given} bytes were given`);
  assert.ok(received >= given, `${received} bytes came in, heads of messages too`);
});

test('the signed magnet is enough: torrent and band come from the seeder that it names', {
  timeout: 300_000,
}, async () => {
  const before = await seeded();
  await take(band.torrent?.magnet ?? '', { webSeeds: false, tracker: false });
  assert.ok((await seeded()) > before);
});

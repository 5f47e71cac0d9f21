/**
 * A published band is taken by BitTorrent clients that others wrote: from the web seed alone, and from the peer that an
 * installed program makes of the gateway's torrents.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import WebTorrent from 'webtorrent';
import { bencode } from '../../src/formats/torrent/bencode.ts';
import { withWebSeeds } from '../../src/formats/torrent/torrent.ts';
import { buildBands } from '../../src/gateway/published-indexes/bands/build.ts';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import { type Band, verifyPublication } from '../../src/gateway/published-indexes/publication/document.ts';
import { readObserver } from '../../src/gateway/published-indexes/publication/observer.ts';
import { publisherOf } from '../../src/gateway/published-indexes/publication/publisher.ts';
import { type AdminGateway, makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';

const run = promisify(execFile);
const aria2c = '/usr/bin/aria2c';
const python = '/usr/bin/python3';
/** The package of the system is for the Python of the system. */
const hasLibtorrent = existsSync(python) && spawnSync(python, ['-c', 'import libtorrent']).status === 0;
const timeout = 300_000;

let gateway: AdminGateway;
let tracker: Server;
/** Ports that peers announced. */
const announced = new Set<number>();
let trackerUrl: string;
let band: Band;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-torrent-client-'));
  tracker = createServer((request, response) => {
    announced.add(Number(new URL(request.url ?? '', trackerUrl).searchParams.get('port')));
    const peers = [...announced].map((port) => Buffer.of(127, 0, 0, 1, port >> 8, port & 255));
    const answer = new Map<string, number | Buffer>([
      ['interval', 1],
      ['peers', Buffer.concat(peers)],
    ]);
    response.end(bencode(answer));
  });
  await new Promise<void>((resolve) => tracker.listen(0, '127.0.0.1', resolve));
  trackerUrl = `http://127.0.0.1:${Object(tracker.address()).port}/announce`;
  gateway = await startAdminGateway({
    overrides: {
      GATEWAY_PORT: String(await freePort()),
      ...(existsSync(aria2c) && {
        INDEX_TORRENT_COMMAND: `${aria2c} --no-conf ${seeding()} --dir={folder} --stop-with-process={pid} {torrent}`,
      }),
    },
  });
  const items = await Promise.all(
    Array.from({ length: 40 }, (_, at) => makeItem({ data: Buffer.from(`item ${at}`) })),
  );
  await postBundle(gateway.stack, items);
  for (const { id } of items)
    await eventually(
      'an item is indexed',
      async () => (await gateway.inside.index.locate(id))?.height !== undefined,
    );
  const { config } = gateway.inside;
  const observer = await readObserver(config);
  await buildBands({
    sql: gateway.inside.index.sql,
    published: indexFolders(config.DATA_DIR).published,
    bandHeights: 1000,
    publisher: observer.address,
  });
  await publisherOf(config, observer).publish();
  const document = await eventually('it is published', async () => {
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
  tracker.close();
  tracker.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** How the gateway's own program is run here: known to our tracker, and to nobody else. */
function seeding(): string {
  return `--check-integrity=true --seed-ratio=0.0 --enable-dht=false --bt-enable-lpd=false --bt-tracker=${trackerUrl} --bt-tracker-interval=1`;
}

async function torrentFile(): Promise<Buffer> {
  const answer = await fetch(`${gateway.url}${band.torrent?.torrentUrl}`);
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

/** Clients check every piece; what they wrote is compared with the signed digests too. */
function checkFiles(path: string): void {
  const name = /dn=([0-9a-f]{16})/.exec(band.torrent?.magnet ?? '')?.[1] ?? '';
  for (const file of band.files) {
    const bytes = readFileSync(join(path, name, file.name));
    assert.equal(createHash('sha256').update(bytes).digest('hex'), file.sha256, file.name);
  }
}

test('webtorrent takes a band from the web seed alone', { timeout }, async () => {
  const client = new WebTorrent({
    ...{ dht: false, lsd: false, utp: false, natUpnp: false, natPmp: false, tracker: false },
  });
  const path = mkdtempSync(join(folder, 'webtorrent-'));
  try {
    const torrent = client.add(await torrentFile(), { path });
    await new Promise((resolve, reject) => {
      torrent.on('done', resolve);
      torrent.on('error', reject);
      client.on('error', reject);
    });
    assert.equal(torrent.infoHash, band.torrent?.infohashV1);
    checkFiles(path);
  } finally {
    await new Promise((resolve) => client.destroy(resolve));
  }
});

const withAria = { timeout, skip: !existsSync(aria2c) && 'aria2 is not installed' };

test('aria2 takes a band from the web seed alone', withAria, async () => {
  const path = mkdtempSync(join(folder, 'aria2-'));
  const torrent = join(path, 'band.torrent');
  writeFileSync(torrent, await torrentFile());
  const options = ['--no-conf', '--enable-dht=false', '--bt-enable-lpd=false', '--seed-time=0'];
  await run(aria2c, [...options, `--dir=${path}`, torrent]);
  checkFiles(path);
});

test('aria2 takes a band from the peer that the gateway has by its torrent command', withAria, async () => {
  await eventually('the gateway’s program announced itself', async () => announced.size > 0);
  const path = mkdtempSync(join(folder, 'aria2-peer-'));
  const torrent = join(path, 'band.torrent');
  // Without the web seed nothing but the peer can have given it.
  writeFileSync(torrent, withWebSeeds(await torrentFile(), []).bytes);
  const options = ['--no-conf', '--enable-dht=false', '--bt-enable-lpd=false', '--seed-time=0'];
  await run(aria2c, [...options, `--bt-tracker=${trackerUrl}`, `--dir=${path}`, torrent]);
  checkFiles(path);
});

const libtorrentScript = `
import sys, time, libtorrent
session = libtorrent.session({'enable_dht': False, 'enable_lsd': False, 'enable_upnp': False, 'enable_natpmp': False,
  'ssrf_mitigation': False, 'listen_interfaces': '127.0.0.1:0'})
info = libtorrent.torrent_info(sys.argv[1])
hashes = info.info_hashes()
torrent = session.add_torrent({'ti': info, 'save_path': sys.argv[2]})
while not torrent.status().is_seeding:
  time.sleep(0.1)
  assert torrent.status().errc.value() == 0, torrent.status().errc.message()
print(hashes.v1, hashes.v2)
`;

test('libtorrent takes a band from the web seed alone, by both infohashes', {
  timeout,
  skip: !hasLibtorrent && 'libtorrent is not installed',
}, async () => {
  const path = mkdtempSync(join(folder, 'libtorrent-'));
  const torrent = join(path, 'band.torrent');
  writeFileSync(torrent, await torrentFile());
  const { stdout } = await run(python, ['-c', libtorrentScript, torrent, path]);
  assert.equal(stdout.trim(), `${band.torrent?.infohashV1} ${band.torrent?.infohashV2}`);
  checkFiles(path);
});

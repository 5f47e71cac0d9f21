/** A small installation on loopback with everything in it that can go wrong, and one fault planted at a time. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type DnsServer, startDnsServer } from '../../../test/support/dns-server.ts';
import { mountSmallDisk } from '../../../test/support/small-disk.ts';
import { createTestAuthority } from '../../../test/support/test-authority.ts';
import { readConfig } from '../../config/config.ts';
import { toTxId } from '../../formats/base64url.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { examine } from './examine.ts';
import type { NamedFinding } from './finding.ts';
import { createView } from './view.ts';

const root = 'gateway.test';
const uploadHost = 'upload.test';
const id = toTxId(randomBytes(32));
const authority = createTestAuthority();
const stranger = createTestAuthority('Nobody');
const certificates = {
  good: authority.issue([root, `*.${root}`, uploadHost]),
  expired: authority.issue([root, `*.${root}`, uploadHost], -3),
  late: authority.issue([root, `*.${root}`, uploadHost], 5),
  'without wildcard': authority.issue([root, uploadHost]),
  untrusted: stranger.issue([root, `*.${root}`, uploadHost]),
};
/** The first blocks of the public networks. */
const mainnet = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

let folder: string;
let dns: DnsServer;
let front: Http2SecureServer;
let inside: Server;
let outside: Server;
let certificate: keyof typeof certificates = 'good';

/** What the next examination meets. */
interface World {
  knowsRoot: boolean;
  scheme: 'https' | 'http';
  clockMs: number;
  bodyLimit: boolean;
  collectsBodies: boolean;
  holdsEvents: boolean;
  readable: boolean;
  otherBytes: boolean;
  health: string[];
  rpc: boolean;
  node: 'public' | 'local' | 'silent';
  rates: boolean;
  /** What the card provider answers to the key. */
  card: number;
}
const well: World = {
  knowsRoot: true,
  scheme: 'https',
  clockMs: 0,
  bodyLimit: false,
  collectsBodies: false,
  holdsEvents: false,
  readable: true,
  otherBytes: false,
  health: [],
  rpc: true,
  node: 'public',
  rates: true,
  card: 200,
};
let world: World = well;
/** Settings of one who sells. */
const sells = {
  ...{ CARD_PAYMENTS_ENABLED: 'true', X402_ENABLED: 'true', X402_NETWORKS: 'base' },
  ...{ STRIPE_SECRET_KEY: 'sk_live_known', STRIPE_WEBHOOK_SECRET: 'whsec_known' },
};

const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port;

async function listen<S extends Server | Http2SecureServer>(server: S): Promise<S> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}

/** Gateway and upload service, as a proxy in front of them shows them. */
const atTheFront: RequestListener = (request, response) => {
  const url = request.url ?? '';
  const host = request.headers.host ?? '';
  const isRoot = host.startsWith(root);
  if (request.method === 'POST' && url === '/v1/tx') {
    const refuse = (status: number) => response.writeHead(status, { connection: 'close' }).end();
    if (world.bodyLimit) return void refuse(413);
    if (world.collectsBodies) return void request.resume().on('end', () => refuse(400));
    return void refuse(400);
  }
  if (url === '/gw/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!world.holdsEvents) response.write('retry: 1\n\n');
    return;
  }
  if (isRoot && request.headers['sec-fetch-dest'] === 'document' && world.knowsRoot) {
    const asked = toTxId(Buffer.from(url.slice(1), 'base64url'));
    const location = `${world.scheme}://${sandboxLabel(asked)}.${host}${url}`;
    return void response.writeHead(302, { location }).end();
  }
  if (url.includes(id)) {
    return void response.writeHead(world.readable ? 200 : 503).end(world.otherBytes ? 'other' : 'content');
  }
  response.writeHead(host.startsWith(`a-name.${root}`) || world.knowsRoot ? 200 : 404).end('{}');
};

/** The services where they listen. */
const atHome: RequestListener = (request, response) => {
  if (request.url?.includes(id)) return void response.end('content');
  response.writeHead(world.health.length === 0 ? 200 : 503);
  // As the upload service tells them, and as the gateway does.
  const isInLines = request.url?.startsWith('/health') === true;
  response.end(isInLines ? world.health.join('\n') : JSON.stringify({ reasons: world.health }));
};

/** An Arweave node, a Solana RPC and a source of rates. */
const elsewhere: RequestListener = (request, response) => {
  response.setHeader('date', new Date(Date.now() + world.clockMs).toUTCString());
  if (request.url === '/info' && world.node !== 'silent') {
    const network = world.node === 'public' ? 'arweave.N.1' : 'arlocal.N.1';
    return void response.end(JSON.stringify({ network, height: 10 }));
  }
  if (request.url === '/rpc' && world.rpc) {
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: mainnet }));
  }
  if (request.url?.startsWith('/simple/price?') && world.rates) {
    const asked = new URLSearchParams(request.url.split('?', 2)[1]);
    const listed = (name: string) => (asked.get(name) ?? '').split(',');
    const prices = Object.fromEntries(listed('vs_currencies').map((currency) => [currency, 1]));
    return void response.end(JSON.stringify(Object.fromEntries(listed('ids').map((one) => [one, prices]))));
  }
  if (request.url === '/v1/balance') return void response.writeHead(world.card).end('{}');
  response.writeHead(502).end();
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'));
  writeFileSync(join(folder, 'world'), 'public\n');
  setDefaultCACertificates([...getCACertificates('default'), authority.pem]);
  dns = await startDnsServer({ [root]: '127.0.0.1', [`*.${root}`]: '127.0.0.1', [uploadHost]: '127.0.0.1' });
  front = await listen(createSecureServer({ allowHTTP1: true, ...certificates.good }, atTheFront as never));
  inside = await listen(createServer(atHome));
  outside = await listen(createServer(elsewhere));
});
after(() => {
  dns.stop();
  for (const server of [inside, outside]) server.close().closeAllConnections();
  front.close();
  rmSync(folder, { recursive: true, force: true });
});

async function findings(
  changes: Partial<World> = {},
  environment: Record<string, string> = {},
  publicUrls = {
    gateway: `https://${root}:${portOf(front)}`,
    upload: `https://${uploadHost}:${portOf(front)}`,
  },
): Promise<NamedFinding[]> {
  world = { ...well, ...changes };
  front.setSecureContext(certificates[certificate]);
  const other = `http://127.0.0.1:${portOf(outside)}`;
  const isSelling = environment.CARD_PAYMENTS_ENABLED === 'true';
  const selling = { STRIPE_API_URL: other, X402_RPC_URLS: JSON.stringify({ base: `${other}/rpc` }) };
  const home = String(portOf(inside));
  const config = readConfig({
    ...{ WORLD: 'public', DATA_DIR: folder, START_HEIGHT: '5', ARNS_ROOT_HOST: root },
    ...{ ARWEAVE_NODE_URLS: other, SOLANA_RPC_URL: `${other}/rpc`, RATES_URL: other },
    ...{ CARD_PAYMENTS_ENABLED: 'false', X402_ENABLED: 'false' },
    ...{ TRUSTED_PROXIES: '127.0.0.1', TRUSTED_PROXY_COUNT: '1' },
    ...{ GATEWAY_PORT: home, UPLOAD_PORT: home, MIN_FREE_DISK_BYTES: '1', HEALTHCHECK_MIN_FREE_BYTES: '1' },
    ...(isSelling && selling),
    ...environment,
  });
  const view = createView({ dnsServer: dns.address });
  try {
    return await examine({
      ...{ config, surfaces: ['gateway', 'upload', ...(isSelling ? ['payment'] : [])], publicUrls, view },
      ...{ timeoutMs: world.holdsEvents || world.collectsBodies ? 2_000 : 30_000, id, name: 'a-name' },
    });
  } finally {
    await view.close();
  }
}

/** All that is wrong, as one reads it. */
const wrongs = (found: readonly NamedFinding[]): string[] =>
  found
    .filter(({ state }) => state === 'wrong')
    .map(({ check, what, remedy }) => `${check}: ${what}: ${remedy ?? ''}`);

async function isTheOnlyFault(words: RegExp, ...asked: Parameters<typeof findings>): Promise<void> {
  const found = wrongs(await findings(...asked));
  assert.equal(found.length, 1, found.join('\n'));
  assert.match(found[0] ?? '', words);
}

const cards = (found: readonly NamedFinding[]): string[] =>
  found.filter(({ what }) => what.includes('card provider')).map(({ state, what }) => `${state} ${what}`);

describe('turnpike doctor', () => {
  it('finds nothing wrong with an installation that is well, and has looked at everything', async () => {
    const found = await findings();
    assert.deepEqual(wrongs(found), []);
    const looked = found.filter(({ state }) => state === 'ok').map(({ check }) => check);
    assert.deepEqual(
      [...new Set(looked)],
      [
        'settings',
        'outside',
        'clock',
        'disk',
        'database',
        'services',
        'dns',
        'certificate',
        'proxy',
        'content',
      ],
    );
  });

  describe('names a planted fault in one line, with what to do', () => {
    const shown = async (which: keyof typeof certificates, words: RegExp) => {
      certificate = which;
      try {
        await isTheOnlyFault(words);
      } finally {
        certificate = 'good';
      }
    };
    it('an expired certificate', () =>
      shown('expired', /^certificate: the certificate of \S+ expired 3 days ago: renew it/));
    it('a certificate without the wildcard', () =>
      shown(
        'without wildcard',
        /^certificate: the certificate that \*\.gateway\.test shows is not for it \(gateway\.test, upload\.test\): get one for \*\./,
      ));
    it('a certificate of nobody', () => shown('untrusted', /^certificate: .* is not trusted .*fullchain/));

    it('no wildcard record', async () => {
      dns.records.delete(`*.${root}`);
      try {
        await isTheOnlyFault(
          /^dns: no host below gateway\.test is in DNS.*: add the record \*\.gateway\.test .*127\.0\.0\.1/,
        );
      } finally {
        dns.records.set(`*.${root}`, '127.0.0.1');
      }
    });

    it('a gateway with another ARNS_ROOT_HOST', () =>
      isTheOnlyFault(/^proxy: the gateway does not take gateway\.test .*: set ARNS_ROOT_HOST=gateway\.test/, {
        knowsRoot: false,
      }));
    it('a proxy that does not tell the scheme', () =>
      isTheOnlyFault(/^proxy: pages at https:\S+ are sent to http:.*X-Forwarded-Proto.*TRUSTED_PROXIES/, {
        scheme: 'http',
      }));
    it('a proxy that nobody trusts', () =>
      isTheOnlyFault(
        /^proxy: .* is not trusted.*set TRUSTED_PROXIES=127\.0\.0\.1 and TRUSTED_PROXY_COUNT=1/,
        {},
        {
          TRUSTED_PROXIES: '',
          TRUSTED_PROXY_COUNT: '',
        },
      ));
    it('a proxy that limits bodies', () =>
      isTheOnlyFault(/^proxy: uploads of 64 MiB are refused .*\(413\): .*client_max_body_size 0/, {
        bodyLimit: true,
      }));
    it('a proxy that collects bodies', () =>
      isTheOnlyFault(/^proxy: uploads are collected in front .*proxy_request_buffering off/, {
        collectsBodies: true,
      }));
    it('a proxy that holds events back', () =>
      isTheOnlyFault(/^proxy: events .* are held back .*proxy_buffering off/, { holdsEvents: true }));

    it('a dead RPC', () =>
      isTheOnlyFault(/^outside: SOLANA_RPC_URL: http:\/\/127\.0\.0\.1:\d+\/\(hidden\) does not answer/, {
        rpc: false,
      }));
    it('a dead node', () =>
      isTheOnlyFault(/^outside: ARWEAVE_NODE_URLS: \S+ does not answer/, { node: 'silent' }));
    it('a node of another world', () =>
      isTheOnlyFault(/^outside: ARWEAVE_NODE_URLS: \S+ is of a local network/, { node: 'local' }));

    it('a source of rates that gives none', () =>
      isTheOnlyFault(/^outside: RATES_URL: \S+ gives no rates \(.* answered 502\): .*RATES_API_KEY/, {
        rates: false,
      }));

    it('a key that the card provider does not know', async () => {
      const env = { ...sells, STRIPE_SECRET_KEY: 'sk_live_of-nobody' };
      assert.deepEqual(cards(await findings({ card: 200 }, env)), [
        'ok STRIPE_SECRET_KEY: the card provider knows it',
      ]);
      assert.deepEqual(cards(await findings({ card: 401 }, env)), [
        'wrong STRIPE_SECRET_KEY: the card provider does not know it',
      ]);
      // A restricted key.
      assert.match(cards(await findings({ card: 403 }, env))[0] ?? '', /^ok /);
    });
    it('an RPC for x402 of another chain', async () => {
      const found = wrongs(await findings({}, sells));
      assert.deepEqual(
        found.filter((line) => line.includes('X402_RPC_URLS')).map((line) => line.split(':', 2).join(':')),
        ['outside: X402_RPC_URLS'],
      );
    });

    it('a filter that cannot be read', () =>
      isTheOnlyFault(
        /^settings: ANS104_INDEX_FILTER \$\.tag is not a filter/,
        {},
        { ANS104_INDEX_FILTER: '{"tag":[]}' },
      ));
    it('a filter that lets nothing through', () =>
      isTheOnlyFault(
        /^settings: ANS104_UNBUNDLE_FILTER lets no bundle through/,
        {},
        {
          ANS104_UNBUNDLE_FILTER: '{"and":[{"always":true},{"never":true}]}',
        },
      ));

    it('a clock that is off', () =>
      isTheOnlyFault(/^clock: the clock is (119|12[01]) seconds behind what \d server.*NTP/, {
        clockMs: 120_000,
      }));

    it('a service that is not well', async () => {
      const found = wrongs(await findings({ health: ['Nobody imports.'] }));
      assert.deepEqual(
        found.map((line) => line.split(':', 3).join(':')),
        [
          'services: the gateway is not well: Nobody imports.',
          'services: the upload is not well: Nobody imports.',
        ],
      );
    });

    it('a database that is not there', async () => {
      const found = wrongs(await findings({}, { DATABASE_URL: 'postgres://nobody:word@127.0.0.1:1/none' }));
      assert.equal(found.length, 2, found.join('\n'));
      for (const line of found) {
        assert.match(
          line,
          /^database: the database (ledger|gateway) cannot be opened: .*ECONNREFUSED.*: check DATABASE_URL/,
        );
        assert.doesNotMatch(line, /word@/);
      }
    });

    it('a database of which no host is there', async () => {
      const found = wrongs(
        await findings({}, { DATABASE_URL: 'postgres://nobody:word@127.0.0.1:1,127.0.0.1:2/none' }),
      );
      assert.equal(found.length, 2, found.join('\n'));
      for (const line of found) {
        assert.match(
          line,
          /^database: the database \w+ cannot be opened: 127\.0\.0\.1:1: .*; 127\.0\.0\.1:2: .*: check DATABASE_URL/,
        );
      }
    });

    it('an object store that is not there', () =>
      isTheOnlyFault(
        /^object store: the object store does not work: .*: check host, bucket and keys/,
        {},
        {
          BLOB_STORE_URL: 's3://key:secret@127.0.0.1:1/bucket',
        },
      ));

    it('an id that cannot be read', async () => {
      const found = wrongs(await findings({ readable: false }));
      assert.equal(found.length, 2, found.join('\n'));
      assert.match(
        found[0] ?? '',
        /^content: gateway\.test:\d+\/raw\/\S+ answers 503: see "turnpike admin why/,
      );
      assert.match(found[1] ?? '', /^content: \(sandbox\)\.gateway\.test:\d+\/\S+ answers 503/);
    });
    it('bytes that are changed on the way', () =>
      isTheOnlyFault(/^content: \S+ has other bytes outside than inside/, { otherBytes: true }));

    it('a disk without inodes', async (t) => {
      const disk = mountSmallDisk(undefined, 20);
      if (disk === undefined) return t.skip('only root may mount');
      try {
        writeFileSync(join(disk.folder, 'world'), 'public\n');
        for (let at = 0; at < 15; at++) writeFileSync(join(disk.folder, `small-${at}`), '');
        for (let at = 15; at < 40; at++) {
          try {
            writeFileSync(join(disk.folder, `small-${at}`), '');
          } catch {
            break;
          }
        }
        await isTheOnlyFault(
          /^disk: \S+ has 0 of 20 inodes left: no file can be made/,
          {},
          { DATA_DIR: disk.folder },
        );
      } finally {
        disk.remove();
      }
    });
    it('a disk that is full', () =>
      isTheOnlyFault(
        /^disk: \S+ has [0-9,]+ MiB left, below the floor/,
        {},
        {
          MIN_FREE_DISK_BYTES: String(2 ** 52),
        },
      ));
  });

  it('warns of a certificate that ends soon, which is not wrong yet', async () => {
    certificate = 'late';
    try {
      const found = await findings();
      assert.deepEqual(wrongs(found), []);
      const warned = found.filter(({ state }) => state === 'warning').map(({ what }) => what);
      assert.ok(warned.includes('the certificate of gateway.test ends in 5 days'), warned.join('\n'));
    } finally {
      certificate = 'good';
    }
  });

  it('does not look at what rests on something that is wrong', async () => {
    certificate = 'expired';
    try {
      const found = await findings();
      assert.deepEqual(
        found.filter(({ state }) => state === 'skipped').map(({ check, what }) => `${check}: ${what}`),
        [
          'object store: no object store is set',
          'proxy: not looked at before the certificate is mended',
          'content: not looked at before the certificate is mended',
        ],
      );
    } finally {
      certificate = 'good';
    }
  });
});

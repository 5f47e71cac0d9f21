import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { startLocalArweave } from '../../../test/support/local-arweave.ts';
import { ConfigError, readConfig } from '../../config/config.ts';
import { startProvider } from '../../localnet/card/testing.ts';
import { TestLedger } from '../../localnet/solana/testing.ts';
import { startFacilitator } from '../../localnet/x402/testing.ts';
import { insistOnOneWorld } from './ask-world.ts';
import { folderWorld, markFolder } from './folder-world.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-world-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Longer than any machine takes to answer; who never answers is not waited for. */
const patient = { askMs: 60_000, waitMs: 60_000 };
const brief = { askMs: 200, waitMs: 0 };
const mainnet = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const devnet = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';

/** Answers what a node of some network would, or whatever the test says. */
async function stub(
  context: TestContext,
  answer: (response: ServerResponse, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => {
      body += piece.toString();
    });
    request.on('end', () => answer(response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const arweave = (context: TestContext, network: string): Promise<string> =>
  stub(context, (response) => response.end(JSON.stringify({ network, height: 1 })));

const rpc = (context: TestContext, results: Record<string, unknown>): Promise<string> =>
  stub(context, (response, body) => {
    const { method } = JSON.parse(body);
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: results[method] }));
  });
const solana = (context: TestContext, genesis: string) =>
  rpc(context, { getVersion: { 'solana-core': '3.0.1' }, getGenesisHash: genesis });

/** The lines of the refusal; none where the start may go on. */
async function refusals(
  environment: Record<string, string>,
  surfaces: readonly string[] = ['gateway', 'payment', 'upload', 'router'],
  times = patient,
): Promise<readonly string[]> {
  try {
    const config = readConfig({ DATA_DIR: join(folder, 'none'), ...environment });
    await insistOnOneWorld(config, surfaces, times);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
}

/** What a start needs in a world besides what a test is about. */
const others = (WORLD: string): Record<string, string> => ({
  WORLD,
  ...(WORLD !== 'local' && {
    ARWEAVE_NODE_URLS: 'http://127.0.0.1:9',
    RATES_URL: 'https://rates.invalid',
    CARD_PAYMENTS_ENABLED: 'false',
    X402_ENABLED: 'false',
    NAMES_ENABLED: 'false',
  }),
});

async function acceptedIn(environment: Record<string, string>): Promise<string[]> {
  const worlds: string[] = [];
  for (const world of ['local', 'testnet', 'public']) {
    if ((await refusals({ ...others(world), ...environment })).length === 0) worlds.push(world);
  }
  return worlds;
}

describe('an Arweave node', () => {
  test('is of the world that its network says', async (t) => {
    const own = await startLocalArweave();
    t.after(() => own.stop());
    for (const [url, worlds] of [
      [own.client.url, ['local']],
      [await arweave(t, 'arlocal.N.1'), ['local']],
      [await arweave(t, 'arweave.N.1'), ['public']],
      [await arweave(t, 'arweave.fast.testnet'), ['testnet']],
      [await arweave(t, 'arweave.N.1.but.not.really'), ['testnet']],
    ] as const) {
      assert.deepEqual(await acceptedIn({ ARWEAVE_NODE_URLS: url }), worlds, url);
    }
  });

  test('of several each is asked', async (t) => {
    const own = await startLocalArweave();
    t.after(() => own.stop());
    const foreign = await arweave(t, 'arweave.N.1');
    const [line = '', ...more] = await refusals({ ARWEAVE_NODE_URLS: `${own.client.url},${foreign}/k3y` });
    assert.deepEqual(more, []);
    assert.ok(line.startsWith(`ARWEAVE_NODE_URLS: ${foreign}/(hidden) is of the public network`), line);
    assert.match(line, /set WORLD to public/);
  });

  test('is not asked by a router, which has no use for it', async (t) => {
    const url = await arweave(t, 'arweave.N.1');
    assert.deepEqual(await refusals({ ARWEAVE_NODE_URLS: url }, ['router']), []);
    assert.equal((await refusals({ ARWEAVE_NODE_URLS: url }, ['gateway'])).length, 1);
  });

  test('that answers only after a while is waited for', async (t) => {
    let asked = 0;
    const late = await stub(t, (response) => {
      asked += 1;
      if (asked < 3) response.writeHead(503).end();
      else response.end(JSON.stringify({ network: 'turnpike.local' }));
    });
    assert.deepEqual(await refusals({ ARWEAVE_NODE_URLS: late }), []);
    assert.equal(asked, 3);
  });

  test('that does not answer, or not in its protocol, stops only those who sell for play money', async (t) => {
    const mute = await stub(t, () => {});
    const noise = await stub(t, (response) => response.end('<html>'));
    const endless = await stub(t, (response) => response.end('x'.repeat(1_000_000)));
    for (const url of ['http://127.0.0.1:9', mute, noise, endless]) {
      const [line = ''] = await refusals({ ARWEAVE_NODE_URLS: url }, ['upload'], brief);
      assert.match(line, /does not answer, and WORLD=local uses only what says that it is local/);
      assert.deepEqual(await refusals({ ARWEAVE_NODE_URLS: url }, ['gateway'], brief), []);
      assert.deepEqual(
        await refusals({ ...others('public'), ARWEAVE_NODE_URLS: url }, ['upload'], brief),
        [],
      );
    }
  });
});

test('a Solana ledger is of the world that its first block and version say', async (t) => {
  const own = await TestLedger.start();
  t.after(() => own.stop());
  const liar = await rpc(t, {
    getVersion: { 'solana-core': 'turnpike-local-ledger' },
    getGenesisHash: mainnet,
  });
  for (const [url, worlds] of [
    [own.local.url, ['local']],
    [await solana(t, mainnet), ['public']],
    [await solana(t, devnet), ['testnet']],
    [liar, ['public']],
  ] as const) {
    assert.deepEqual(await acceptedIn({ SOLANA_RPC_URL: url }), worlds, url);
  }
});

test('an EVM node is of the world that its chain says, and of the chain that its variable says', async (t) => {
  const node = (id: number) => rpc(t, { eth_chainId: `0x${id.toString(16)}` });
  const address = `0x${'12'.repeat(20)}`;
  for (const [variable, wallet, id, worlds] of [
    ['ETHEREUM_RPC_URL', 'ETHEREUM_ADDRESS', 1, ['public']],
    ['ETHEREUM_RPC_URL', 'ETHEREUM_ADDRESS', 11_155_111, ['testnet']],
    ['ETHEREUM_RPC_URL', 'ETHEREUM_ADDRESS', 31_337, ['local']],
    ['ETHEREUM_RPC_URL', 'ETHEREUM_ADDRESS', 137, []],
    ['MATIC_RPC_URL', 'MATIC_ADDRESS', 137, ['public']],
    ['MATIC_RPC_URL', 'MATIC_ADDRESS', 80_002, ['testnet']],
    ['BASE_RPC_URL', 'BASE_ETH_ADDRESS', 8_453, ['public']],
    ['BASE_RPC_URL', 'BASE_ETH_ADDRESS', 84_532, ['testnet']],
    ['BASE_RPC_URL', 'BASE_ETH_ADDRESS', 1, []],
  ] as const) {
    const url = await node(id);
    assert.deepEqual(await acceptedIn({ [variable]: url, [wallet]: address }), worlds, `${variable} ${id}`);
    assert.deepEqual(await refusals({ [variable]: url }), [], 'nothing is paid there');
  }
});

test('a local facilitator and a local card provider are known by their sign, and not taken for real', async (t) => {
  const { facilitator } = await startFacilitator(t);
  const { provider } = await startProvider(t);
  const other = await stub(t, (response) => response.end('{"kinds": []}'));
  const x402 = (url: string) => ({
    X402_ENABLED: 'true',
    X402_FACILITATOR_URL: url,
    X402_PAYMENT_ADDRESS: `0x${'12'.repeat(20)}`,
  });
  const card = (url: string) => ({
    CARD_PAYMENTS_ENABLED: 'true',
    STRIPE_API_URL: url,
    STRIPE_SECRET_KEY: 'something',
    STRIPE_WEBHOOK_SECRET: 'whsec_1',
  });
  assert.deepEqual(await acceptedIn(x402(other)), ['local', 'testnet', 'public']);
  assert.deepEqual(await acceptedIn(x402(facilitator.url)), ['local']);
  assert.deepEqual(await acceptedIn(card(other)), ['local', 'testnet', 'public']);
  assert.deepEqual(await acceptedIn(card(provider.url)), ['local']);
});

test('a folder belongs to the world of its first start', async () => {
  const dataDir = join(folder, 'first');
  mkdirSync(dataDir);
  assert.equal(folderWorld(dataDir), undefined);
  markFolder(dataDir, 'public');
  markFolder(dataDir, 'local');
  assert.equal(folderWorld(dataDir), 'public');
  assert.equal(readFileSync(join(dataDir, 'world'), 'utf8'), 'public\n');
  assert.deepEqual(await refusals({ ...others('public'), DATA_DIR: dataDir }), []);
  assert.match(
    (await refusals({ DATA_DIR: dataDir }))[0] ?? '',
    /^DATA_DIR .* holds credits of WORLD=public/,
  );

  const older = join(folder, 'older');
  mkdirSync(join(older, 'localnet'), { recursive: true });
  assert.equal(folderWorld(older), 'local', 'a folder without a mark that has a local chain in it');
  assert.equal((await refusals({ ...others('public'), DATA_DIR: older })).length, 1);
  writeFileSync(join(older, 'world'), 'public\n');
  assert.deepEqual(await refusals({ ...others('public'), DATA_DIR: older }), [], 'the operator knows better');
  writeFileSync(join(older, 'world'), 'mars\n');
  assert.match((await refusals({ DATA_DIR: older }))[0] ?? '', /must say local, testnet or public$/);
});

/** One process, one world: what mixes play money with a real network does not start, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { eventually } from '../support/eventually.ts';
import { program } from '../support/program.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'turnpike-worlds-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Lines of a start that is refused; the folder it was given is not made. */
function refused(environment: Record<string, string>, surfaces: readonly string[] = []): string[] {
  const dataDir = join(folder, 'refused', String(Math.random()));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'start', ...surfaces], {
    cwd: root,
    env: { ...process.env, ...freePorts(), LOG_LEVEL: 'debug', DATA_DIR: dataDir, ...environment },
    encoding: 'utf8',
    timeout: 120_000,
  });
  assert.equal(status, 1, stdout + stderr);
  assert.equal(stdout, '');
  if (environment.DATA_DIR === undefined) assert.ok(!existsSync(dataDir), 'nothing is left behind');
  return stderr.trim().split('\n');
}

/** Says that it is a node of the public network, and nothing else. In a thread: the tests wait for processes. */
const publicNode = `
  const { createServer } = require('node:http');
  const { parentPort } = require('node:worker_threads');
  const server = createServer((request, response) => {
    if (request.url.endsWith('/info')) response.end('{"network": "arweave.N.1", "height": 7, "blocks": 8}');
    else response.writeHead(503).end('not now');
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

describe('a start that mixes worlds', () => {
  let local: RunningStack;
  let thread: Worker;
  let node: string;
  before(async () => {
    local = await startStack({ only: ['gateway'] });
    thread = new Worker(publicNode, { eval: true });
    node = await new Promise((resolve) =>
      thread.once('message', (port) => resolve(`http://127.0.0.1:${port}/k3y`)),
    );
  });
  after(async () => {
    await thread.terminate();
    await local.stop();
  });

  test('is told what real money needs, in one line each', () => {
    assert.deepEqual(refused({ WORLD: 'public', X402_NETWORKS: 'base-sepolia' }), [
      'ARWEAVE_NODE_URLS must be set: WORLD=public does not use the local Arweave node',
      'SOLANA_RPC_URL must be set, or NAMES_ENABLED to false: WORLD=public does not use the local Solana ledger',
      'STRIPE_SECRET_KEY must be set, or CARD_PAYMENTS_ENABLED to false: WORLD=public does not use the local card provider',
      'X402_FACILITATOR_URL must be set, or X402_ENABLED to false: WORLD=public does not use the local facilitator',
      'RATES_URL must be set: WORLD=public does not sell at STATIC_RATES, which stand still',
      'X402_NETWORKS names base-sepolia, whose dollars are no money: name main networks such as base, or set WORLD to testnet',
    ]);
  });

  test('is told to set the world when a node turns out to be of the public network', () => {
    for (const surfaces of [[], ['gateway'], ['gateway', '--workers', '2']]) {
      const shown = node.replace('k3y', '(hidden)');
      assert.deepEqual(refused({ ARWEAVE_NODE_URLS: node }, surfaces), [
        `ARWEAVE_NODE_URLS: ${shown} is of the public network (its network is arweave.N.1): set WORLD to public, or leave ARWEAVE_NODE_URLS unset`,
      ]);
    }
  });

  test('is refused with a live key, and the key is not shown', () => {
    const [line = '', ...more] = refused({
      STRIPE_SECRET_KEY: 'sk_live_0123456789',
      STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
    });
    assert.deepEqual(more, []);
    assert.match(line, /^STRIPE_SECRET_KEY is a live key and WORLD=local would take real money/);
    assert.doesNotMatch(line, /0123456789/);
  });

  test('is refused with a local node or ledger among real ones', () => {
    const switchedOff = { X402_ENABLED: 'false', CARD_PAYMENTS_ENABLED: 'false' };
    const lines = refused({
      ...switchedOff,
      WORLD: 'public',
      RATES_URL: 'https://rates.invalid',
      ARWEAVE_NODE_URLS: `${node},${local.urls.arweave}`,
      SOLANA_RPC_URL: local.urls.solana ?? '',
    });
    assert.equal(lines.length, 2, lines.join('\n'));
    assert.match(
      lines[0] ?? '',
      /^ARWEAVE_NODE_URLS: .* is of a local network \(its network is arlocal\.turnpike\.local\)/,
    );
    assert.match(lines[1] ?? '', /^SOLANA_RPC_URL: .* is of a local network/);
  });

  test('is refused on a folder whose credits were bought with play money', () => {
    assert.equal(readFileSync(join(local.dataDir, 'world'), 'utf8'), 'local\n');
    const lines = refused({ WORLD: 'public', ARWEAVE_NODE_URLS: node, DATA_DIR: local.dataDir }, ['gateway']);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^DATA_DIR .* holds credits of WORLD=local/);
  });

  test('a gateway of the public network needs its node and WORLD, and brings nothing local along', async () => {
    const gateway = await startStack({
      only: ['gateway'],
      environment: { WORLD: 'public', ARWEAVE_NODE_URLS: node, LOG_LEVEL: 'debug' },
    });
    try {
      assert.deepEqual(Object.keys(gateway.urls), ['gateway']);
      assert.ok(!existsSync(join(gateway.dataDir, 'localnet')));
      const info = await fetch(`${gateway.urls.gateway}/gw/info`);
      assert.equal(info.status, 200);
      const peers = await (await fetch(`${gateway.urls.gateway}/gw/peers`)).text();
      assert.ok(peers.includes('/(hidden)') && !peers.includes('k3y'), peers);
      await thread.terminate();
      await eventually('the log tells of the node', async () =>
        gateway.log().includes('a node does not answer'),
      );
      assert.ok(gateway.log().includes(node.replace('k3y', '(hidden)')), gateway.log());
      assert.doesNotMatch(gateway.log(), /k3y/);
    } finally {
      await gateway.stop();
    }
  });
});

test('what is switched off has no part in the local network, and the rest works without it', async () => {
  const stack = await startStack({
    environment: { X402_ENABLED: 'false', CARD_PAYMENTS_ENABLED: 'false', NAMES_ENABLED: 'false' },
  });
  try {
    assert.deepEqual(Object.keys(stack.urls), [
      'console',
      'arweave',
      'gateway',
      'payment',
      'upload',
      'router',
      'admin',
    ]);
    const settings = await fetch(`${stack.urls.console}/api/settings`);
    const { services } = (await settings.json()) as { services: object };
    const known = ['gateway', 'payment', 'upload', 'router', 'arweave'];
    assert.deepEqual(Object.keys(services), known, 'the console knows of no other');
    const status = async (path: string) => (await fetch(`${stack.urls.payment}${path}`)).status;
    assert.equal(await status('/v1/price/bytes/1000'), 200);
    assert.equal(await status('/v1/arns/price/buy-name/example?type=lease&years=1'), 404);
    const wallet = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
    assert.ok((await status(`/v1/top-up/checkout-session/${wallet}/usd/1000`)) >= 400);
    assert.ok((await status('/v1/x402/top-up?type=credits&qty=1')) >= 400);
  } finally {
    await stack.stop();
  }
});

test('the parts of the local network stay on loopback, whatever HOST says, unless told otherwise', async () => {
  const parts = ['arweave', 'solana', 'card', 'x402'];
  /** 127.0.0.2 stands for any other address of the machine: who binds 127.0.0.1 does not answer there. */
  const answers = (url: string | undefined) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(new URL(url ?? '').port), '127.0.0.2');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  for (const [LOCAL_NETWORK_HOST, open] of [
    ['', false],
    ['0.0.0.0', true],
  ] as const) {
    const stack = await startStack({ environment: { HOST: '0.0.0.0', LOCAL_NETWORK_HOST } });
    try {
      for (const part of parts) assert.equal(await answers(stack.urls[part]), open, part);
      for (const surface of ['gateway', 'payment', 'upload', 'router']) {
        assert.equal(await answers(stack.urls[surface]), true, surface);
      }
    } finally {
      await stack.stop();
    }
  }
});

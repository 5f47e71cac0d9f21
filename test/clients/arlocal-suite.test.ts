/**
 * A suite as applications write it for ArLocal: one address, mint, post, mine, look, reset. Nothing but the address is
 * Turnpike's. What reads after `mine` does not poll.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ArweaveSigner, bundleAndSignData, createData } from '@dha-team/arbundles';
import ardb from 'ardb';
import Arweave from 'arweave';
import warpContracts from 'warp-contracts';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const { WarpFactory, LoggerFactory } = warpContracts;
const random = seededRandom(1_984);
const turboCommand = resolve(import.meta.dirname, 'node_modules/@ardrive/turbo-sdk/lib/esm/cli/cli.js');

interface Edge {
  readonly node: { readonly id: string; readonly block: { readonly height: number } | null };
}

describe('a suite written for ArLocal', () => {
  let stack: RunningStack;
  let address: string;
  let arweave: Arweave;
  const key = arweaveTestKey;
  const owner = arweaveTestAddress;

  const mine = () => arweave.api.get('mine');
  const get = (path: string, init: RequestInit = {}) => fetch(`${address}/${path}`, init);
  const tagged = async (value: string): Promise<Edge['node'][]> => {
    const query = `query { transactions(tags: [{ name: "App-Name", values: ["${value}"] }]) {
      edges { node { id block { height } } } } }`;
    const { data } = await arweave.api.post<{ data: { transactions: { edges: Edge[] } } }>('graphql', {
      query,
    });
    return data.data.transactions.edges.map(({ node }) => node);
  };
  const post = async (
    data: string | Uint8Array,
    tags: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const transaction = await arweave.createTransaction({ data }, key);
    for (const [name, value] of Object.entries(tags)) transaction.addTag(name, value);
    await arweave.transactions.sign(transaction, key);
    const uploader = await arweave.transactions.getUploader(transaction);
    while (!uploader.isComplete) await uploader.uploadChunk();
    return transaction.id;
  };

  before(async () => {
    // As with ArLocal, nothing is mined that was not asked for.
    stack = await startStack({ environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0' } });
    address = stack.urls.arweave ?? '';
    const { hostname, port } = new URL(address);
    arweave = Arweave.init({ host: hostname, port, protocol: 'http' });
  });
  after(() => stack.stop());
  beforeEach(async () => {
    assert.equal(await (await get('reset')).text(), 'reset done');
    await arweave.api.get(`mint/${owner}/${arweave.ar.arToWinston('10')}`);
  });

  test('finds a transaction by tag while it is pending and when it is mined, and its data', async () => {
    assert.match(String((await arweave.network.getInfo()).network), /^arlocal\b/);
    const id = await post('hello', { 'App-Name': 'first', 'Content-Type': 'text/plain' });
    assert.deepEqual(await tagged('first'), [{ id, block: null }]);
    assert.equal((await arweave.transactions.getStatus(id)).status, 202);
    await mine();
    assert.deepEqual(await tagged('first'), [{ id, block: { height: 1 } }]);
    assert.equal((await arweave.transactions.getStatus(id)).confirmed?.block_height, 1);
    assert.equal(await arweave.transactions.getData(id, { decode: true, string: true }), 'hello');
    const answer = await get(id);
    assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(await answer.text(), 'hello');
    assert.equal(await (await get(`tx/${id}/data.txt`)).text(), 'hello');
    assert.equal((await get(id, { method: 'HEAD' })).headers.get('content-length'), '5');
  });

  test('begins anew with every reset', async () => {
    assert.deepEqual(await tagged('first'), []);
    assert.equal((await arweave.network.getInfo()).height, 0);
    assert.equal(await arweave.wallets.getBalance(owner), arweave.ar.arToWinston('10'));
  });

  test('uploads in chunks, and serves parts of it', async () => {
    const data = random.bytes(700_000);
    const id = await post(data);
    await mine();
    assert.ok(Buffer.from(await (await get(id)).arrayBuffer()).equals(data));
    const part = await get(id, { headers: { range: 'bytes=300000-300009' } });
    assert.equal(part.status, 206);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(data.subarray(300_000, 300_010)));
  });

  test('serves the paths of a manifest in place', async () => {
    const page = await post('<h1>home</h1>', { 'Content-Type': 'text/html' });
    const manifest = {
      manifest: 'arweave/paths',
      version: '0.1.0',
      index: { path: 'a.html' },
      paths: { 'a.html': { id: page } },
    };
    const id = await post(JSON.stringify(manifest), {
      'Content-Type': 'application/x.arweave-manifest+json',
    });
    await mine();
    const browser = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' };
    for (const host of [address, address.replace('127.0.0.1', 'localhost')]) {
      const answer = await fetch(`${host}/${id}/a.html`, { headers: browser, redirect: 'manual' });
      assert.deepEqual([answer.status, await answer.text()], [200, '<h1>home</h1>']);
      assert.equal(await (await fetch(`${host}/${id}/`)).text(), '<h1>home</h1>');
    }
    assert.equal((await get(`${id}/b.html`)).status, 404);
    assert.equal(JSON.parse(await (await get(`raw/${id}`)).text()).index.path, 'a.html');
  });

  test('unbundles what is mined', async () => {
    const signer = new ArweaveSigner(key);
    const items = ['one', 'two'].map((text) =>
      createData(text, signer, { tags: [{ name: 'App-Name', value: 'bundled' }] }),
    );
    const bundle = await bundleAndSignData(items, signer);
    await post(bundle.getRaw(), { 'Bundle-Format': 'binary', 'Bundle-Version': '2.0.0' });
    await mine();
    const found = await tagged('bundled');
    assert.deepEqual(found.map(({ id }) => id).sort(), items.map(({ id }) => id).sort());
    for (const [index, text] of ['one', 'two'].entries()) {
      assert.equal(await (await get(items[index]?.id ?? '')).text(), text);
    }
  });

  test('moves money, and sets it', async () => {
    const target = random.bytes(32).toString('base64url');
    const transaction = await arweave.createTransaction({ target, quantity: '1234' }, key);
    await arweave.transactions.sign(transaction, key);
    assert.equal((await arweave.transactions.post(transaction)).status, 200);
    assert.equal(await arweave.wallets.getBalance(target), '0');
    await mine();
    assert.equal(await arweave.wallets.getBalance(target), '1234');
    assert.equal(await arweave.wallets.getLastTransactionID(owner), transaction.id);
    const headers = { 'content-type': 'application/json' };
    const made = await get('wallet', { method: 'POST', headers, body: JSON.stringify({ balance: 77 }) });
    const wallet: unknown = await made.json();
    assert.ok(typeof wallet === 'object' && wallet !== null && 'address' in wallet);
    assert.equal(await arweave.wallets.getBalance(String(wallet.address)), '77');
    await get(`wallet/${target}/balance`, { method: 'PATCH', headers, body: JSON.stringify({ balance: 5 }) });
    assert.equal(await arweave.wallets.getBalance(target), '5');
    assert.match(await (await get('logs')).text(), /PATCH \/wallet\//);
  });

  test('ardb searches at the same address', async () => {
    const id = await post('found', { 'App-Name': 'ardb' });
    await mine();
    const ArDB = ardb.default;
    const found = await new ArDB(arweave).search('transactions').tag('App-Name', 'ardb').find();
    assert.ok(Array.isArray(found));
    assert.deepEqual(
      found.map((one) => Reflect.get(one, 'id')),
      [id],
    );
  });

  test('warp runs a contract with forLocal and nothing but the port', async () => {
    LoggerFactory.INST.logLevel('error');
    const warp = WarpFactory.forLocal(Number(new URL(address).port));
    const { jwk, address: funded } = await warp.generateWallet();
    assert.notEqual(await warp.arweave.wallets.getBalance(funded), '0');
    const state = JSON.stringify({ counter: 0 });
    const source = `export function handle(state, { input }) {
      state.counter += input.by;
      return { state };
    }`;
    const version = { 'App-Version': '0.3.0' };
    const sourceId = await post(source, {
      ...version,
      'App-Name': 'SmartWeaveContractSource',
      'Content-Type': 'application/javascript',
    });
    const id = await post(state, {
      ...version,
      'App-Name': 'SmartWeaveContract',
      'Contract-Src': sourceId,
      'Content-Type': 'application/json',
    });
    await warp.testing.mineBlock();
    const contract = warp.contract(id).connect(jwk);
    await contract.writeInteraction({ by: 3 });
    assert.deepEqual((await contract.readState()).cachedValue.state, { counter: 3 });
    await warp.close();
  });

  test('turbo pays with AR by way of the one address, without waiting for another', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-turbo-'));
    const wallet = join(folder, 'wallet.json');
    writeFileSync(wallet, JSON.stringify(key));
    const services = ['--payment-url', stack.urls.payment ?? '', '--upload-url', stack.urls.upload ?? ''];
    const args = [
      'crypto-fund',
      '-v',
      '1',
      '-t',
      'arweave',
      '-w',
      wallet,
      '-g',
      address,
      '--skip-confirmation',
    ];
    const began = performance.now();
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [turboCommand, ...args, ...services]);
      assert.match(stdout, /Sent crypto fund transaction/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    // It gives up on a gateway without GraphQL after ten tries, which take 80 seconds.
    assert.ok(performance.now() - began < 60_000, `${performance.now() - began} ms`);
  });
});

/** A second network stands for the public one: what is there is read here, and nothing that happens here reaches it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createStack } from '../../src/cli/stack.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import { createFork, type Fork } from '../../src/fork/fork.ts';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { antBuilder } from '../../src/formats/solana/instructions-ant.ts';
import { namePrograms } from '../../src/formats/solana/programs.ts';
import { namesOfRegistry } from '../../src/gateway/content/names/sources.ts';
import { rememberingLog, silentLog } from '../../src/kernel/testing.ts';
import { registerName, signed, TestLedger, wallet } from '../../src/localnet/solana/testing.ts';
import { createNameChain, type NameChain } from '../../src/registry/chain.ts';
import { createNameRegistry } from '../../src/registry/name-registry.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { type LocalStack, makeTransaction, startLocalStack, text } from '../support/local-gateway.ts';
import { freePorts } from '../support/stack.ts';

const mark = 'x-turnpike-fork';
const name = 'forked-name';
const programs = namePrograms.mainnet;
const service = wallet('service');
const page = Buffer.from('<p>forked</p>');

interface Running {
  readonly urls: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

describe('a fork', { timeout: 120_000 }, () => {
  let origin: LocalStack;
  let ledger: TestLedger;
  let fork: Running;
  const chains: NameChain[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-fork-'));
  const { log, lines } = rememberingLog();
  const ids = { transaction: '', item: '', manifest: '', unread: '' };
  let asset: ReturnType<typeof wallet>;
  let urls: { gateway: string; solana: string };

  const configOf = (more: Record<string, string> = {}): Config =>
    readConfig({
      ...freePorts(),
      DATA_DIR: folder,
      FORK_GATEWAY_URL: urls.gateway,
      FORK_SOLANA_RPC_URL: urls.solana,
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      GATEWAY_POLL_INTERVAL_MS: '50',
      WORKER_THREADS: '1',
      ...more,
    });

  async function startFork(): Promise<Running> {
    const stack = createStack(configOf(), log, { only: ['gateway', 'router'] });
    for (const surface of stack.surfaces) await surface.start();
    return {
      urls: Object.fromEntries(stack.addresses().map((address) => [address.name, address.url])),
      async stop() {
        for (const surface of stack.surfaces.toReversed()) await surface.stop();
      },
    };
  }

  const chainAt = (url: string): NameChain => {
    const chain = createNameChain({ urls: [url], timeoutMs: 10_000 });
    chains.push(chain);
    return chain;
  };
  const registryAt = (url: string) => createNameRegistry(chainAt(url), programs);

  async function post(node: string, data: Buffer, tags: { name: string; value: string }[]): Promise<string> {
    const { transaction, post: send } = await makeTransaction(node, data, tags);
    await send();
    await text(`${node}/mine`);
    return transaction.id.toString('base64url');
  }

  before(async () => {
    ledger = await TestLedger.start({ fund: [service.address] });
    ledger.time = Date.now();
    const names = [namesOfRegistry(registryAt(ledger.local.url))];
    origin = await startLocalStack({ deps: () => ({ names }) });
    urls = { gateway: origin.gateway.url, solana: ledger.local.url };

    const typed = (value: string) => [{ name: 'Content-Type', value }];
    const signer = solanaSigner(ed25519TestKey('owner of what is forked'));
    const itemOf = async (data: Buffer, type: string) => {
      const bytes = await signItem({ data, tags: typed(type) }, signer);
      const parsed = parseItem(bytes);
      assert.ok(typeof parsed !== 'string');
      return { bytes, id: parsed.header.id };
    };
    const item = await itemOf(page, 'text/html');
    const paths = { 'index.html': { id: item.id } };
    const document = { manifest: 'arweave/paths', version: '0.1.0', index: { path: 'index.html' }, paths };
    const manifest = await itemOf(
      Buffer.from(JSON.stringify(document)),
      'application/x.arweave-manifest+json',
    );
    const bundled = [item, manifest];
    const head = encodeBundleHeader(
      bundled.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
    );
    const bundle = Buffer.concat([head, ...bundled.map(({ bytes }) => bytes)]);
    await post(origin.node.url, bundle, [...bundleTags]);
    Object.assign(ids, {
      item: item.id,
      manifest: manifest.id,
      transaction: await post(origin.node.url, randomBytes(300_000), typed('application/x-forked')),
      unread: await post(origin.node.url, randomBytes(1_000), typed('application/x-unread')),
    });
    await eventually('all is there', async () => {
      const answers = await Promise.all(
        Object.values(ids).map((id) => fetch(`${urls.gateway}/tx/${id}/status`)),
      );
      return answers.every(({ status }) => status === 200);
    });
    asset = await registerName(ledger, service, wallet('holder'), name, ids.manifest);
    fork = await startFork();
  });
  after(async () => {
    await Promise.all(chains.map((chain) => chain.close()));
    await fork.stop();
    await origin.stop();
    await ledger.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const read = async (url: string, init?: RequestInit) => {
    const answer = await fetch(url, init);
    return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const bytesOf = async (id: string) => (await read(`${urls.gateway}/raw/${id}`)).body;

  /** As a browser opens it: below the gateway's host. */
  function openName(gateway = ''): Promise<{ status: number; body: string; id: string }> {
    const { port } = new URL(gateway);
    return new Promise((done, failed) => {
      const headers = { host: `${name}.localhost:${port}` };
      get({ host: '127.0.0.1', port, path: '/', headers }, async (answer) => {
        let body = '';
        for await (const piece of answer.setEncoding('utf8')) body += piece;
        done({ status: answer.statusCode ?? 0, body, id: String(answer.headers['x-arns-resolved-id']) });
      }).on('error', failed);
    });
  }

  async function query(gateway: string | undefined, question: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`${gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query: question }),
    });
    return JSON.parse(await answer.text());
  }

  async function rpc(url: string | undefined, method: string, ...params: unknown[]) {
    const answer = await fetch(url ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return JSON.parse(await answer.text());
  }

  test('the table of addresses and the log say what is forked', () => {
    assert.equal(fork.urls.fork, urls.gateway);
    assert.equal(fork.urls['fork-solana'], urls.solana);
    assert.ok(lines.some(({ msg }) => /nothing is written there/.test(String(msg))));
  });

  test('content is read by id, marked, in parts too, and proven once it was read whole', async () => {
    const readThrice = async (id: string) => {
      const expected = await bytesOf(id);
      const part = await read(`${fork.urls.gateway}/raw/${id}`, { headers: { range: 'bytes=2-9' } });
      assert.equal(part.status, 206);
      assert.deepEqual(part.body, expected.subarray(2, 10));
      const whole = await read(`${fork.urls.gateway}/raw/${id}`);
      assert.deepEqual(whole.body, expected);
      assert.equal(whole.headers.get(mark), urls.gateway);
      await eventually('it is proven', async () => {
        const again = await read(`${fork.urls.gateway}/raw/${id}`);
        assert.deepEqual(again.body, expected);
        return again.headers.get('x-ar-io-verified') === 'true';
      });
    };
    await Promise.all([readThrice(ids.transaction), readThrice(ids.item)]);
    const { headers } = await read(`${fork.urls.gateway}/raw/${ids.transaction}`);
    assert.equal(headers.get('content-type'), 'application/x-forked');
    const sentOn = await read(`${fork.urls.gateway}/raw/${ids.unread}`, { headers: { 'x-ar-io-hops': '1' } });
    assert.equal(sentOn.status, 404, 'whoever forks us gets what is ours');
  });

  test('manifest paths lead to content, at the gateway and at the router', async () => {
    const { body, headers } = await read(`${fork.urls.gateway}/${ids.manifest}/index.html`);
    assert.deepEqual(body, page);
    assert.equal(headers.get(mark), urls.gateway);
    const routed = await read(`${fork.urls.router}/${ids.manifest}/index.html`);
    assert.equal(routed.status, 200);
    assert.deepEqual(routed.body, page);
  });

  test('transactions are read by id at the node and at the gateway', async () => {
    const { transaction: id } = ids;
    const expected = JSON.parse(await text(`${origin.node.url}/tx/${id}`));
    for (const base of [fork.urls.arweave, fork.urls.gateway]) {
      const found = await read(`${base}/tx/${id}`);
      assert.equal(JSON.parse(String(found.body)).signature, expected.signature);
      assert.equal(found.headers.get(mark), urls.gateway);
      const status = await read(`${base}/tx/${id}/status`);
      assert.ok(JSON.parse(String(status.body)).number_of_confirmations > 0);
      const data = await read(`${base}/tx/${id}/data`);
      assert.deepEqual(Buffer.from(String(data.body), 'base64url'), await bytesOf(id));
      assert.equal(await text(`${base}/tx/${id}/reward`), expected.reward);
      const own = await read(`${base}/tx/${id}`, { headers: { [mark]: 'no' } });
      assert.equal(own.status, 404);
      // Places in the weave are those of another chain.
      assert.equal((await read(`${base}/tx/${id}/offset`)).status, 404);
      assert.equal((await read(`${base}/tx/${randomBytes(32).toString('base64url')}`)).status, 404);
    }
    assert.deepEqual((await read(`${fork.urls.arweave}/${id}`)).body, await bytesOf(id));
  });

  test('GraphQL finds entries by id, after its own; what is written here is not there', async () => {
    const id = await post(fork.urls.arweave ?? '', Buffer.from('written here'), []);
    await eventually('it is indexed', async () => {
      const found = await query(fork.urls.gateway, `{ transaction(id: "${id}") { block { height } } }`);
      return found.data.transaction !== null && found.extensions === undefined;
    });
    const wanted = `{ transaction(id: "${ids.item}") { id signature owner { key } tags { value } bundledIn { id } block { height } } }`;
    const one = await query(fork.urls.gateway, wanted);
    assert.deepEqual(one.data, (await query(urls.gateway, wanted)).data);
    assert.equal(one.data.transaction.tags[0].value, 'text/html');
    assert.deepEqual(one.extensions, { fork: { url: urls.gateway, ids: [ids.item] } });

    const list = JSON.stringify([ids.item, id, ids.transaction]);
    const question = (more: string) =>
      `{ transactions(ids: ${list}${more}) { count pageInfo { hasNextPage } edges { cursor node { id } } } }`;
    const idsOf = (found: { edges: { node: { id: string } }[] }) => found.edges.map(({ node }) => node.id);
    const all = (await query(fork.urls.gateway, question(''))).data.transactions;
    assert.equal(all.count, '3');
    assert.equal(idsOf(all)[0], id);
    assert.deepEqual(idsOf(all).toSorted(), [ids.item, id, ids.transaction].toSorted());
    // Page by page they are the same.
    const paged: string[] = [];
    for (let after = '', more = true; more; ) {
      const found = (await query(fork.urls.gateway, question(`, first: 1, after: "${after}"`))).data
        .transactions;
      paged.push(...idsOf(found));
      after = found.edges.at(-1).cursor;
      more = found.pageInfo.hasNextPage;
    }
    assert.deepEqual(paged, idsOf(all));
    const own = await query(fork.urls.gateway, question(''), { [mark]: 'no' });
    assert.deepEqual(idsOf(own.data.transactions), [id]);
    // Other filters are not for the fork's index.
    const tagged = `{ transactions(tags: [{name: "Content-Type", values: ["text/html"]}]) { edges { node { id } } } }`;
    assert.deepEqual((await query(fork.urls.gateway, tagged)).data.transactions.edges, []);

    assert.equal((await query(urls.gateway, `{ transaction(id: "${id}") { id } }`)).data.transaction, null);
    assert.equal((await read(`${urls.gateway}/raw/${id}`)).status, 404);
  });

  test('a name resolves, is listed, and is changed here alone', async () => {
    const there = await openName(urls.gateway);
    assert.deepEqual(await openName(fork.urls.gateway), there);
    assert.equal(there.body, String(page));
    const here = registryAt(fork.urls.solana ?? '');
    assert.deepEqual(
      (await here.names()).map((record) => record.name),
      [name],
    );
    const set = antBuilder(programs).setRecord(asset.address, service.address, {
      undername: '@',
      target: ids.item,
      protocol: 0,
      ttlSeconds: 3600,
      priority: undefined,
      recordOwner: undefined,
    });
    const chain = chainAt(fork.urls.solana ?? '');
    const { blockhash } = await chain.latestBlockhash();
    await chain.send(signed(blockhash, [set], service), true);
    assert.equal((await here.resolve(name))?.target, ids.item);
    assert.equal((await registryAt(urls.solana).resolve(name))?.target, ids.manifest);
  });

  test('without a forked ledger names are those that the forked gateway resolves', async () => {
    const gatewayOnly = await opened({ FORK_SOLANA_RPC_URL: '' });
    assert.equal(gatewayOnly.accounts, undefined);
    const found = await gatewayOnly.chain?.names?.resolve(name);
    assert.deepEqual(found, JSON.parse(await text(`${urls.gateway}/ar-io/resolver/${name}`)));
    assert.equal(await gatewayOnly.chain?.names?.resolve('nobody-has-it'), undefined);
    await gatewayOnly.stop();
  });

  test('what was mined above FORK_HEIGHT is not shown', async () => {
    const heightOf = async (id: string): Promise<number> =>
      JSON.parse(await text(`${urls.gateway}/tx/${id}/status`)).block_height;
    const height = await heightOf(ids.transaction);
    const pinned = (await opened({ FORK_HEIGHT: String(height) })).chain;
    assert.equal((await pinned?.transactions.status(ids.transaction))?.number_of_confirmations, 1);
    assert.notEqual(await pinned?.transactions.header(ids.item), undefined);
    assert.equal(await pinned?.transactions.header(ids.unread), undefined);
    assert.equal(await pinned?.transactions.status(ids.unread), undefined);
    const { signal } = new AbortController();
    assert.equal(await pinned?.content.open(ids.unread, undefined, signal), undefined);
    const nodes = await pinned?.transactions.nodes([ids.item, ids.unread]);
    assert.deepEqual(
      nodes?.map(({ id }) => id),
      [ids.item],
    );
  });

  async function opened(more: Record<string, string>): Promise<Fork> {
    const dataDir = mkdtempSync(join(folder, 'other-'));
    const made = createFork(configOf({ ...more, DATA_DIR: dataDir }), silentLog);
    assert.ok(made);
    await made.start();
    after(() => made.stop());
    return made;
  }

  test('an account of the fork is taken over: airdrops add to it here alone', async () => {
    const { address } = wallet('somebody');
    const balance = async (url?: string) => (await rpc(url, 'getBalance', address)).result.value;
    await rpc(urls.solana, 'requestAirdrop', address, 5_000_000_000);
    assert.equal(await balance(fork.urls.solana), 5_000_000_000);
    await rpc(fork.urls.solana, 'requestAirdrop', address, 1_000_000_000);
    assert.equal(await balance(fork.urls.solana), 6_000_000_000);
    assert.equal(await balance(urls.solana), 5_000_000_000);
    ledger.skip(1);
    await rpc(urls.solana, 'requestAirdrop', address, 7_000_000_000);
    assert.equal(await balance(fork.urls.solana), 6_000_000_000);
  });

  test('what was read is there while the fork is away, after a reset too; what was not is not said to be absent', async () => {
    const transaction = await bytesOf(ids.transaction);
    await fork.stop();
    // All of a network but its keys and what was read from the fork.
    for (const part of ['localnet', 'gateway.db', 'gateway.db-wal', 'gateway.db-shm', 'gateway-cache']) {
      rmSync(join(folder, part), { recursive: true, force: true });
    }
    await origin.gateway.stop();
    await ledger.local.stop();
    fork = await startFork();
    const { body, headers } = await read(`${fork.urls.gateway}/raw/${ids.transaction}`);
    assert.deepEqual(body, transaction);
    assert.equal(headers.get(mark), urls.gateway);
    const found = await query(fork.urls.gateway, `{ transaction(id: "${ids.item}") { id } }`);
    assert.equal(found.data.transaction.id, ids.item);
    assert.equal((await read(`${fork.urls.arweave}/tx/${ids.transaction}`)).status, 200);
    // As the fork has it: what was changed here went with the network.
    const named = await openName(fork.urls.gateway);
    assert.deepEqual([named.status, named.id, named.body], [200, ids.manifest, String(page)]);

    for (const base of [`${fork.urls.gateway}/raw`, `${fork.urls.gateway}/tx`, `${fork.urls.arweave}/tx`]) {
      const unread = await read(`${base}/${ids.unread}`);
      assert.equal(unread.status, 504);
      assert.ok(String(unread.body).includes(`FORK_GATEWAY_URL ${urls.gateway} does not answer`));
      assert.notEqual(unread.headers.get(mark), urls.gateway);
    }
    const unknown = await query(fork.urls.gateway, `{ transaction(id: "${ids.unread}") { id } }`);
    assert.equal(unknown.errors[0].extensions.code, 'FORK_UNAVAILABLE');
    const account = await rpc(fork.urls.solana, 'getBalance', wallet('nobody').address);
    assert.match(account.error.message, /^FORK_SOLANA_RPC_URL .* does not answer/);
    // What is made here needs nobody else.
    const id = await post(fork.urls.arweave ?? '', Buffer.from('alone'), []);
    await eventually('it is read', async () => (await read(`${fork.urls.gateway}/raw/${id}`)).status === 200);
  });
});

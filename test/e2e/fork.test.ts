/** A second network stands for the public one: what is there is read here, and nothing that happens here reaches it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { buyName, turnpike } from '../support/buy-name.ts';
import { type ContentStack, startContentStack } from '../support/content-stack.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const mark = 'x-turnpike-fork';
const name = 'forked-name';

describe('a fork', () => {
  let origin: ContentStack;
  let fork: RunningStack;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-fork-'));
  const page = Buffer.from('<p>forked</p>');
  const ids = { transaction: '', item: '', manifest: '', unread: '' };

  const startFork = (): Promise<RunningStack> =>
    startStack({
      dataDir: folder,
      environment: {
        FORK_GATEWAY_URL: origin.stack.urls.gateway ?? '',
        FORK_SOLANA_RPC_URL: origin.stack.urls.solana ?? '',
        FREE_UPLOAD_LIMIT: '10000000',
        LOG_LEVEL: 'info',
      },
    });

  before(async () => {
    origin = await startContentStack('owner of what is forked');
    ids.transaction = await origin.post(randomBytes(300_000), 'application/x-forked');
    ids.unread = await origin.post(randomBytes(1_000), 'application/x-unread');
    ids.item = await origin.upload(page, 'text/html');
    const paths = { 'index.html': { id: ids.item } };
    const manifest = { manifest: 'arweave/paths', version: '0.1.0', index: { path: 'index.html' }, paths };
    ids.manifest = await origin.upload(
      Buffer.from(JSON.stringify(manifest)),
      'application/x.arweave-manifest+json',
    );
    await origin.placed();
    await buyName(origin.stack, name, ids.manifest);
    fork = await startFork();
  });
  after(async () => {
    await fork.stop();
    await origin.stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const read = async (url: string, init?: RequestInit) => {
    const answer = await fetch(url, init);
    return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const bytesOf = async (id: string) => (await read(`${origin.stack.urls.gateway}/raw/${id}`)).body;

  /** As a browser opens it: below the gateway's host. */
  function openName(stack: RunningStack): Promise<{ status: number; body: string; id: string }> {
    const { port } = new URL(stack.urls.gateway ?? '');
    return new Promise((done, failed) => {
      const headers = { host: `${name}.localhost:${port}` };
      get({ host: '127.0.0.1', port, path: '/', headers }, async (answer) => {
        let body = '';
        for await (const piece of answer.setEncoding('utf8')) body += piece;
        const id = String(answer.headers['x-arns-resolved-id']);
        done({ status: answer.statusCode ?? 0, body, id });
      }).on('error', failed);
    });
  }

  async function query(stack: RunningStack, text: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`${stack.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query: text }),
    });
    return await answer.json();
  }

  async function rpc(stack: RunningStack, method: string, ...params: unknown[]) {
    const answer = await fetch(stack.urls.solana ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return await answer.json();
  }

  test('the table of addresses says what is forked', () => {
    assert.equal(fork.urls.fork, origin.stack.urls.gateway);
    assert.equal(fork.urls['fork-solana'], origin.stack.urls.solana);
    assert.match(fork.log(), /nothing is written there/);
  });

  test('content is read by id, marked, in parts too, and proven once it was read whole', async () => {
    for (const id of [ids.transaction, ids.item]) {
      const part = await read(`${fork.urls.gateway}/raw/${id}`, { headers: { range: 'bytes=2-9' } });
      assert.equal(part.status, 206);
      assert.deepEqual(part.body, (await bytesOf(id)).subarray(2, 10));
      const whole = await read(`${fork.urls.gateway}/raw/${id}`);
      assert.deepEqual(whole.body, await bytesOf(id));
      assert.equal(whole.headers.get(mark), origin.stack.urls.gateway);
      await eventually('it is proven', async () => {
        const { headers } = await read(`${fork.urls.gateway}/raw/${id}`);
        return headers.get('x-ar-io-verified') === 'true';
      });
    }
    const { headers } = await read(`${fork.urls.gateway}/raw/${ids.transaction}`);
    assert.equal(headers.get('content-type'), 'application/x-forked');
    const ownOnly = await read(`${fork.urls.gateway}/raw/${ids.unread}`, {
      headers: { 'x-ar-io-hops': '1' },
    });
    assert.equal(ownOnly.status, 404, 'whoever forks us is not sent on');
  });

  test('manifest paths lead to content, at the gateway and at the router', async () => {
    const { body, headers } = await read(`${fork.urls.gateway}/${ids.manifest}/index.html`);
    assert.deepEqual(body, page);
    assert.equal(headers.get(mark), origin.stack.urls.gateway);
    const routed = await read(`${fork.urls.router}/${ids.manifest}/index.html`);
    assert.equal(routed.status, 200);
    assert.deepEqual(routed.body, page);
  });

  test('transactions are read by id at the node and at the gateway', async () => {
    const expected = JSON.parse(
      String((await read(`${origin.stack.urls.arweave}/tx/${ids.transaction}`)).body),
    );
    for (const base of [fork.urls.arweave, fork.urls.gateway]) {
      const found = await read(`${base}/tx/${ids.transaction}`);
      assert.equal(JSON.parse(String(found.body)).signature, expected.signature);
      assert.equal(found.headers.get(mark), origin.stack.urls.gateway);
      const status = await read(`${base}/tx/${ids.transaction}/status`);
      assert.ok(JSON.parse(String(status.body)).number_of_confirmations > 0);
      const data = await read(`${base}/tx/${ids.transaction}/data`);
      assert.deepEqual(Buffer.from(String(data.body), 'base64url'), await bytesOf(ids.transaction));
      assert.equal(String((await read(`${base}/tx/${ids.transaction}/reward`)).body), expected.reward);
      const own = await read(`${base}/tx/${ids.transaction}`, { headers: { [mark]: 'no' } });
      assert.equal(own.status, 404);
    }
    assert.deepEqual(
      (await read(`${fork.urls.arweave}/${ids.transaction}`)).body,
      await bytesOf(ids.transaction),
    );
    // Places in the weave are those of another chain.
    assert.equal((await read(`${fork.urls.arweave}/tx/${ids.transaction}/offset`)).status, 404);
  });

  test('GraphQL finds entries by id, after its own', async () => {
    const data = Buffer.from('written here');
    const item = await signItem({ data }, solanaSigner(ed25519TestKey('writer here')));
    const sent = await fetch(`${fork.urls.upload}/v1/tx/solana`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(item),
    });
    assert.equal(sent.status, 200, await sent.text());
    const parsed = parseItem(item);
    assert.ok(typeof parsed !== 'string');
    const { id } = parsed.header;
    await eventually('it is indexed', async () => {
      const found = await query(fork, `{ transaction(id: "${id}") { id } }`);
      return found.data.transaction !== null;
    });

    const one = await query(
      fork,
      `{ transaction(id: "${ids.item}") { id tags { value } bundledIn { id } block { height } } }`,
    );
    const there = await query(
      origin.stack,
      `{ transaction(id: "${ids.item}") { id tags { value } bundledIn { id } block { height } } }`,
    );
    assert.deepEqual(one.data, there.data);
    assert.deepEqual(one.extensions, { fork: { url: origin.stack.urls.gateway, ids: [ids.item] } });

    const list = JSON.stringify([ids.item, id, ids.transaction]);
    const text = (more: string) =>
      `{ transactions(ids: ${list}${more}) { count pageInfo { hasNextPage } edges { cursor node { id } } } }`;
    const idsOf = (page: { edges: { node: { id: string } }[] }) => page.edges.map(({ node }) => node.id);
    const all = (await query(fork, text(''))).data.transactions;
    assert.equal(all.count, '3');
    assert.equal(idsOf(all)[0], id);
    assert.deepEqual(idsOf(all).toSorted(), [ids.item, id, ids.transaction].toSorted());
    // Page by page they are the same.
    const paged: string[] = [];
    for (let after = '', more = true; more; ) {
      const page = (await query(fork, text(`, first: 1, after: "${after}"`))).data.transactions;
      paged.push(...idsOf(page));
      after = page.edges.at(-1).cursor;
      more = page.pageInfo.hasNextPage;
    }
    assert.deepEqual(paged, idsOf(all));
    const own = await query(fork, text(''), { [mark]: 'no' });
    assert.deepEqual(idsOf(own.data.transactions), [id]);

    // What was written here is not there.
    assert.equal((await query(origin.stack, `{ transaction(id: "${id}") { id } }`)).data.transaction, null);
    assert.equal((await read(`${origin.stack.urls.gateway}/raw/${id}`)).status, 404);
  });

  test('a name resolves, is listed, and is changed here alone', async () => {
    const there = await openName(origin.stack);
    assert.deepEqual(await openName(fork), there);
    assert.equal(there.body, String(page));
    assert.match(await turnpike(fork, 'name', 'list'), new RegExp(`^${name} `, 'm'));

    const wallet = join(folder, 'wallet.json');
    await turnpike(fork, 'wallet', 'create', wallet);
    const address = await turnpike(fork, 'wallet', 'address', wallet);
    await turnpike(fork, 'ledger', 'credit', address, '20', '--id', 'here');
    const owner = join(origin.stack.dataDir, `owner-of-${name}.json`);
    await turnpike(fork, 'name', 'set', name, ids.item, '--wallet', wallet, '--owner', owner);
    const changed = await query(fork, '{ blocks(first: 1) { edges { node { height } } } }');
    assert.ok(changed.data);
    const resolved = async (stack: RunningStack) =>
      JSON.parse(String((await read(`${stack.urls.gateway}/ar-io/resolver/${name}`)).body)).txId;
    assert.equal(await resolved(origin.stack), ids.manifest);
    const records = async (stack: RunningStack) => {
      const { result } = await rpc(
        stack,
        'getProgramAccounts',
        'BSs3WNVyi6ezjnnKqQeaaV1uTvG8sNnxjHXgtYh9fu21',
        { encoding: 'base64' },
      );
      return result.length;
    };
    assert.ok((await records(fork)) >= 0);
  });

  test('an account of the fork is taken over: airdrops add to it here alone', async () => {
    const wallet = '7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q';
    await rpc(origin.stack, 'requestAirdrop', wallet, 5_000_000_000);
    assert.equal((await rpc(fork, 'getBalance', wallet)).result.value, 5_000_000_000);
    await rpc(fork, 'requestAirdrop', wallet, 1_000_000_000);
    assert.equal((await rpc(fork, 'getBalance', wallet)).result.value, 6_000_000_000);
    assert.equal((await rpc(origin.stack, 'getBalance', wallet)).result.value, 5_000_000_000);
    await rpc(origin.stack, 'requestAirdrop', wallet, 7_000_000_000);
    assert.equal((await rpc(fork, 'getBalance', wallet)).result.value, 6_000_000_000);
  });

  test('what was read is there when the fork is away, after a reset too; what was not is not said to be absent', async () => {
    const [transaction, manifest] = [await bytesOf(ids.transaction), await openName(origin.stack)];
    await fork.end();
    // All of a network but its keys and what was read from the fork.
    for (const part of ['localnet', 'gateway.db', 'gateway.db-wal', 'gateway.db-shm', 'gateway-cache']) {
      rmSync(join(folder, part), { recursive: true, force: true });
    }
    await origin.stack.end();
    fork = await startFork();
    const { body, headers } = await read(`${fork.urls.gateway}/raw/${ids.transaction}`);
    assert.deepEqual(body, transaction);
    assert.equal(headers.get(mark), origin.stack.urls.gateway);
    const found = await query(fork, `{ transaction(id: "${ids.item}") { id } }`);
    assert.equal(found.data.transaction.id, ids.item);
    assert.equal((await read(`${fork.urls.arweave}/tx/${ids.transaction}`)).status, 200);
    const opened = await openName(fork);
    assert.equal(opened.status, 200);
    assert.equal(opened.id, manifest.id);

    const text = `FORK_GATEWAY_URL ${origin.stack.urls.gateway} does not answer`;
    for (const base of [`${fork.urls.gateway}/raw`, `${fork.urls.gateway}/tx`, `${fork.urls.arweave}/tx`]) {
      const unread = await read(`${base}/${ids.unread}`);
      assert.equal(unread.status, 504);
      assert.ok(String(unread.body).includes(text), String(unread.body));
    }
    const unknown = await query(fork, `{ transaction(id: "${ids.unread}") { id } }`);
    assert.equal(unknown.errors[0].extensions.code, 'FORK_UNAVAILABLE');
    const account = await rpc(fork, 'getBalance', '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T');
    assert.match(account.error.message, /^FORK_SOLANA_RPC_URL .* does not answer/);
  });
});

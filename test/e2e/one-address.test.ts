/** One address for tools that know one: chain, GraphQL, content and reset on the port of the local Arweave node. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Arweave from 'arweave';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

describe('the port of the local Arweave node', () => {
  let stack: RunningStack;
  let address: string;
  let arweave: Arweave;
  before(async () => {
    stack = await startStack({
      only: ['gateway'],
      environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0', LOCAL_WALLETS: '0' },
    });
    address = stack.urls.arweave ?? '';
    const { hostname, port } = new URL(address);
    arweave = Arweave.init({ host: hostname, port, protocol: 'http' });
  });
  after(() => stack.stop());

  const blockOf = async (id: string): Promise<unknown> => {
    const query = `{ transaction(id: "${id}") { block { height } } }`;
    const { data } = await arweave.api.post<{ data: { transaction: { block: unknown } | null } }>('graphql', {
      query,
    });
    return data.data.transaction?.block;
  };

  test('whoever posts and mines there reads it there at once, without asking again', async () => {
    await arweave.api.get(`mint/${arweaveTestAddress}/1000000000000`);
    for (const height of [1, 2, 3]) {
      const transaction = await arweave.createTransaction({ data: `block ${height}` }, arweaveTestKey);
      await arweave.transactions.sign(transaction, arweaveTestKey);
      assert.equal((await arweave.transactions.post(transaction)).status, 200);
      const { id } = transaction;
      assert.equal(await blockOf(id), null);
      assert.equal(await (await fetch(`${address}/${id}`)).text(), `block ${height}`);
      await arweave.api.get('mine');
      assert.deepEqual(await blockOf(id), { height });
      const part = await fetch(`${address}/${id}`, { headers: { range: 'bytes=0-4' } });
      assert.deepEqual([part.status, await part.text()], [206, 'block']);
      assert.equal((await fetch(`${address}/${id}`, { method: 'HEAD' })).headers.get('content-length'), '7');
    }
  });

  test('opens pages in place, whatever the browser calls the host', async () => {
    const page = {
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': 'none',
      accept: 'text/html',
    };
    const host = address.replace('127.0.0.1', 'localhost');
    const graphql = await fetch(`${host}/graphql`, { headers: page });
    assert.match(graphql.headers.get('content-type') ?? '', /^text\/html/);
    const answer = await fetch(`${host}/${'A'.repeat(43)}`, { headers: page, redirect: 'manual' });
    assert.equal(answer.status, 404);
  });

  test('begins anew, but for no page from elsewhere', async () => {
    const foreign = await fetch(`${address}/reset`, { headers: { 'sec-fetch-site': 'cross-site' } });
    assert.equal(foreign.status, 403);
    assert.equal((await arweave.network.getInfo()).height, 3);
    const answer = await fetch(`${address}/reset`);
    assert.deepEqual([answer.status, await answer.text()], [200, 'reset done']);
    assert.equal((await arweave.network.getInfo()).height, 0);
    assert.equal(await arweave.wallets.getBalance(arweaveTestAddress), '0');
    await arweave.api.get('mine');
    const { data } = await arweave.api.post('graphql', {
      query: '{ transactions { edges { node { id } } } }',
    });
    assert.deepEqual(data, { data: { transactions: { edges: [] } } });
  });
});

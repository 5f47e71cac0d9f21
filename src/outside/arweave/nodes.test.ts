import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import type { LookUp } from '../look-up.ts';
import { ArweaveNodes, NodeRefused, NodeUnavailable } from './nodes.ts';

type Answers = Readonly<Record<string, readonly [status: number, body: unknown]>>;

const servers: Server[] = [];

/** A node that knows these paths and nothing else. */
async function node(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answers[String(request.url)] ?? [404, 'Not Found'];
    response.statusCode = status;
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

describe('several nodes', () => {
  const id = 'a'.repeat(43);
  const knowing: Answers = {
    [`/tx/${id}/status`]: [200, { block_height: 7, number_of_confirmations: 20 }],
    [`/tx/${id}/offset`]: [200, { offset: '300', size: '100' }],
    '/chunk/201': [200, { chunk: 'AAAA', data_path: 'BBBB' }],
  };
  let empty: string;
  let behind: string;
  let full: string;
  let down: string;
  const open: ArweaveNodes[] = [];
  const nodes = (...urls: string[]): ArweaveNodes => {
    const made = new ArweaveNodes(urls);
    open.push(made);
    return made;
  };

  before(async () => {
    empty = await node({ '/height': [200, '90'] });
    behind = await node({ '/height': [200, '40'] });
    full = await node(knowing);
    down = await node(Object.fromEntries(Object.keys(knowing).map((path) => [path, [503, 'busy']])));
  });
  after(async () => {
    for (const made of open) await made.close();
    for (const server of servers) server.close();
  });

  it('are all asked before something counts as absent: no node stores everything', async () => {
    const asked = nodes(down, empty, full);
    const mined = { state: 'mined', blockHeight: 7, confirmations: 20 };
    assert.deepEqual(foundIn(await asked.txStatus(id)), mined);
    assert.deepEqual(foundIn(await asked.txOffset(id)), { end: 300n, size: 100 });
    assert.equal(foundIn(await asked.chunk(201n, () => true))?.chunk.length, 3);
  });

  it('that all know nothing say so for the lowest of their heights', async () => {
    const asked = nodes(empty, behind);
    for (const answer of [
      await asked.txStatus(id),
      await asked.txOffset(id),
      await asked.chunk(201n, () => true),
    ]) {
      assert.deepEqual(answer, { state: 'absent', at: 40 });
    }
  });

  it('of which one does not answer leave open whether it is there', async () => {
    for (const asked of [nodes(empty, down), nodes(down, empty), nodes(down), nodes()]) {
      assert.equal((await asked.txStatus(id)).state, 'not-known');
      assert.equal((await asked.chunk(201n, () => true)).state, 'not-known');
    }
  });

  it('that know nothing and tell no height leave it open too', async () => {
    assert.equal((await nodes(await node({})).txStatus(id)).state, 'not-known');
  });

  it('are asked for another chunk when one gives a wrong one, which is no absence', async () => {
    const lying = await node({ '/chunk/201': [200, { chunk: 'CCCC', data_path: 'BBBB' }] });
    const isRight = ({ chunk }: { chunk: Buffer }) => chunk.equals(Buffer.alloc(3));
    assert.equal((await nodes(lying, full).chunk(201n, isRight)).state, 'found');
    assert.equal((await nodes(lying, empty).chunk(201n, isRight)).state, 'not-known');
  });

  it('give an anchor with the height of the very node that gave it', async () => {
    const anchor = Buffer.alloc(48, 7);
    const ahead = await node({ '/tx_anchor': [200, anchor.toString('base64url')], '/height': [200, '93'] });
    assert.deepEqual(await nodes(behind, ahead).anchor(), { anchor, height: 93 });
  });

  it('are as high as the highest of them, which is known only where all say', async () => {
    assert.equal(await nodes(behind, empty).highest(), 90);
    const silent = await node({});
    await assert.rejects(nodes(behind, silent).highest(), /answered 404/);
  });

  it('refuse a transaction only together: one that did not answer may have taken it', async () => {
    const refusing = await node({ '/tx': [400, { error: 'anchor' }] });
    const away = await node({ '/tx': [503, 'busy'] });
    const unsigned = newTransaction({ lastTx: Buffer.alloc(48), reward: 1n });
    const tx = transactionToJson(
      { ...unsigned, id: Buffer.alloc(32), signature: Buffer.alloc(512) },
      'header',
    );
    await assert.rejects(nodes(refusing, refusing).postTransaction(tx), NodeRefused);
    await assert.rejects(nodes(refusing, away).postTransaction(tx), NodeUnavailable);
  });
});

function foundIn<T>(answer: LookUp<T>): T | undefined {
  return answer.state === 'found' ? answer.value : undefined;
}

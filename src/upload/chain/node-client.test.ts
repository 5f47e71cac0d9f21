import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { ArweaveNodes, NodeUnavailable } from './node-client.ts';

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
  let full: string;
  let down: string;
  const open: ArweaveNodes[] = [];
  const nodes = (...urls: string[]): ArweaveNodes => {
    const made = new ArweaveNodes(urls);
    open.push(made);
    return made;
  };

  before(async () => {
    empty = await node({});
    full = await node(knowing);
    down = await node(Object.fromEntries(Object.keys(knowing).map((path) => [path, [503, 'busy']])));
  });
  after(async () => {
    for (const made of open) await made.close();
    for (const server of servers) server.close();
  });

  it('are all asked before something counts as unknown: no node stores everything', async () => {
    const asked = nodes(down, empty, full);
    assert.equal((await asked.txStatus(id)).state, 'mined');
    assert.deepEqual(await asked.txOffset(id), { end: 300n, size: 100 });
    assert.equal((await asked.chunk(201n))?.chunk.length, 3);
  });

  it('know nothing when those that answer know nothing', async () => {
    const asked = nodes(empty, down);
    assert.equal((await asked.txStatus(id)).state, 'unknown');
    assert.equal(await asked.txOffset(id), undefined);
    assert.equal(await asked.chunk(201n), undefined);
  });

  it('that do not answer say nothing', async () => {
    await assert.rejects(nodes(down).txStatus(id), NodeUnavailable);
    await assert.rejects(nodes(down).chunk(201n), NodeUnavailable);
  });
});

/** A thousand readers who take nothing: they hold up nobody, and little memory each. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type AdminGateway, startAdminGateway } from '../support/admin-gateway.ts';
import { liveMemory } from '../support/live-memory.ts';
import { makeTransaction, text, until } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';

const readers = 1_000;
/** The sockets of the readers themselves, which are in the same process, among it. */
const perReader = 384 * 1024;

describe('slow readers', () => {
  let gateway: AdminGateway;
  const slow: Socket[] = [];
  const data = seededRandom(1_000).bytes(4 * 1024 * 1024);
  let id = '';

  before(async () => {
    gateway = await startAdminGateway();
    const { node } = gateway.stack;
    const made = await makeTransaction(node.url, data);
    await made.post();
    await text(`${node.url}/mine`);
    id = made.transaction.id.toString('base64url');
    await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height);
  });
  after(async () => {
    for (const socket of slow) socket.destroy();
    await gateway.stop();
  });

  async function read(): Promise<Buffer> {
    const answer = await fetch(`${gateway.url}/raw/${id}`, { signal: AbortSignal.timeout(300_000) });
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  }

  async function addSlow(count: number): Promise<void> {
    const { port } = new URL(gateway.url);
    for (let at = 0; at < count; at += 1) {
      const socket = connect({ port: Number(port), host: '127.0.0.1' });
      socket.on('error', () => {});
      slow.push(socket);
      await once(socket, 'connect');
      socket.pause();
      socket.write(`GET /raw/${id} HTTP/1.1\r\nhost: x\r\n\r\n`);
    }
  }

  test('hold nobody up while content arrives, nor when it is there', async (t) => {
    const before = liveMemory();
    await addSlow(readers / 2);
    assert.ok((await read()).equals(data), 'as it arrives');
    await addSlow(readers / 2);
    for (const bytes of await Promise.all([read(), read()])) assert.ok(bytes.equals(data), 'from the cache');
    const grown = liveMemory() - before;
    t.diagnostic(`${Math.round(grown / readers)} bytes for each reader`);
    assert.ok(grown < readers * perReader, `${Math.round(grown / readers)} bytes for each reader`);
  });
});

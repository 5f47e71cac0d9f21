import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import {
  type NodeClient,
  type RunningLocalArweave,
  startLocalArweave,
  TestWallet,
} from '../../../test/support/local-arweave.ts';
import { decodeBase64url, encodeBase64url } from '../../formats/base64url.ts';

describe('fault switches', () => {
  let running: RunningLocalArweave;
  let client: NodeClient;
  const data = Buffer.from('0123456789');
  let offset: string;
  before(async () => {
    running = await startLocalArweave();
    client = running.client;
    const wallet = new TestWallet();
    await client.text(`/mint/${wallet.address}/1000000000000`);
    const transaction = await wallet.transaction(client, { data });
    await client.postTx(transaction);
    await client.text('/mine');
    const place = await client.json<{ offset: string }>(`/tx/${encodeBase64url(transaction.id)}/offset`);
    offset = place.offset;
  });
  after(() => running.stop());
  afterEach(async () => {
    await request(`${client.url}/faults`, { method: 'DELETE' }).then(({ body }) => body.dump());
  });

  const chunk = async () => decodeBase64url((await client.json<{ chunk: string }>(`/chunk/${offset}`)).chunk);

  it('answers the wanted status, as often as said', async () => {
    await client.post('/faults', { status: 503, count: 2 });
    assert.equal((await client.get('/info')).status, 503);
    assert.equal((await client.post('/tx', {})).status, 503);
    assert.equal((await client.get('/info')).status, 200);
  });

  it('hits only who is meant: clients, or the services, which ask for the own chain alone', async () => {
    const service = async () => {
      const answer = await request(`${client.url}/info`, { headers: { 'x-turnpike-fork': 'no' } });
      await answer.body.dump();
      return answer.statusCode;
    };
    await client.post('/faults', { status: 503, from: 'clients', count: 1 });
    assert.equal(await service(), 200);
    assert.equal((await client.get('/info')).status, 503);
    assert.equal((await client.get('/info')).status, 200);
    await client.post('/faults', { status: 503, from: 'services' });
    assert.deepEqual([await service(), (await client.get('/info')).status], [503, 200]);
  });

  it('hits only the wanted paths, and never its own controls', async () => {
    await client.post('/faults', { status: 500, path: '/chunk' });
    assert.equal((await client.get('/info')).status, 200);
    assert.equal((await client.get(`/chunk/${offset}`)).status, 500);
    await client.post('/faults', { status: 500 });
    assert.equal((await client.get('/mine')).status, 200);
    assert.deepEqual(await client.json('/faults'), { status: 500 });
  });

  it('gives truncated and wrong chunks', async () => {
    await client.post('/faults', { truncateChunks: true });
    assert.deepEqual(await chunk(), data.subarray(0, 5));
    await client.post('/faults', { wrongChunks: true, count: 1 });
    const wrong = await chunk();
    assert.equal(wrong.length, data.length);
    assert.notDeepEqual(wrong, data);
    assert.deepEqual(await chunk(), data);
  });

  it('lies about its height', async () => {
    const height = await client.height();
    await client.post('/faults', { wrongHeight: 30 });
    assert.equal(await client.height(), height + 30);
    assert.equal((await client.json<{ height: number }>('/info')).height, height + 30);
  });

  it('is slow, or never answers', async () => {
    await client.post('/faults', { latencyMs: 60, count: 1 });
    const started = performance.now();
    await client.text('/info');
    assert.ok(performance.now() - started >= 50);
    await client.post('/faults', { hang: true, count: 1 });
    const giveUp = new AbortController();
    const hanging = request(`${client.url}/info`, { signal: giveUp.signal });
    const refused = assert.rejects(hanging);
    while ((await client.text('/faults')) !== '{}') await sleep(5);
    for (let later = 0; later < 5; later += 1) assert.equal((await client.get('/info')).status, 200);
    giveUp.abort();
    await refused;
    assert.equal((await client.get('/info')).status, 200);
  });

  it('lets go of what hangs when the node stops', async () => {
    const other = await startLocalArweave();
    await other.client.post('/faults', { hang: true });
    const hanging = other.client.get('/info').then(
      () => 'answered',
      () => 'cut',
    );
    await other.client.get('/faults');
    await other.stop();
    assert.equal(await hanging, 'cut');
  });
});

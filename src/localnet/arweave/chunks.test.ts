import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  checkChain,
  chunkBody,
  type NodeClient,
  type RunningLocalArweave,
  startLocalArweave,
  TestWallet,
} from '../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { CHUNK_BYTES, clientSplit } from '../../formats/arweave/chunks.ts';
import { type DataTree, dataTreeOf } from '../../formats/arweave/data-root.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { decodeBase64url, encodeBase64url } from '../../formats/base64url.ts';

const AR = 1_000_000_000_000n;
const wallet = new TestWallet();
const random = seededRandom(71);

describe('posting and reading chunks', () => {
  let running: RunningLocalArweave;
  let client: NodeClient;
  before(async () => {
    running = await startLocalArweave();
    client = running.client;
    await client.text(`/mint/${wallet.address}/${100n * AR}`);
  });
  after(() => running.stop());

  /** Posts the header of a transaction whose data follows in chunks; `zeroLeaf` chooses between the legal trees. */
  async function postHeader(data: Buffer, zeroLeaf = true): Promise<{ id: string; tree: DataTree }> {
    const tree = dataTreeOf(data, { ...clientSplit, zeroLeaf });
    const drafted = await wallet.transaction(client, { data, inline: false });
    const transaction = await signTransactionAsync({ ...drafted, dataRoot: tree.root }, wallet.key);
    assert.equal((await client.postTx(transaction)).status, 200);
    return { id: encodeBase64url(transaction.id), tree };
  }

  /** Downloads as arweave-js does: chunk after chunk, by weave offset. */
  async function download(id: string): Promise<Buffer> {
    const { offset, size } = await client.json<{ offset: string; size: string }>(`/tx/${id}/offset`);
    const parts: Buffer[] = [];
    for (let at = Number(offset) - Number(size) + 1; at <= Number(offset); ) {
      const { chunk, packing } = await client.json<{ chunk: string; packing: string }>(`/chunk/${at}`);
      assert.equal(packing, 'unpacked');
      const bytes = decodeBase64url(chunk);
      parts.push(bytes);
      at += bytes.length;
    }
    return Buffer.concat(parts);
  }

  for (const size of [
    1,
    CHUNK_BYTES - 1,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    2 * CHUNK_BYTES,
    3 * CHUNK_BYTES + 777,
  ]) {
    for (const zeroLeaf of size % CHUNK_BYTES === 0 ? [true, false] : [true]) {
      it(`keeps ${size} bytes posted in chunks, ${zeroLeaf ? 'tree of clients' : 'tree without a zero leaf'}`, async () => {
        const data = random.bytes(size);
        const { id, tree } = await postHeader(data, zeroLeaf);
        await client.postChunks(data, tree);
        await client.text('/mine');
        assert.deepEqual(await download(id), data);
        assert.equal(await client.text(`/tx/${id}/data`), data.toString('base64url'));
      });
    }
  }

  it('takes chunks before and after the block, in any order, twice', async () => {
    const data = random.bytes(2 * CHUNK_BYTES + 50_000);
    const { id, tree } = await postHeader(data);
    const bodies = [...tree.proofs()].map(({ start, end, offset, dataPath }) =>
      chunkBody(data.subarray(start, end), tree, offset, dataPath),
    );
    assert.equal((await client.post('/chunk', bodies[2])).status, 200);
    await client.text('/mine');
    const { offset, size } = await client.json<{ offset: string; size: string }>(`/tx/${id}/offset`);
    assert.equal((await client.get(`/chunk/${Number(offset) - Number(size) + 1}`)).status, 404);
    assert.equal((await client.get(`/chunk/${offset}`)).status, 200);
    assert.equal(
      (await client.get(`/chunk/${Number(offset) + 1}`)).status,
      404,
      'the gap behind holds nothing',
    );
    assert.equal((await client.get(`/tx/${id}/data`)).status, 404);
    for (const body of [bodies[1], bodies[0], bodies[0]]) {
      assert.deepEqual(await client.post('/chunk', body), { status: 200, text: '' });
    }
    assert.deepEqual(await download(id), data);
    await checkChain(client, 100n * AR);
  });

  it('takes the offset of any byte of the chunk', async () => {
    const data = random.bytes(CHUNK_BYTES + 100_000);
    const { tree } = await postHeader(data);
    const { start, end, dataPath } = tree.proof(1);
    for (const offset of [start, start + 5, end - 1]) {
      assert.equal(
        (await client.post('/chunk', chunkBody(data.subarray(start, end), tree, offset, dataPath))).status,
        200,
      );
    }
    for (const offset of [start - 1, end, 0]) {
      const answer = await client.post(
        '/chunk',
        chunkBody(data.subarray(start, end), tree, offset, dataPath),
      );
      assert.deepEqual(answer, { status: 400, text: '{"error":"invalid_proof"}' });
    }
  });

  it('refuses each broken rule with the code of a node, and stores nothing', async () => {
    const data = random.bytes(CHUNK_BYTES + 200_000);
    const { id, tree } = await postHeader(data);
    await client.text('/mine');
    const { start, end, offset, dataPath } = tree.proof(0);
    const good = chunkBody(data.subarray(start, end), tree, offset, dataPath);
    const unknown = encodeBase64url(random.bytes(32));
    const wrongBytes = encodeBase64url(random.bytes(end - start));
    const cases: [string, unknown][] = [
      ['invalid_json', 'nonsense'],
      ['invalid_json', []],
      ['invalid_json', null],
      ['invalid_json', { ...good, chunk: `${good.chunk}=` }],
      ['invalid_json', { ...good, data_path: 5 }],
      ['invalid_json', { ...good, data_size: '1e3' }],
      ['invalid_json', { ...good, data_size: Number(good.data_size) }],
      ['invalid_json', { ...good, data_size: '-1' }],
      ['invalid_json', { ...good, data_size: '0x10' }],
      ['invalid_json', { ...good, offset: '1.5' }],
      ['invalid_json', { ...good, data_root: undefined }],
      ['chunk_too_big', { ...good, chunk: encodeBase64url(Buffer.alloc(CHUNK_BYTES + 1)) }],
      ['data_path_too_big', { ...good, chunk: 'AA', data_path: encodeBase64url(Buffer.alloc(262_145)) }],
      ['data_size_too_big', { ...good, data_size: String(2n ** 256n) }],
      ['offset_too_big', { ...good, offset: String(2n ** 256n) }],
      ['offset_field_required', { ...good, offset: undefined }],
      ['chunk_proof_ratio_not_attractive', { ...good, chunk: 'AA' }],
      ['chunk_proof_ratio_not_attractive', { ...good, data_path: '' }],
      ['data_root_not_found', { ...good, data_root: unknown }],
      ['data_root_not_found', { ...good, data_size: String(data.length + 1) }],
      ['data_root_not_found', { ...good, data_size: String(2n ** 60n) }],
      ['invalid_proof', { ...good, chunk: wrongBytes }],
      ['invalid_proof', { ...good, chunk: encodeBase64url(data.subarray(start, end - 1)) }],
      ['invalid_proof', { ...good, offset: String(data.length - 1) }],
      ['invalid_proof', { ...good, offset: String(2n ** 60n) }],
      ['invalid_proof', { ...good, data_path: encodeBase64url(tree.proof(1).dataPath) }],
    ];
    for (const [error, body] of cases) {
      const answer = await client.post('/chunk', body);
      assert.deepEqual(
        answer,
        { status: 400, text: JSON.stringify({ error }) },
        JSON.stringify(body).slice(0, 60),
      );
    }
    assert.deepEqual(await client.post('/chunk', 'x'.repeat(800_000)), {
      status: 413,
      text: 'Payload too large',
    });
    const early = await client.post('/chunk', good, {
      'arweave-data-root': unknown,
      'arweave-data-size': '5',
    });
    assert.deepEqual(early, { status: 400, text: '{"error":"data_root_not_found"}' });
    assert.equal((await client.get(`/tx/${id}/data`)).status, 404);
    const { offset: last, size } = await client.json<{ offset: string; size: string }>(`/tx/${id}/offset`);
    assert.equal((await client.get(`/chunk/${Number(last) - Number(size) + 1}`)).status, 404);
    assert.equal((await client.post('/chunk', good)).status, 200);
  });

  it('gives no data above 12 MiB as one text', async () => {
    const data = Buffer.alloc(13 * 1024 * 1024, 1);
    const { id, tree } = await postHeader(data);
    await client.postChunks(data, tree);
    await client.text('/mine');
    assert.deepEqual(await client.get(`/tx/${id}/data`), {
      status: 400,
      text: '{"error":"tx_data_too_big"}',
    });
    assert.ok((await download(id)).equals(data));
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { request } from 'undici';
import {
  checkChain,
  type RunningLocalArweave,
  startLocalArweave,
  TestWallet,
} from '../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import type { Block } from './chain/blocks.ts';
import { MINER, storageFee } from './rules.ts';

const AR = 1_000_000_000_000n;
const stranger = encodeBase64url(Buffer.alloc(32, 5));

describe('what the node says of itself and its chain', () => {
  let running: RunningLocalArweave;
  before(async () => {
    running = await startLocalArweave();
  });
  after(() => running.stop());

  it('begins with one block and says that it is local', async () => {
    const { client } = running;
    const info = await client.json<Record<string, unknown>>('/info');
    const block = await client.json<Block>('/block/height/0');
    assert.equal(info.network, 'arlocal.turnpike.local');
    for (const field of [
      'version',
      'release',
      'height',
      'blocks',
      'peers',
      'queue_length',
      'node_state_latency',
    ]) {
      assert.equal(typeof info[field], 'number', field);
    }
    assert.equal(info.current, block.indep_hash);
    assert.equal(info.blocks, 1);
    assert.deepEqual(await client.json('/'), info);
    assert.deepEqual(await client.json('/peers'), []);
    assert.equal(await client.text('/tx_anchor'), block.indep_hash);
  });

  it('writes blocks with every field of the contract in its type', async () => {
    const { client } = running;
    await client.text('/mine');
    const block = await client.json<Record<string, unknown>>('/current_block');
    const strings = [
      'nonce',
      'previous_block',
      'hash',
      'indep_hash',
      'tx_root',
      'wallet_list',
      'reward_addr',
    ];
    const more = [
      'cumulative_diff',
      'hash_list_merkle',
      'packing_2_5_threshold',
      'strict_data_split_threshold',
    ];
    for (const field of [...strings, ...more]) assert.equal(typeof block[field], 'string', field);
    const integers = [
      'timestamp',
      'last_retarget',
      'diff',
      'height',
      'reward_pool',
      'weave_size',
      'block_size',
    ];
    for (const field of integers) assert.ok(Number.isSafeInteger(block[field]), field);
    for (const field of ['txs', 'tx_tree', 'tags', 'usd_to_ar_rate', 'scheduled_usd_to_ar_rate']) {
      assert.ok(Array.isArray(block[field]), field);
    }
    assert.deepEqual(Object.keys(block.poa ?? {}), ['option', 'tx_path', 'data_path', 'chunk']);
    assert.deepEqual(block, await client.json('/block/current'));
    assert.deepEqual(block, await client.json(`/block/height/${block.height}`));
    assert.deepEqual(block, await client.json(`/block/hash/${block.indep_hash}`));
  });

  it('names the 6th newest block as anchor and lists hashes newest first', async () => {
    const { client } = running;
    await client.text('/mine/10');
    const height = await client.height();
    const hashes = await client.json<string[]>('/hash_list');
    assert.equal(hashes.length, height + 1);
    assert.equal(await client.text('/tx_anchor'), hashes[5]);
    assert.deepEqual(await client.json('/hash_list/2/4'), hashes.slice(height - 4, height - 1));
    await checkChain(client, 0n);
  });

  it('answers HEAD like GET, without a body', async () => {
    for (const path of ['/info', '/height', '/block/current']) {
      const head = await request(running.client.url + path, { method: 'HEAD' });
      assert.equal(head.statusCode, 200);
      assert.equal(Number(head.headers['content-length']), (await running.client.text(path)).length);
      assert.equal(await head.body.text(), '');
    }
  });

  it('prices by whole chunks, and more for a new account', async () => {
    const { client } = running;
    const price = async (path: string) => BigInt(await client.text(`/price/${path}`));
    assert.equal(await price('0'), storageFee(0, false));
    // Beyond what a double holds exactly.
    assert.equal(await price('12345678901234567'), storageFee(12_345_678_901_234_567n, false));
    assert.equal(await price('1'), await price('262144'));
    assert.ok((await price('262145')) > (await price('262144')));
    assert.equal(await price('5/target'), await price(`5/${stranger}`));
    assert.ok((await price('5/target')) > (await price('5')));
    const [gib, twoGib] = [await price(String(2 ** 30)), await price(String(2 ** 31))];
    assert.ok(gib > AR / 2n && gib < AR && twoGib > (gib * 199n) / 100n);
  });

  it('mints for a test, and a funded account is not new', async () => {
    const { client } = running;
    const friend = encodeBase64url(Buffer.alloc(32, 6));
    assert.equal(await client.balance(friend), 0n);
    assert.equal(await client.text(`/mint/${friend}/100000000000000000000`), '100000000000000000000');
    assert.equal(await client.text(`/mint/${friend}/1`), '100000000000000000001');
    assert.equal(await client.text(`/wallet/${friend}/balance`), '100000000000000000001');
    assert.equal(await client.text(`/wallet/${friend}/last_tx`), '');
    assert.equal(await client.text(`/price/5/${friend}`), await client.text('/price/5'));
  });

  it('refuses wrong paths in the words of a node and changes nothing', async () => {
    const { client } = running;
    const before = await client.snapshot();
    const cases: [string, number, string][] = [
      ['/nothing', 400, 'Request type not found.'],
      ['/block/none/1', 400, 'Request type not found.'],
      ['/block/height/1e3', 400, 'Invalid height.'],
      ['/block/height/-1', 400, 'Invalid height.'],
      ['/block/height/0x10', 400, 'Invalid height.'],
      ['/block/height/99999999999999999999', 400, 'Invalid height.'],
      ['/block/height/9007199254740992', 400, 'Invalid height.'],
      ['/block/height/1000000', 404, 'Block not found.'],
      ['/block/hash/short', 404, 'Block not found.'],
      [`/block/hash/${'A'.repeat(64)}`, 404, 'Block not found.'],
      ['/hash_list/5/2', 400, '{"error":"start_bigger_than_end"}'],
      ['/hash_list/x/2', 400, '{"error":"invalid_range"}'],
      ['/hash_list/0/99999999', 400, '{"error":"range_too_big"}'],
      [`/price/${'9'.repeat(79)}`, 400, '{"error":"size_is_too_large"}'],
      ['/price/-1', 400, '{"error":"size_must_be_an_integer"}'],
      ['/price/1.5', 400, '{"error":"size_must_be_an_integer"}'],
      ['/price/1e3', 400, '{"error":"size_must_be_an_integer"}'],
      ['/price/5/short', 400, 'Invalid address.'],
      ['/wallet/short/balance', 400, 'Invalid address.'],
      [`/wallet/${'A'.repeat(42)}B/last_tx`, 200, ''],
      [`/wallet/${'A'.repeat(42)}B/balance`, 200, '0'],
      [`/mint/${'A'.repeat(42)}B/5`, 400, 'Invalid address.'],
      ['/tx/short', 400, 'Invalid hash.'],
      [`/tx/${stranger}`, 404, 'Not Found.'],
      [`/tx/${stranger}/status`, 404, 'Not Found.'],
      ['/tx/short/status', 400, 'Invalid address.'],
      [`/tx/${stranger}/offset`, 404, ''],
      ['/tx/short/offset', 400, '{"error":"invalid_address"}'],
      [`/tx/${stranger}/data`, 404, 'Not Found.'],
      [`/unconfirmed_tx/${stranger}`, 404, 'Not Found.'],
      [`/${stranger}`, 404, 'Not Found.'],
      ['/chunk/x', 400, '{"error":"invalid_offset"}'],
      ['/chunk/1e3', 400, '{"error":"invalid_offset"}'],
      ['/chunk/-1', 400, '{"error":"offset_out_of_bounds"}'],
      ['/chunk/0', 404, ''],
      ['/chunk/9007199254740993', 404, ''],
      ['/mint/short/5', 400, 'Invalid address.'],
    ];
    for (const [path, status, text] of cases) {
      assert.deepEqual(await client.get(path), { status, text }, path);
    }
    for (const amount of ['0', '-5', '1e3', '0x10', '1.5', '1000000000000000000001', 'x']) {
      assert.equal((await client.get(`/mint/${stranger}/${amount}`)).status, 400, amount);
    }
    for (const count of ['0', '-1', '1e3', '10001', 'x']) {
      assert.equal((await client.get(`/mine/${count}`)).status, 400, count);
    }
    for (const body of [
      '',
      '{',
      '[]',
      '{"depth":0}',
      '{"depth":"1"}',
      '{"depth":1.5}',
      '{"depth":101}',
      '{}',
    ]) {
      assert.equal((await client.post('/fork', body)).status, 400, body);
    }
    for (const body of ['', '[]', '{"latency":5}', '{"status":200}', '{"count":0}', '{"latencyMs":-1}']) {
      assert.equal((await client.post('/faults', body)).status, 400, body);
    }
    assert.deepEqual(await client.snapshot(), before);
  });

  it('survives 1,000 random paths and bodies', async () => {
    const { client } = running;
    const before = await client.snapshot();
    const random = seededRandom(51);
    const words = [
      'tx',
      'block',
      'hash',
      'height',
      'chunk',
      'price',
      'wallet',
      'data',
      'offset',
      stranger,
      '..',
      '%00',
    ];
    for (let round = 0; round < 1_000; round += 1) {
      const parts = Array.from({ length: random.between(1, 4) }, () =>
        random.below(3) === 0
          ? encodeURIComponent(random.bytes(random.below(20)).toString('latin1'))
          : random.pick(words),
      );
      const path = `/${parts.join('/')}`;
      const answer =
        round % 4 === 0
          ? await client.post(
              random.pick(['/tx', '/chunk', '/fork', path]),
              random.bytes(random.below(300)).toString('latin1'),
            )
          : await client.get(path);
      assert.ok(answer.status < 500, `${path}: ${answer.status}`);
    }
    assert.deepEqual(await client.snapshot(), before);
  });
});

describe('mining by itself', () => {
  it('mines what is pending, then the confirmations, then rests', async () => {
    await using running = await startLocalArweave({ blockIntervalMs: 5, confirmBlocks: 3 });
    const { client } = running;
    const wallet = new TestWallet();
    await client.text(`/mint/${wallet.address}/${AR}`);
    assert.equal(await client.height(), 0);
    const transaction = await wallet.transaction(client, { data: Buffer.from('mined by itself') });
    assert.equal((await client.postTx(transaction)).status, 200);
    while ((await client.height()) < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    const status = await client.json<{ block_height: number; number_of_confirmations: number }>(
      `/tx/${encodeBase64url(transaction.id)}/status`,
    );
    assert.equal(status.block_height, 1);
    assert.ok((await client.balance(MINER)) > 0n);
    // Had it gone on meanwhile, the next would not be in the fifth block.
    const next = await wallet.transaction(client, { data: Buffer.from('after a rest') });
    assert.equal(await client.height(), 4);
    assert.equal((await client.postTx(next)).status, 200);
    while ((await client.height()) < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    const after = await client.json<{ block_height: number }>(`/tx/${encodeBase64url(next.id)}/status`);
    assert.equal(after.block_height, 5);
  });
});

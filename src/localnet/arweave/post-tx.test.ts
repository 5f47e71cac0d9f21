import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  checkChain,
  type NodeClient,
  type RunningLocalArweave,
  startLocalArweave,
  TestWallet,
} from '../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { clientSplit } from '../../formats/arweave/chunks.ts';
import { dataRootOf } from '../../formats/arweave/data-root.ts';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import {
  parseTransactionJson,
  type TransactionJson,
  transactionToJson,
} from '../../formats/arweave/transaction-json.ts';
import {
  ownerAddress,
  signTransactionAsync,
  signTransactionEcdsa,
} from '../../formats/arweave/transaction-signature.ts';
import { decodeBase64url, encodeBase64url } from '../../formats/base64url.ts';
import { MINER, MINER_SHARE, storageFee } from './rules.ts';

const AR = 1_000_000_000_000n;
const stranger = encodeBase64url(Buffer.alloc(32, 5));
const alice = new TestWallet();
const bob = new TestWallet();

describe('posting transactions', () => {
  let running: RunningLocalArweave;
  let client: NodeClient;
  before(async () => {
    running = await startLocalArweave();
    client = running.client;
    await client.text(`/mint/${alice.address}/${100n * AR}`);
  });
  after(() => running.stop());

  it('goes from pending to mined to confirmed', async () => {
    const data = Buffer.from('hello, weave');
    const tags = [{ name: 'Content-Type', value: 'text/plain' }];
    const transaction = await alice.transaction(client, { data, tags });
    const id = encodeBase64url(transaction.id);
    assert.deepEqual(await client.postTx(transaction), { status: 200, text: 'OK' });
    assert.deepEqual(await client.json('/tx/pending'), [id]);
    for (const path of [`/tx/${id}`, `/tx/${id}/status`, `/tx/${id}/data`, `/${id}`]) {
      assert.deepEqual(await client.get(path), { status: 202, text: 'Pending' }, path);
    }
    assert.equal((await client.get(`/tx/${id}/offset`)).status, 404);
    assert.equal((await client.json<TransactionJson>(`/unconfirmed_tx/${id}`)).id, id);

    await client.text('/mine');
    assert.deepEqual(await client.json('/tx/pending'), []);
    const header = await client.json<TransactionJson>(`/tx/${id}`);
    assert.deepEqual(header, transactionToJson(transaction, 'header'));
    assert.equal(await client.text(`/tx/${id}/data`), data.toString('base64url'));
    assert.equal(await client.text(`/tx/${id}/data.txt`), 'hello, weave');
    assert.equal(await client.text(`/${id}`), 'hello, weave');
    assert.equal(await client.text(`/tx/${id}/data_root`), header.data_root);
    assert.equal(await client.text(`/tx/${id}/format`), '2');
    assert.deepEqual(await client.json(`/tx/${id}/tags`), header.tags);
    assert.deepEqual(await client.get(`/tx/${id}/nonsense`), {
      status: 400,
      text: '{"error":"invalid_field"}',
    });
    assert.deepEqual(await client.get(`/tx/${id}/constructor`), {
      status: 400,
      text: '{"error":"invalid_field"}',
    });
    assert.equal(await client.text(`/wallet/${alice.address}/last_tx`), id);

    await client.text('/mine/4');
    const status = await client.json<Record<string, unknown>>(`/tx/${id}/status`);
    const block = await client.json<{ indep_hash: string; txs: string[] }>(
      `/block/height/${status.block_height}`,
    );
    assert.deepEqual(block.txs, [id]);
    assert.deepEqual(status, {
      block_height: 1,
      block_indep_hash: block.indep_hash,
      number_of_confirmations: 5,
    });
  });

  it('moves the money: quantity to the target, the fee to miner and pool', async () => {
    const quantity = 3n * AR;
    const [before, minerBefore] = [await client.balance(alice.address), await client.balance(MINER)];
    const poolBefore = BigInt((await client.json<{ reward_pool: number }>('/block/current')).reward_pool);
    const transaction = await alice.transaction(client, { target: bob.address, quantity });
    assert.equal(transaction.reward, storageFee(0, true));
    assert.equal((await client.postTx(transaction)).status, 200);
    assert.equal(await client.balance(bob.address), 0n);
    await client.text('/mine');
    assert.equal(await client.balance(bob.address), quantity);
    assert.equal(await client.balance(alice.address), before - quantity - transaction.reward);
    const earned = transaction.reward / MINER_SHARE;
    assert.equal(await client.balance(MINER), minerBefore + earned);
    const pool = BigInt((await client.json<{ reward_pool: number }>('/block/current')).reward_pool);
    assert.equal(pool, poolBefore + transaction.reward - earned);
    await checkChain(client, 100n * AR);
  });

  it('takes version 1, and an ECDSA signature', async () => {
    const old = await alice.transaction(client, { data: Buffer.alloc(300_000, 1), format: 1 });
    assert.equal((await client.postTx(old)).status, 200);
    const key = createHash('sha256').update('a local secp256k1 key').digest();
    const anchor = decodeBase64url(await client.text('/tx_anchor'));
    const unsigned = newTransaction({
      reward: storageFee(0, false),
      lastTx: anchor,
      tags: [{ name: 'a', value: 'b' }],
    });
    const modern = signTransactionEcdsa(unsigned, key);
    const address = encodeBase64url(ownerAddress(modern) ?? Buffer.alloc(0));
    assert.equal((await client.postTx(modern)).status, 400);
    await client.text(`/mint/${address}/${AR}`);
    assert.equal((await client.postTx(modern)).status, 200);
    await client.text('/mine');
    assert.equal(await client.text(`/wallet/${address}/last_tx`), encodeBase64url(modern.id));
    const oldId = encodeBase64url(old.id);
    assert.equal((await client.json<TransactionJson>(`/tx/${oldId}`)).data, old.data.toString('base64url'));
    assert.equal(await client.text(`/tx/${oldId}/data`), old.data.toString('base64url'));
    await checkChain(client, 101n * AR);
  });

  it('answers 208 for what it has just processed', async () => {
    const transaction = await alice.transaction(client, { data: Buffer.from('once') });
    const both = await Promise.all([client.postTx(transaction), client.postTx(transaction)]);
    assert.deepEqual(both.map((answer) => answer.status).sort(), [200, 208]);
    assert.deepEqual(await client.postTx(transaction), {
      status: 208,
      text: 'Transaction already processed.',
    });
    await client.text('/mine');
    assert.equal((await client.postTx(transaction)).status, 208);
  });

  it('refuses each broken rule in the words of a node, remembers why, and changes nothing', async () => {
    const data = Buffer.from('never stored');
    const good = await alice.transaction(client, { data });
    const pendingOne = await bob.transaction(client, {});
    assert.equal((await client.postTx(pendingOne)).status, 200);
    const pendingId = encodeBase64url(pendingOne.id);
    const failed = 'Transaction verification failed.';
    const large = Buffer.alloc(262_144 + 100, 3);
    const cases: [string, string, { json: unknown; code?: string }][] = [
      [
        'unsigned field changed',
        failed,
        { json: json({ ...good, reward: good.reward + 1n }), code: 'tx_signature_not_valid' },
      ],
      ['id of another', failed, { json: { ...json(good), id: stranger }, code: 'tx_id_not_valid' }],
      [
        'too cheap',
        failed,
        { json: json(await alice.transaction(client, { data, reward: 1n })), code: 'tx_too_cheap' },
      ],
      [
        'new account unpaid',
        failed,
        {
          json: json(
            await alice.transaction(client, { target: stranger, quantity: 1n, reward: storageFee(0, false) }),
          ),
          code: 'tx_too_cheap',
        },
      ],
      [
        'more than it has',
        failed,
        {
          json: json(await alice.transaction(client, { target: bob.address, quantity: 1_000n * AR })),
          code: 'overspend',
        },
      ],
      [
        'no funds at all',
        failed,
        { json: json(await new TestWallet().transaction(client, {})), code: 'overspend' },
      ],
      [
        'more than it has beside what is pending',
        failed,
        {
          json: json(
            await bob.transaction(client, { target: alice.address, quantity: await spendable(bob) }),
          ),
          code: 'overspend',
        },
      ],
      [
        'to itself',
        failed,
        {
          json: json(await alice.transaction(client, { target: alice.address, quantity: 1n })),
          code: 'same_owner_as_target',
        },
      ],
      [
        'too many tags',
        failed,
        {
          json: { ...json(good), tags: Array(3_000).fill({ name: '', value: '' }) },
          code: 'tx_fields_too_large',
        },
      ],
      [
        'data_size without root',
        failed,
        { json: { ...json(good), data: '', data_root: '' }, code: 'tx_data_size_data_root_mismatch' },
      ],
      [
        'bad anchor',
        'Invalid anchor (last_tx).',
        { json: json(await alice.transaction(client, { anchor: 'A'.repeat(64) })) },
      ],
      [
        'anchor of another wallet',
        'Invalid anchor (last_tx).',
        { json: json(await alice.transaction(client, { anchor: stranger })) },
      ],
      [
        'empty anchor of a used wallet',
        'Invalid anchor (last_tx).',
        { json: json(await alice.transaction(client, { anchor: '' })) },
      ],
      [
        'anchor in the mempool',
        'Invalid anchor (last_tx from mempool).',
        { json: json(await alice.transaction(client, { anchor: pendingId })) },
      ],
      [
        'cut by a client',
        'The attached data is split in an unknown way.',
        { json: json(await clientCut(large)) },
      ],
      ['format 3', 'Invalid JSON.', { json: { ...json(good), format: 3 } }],
      ['amount in hex', 'Invalid JSON.', { json: { ...json(good), quantity: '0x10' } }],
      ['amount as exponent', 'Invalid JSON.', { json: { ...json(good), reward: '1e9' } }],
      ['negative amount', 'Invalid JSON.', { json: { ...json(good), quantity: '-5' } }],
      ['no id', 'Invalid hash.', { json: { ...json(good), id: undefined } }],
      ['a padded id', 'Invalid hash.', { json: { ...json(good), id: `${encodeBase64url(good.id)}=` } }],
      ['an array', 'Invalid JSON.', { json: [] }],
      ['null', 'Invalid JSON.', { json: null }],
    ];
    const before = await client.snapshot();
    for (const [name, text, { json: body, code }] of cases) {
      assert.deepEqual(await client.post('/tx', body), { status: 400, text }, name);
      const id = typeof body === 'object' && body !== null ? Reflect.get(body, 'id') : undefined;
      if (code !== undefined)
        assert.deepEqual(await client.get(`/tx/${id}`), { status: 410, text: code }, name);
    }
    assert.deepEqual(await client.post('/tx', 'not json'), { status: 400, text: 'Invalid JSON.' });
    assert.deepEqual(await client.post('/tx', ' '.repeat(16 * 1024 * 1024)), {
      status: 413,
      text: 'Payload too large',
    });
    assert.deepEqual(await client.snapshot(), before);
    assert.equal((await client.postTx(good)).status, 200, 'a refusal does not taint the id');
    await client.text('/mine');
    await checkChain(client, 101n * AR);

    function json(transaction: typeof good): TransactionJson {
      return transactionToJson(transaction, 'with data');
    }
    async function spendable(wallet: TestWallet): Promise<bigint> {
      return (await client.balance(wallet.address)) - storageFee(0, false);
    }
    async function clientCut(bytes: Buffer) {
      const unsigned = {
        ...(await alice.transaction(client, { data: bytes })),
        dataRoot: dataRootOf(bytes, clientSplit),
      };
      return signTransactionAsync(unsigned, alice.key);
    }
  });

  it('drops a pending transaction whose anchor has grown too old', async () => {
    const early = await alice.transaction(client, { data: Buffer.from('early') });
    const hashes = await client.json<string[]>('/hash_list');
    await client.text('/mine/60');
    assert.deepEqual(await client.postTx(early), { status: 400, text: 'Invalid anchor (last_tx).' });
    const height = await client.height();
    const edge = await client.json<string[]>(`/hash_list/${height - 49}/${height - 49}`);
    const last = await alice.transaction(client, { anchor: edge[0] ?? '' });
    assert.equal((await client.postTx(last)).status, 200);
    assert.ok(hashes.length > 0);
    await client.text('/mine');
    assert.equal((await client.get(`/tx/${encodeBase64url(last.id)}`)).status, 200);
  });

  it('lets one of two transactions with the same wallet anchor live', async () => {
    const anchor = await client.text(`/wallet/${bob.address}/last_tx`);
    const [one, two] = [
      await bob.transaction(client, { anchor }),
      await bob.transaction(client, { anchor, data: Buffer.from('2') }),
    ];
    assert.equal((await client.postTx(one)).status, 200);
    assert.equal((await client.postTx(two)).status, 200);
    await client.text('/mine');
    assert.equal((await client.get(`/tx/${encodeBase64url(one.id)}`)).status, 200);
    assert.equal((await client.get(`/tx/${encodeBase64url(two.id)}`)).status, 404);
    assert.deepEqual(await client.postTx(two), { status: 400, text: 'Invalid anchor (last_tx).' });
    await checkChain(client, 101n * AR);
  });

  it('refuses 1,000 damaged transactions without failing', async () => {
    const random = seededRandom(61);
    const transaction = await alice.transaction(client, {
      data: Buffer.from('x'),
      tags: [{ name: 'a', value: 'b' }],
    });
    const good = Buffer.from(JSON.stringify(transactionToJson(transaction, 'with data')));
    const before = await client.snapshot();
    for (let round = 0; round < 1_000; round += 1) {
      const text = random.mangle(good).toString('latin1');
      if (saysTheSame(text)) continue;
      const answer = await client.post('/tx', text);
      assert.equal(answer.status, 400, answer.text);
    }
    assert.deepEqual(await client.snapshot(), before);

    /** Damage in what a parser ignores leaves a good transaction, and the data may follow in chunks. */
    function saysTheSame(text: string): boolean {
      try {
        const parsed = parseTransactionJson(JSON.parse(text));
        assert.deepEqual({ ...parsed, data: transaction.data }, transaction);
        assert.ok(parsed.data.length === 0 || parsed.data.equals(transaction.data));
        return true;
      } catch {
        return false;
      }
    }
  });
});

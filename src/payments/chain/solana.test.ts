import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { encodeBase58 } from '../../formats/base58.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { memoProgram, memoProgramV1, systemProgram, tokenProgram } from '../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../formats/solana/system.ts';
import { associatedTokenAddress } from '../../formats/solana/token.ts';
import { parseTransaction } from '../../formats/solana/transaction.ts';
import { collected } from '../../kernel/collected.ts';
import type { Keypair } from '../../localnet/solana/genesis.ts';
import { signed, TestLedger, wallet } from '../../localnet/solana/testing.ts';
import { JsonRpcPool, solanaCallErrors } from '../../outside/json-rpc.ts';
import { startTestNode } from '../../outside/testing.ts';
import { solanaHistory, solanaReader, tokenReader } from './solana.ts';

const payer = wallet('payer');
const service = wallet('service');
const stranger = wallet('stranger');

describe('reading payments from Solana', () => {
  let ledger: TestLedger;
  before(async () => {
    ledger = await TestLedger.start();
    await ledger.rpc('requestAirdrop', payer.address, 50_000_000_000);
    await ledger.rpc('requestAirdrop', stranger.address, 50_000_000_000);
    // Below the rent minimum an account cannot be made, so the service's wallet exists before it is paid.
    await ledger.rpc('requestAirdrop', service.address, 1_000_000_000);
  });
  after(async () => {
    await Promise.all(opened.map((pool) => pool.close()));
    await ledger.stop();
  });

  const send = (...instructions: Instruction[]): Promise<string> => sendAs([payer], ...instructions);
  /** The first of the signers pays the fee. */
  async function sendAs(signers: readonly Keypair[], ...instructions: Instruction[]): Promise<string> {
    ledger.skip(1);
    const wire = signed(ledger.blockhash, instructions, ...signers);
    const options = { encoding: 'base64', skipPreflight: true };
    await ledger.rpc('sendTransaction', wire.toString('base64'), options);
    return encodeBase58(parseTransaction(wire).signatures[0] ?? new Uint8Array());
  }
  const opened: JsonRpcPool[] = [];
  const readerOf = (...urls: string[]) => {
    const endpoints = new JsonRpcPool({ urls, timeoutMs: 60_000, callErrors: solanaCallErrors });
    opened.push(endpoints);
    return solanaReader(endpoints, service.address);
  };
  const reader = () => readerOf(ledger.local.url);

  it('finds the one transfer to the wallet and the memo that names whom to credit', async () => {
    const id = await send(
      transferLamports(payer.address, service.address, 1_500_000_000n),
      memo('turboCreditDestinationAddress=0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'),
    );
    const found = await reader().read(id);
    assert.ok('transfer' in found);
    assert.equal(found.state, 'confirmed');
    const { blockHeight, ...transfer } = found.transfer;
    assert.deepEqual(transfer, {
      sender: payer.address,
      recipient: service.address,
      quantity: 1_500_000_000n,
      destination: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    });
    assert.ok(Number.isSafeInteger(blockHeight));
  });

  it('takes no transfer to another wallet, and not two in one', async () => {
    const elsewhere = await send(transferLamports(payer.address, stranger.address, 2_000_000_000n));
    const twice = await send(
      transferLamports(payer.address, service.address, 1n),
      transferLamports(payer.address, service.address, 2n),
    );
    for (const id of [elsewhere, twice]) {
      const found = await reader().read(id);
      assert.ok('transfer' in found);
      assert.deepEqual([found.transfer.recipient, found.transfer.quantity], ['', 0n]);
    }
  });

  it('sees that a transaction failed', async () => {
    const id = await send(
      transferLamports(payer.address, service.address, 5n),
      transferLamports(payer.address, stranger.address, 10n ** 18n),
    );
    assert.equal((await reader().read(id)).state, 'reverted');
  });

  it('does not know what was never sent, and takes only ids that can be one', async () => {
    const never = encodeBase58(Buffer.alloc(64, 7));
    const { state, at } = await reader().read(never);
    assert.deepEqual([state, at], ['not-found', ledger.local.ledger.slots.now().slot]);
    assert.equal(reader().parseId(never), never);
    const longest = encodeBase58(Buffer.alloc(64, 255));
    assert.deepEqual([longest.length, reader().parseId(longest)], [88, longest]);
    for (const wrong of ['', '0', never.slice(0, -20), `${never}1`, 'l'.repeat(88)]) {
      assert.equal(reader().parseId(wrong), undefined, wrong);
    }
  });

  it('takes a transaction for absent only when every endpoint says so', async (t) => {
    const id = await send(transferLamports(payer.address, service.address, 7n));
    const behind = await startTestNode(t, (method) =>
      method === 'getSignatureStatuses' ? { context: { slot: 5 }, value: [null] } : null,
    );
    const away = 'http://127.0.0.1:1';
    assert.equal((await readerOf(behind.url, away, ledger.local.url).read(id)).state, 'confirmed');
    assert.deepEqual(await readerOf(behind.url).read(id), { state: 'not-found', at: 5 });
    assert.equal((await readerOf(behind.url, away).read(id)).state, 'not-known');
    await assert.rejects(readerOf(away).read(id));
  });

  it('sees one that is on its way before it is confirmed', async (t) => {
    const processed = { slot: 9, err: null, confirmationStatus: 'processed' };
    const node = await startTestNode(t, (method) =>
      method === 'getSignatureStatuses' ? { context: { slot: 9 }, value: [processed] } : null,
    );
    const never = encodeBase58(Buffer.alloc(64, 7));
    assert.deepEqual(await readerOf(node.url).read(never), { state: 'unreadable', at: 9 });
  });

  it('lets nobody but the sender name the wallet', async () => {
    const transfer = transferLamports(payer.address, service.address, 3n);
    const text = `turboCreditDestinationAddress=${stranger.address}`;
    const own = (signer: Keypair) => memo(text, signer.address);
    const cases: [string, Promise<string>, string | undefined][] = [];
    const add = (what: string, sent: Promise<string>, named?: string) => cases.push([what, sent, named]);
    add('a memo of the fee payer who is not the sender', sendAs([stranger, payer], transfer, memo(text)));
    add('a memo that another signs', sendAs([payer, stranger], transfer, own(stranger)));
    add('a memo that the sender signs', sendAs([stranger, payer], transfer, own(payer)), stranger.address);
    add(
      'a memo of another before the own',
      sendAs(
        [payer, stranger],
        transfer,
        own(stranger),
        memo(`turboCreditDestinationAddress=${payer.address}`),
      ),
      payer.address,
    );
    for (const [what, sent, named] of cases) {
      const found = await reader().read(await sent);
      assert.ok('transfer' in found, what);
      assert.equal(found.state, 'confirmed', what);
      assert.deepEqual([found.transfer.sender, found.transfer.destination], [payer.address, named], what);
    }
  });

  it('believes no memo beside a transfer that a program made for its own account', async (t) => {
    const vault = wallet('vault').address;
    const data = Buffer.alloc(12);
    data.writeUInt32LE(2);
    data.writeBigUInt64LE(5n, 4);
    const keys = [
      stranger.address,
      vault,
      service.address,
      systemProgram,
      memoProgram,
      wallet('program').address,
    ];
    const transaction = {
      slot: 9,
      meta: {
        err: null,
        preBalances: [10, 10, 10, 1, 1, 1],
        postBalances: [5, 5, 15, 1, 1, 1],
        innerInstructions: [
          { index: 0, instructions: [{ programIdIndex: 3, accounts: [1, 2], data: encodeBase58(data) }] },
        ],
      },
      transaction: {
        message: {
          header: { numRequiredSignatures: 1 },
          accountKeys: keys,
          instructions: [
            { programIdIndex: 5, accounts: [1, 2], data: '' },
            // The old memo program does not ask whether those who are listed have signed.
            {
              programIdIndex: 4,
              accounts: [1],
              data: encodeBase58(Buffer.from(`turboCreditDestinationAddress=${stranger.address}`)),
            },
          ],
        },
      },
    };
    const node = await startTestNode(t, () => transaction);
    const found = await readerOf(node.url).read(encodeBase58(Buffer.alloc(64, 7)));
    assert.ok('transfer' in found);
    assert.deepEqual(
      [found.transfer.sender, found.transfer.quantity, found.transfer.destination],
      [vault, 5n, undefined],
    );
  });

  describe('an answer', () => {
    const account = (index: number) => [stranger.address, service.address, systemProgram][index] ?? '';
    const lamports = (amount: bigint) => {
      const data = Buffer.alloc(12);
      data.writeUInt32LE(2);
      data.writeBigUInt64LE(amount, 4);
      return encodeBase58(data);
    };
    const keys = [account(0), account(1), account(2)];
    const message = {
      ...{ header: { numRequiredSignatures: 1 }, accountKeys: keys },
      instructions: [{ programIdIndex: 2, accounts: [0, 1], data: lamports(5n) }],
    };
    const meta = { err: null, preBalances: [10, 10, 1], postBalances: [5, 15, 1] };
    const readOf = async (t: TestContext, answer: unknown) => {
      const node = await startTestNode(t, () => answer);
      return readerOf(node.url).read(encodeBase58(Buffer.alloc(64, 7)));
    };
    const quantityOf = async (t: TestContext, answer: unknown) => {
      const found = await readOf(t, answer);
      return 'transfer' in found ? found.transfer.quantity : found.state;
    };

    it('that is no transaction is not taken for one', async (t) => {
      const whole = { slot: 9, meta, transaction: { message } };
      assert.equal(await quantityOf(t, whole), 5n);
      for (const broken of [
        'nonsense',
        { ...whole, meta: null },
        { ...whole, transaction: null },
        { ...whole, slot: -1 },
        { ...whole, slot: 'soon' },
        { ...whole, transaction: { message: null } },
        { ...whole, transaction: { message: { ...message, header: {} } } },
      ]) {
        await assert.rejects(readOf(t, broken), `${JSON.stringify(broken)} was read`);
      }
    });

    it('counts what the wallet gained, wherever it stands, and nothing that only an instruction says', async (t) => {
      const of = (change: object, more: object = {}) => ({
        ...{ slot: 9, meta: { ...meta, ...change }, transaction: { message: { ...message, ...more } } },
      });
      assert.equal(await quantityOf(t, of({ postBalances: [5, 14, 1] })), 0n);
      assert.equal(await quantityOf(t, of({ preBalances: undefined })), 0n);
      assert.equal(await quantityOf(t, of({ postBalances: [5, '15', 1] })), 0n);
      assert.equal(await quantityOf(t, of({ err: 'x', postBalances: [9, 10, 1] })), 5n, 'it moved nothing');
      const first = { accountKeys: [service.address, stranger.address, systemProgram] };
      const turned = {
        ...first,
        instructions: [{ programIdIndex: 2, accounts: [1, 0], data: lamports(5n) }],
      };
      assert.equal(await quantityOf(t, of({ postBalances: [15, 5, 1] }, turned)), 5n);
      // Programs that are not the system's, other instructions of it, and what cannot be read.
      for (const instruction of [
        { programIdIndex: 0, accounts: [0, 1], data: lamports(5n) },
        { programIdIndex: 2, accounts: [0, 1], data: lamports(5n).slice(1) },
        { programIdIndex: 2, accounts: [0, 1], data: encodeBase58(Buffer.alloc(12, 3)) },
        { programIdIndex: 2, accounts: [0, 1], data: 5 },
        { programIdIndex: 2, accounts: 'all', data: lamports(5n) },
        { programIdIndex: 'two', accounts: [0, 1], data: lamports(5n) },
        { programIdIndex: 2, accounts: [], data: lamports(5n) },
        null,
      ]) {
        assert.equal(
          await quantityOf(t, of({}, { instructions: [instruction] })),
          0n,
          JSON.stringify(instruction),
        );
      }
      assert.equal(await quantityOf(t, of({}, { instructions: 'none' })), 0n);
    });

    it('waits while it is only confirmed, and is what it is once it is final', async (t) => {
      const whole = { slot: 9, meta, transaction: { message } };
      let final: object | null = null;
      const node = await startTestNode(t, (_method, [, options]) =>
        Object(options).commitment === 'finalized' ? final : whole,
      );
      const read = async () => (await readerOf(node.url).read(encodeBase58(Buffer.alloc(64, 7)))).state;
      assert.equal(await read(), 'pending');
      final = whole;
      assert.equal(await read(), 'confirmed');
      final = { ...whole, meta: { ...meta, err: {} } };
      assert.equal(await read(), 'reverted');
    });

    it('names whom to credit in a memo of either version of the program', async (t) => {
      const text = encodeBase58(Buffer.from(`turboCreditDestinationAddress=${payer.address}`));
      for (const [program, named] of [
        [memoProgram, payer.address],
        [memoProgramV1, payer.address],
        [payer.address, undefined],
      ] as const) {
        const found = await readOf(t, {
          ...{ slot: 9, meta },
          transaction: {
            message: {
              ...{ ...message, accountKeys: [...keys, program] },
              instructions: [...message.instructions, { programIdIndex: 3, accounts: [], data: text }],
            },
          },
        });
        assert.ok('transfer' in found);
        assert.equal(found.transfer.destination, named, program);
      }
    });

    it('counts a token by whose it was, as one plain or checked transfer to the account of the wallet', async (t) => {
      const mint = wallet('mint').address;
      const account = associatedTokenAddress(service.address, mint);
      const source = wallet('source').address;
      const held = (accountIndex: number, owner: string, amount: string, of: string = mint) => ({
        ...{ accountIndex, mint: of, owner, uiTokenAmount: { amount } },
      });
      const amountOf = (first: number, length: number, amount: bigint) => {
        const data = Buffer.alloc(length);
        data[0] = first;
        data.writeBigUInt64LE(amount, 1);
        return encodeBase58(data);
      };
      const plain = { programIdIndex: 3, accounts: [1, 2, 0], data: amountOf(3, 9, 5n) };
      const checked = { programIdIndex: 3, accounts: [1, 4, 2, 0], data: amountOf(12, 10, 5n) };
      const balances = {
        preTokenBalances: [held(1, stranger.address, '7'), held(2, service.address, '1')],
        postTokenBalances: [held(1, stranger.address, '2'), held(2, service.address, '6')],
      };
      const read = async (instruction: object, change: object = {}) => {
        const answer = {
          ...{ slot: 9, meta: { err: null, ...balances, ...change } },
          transaction: {
            message: {
              header: { numRequiredSignatures: 1 },
              accountKeys: [payer.address, source, account, tokenProgram, mint],
              instructions: [instruction],
            },
          },
        };
        const node = await startTestNode(t, () => answer);
        const endpoints = new JsonRpcPool({
          ...{ urls: [node.url], timeoutMs: 60_000, callErrors: solanaCallErrors },
        });
        opened.push(endpoints);
        const found = await tokenReader(endpoints, service.address, mint).read(
          encodeBase58(Buffer.alloc(64, 7)),
        );
        assert.ok('transfer' in found);
        const { sender, recipient, quantity } = found.transfer;
        return [sender, recipient, quantity];
      };
      const paid = [stranger.address, service.address, 5n];
      const nothing = [payer.address, '', 0n];
      assert.deepEqual(await read(plain), paid, 'whose they were, not who moved them');
      assert.deepEqual(await read(checked), paid);
      for (const [what, instruction] of Object.entries({
        'another program': { ...plain, programIdIndex: 4 },
        'another account': { ...plain, accounts: [1, 1, 0] },
        'a checked one read as plain': { ...plain, data: amountOf(12, 9, 5n) },
        'a plain one read as checked': { ...checked, data: amountOf(3, 10, 5n) },
        'another instruction': { ...plain, data: amountOf(7, 9, 5n) },
        'a longer one': { ...plain, data: amountOf(3, 11, 5n) },
        'no accounts': { ...plain, accounts: [] },
      }))
        assert.deepEqual(await read(instruction), nothing, what);
      const pre = [held(2, service.address, '1')];
      assert.deepEqual(await read(plain, { preTokenBalances: pre }), nothing, 'nobody held them');
      const other = [held(1, stranger.address, '7', payer.address), ...pre];
      assert.deepEqual(await read(plain, { preTokenBalances: other }), nothing, 'another token');
      const nameless = [{ ...held(1, '', '7'), owner: 5 }, ...pre];
      assert.deepEqual(await read(plain, { preTokenBalances: nameless }), nothing);
      const less = [held(2, service.address, '5')];
      assert.deepEqual(await read(plain, { postTokenBalances: less }), [
        stranger.address,
        service.address,
        0n,
      ]);
      const fresh = {
        preTokenBalances: [held(1, stranger.address, '7')],
        postTokenBalances: [held(2, service.address, '5')],
      };
      assert.deepEqual(await read(plain, fresh), paid, 'the account was made in it');
    });

    it('names further accounts that the endpoint looked up', async (t) => {
      const loaded = { loadedAddresses: { writable: [service.address], readonly: [systemProgram] } };
      const found = await readOf(t, {
        ...{ slot: 9, meta: { ...meta, ...loaded } },
        transaction: { message: { ...message, accountKeys: [stranger.address] } },
      });
      assert.ok('transfer' in found);
      assert.deepEqual([found.transfer.sender, found.transfer.quantity], [stranger.address, 5n]);
    });
  });

  describe('what named an account', () => {
    const one = (signature: string, blockTime: number | null, err: unknown = null) => ({
      ...{ signature, blockTime, err },
    });
    const listOf = async (t: TestContext, pages: readonly unknown[], since = 0) => {
      const asked: unknown[] = [];
      const node = await startTestNode(t, (_method, [account, options]) => {
        asked.push([account, options]);
        return pages[asked.length - 1];
      });
      const endpoints = new JsonRpcPool({
        urls: [node.url],
        timeoutMs: 60_000,
        callErrors: solanaCallErrors,
      });
      opened.push(endpoints);
      return { listed: await collected(solanaHistory(endpoints, service.address, since)), asked };
    };
    const page = { limit: 1_000, commitment: 'finalized' };
    const full = Array.from({ length: 1_000 }, (_, index) => one(`s${index}`, 50));

    it('is listed page by page, back to a moment, without what failed', async (t) => {
      const { listed, asked } = await listOf(t, [full, [one('a', 9), one('b', 8, {}), one('c', null)]]);
      assert.equal(listed.length, 1_002);
      assert.deepEqual(listed.slice(-2), [
        { id: 'a', at: 9_000 },
        { id: 'c', at: undefined },
      ]);
      assert.deepEqual(asked, [
        [service.address, page],
        [service.address, { ...page, before: 's999' }],
      ]);
      const since = await listOf(t, [[one('a', 9), one('b', 8), one('c', 7)]], 8_000);
      assert.deepEqual(
        since.listed.map(({ id }) => id),
        ['a', 'b'],
      );
      assert.deepEqual((await listOf(t, [[]])).listed, []);
      assert.deepEqual((await listOf(t, [[{ blockTime: 5, err: null }]])).listed, []);
      await assert.rejects(listOf(t, ['nothing']), /listed no transactions/);
    });
  });
});

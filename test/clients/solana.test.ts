/**
 * The local ledger under clients it does not know: @solana/kit and web3.js as they are published; and beside litesvm,
 * a Solana virtual machine: the same transactions give the same fees, errors and balances in both.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  address,
  appendTransactionMessageInstructions,
  assertIsSendableTransaction,
  assertIsTransactionWithBlockhashLifetime,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  getTransactionDecoder,
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import {
  Keypair as ClassicKeypair,
  Connection,
  LAMPORTS_PER_SOL,
  PublicKey,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { addressBytes, parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { Writer } from '../../src/formats/solana/bytes.ts';
import { type Instruction, readOnly, signer, writable } from '../../src/formats/solana/message.ts';
import { rentExemptMinimum, tokenProgram } from '../../src/formats/solana/programs.ts';
import { computeBudget, createAccount, memo, transferLamports } from '../../src/formats/solana/system.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  mintSize,
  mintTo,
  tokenInstruction,
  transferToken,
} from '../../src/formats/solana/token.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import type { Keypair } from '../../src/localnet/solana/genesis.ts';
import { TransactionRefused } from '../../src/localnet/solana/ledger.ts';
import { createLocalSolana, type LocalSolana } from '../../src/localnet/solana/local-solana.ts';
import { signed, TestLedger, wallet } from '../../src/localnet/solana/testing.ts';

describe('published clients on the local ledger', () => {
  let local: LocalSolana;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-solana-'));
    local = createLocalSolana(
      { LOCAL_NETWORK_HOST: '127.0.0.1', LOCAL_SOLANA_PORT: 0, DATA_DIR: folder },
      { log: silentLog },
    );
    await local.start();
  });
  after(async () => {
    await local.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('@solana/kit sends, confirms by subscription and reads back', async () => {
    const rpc = createSolanaRpc(local.url);
    const rpcSubscriptions = createSolanaRpcSubscriptions(local.url.replace('http', 'ws'));
    const secret = ClassicKeypair.generate().secretKey;
    const payer = await createKeyPairSignerFromBytes(secret);
    const to = address(ClassicKeypair.generate().publicKey.toBase58());
    await rpc.requestAirdrop(payer.address, lamports(2_000_000_000n)).send();
    assert.equal((await rpc.getBalance(payer.address).send()).value, 2_000_000_000n);
    const { value: blockhash } = await rpc.getLatestBlockhash().send();
    const ours = transferLamports(parseSolanaAddress(payer.address), parseSolanaAddress(to), 1_000_000_000n);
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (tx) => setTransactionMessageFeePayerSigner(payer, tx),
      (tx) => setTransactionMessageLifetimeUsingBlockhash(blockhash, tx),
      (tx) => appendTransactionMessageInstructions([toKit(ours)], tx),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    assertIsSendableTransaction(transaction);
    assertIsTransactionWithBlockhashLifetime(transaction);
    const simulated = await rpc
      .simulateTransaction(getBase64EncodedWireTransaction(transaction), { encoding: 'base64' })
      .send();
    assert.equal(simulated.value.err, null);
    await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(transaction, {
      commitment: 'confirmed',
    });
    const signature = getSignatureFromTransaction(transaction);
    const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
    assert.equal(status?.confirmationStatus, 'finalized');
    const found = await rpc
      .getTransaction(signature, { maxSupportedTransactionVersion: 0, encoding: 'json' })
      .send();
    assert.equal(found?.meta?.fee, 5_000n);
    assert.equal((await rpc.getBalance(to).send()).value, 1_000_000_000n);
    assert.equal(await rpc.getMinimumBalanceForRentExemption(165n).send(), 2_039_280n);
    const info = await rpc.getAccountInfo(payer.address, { encoding: 'base64' }).send();
    assert.equal(info.value?.lamports, 999_995_000n);
  });

  test('web3.js sends, confirms by subscription and reads back', async () => {
    const connection = new Connection(local.url, {
      commitment: 'confirmed',
      wsEndpoint: local.url.replace('http', 'ws'),
    });
    const payer = ClassicKeypair.generate();
    const to = ClassicKeypair.generate().publicKey;
    const airdrop = await connection.requestAirdrop(payer.publicKey, 2 * LAMPORTS_PER_SOL);
    const latest = await connection.getLatestBlockhash();
    await connection.confirmTransaction({ signature: airdrop, ...latest });
    const transaction = new Transaction().add(
      SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: LAMPORTS_PER_SOL }),
    );
    const signature = await sendAndConfirmTransaction(connection, transaction, [payer]);
    assert.equal(await connection.getBalance(to), LAMPORTS_PER_SOL);
    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 0 });
    const [instruction] = parsed?.transaction.message.instructions ?? [];
    assert.ok(instruction !== undefined && 'parsed' in instruction);
    assert.equal(instruction.parsed.info.lamports, LAMPORTS_PER_SOL);
    const history = await connection.getSignaturesForAddress(new PublicKey(to));
    assert.equal(history[0]?.signature, signature);
    assert.match((await connection.getVersion())['solana-core'], /local-ledger/);
    assert.equal((await connection.getEpochInfo()).epoch, 0);
    assert.equal(
      await connection.getFeeForMessage(transaction.compileMessage()).then(({ value }) => value),
      5_000,
    );
  });
});

function toKit(instruction: Instruction) {
  return {
    programAddress: address(instruction.programId),
    accounts: instruction.accounts.map((meta) => ({
      address: address(meta.address),
      role: (meta.signer ? 2 : 0) + (meta.writable ? 1 : 0),
    })),
    data: Uint8Array.from(instruction.data),
  };
}

describe('the local ledger beside litesvm', () => {
  let ours: TestLedger;
  let theirs: LiteSVM;
  const alice = wallet('alice');
  const bob = wallet('bob');
  const mint = wallet('mint');
  before(async () => {
    ours = await TestLedger.start();
    theirs = new LiteSVM();
    for (const key of [alice, bob]) {
      await ours.rpc('requestAirdrop', key.address, 10_000_000_000);
      theirs.airdrop(address(key.address), lamports(10_000_000_000n));
    }
  });
  after(() => ours.stop());

  interface Outcome {
    /** `null`, a name, or `[index, name or code]`. */
    readonly error: unknown;
    readonly balances: readonly bigint[];
  }

  const watched = [alice, bob, mint, wallet('fresh'), wallet('poor')];

  async function here(instructions: readonly Instruction[], signers: readonly Keypair[]): Promise<Outcome> {
    let error: unknown = null;
    try {
      error = (await ours.sendAnyway(instructions, ...signers)).err;
    } catch (refused) {
      if (!(refused instanceof TransactionRefused)) throw refused;
      error = refused.error;
    }
    return { error: canonical(error), balances: watched.map((key) => ours.balance(key)) };
  }

  function there(instructions: readonly Instruction[], signers: readonly Keypair[]): Outcome {
    theirs.expireBlockhash();
    const wire = signed(theirs.latestBlockhash(), instructions, ...signers);
    const result = theirs.sendTransaction(getTransactionDecoder().decode(wire));
    const error = result instanceof FailedTransactionMetadata ? describeTheirs(result) : null;
    const balances = watched.map((key) => theirs.getBalance(address(key.address)) ?? 0n);
    return { error, balances };
  }

  /** Both name instruction errors by place and code. */
  function canonical(error: unknown): unknown {
    const text = JSON.stringify(error);
    const custom = /InstructionError":\[(\d+),\{"Custom":(\d+)\}/.exec(text);
    if (custom) return `instruction ${custom[1]} custom ${custom[2]}`;
    const named = /InstructionError":\[(\d+),"(\w+)"/.exec(text);
    if (named) return `instruction ${named[1]} ${named[2]}`;
    const rent = /InsufficientFundsForRent":\{"account_index":(\d+)/.exec(text);
    if (rent) return `rent ${rent[1]}`;
    const duplicate = /DuplicateInstruction":(\d+)/.exec(text);
    return duplicate ? `duplicate ${duplicate[1]}` : error;
  }

  function describeTheirs(failed: FailedTransactionMetadata): unknown {
    const text = failed.toString();
    const custom = /InstructionError\(\s*(\d+),\s*Custom\(\s*(\d+)/.exec(text);
    if (custom) return `instruction ${custom[1]} custom ${custom[2]}`;
    const named = /InstructionError\(\s*(\d+),\s*(\w+)/.exec(text);
    if (named) return `instruction ${named[1]} ${named[2]}`;
    const rent = /InsufficientFundsForRent\s*\{\s*account_index:\s*(\d+)/.exec(text);
    if (rent) return `rent ${rent[1]}`;
    const duplicate = /DuplicateInstruction\(\s*(\d+)/.exec(text);
    if (duplicate) return `duplicate ${duplicate[1]}`;
    return /err:\s*(\w+)/.exec(text)?.[1] ?? text;
  }

  async function same(
    what: string,
    instructions: readonly Instruction[],
    ...signers: readonly Keypair[]
  ): Promise<unknown> {
    const mine = await here(instructions, signers);
    assert.deepEqual(mine, there(instructions, signers), what);
    return mine.error;
  }

  const fresh = wallet('fresh');
  const poor = wallet('poor');

  test('transfers, fees and rent', async () => {
    assert.equal(await same('transfer', [transferLamports(alice.address, bob.address, 5n)], alice), null);
    await same(
      'priority',
      [...computeBudget(10_000, 12_345n), transferLamports(alice.address, bob.address, 7n)],
      alice,
    );
    await same('two signers', [transferLamports(bob.address, alice.address, 9n)], alice, bob);
    assert.equal(
      await same('too much', [transferLamports(alice.address, bob.address, 10n ** 12n)], alice),
      'instruction 0 custom 1',
    );
    assert.equal(
      await same('below rent', [transferLamports(alice.address, fresh.address, 890_879n)], alice),
      'rent 1',
    );
    await same('exempt', [transferLamports(alice.address, fresh.address, 890_880n)], alice);
    await same('nobody', [memo('x')], wallet('nobody'));
    await same('poor', [transferLamports(alice.address, poor.address, 890_880n)], alice);
    assert.equal(await same('fee below rent', [memo('x')], poor), 'rent 0');
    await same('more', [transferLamports(alice.address, poor.address, 1_000_000n)], alice);
    await same('all of it', [transferLamports(poor.address, bob.address, 1_885_880n)], poor);
    await same('memo', [memo('hello', bob.address)], alice, bob);
    await same(
      'duplicate budget',
      [...computeBudget(1_000, 1n), ...computeBudget(1_000, 1n), memo('x')],
      alice,
    );
  });

  test('accounts and tokens', async () => {
    const rent = rentExemptMinimum(mintSize);
    const initialize = (): Instruction => ({
      programId: tokenProgram,
      accounts: [writable(mint.address)],
      data: new Writer()
        .u8(tokenInstruction.initializeMint2)
        .u8(6)
        .bytes(addressBytes(alice.address))
        .u8(0)
        .finish(),
    });
    const create = createAccount(alice.address, mint.address, rent, mintSize, tokenProgram);
    await same(
      'mint below rent',
      [createAccount(alice.address, mint.address, rent - 1n, mintSize, tokenProgram)],
      alice,
      mint,
    );
    await same('mint', [create, initialize()], alice, mint);
    await same('mint again', [create], alice, mint);
    await same('initialize again', [initialize()], alice);
    const aliceTokens = associatedTokenAddress(alice.address, mint.address);
    const bobTokens = associatedTokenAddress(bob.address, mint.address);
    await same(
      'associated',
      [createAssociatedTokenAccount(alice.address, alice.address, mint.address)],
      alice,
    );
    await same(
      'associated again',
      [createAssociatedTokenAccount(alice.address, alice.address, mint.address)],
      alice,
    );
    const strict = {
      ...createAssociatedTokenAccount(alice.address, alice.address, mint.address),
      data: Uint8Array.of(0),
    };
    await same('associated strictly again', [strict], alice);
    await same('for bob', [createAssociatedTokenAccount(alice.address, bob.address, mint.address)], alice);
    await same('mint to', [mintTo(mint.address, aliceTokens, alice.address, 1_000n)], alice);
    await same('mint by another', [mintTo(mint.address, aliceTokens, bob.address, 1_000n)], alice, bob);
    await same('transfer', [transferToken(aliceTokens, bobTokens, alice.address, 400n)], alice);
    assert.equal(
      await same('too much', [transferToken(aliceTokens, bobTokens, alice.address, 601n)], alice),
      'instruction 0 custom 1',
    );
    assert.equal(
      await same('not his', [transferToken(aliceTokens, bobTokens, bob.address, 1n)], alice, bob),
      'instruction 0 custom 4',
    );
    const close = (owner: Keypair, from: ReturnType<typeof associatedTokenAddress>): Instruction => ({
      programId: tokenProgram,
      accounts: [writable(from), writable(owner.address), signer(owner.address)],
      data: Uint8Array.of(tokenInstruction.closeAccount),
    });
    await same('close with tokens', [close(alice, aliceTokens)], alice);
    await same(
      'empty and close',
      [transferToken(aliceTokens, bobTokens, alice.address, 600n), close(alice, aliceTokens)],
      alice,
    );
    await same(
      'wrong program',
      [{ programId: tokenProgram, accounts: [readOnly(bob.address)], data: Uint8Array.of(99) }],
      alice,
    );
    for (const key of [bobTokens, aliceTokens]) {
      const [a, b] = [ours.local.ledger.accounts.get(key).data, theirs.getAccount(address(key))];
      assert.deepEqual(Buffer.from(b.exists ? b.data : []), a, 'the same bytes');
    }
  });
});

/**
 * The local ledger under clients it does not know: @solana/kit, web3.js and spl-token as they are published.
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
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import {
  AuthorityType,
  approve,
  burn,
  closeAccount,
  createMint,
  createWrappedNativeAccount,
  freezeAccount,
  getAccount,
  getMint,
  getOrCreateAssociatedTokenAccount,
  mintTo as mintToken,
  setAuthority,
  syncNative,
  TOKEN_PROGRAM_ID,
  thawAccount,
  transferChecked,
} from '@solana/spl-token';
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  Keypair as ClassicKeypair,
  Connection,
  LAMPORTS_PER_SOL,
  NONCE_ACCOUNT_LENGTH,
  PublicKey,
  SYSVAR_CLOCK_PUBKEY,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import type { Instruction } from '../../src/formats/solana/message.ts';
import { transferLamports } from '../../src/formats/solana/system.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { createLocalSolana, type LocalSolana } from '../../src/localnet/solana/local-solana.ts';
import { eventually } from '../support/eventually.ts';

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

  const classicConnection = () =>
    new Connection(local.url, { commitment: 'confirmed', wsEndpoint: local.url.replace('http', 'ws') });

  async function funded(connection: Connection): Promise<ClassicKeypair> {
    const key = ClassicKeypair.generate();
    const signature = await connection.requestAirdrop(key.publicKey, 5 * LAMPORTS_PER_SOL);
    await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
    return key;
  }

  test('web3.js asks everything it has a method for', async () => {
    const connection = classicConnection();
    const payer = await funded(connection);
    const to = ClassicKeypair.generate().publicKey;
    const pay = SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports: 2_000_000 });
    const signature = await sendAndConfirmTransaction(connection, new Transaction().add(pay), [payer]);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    const slot = found?.slot ?? assert.fail('the payment is not there');
    const options = { maxSupportedTransactionVersion: 0 };

    const block = await connection.getBlock(slot, options);
    assert.ok(block?.transactions.some(({ transaction }) => transaction.signatures[0] === signature));
    const next = await connection.getBlock(slot + 1, { ...options, transactionDetails: 'none' });
    assert.equal(next?.previousBlockhash, block?.blockhash);
    assert.equal(next?.parentSlot, slot);
    const parsed = await connection.getParsedBlock(slot, options);
    const spelled = parsed.transactions.find(({ transaction }) => transaction.signatures[0] === signature);
    const [instruction] = spelled?.transaction.message.instructions ?? [];
    assert.ok(instruction !== undefined && 'parsed' in instruction && instruction.parsed.type === 'transfer');
    assert.ok((await connection.getBlockSignatures(slot)).signatures.includes(signature));
    const brief = await connection.getBlock(slot, { ...options, transactionDetails: 'accounts' });
    assert.ok(brief?.transactions[0]?.transaction.accountKeys.length);
    assert.deepEqual(await connection.getBlocks(slot, slot + 2), [slot, slot + 1, slot + 2]);
    assert.equal(typeof (await connection.getBlockTime(slot)), 'number');
    // The slot that is running is answered when it is over.
    const running = await connection.getSlot();
    assert.equal((await connection.getBlock(running, options))?.parentSlot, running - 1);
    await assert.rejects(connection.getBlock(slot + 100_000, options), /Block not available for slot/);

    const leader = await connection.getSlotLeader();
    assert.deepEqual(
      (await connection.getSlotLeaders(0, 2)).map((key) => key.toBase58()),
      [leader, leader],
    );
    assert.deepEqual(await connection.getVoteAccounts(), { current: [], delinquent: [] });
    const [node] = await connection.getClusterNodes();
    assert.equal(node?.pubkey, leader);
    assert.equal(`http://${node?.rpc}`, local.url.replace(/\/$/, ''));
    assert.equal((await connection.getBlockProduction()).value.byIdentity[leader]?.length, 2);
    assert.equal((await connection.getInflationRate()).total, 0);
    assert.equal((await connection.getInflationGovernor()).initial, 0);
    assert.deepEqual(await connection.getInflationReward([payer.publicKey]), [null]);
    assert.equal((await connection.getStakeMinimumDelegation()).value, LAMPORTS_PER_SOL);
    const { value: supply } = await connection.getSupply();
    assert.equal(supply.circulating + supply.nonCirculating, supply.total);
    const { value: largest } = await connection.getLargestAccounts({ filter: 'circulating' });
    assert.ok(largest.some(({ address: key }) => key.equals(payer.publicKey)));
    assert.ok(Array.isArray(await connection.getRecentPerformanceSamples(5)));
    assert.equal(await connection.getMinimumLedgerSlot(), 0);
    assert.equal(await connection.getFirstAvailableBlock(), 0);
    assert.ok((await connection.getTransactionCount()) > 1);
    assert.ok((await connection.getRecentPrioritizationFees()).length > 0);
    assert.equal((await connection.getEpochSchedule()).slotsPerEpoch, 432_000);
    assert.equal((await connection.getParsedTransactions([signature], options)).length, 1);
    const clock = await connection.getParsedAccountInfo(SYSVAR_CLOCK_PUBKEY);
    assert.ok(clock.value !== null && 'parsed' in clock.value.data);
    assert.ok(Math.abs(clock.value.data.parsed.info.unixTimestamp - Date.now() / 1000) < 60);
    const [simulated] = await Promise.all([
      connection.simulateTransaction(new Transaction().add(pay), [payer]),
      connection.getMultipleParsedAccounts([payer.publicKey, to]),
    ]);
    assert.equal(simulated.value.err, null);
  });

  test('web3.js uses a durable nonce in the place of a blockhash, once', async () => {
    const connection = classicConnection();
    const payer = await funded(connection);
    const nonce = ClassicKeypair.generate();
    const make = SystemProgram.createNonceAccount({
      fromPubkey: payer.publicKey,
      noncePubkey: nonce.publicKey,
      authorizedPubkey: payer.publicKey,
      lamports: await connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH),
    });
    await sendAndConfirmTransaction(connection, make, [payer, nonce]);
    const to = ClassicKeypair.generate().publicKey;
    const transaction = (value: string, lamports: number) => {
      const made = new Transaction();
      made.feePayer = payer.publicKey;
      made.nonceInfo = {
        nonce: value,
        nonceInstruction: SystemProgram.nonceAdvance({
          noncePubkey: nonce.publicKey,
          authorizedPubkey: payer.publicKey,
        }),
      };
      made.add(SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports }));
      made.sign(payer);
      return made;
    };
    const first = await connection.getNonce(nonce.publicKey);
    assert.ok(first?.authorizedPubkey.equals(payer.publicKey));
    const wire = transaction(first.nonce, 3_000_000).serialize();
    const signature = await connection.sendRawTransaction(wire);
    const { context } = await connection.getNonceAndContext(nonce.publicKey);
    await connection.confirmTransaction({
      signature,
      nonceAccountPubkey: nonce.publicKey,
      nonceValue: first.nonce,
      minContextSlot: context.slot,
    });
    assert.equal(await connection.getBalance(to), 3_000_000);
    await assert.rejects(connection.sendRawTransaction(wire), /Blockhash not found/);
    // One that fails uses up its nonce all the same.
    const second = await connection.getNonce(nonce.publicKey);
    const failing = transaction(second!.nonce, 100 * LAMPORTS_PER_SOL).serialize();
    const failed = await connection.sendRawTransaction(failing, { skipPreflight: true });
    const { value } = await connection.getSignatureStatus(failed);
    assert.deepEqual(value?.err, { InstructionError: [1, { Custom: 1 }] });
    const third = await connection.getNonce(nonce.publicKey);
    assert.notEqual(third?.nonce, second?.nonce);
    const account = await connection.getParsedAccountInfo(nonce.publicKey);
    assert.ok(account.value !== null && 'parsed' in account.value.data);
    assert.equal(account.value.data.parsed.info.blockhash, third?.nonce);
  });

  test('web3.js makes a lookup table and sends a version 0 transaction through it', async () => {
    const connection = classicConnection();
    const payer = await funded(connection);
    const receivers = Array.from({ length: 20 }, () => ClassicKeypair.generate().publicKey);
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: payer.publicKey,
      payer: payer.publicKey,
      recentSlot: await connection.getSlot(),
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      authority: payer.publicKey,
      payer: payer.publicKey,
      lookupTable: table,
      addresses: receivers,
    });
    await sendAndConfirmTransaction(connection, new Transaction().add(create, extend), [payer]);
    const { value } = await connection.getAddressLookupTable(table);
    assert.equal(value?.state.addresses.length, 20);
    const latest = await connection.getLatestBlockhash();
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: latest.blockhash,
      instructions: receivers.map((toPubkey) =>
        SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey, lamports: 1_000_000 }),
      ),
    });
    const transaction = new VersionedTransaction(message.compileToV0Message([value!]));
    transaction.sign([payer]);
    assert.equal((await connection.simulateTransaction(transaction)).value.err, null);
    const signature = await connection.sendTransaction(transaction);
    await connection.confirmTransaction({ signature, ...latest });
    assert.equal(await connection.getBalance(receivers[19]!), 1_000_000);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    assert.equal(found?.meta?.loadedAddresses?.writable.length, 20);
    assert.equal(found?.transaction.message.addressTableLookups.length, 1);
    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 0 });
    assert.equal(parsed?.transaction.message.accountKeys.at(-1)?.source, 'lookupTable');
    const [history] = await connection.getSignaturesForAddress(receivers[7]!);
    assert.equal(history?.signature, signature);
    const unknown = new VersionedTransaction(
      message.compileToV0Message([
        new AddressLookupTableAccount({ key: receivers[0]!, state: value!.state }),
      ]),
    );
    unknown.sign([payer]);
    await assert.rejects(connection.sendTransaction(unknown), /address table account/);
  });

  test('spl-token makes, moves, delegates, freezes, burns and wraps', async () => {
    const connection = classicConnection();
    const payer = await funded(connection);
    const friend = ClassicKeypair.generate();
    const coin = await createMint(connection, payer, payer.publicKey, payer.publicKey, 6);
    const mine = await getOrCreateAssociatedTokenAccount(connection, payer, coin, payer.publicKey);
    const theirs = await getOrCreateAssociatedTokenAccount(connection, payer, coin, friend.publicKey);
    await mintToken(connection, payer, coin, mine.address, payer, 1_000_000n);
    await transferChecked(connection, payer, mine.address, coin, theirs.address, payer, 250_000n, 6);
    await approve(connection, payer, mine.address, friend.publicKey, payer, 50_000n);
    const delegated = await connection.getTokenAccountsByOwner(payer.publicKey, { mint: coin });
    assert.equal(delegated.value.length, 1);
    await freezeAccount(connection, payer, theirs.address, coin, payer);
    assert.ok((await getAccount(connection, theirs.address)).isFrozen);
    await thawAccount(connection, payer, theirs.address, coin, payer);
    await burn(connection, payer, mine.address, coin, payer, 1_000n);
    await setAuthority(connection, payer, coin, payer, AuthorityType.MintTokens, null);
    const state = await getMint(connection, coin);
    assert.equal(state.supply, 999_000n);
    assert.equal(state.mintAuthority, null);
    const { value: holders } = await connection.getTokenLargestAccounts(coin);
    assert.deepEqual(
      holders.map(({ amount }) => amount),
      ['749000', '250000'],
    );
    const parsed = await connection.getParsedTokenAccountsByOwner(payer.publicKey, { mint: coin });
    assert.equal(parsed.value[0]?.account.data.parsed.info.delegate, friend.publicKey.toBase58());

    const wrapped = await createWrappedNativeAccount(connection, payer, payer.publicKey, LAMPORTS_PER_SOL);
    await sendAndConfirmTransaction(
      connection,
      new Transaction().add(
        SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: wrapped, lamports: 5 }),
      ),
      [payer],
    );
    await syncNative(connection, payer, wrapped);
    const native = await getAccount(connection, wrapped);
    assert.ok(native.isNative && native.amount === BigInt(LAMPORTS_PER_SOL) + 5n);
    const before = await connection.getBalance(payer.publicKey);
    await closeAccount(connection, payer, wrapped, payer.publicKey, payer);
    const rent = await connection.getMinimumBalanceForRentExemption(165);
    assert.equal(await connection.getBalance(payer.publicKey), before + LAMPORTS_PER_SOL + 5 + rent - 5_000);
  });

  test('web3.js hears of logs, programs, accounts, slots and roots', async () => {
    const connection = classicConnection();
    const payer = await funded(connection);
    const heard = new Map<string, unknown>();
    const hears = (name: string) => (value: unknown) => void heard.set(name, value);
    const allHeard = (...names: string[]) =>
      eventually(names.join(', '), () => names.every((name) => heard.has(name)));
    const filters = [{ dataSize: 82 }];
    const logs = [
      connection.onLogs('all', hears('all logs')),
      connection.onLogs(payer.publicKey, hears('logs')),
    ];
    const program = connection.onProgramAccountChange(TOKEN_PROGRAM_ID, hears('program'), { filters });
    const account = connection.onAccountChange(payer.publicKey, hears('account'));
    const slot = connection.onSlotChange(hears('slot'));
    const root = connection.onRootChange(hears('root'));
    const update = connection.onSlotUpdate(hears('slot update'));
    try {
      await allHeard('slot', 'root', 'slot update');
      const coin = await createMint(connection, payer, payer.publicKey, null, 0);
      await allHeard('all logs', 'logs', 'program', 'account');
      const told = heard.get('program');
      assert.ok(typeof told === 'object' && told !== null && 'accountId' in told);
      assert.ok(coin.equals(new PublicKey(String(told.accountId))));
    } finally {
      // Without a listener left the client hangs up.
      for (const id of logs) await connection.removeOnLogsListener(id);
      await connection.removeProgramAccountChangeListener(program);
      await connection.removeAccountChangeListener(account);
      await connection.removeSlotChangeListener(slot);
      await connection.removeRootChangeListener(root);
      await connection.removeSlotUpdateListener(update);
    }
  });

  test('@solana/kit asks everything it has a method for, and hears of logs', async () => {
    const rpc = createSolanaRpc(local.url);
    const rpcSubscriptions = createSolanaRpcSubscriptions(local.url.replace('http', 'ws'));
    const key = address(ClassicKeypair.generate().publicKey.toBase58());
    const stop = new AbortController();
    const logs = await rpcSubscriptions.logsNotifications({ mentions: [key] }).subscribe({
      abortSignal: stop.signal,
    });
    // The client keeps nothing for a reader that has not begun to read.
    const first = logs[Symbol.asyncIterator]().next();
    const sent = await rpc.requestAirdrop(key, lamports(1_000_000_000n)).send();
    const { value: heard } = await first;
    assert.equal(heard?.value.signature, sent);
    stop.abort();
    const slot = await rpc.getSlot().send();
    const block = await rpc.getBlock(slot, { maxSupportedTransactionVersion: 0 }).send();
    assert.equal(block?.blockHeight, slot);
    assert.equal((await rpc.getBlocks(slot, slot).send()).length, 1);
    assert.deepEqual(await rpc.getBlocksWithLimit(0n, 2).send(), [0n, 1n]);
    assert.equal((await rpc.getBlockCommitment(slot).send()).commitment, null);
    const { identity } = await rpc.getIdentity().send();
    assert.equal(await rpc.getSlotLeader().send(), identity);
    assert.equal((await rpc.getSlotLeaders(slot, 3).send()).length, 3);
    assert.equal((await rpc.getClusterNodes().send())[0]?.pubkey, identity);
    assert.ok(identity in (await rpc.getBlockProduction().send()).value.byIdentity);
    assert.deepEqual(await rpc.getLeaderSchedule(null, { identity: key }).send(), {});
    assert.equal((await rpc.getVoteAccounts().send()).current.length, 0);
    assert.equal((await rpc.getInflationRate().send()).total, 0);
    assert.equal((await rpc.getInflationGovernor().send()).taper, 0);
    assert.deepEqual(await rpc.getInflationReward([key]).send(), [null]);
    assert.ok((await rpc.getSupply().send()).value.total > 0n);
    assert.ok((await rpc.getLargestAccounts().send()).value.length > 0);
    assert.ok((await rpc.getMaxRetransmitSlot().send()) >= slot);
    assert.ok((await rpc.getMaxShredInsertSlot().send()) >= slot);
    assert.equal(await rpc.minimumLedgerSlot().send(), 0n);
    assert.equal((await rpc.getStakeMinimumDelegation().send()).value, 1_000_000_000n);
    assert.ok(Array.isArray(await rpc.getRecentPerformanceSamples(3).send()));
    await assert.rejects(rpc.getHighestSnapshotSlot().send());
    const delegated = await rpc
      .getTokenAccountsByDelegate(
        key,
        { programId: address(TOKEN_PROGRAM_ID.toBase58()) },
        { encoding: 'base64' },
      )
      .send();
    assert.deepEqual(delegated.value, []);
    const clock = await rpc
      .getAccountInfo(address(SYSVAR_CLOCK_PUBKEY.toBase58()), { encoding: 'jsonParsed' })
      .send();
    assert.ok(clock.value !== null && 'parsed' in clock.value.data);
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

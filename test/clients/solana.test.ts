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
  Keypair as ClassicKeypair,
  Connection,
  LAMPORTS_PER_SOL,
  PublicKey,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import type { Instruction } from '../../src/formats/solana/message.ts';
import { transferLamports } from '../../src/formats/solana/system.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { createLocalSolana, type LocalSolana } from '../../src/localnet/solana/local-solana.ts';

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

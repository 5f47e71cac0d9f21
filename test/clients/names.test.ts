/** The published SDK, unmodified, buys a name and manages it for a life; its owner never holds a lamport. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { get } from 'node:http';
import { after, before, describe, test } from 'node:test';
import {
  ArweaveToken,
  emptySignatureSlots,
  solanaOwnerSigner,
  TurboFactory,
  WinstonToTokenAmount,
} from '@ardrive/turbo-sdk/node';
import { Connection, Keypair, PublicKey } from '@solana/web3.js';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const oneAr = 1_000_000_000_000;
const name = 'a-name-of-the-sdk';

describe('@ardrive/turbo-sdk on names', () => {
  let stack: RunningStack;
  const ownerKey = Keypair.fromSeed(hash('sha256', 'owner of names', 'buffer'));
  const friendKey = Keypair.fromSeed(hash('sha256', 'friend of names', 'buffer'));
  const owner = solanaOwnerSigner(ownerKey.secretKey);
  const friend = solanaOwnerSigner(friendKey.secretKey);
  let turbo: ReturnType<typeof TurboFactory.authenticated>;
  let antId = '';
  let uploaded = '';

  before(async () => {
    stack = await startStack({
      environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '50', PENDING_PAYMENT_RECHECK_MS: '200' },
    });
    await fetch(`${stack.urls.arweave}/mint/${arweaveTestAddress}/${1_000 * oneAr}`);
    turbo = TurboFactory.authenticated({
      paymentServiceConfig: { url: stack.urls.payment ?? '' },
      uploadServiceConfig: { url: stack.urls.upload ?? '' },
      privateKey: arweaveTestKey,
      token: 'arweave',
      tokenTools: new ArweaveToken({
        gatewayUrl: stack.urls.gateway ?? '',
        pollingOptions: { maxAttempts: 100, pollingIntervalMs: 100, initialBackoffMs: 0 },
      }),
    });
    const paid = await turbo.topUpWithTokens({ tokenAmount: WinstonToTokenAmount(100 * oneAr) });
    const giveUpAt = Date.now() + 90_000;
    while (BigInt((await turbo.getBalance()).winc) === 0n) {
      assert.ok(Date.now() < giveUpAt, 'the payment was not credited in time');
      await turbo.submitFundTransaction({ txId: paid.id }).catch(() => undefined);
      await new Promise((done) => setTimeout(done, 200));
    }
    const item = await turbo.upload({ data: 'hello from a name' });
    uploaded = item.id;
  });
  after(() => stack.stop());

  const balance = async () => BigInt((await turbo.getBalance()).winc);

  test('buys for exactly what was quoted', async () => {
    const price = await turbo.getArNSPriceForName({ intent: 'Buy-Name', name, type: 'lease', years: 1 });
    assert.equal(String(price.mARIO), '240000000');
    const total = BigInt(price.wincTotalWithAntSpawn ?? price.winc);
    const before = await balance();
    let nonce = '';
    const bought = await turbo.buyArNSName({
      name,
      owner,
      type: 'lease',
      years: 1,
      onNonce: (given) => {
        nonce = given;
      },
    });
    assert.equal(bought.status, 'completed');
    assert.equal(await balance(), before - total);
    antId = bought.antId ?? '';
    assert.ok(antId);
    const again = await turbo.signArNSAction(nonce, 'irrelevant');
    assert.deepEqual([again.status, again.alreadyCompleted, again.antId], ['completed', true, antId]);
    assert.equal(await balance(), before - total);
    const status = await turbo.getArNSActionStatus(nonce);
    assert.equal(status.status, 'completed');
    const { names } = await turbo.getArNSNames();
    assert.deepEqual([names[0]?.name, names[0]?.antId, names[0]?.custodial], [name, antId, false]);
  });

  test('points the name at data, and the gateway serves it', async () => {
    const priced = await turbo.getArNSActionPrice('set-record');
    const before = await balance();
    const set = await turbo.setArNSRecord({ antId, owner, transactionId: uploaded, ttlSeconds: 60 });
    assert.equal(set.status, 'completed');
    assert.equal(await balance(), before - BigInt(priced.wincQty));
    assert.equal(await opened(), 'hello from a name');
  });

  /** What a browser sees at http://{name}.localhost:{port}/. */
  function opened(): Promise<string> {
    const { port } = new URL(stack.urls.gateway ?? '');
    return new Promise((resolve, reject) => {
      get(
        { host: '127.0.0.1', port, path: '/', headers: { host: `${name}.localhost:${port}` } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => resolve(text));
        },
      ).on('error', reject);
    });
  }

  test('writes and removes undernames and metadata, and hands a record over', async () => {
    await turbo.setArNSRecord({ antId, owner, transactionId: uploaded, undername: 'docs' });
    await turbo.setArNSRecordMetadata({
      antId,
      owner,
      undername: 'docs',
      displayName: 'Docs',
      recordKeywords: ['a'],
    });
    await turbo.setArNSRecordMetadata({ antId, owner, undername: 'docs', displayName: null });
    await turbo.removeArNSRecordMetadata({ antId, owner, undername: 'docs' });
    await turbo.transferArNSRecord({ antId, owner, undername: 'docs', target: await friend.getAddress() });
    const removed = await turbo.removeArNSRecord({ antId, owner, undername: 'docs' });
    assert.equal(removed.status, 'completed');
  });

  test('takes the service off the token; records then need the owner and still complete', async () => {
    await turbo.removeArNSController({ antId, owner });
    const { serviceAddress } = await servicePayer();
    assert.ok(serviceAddress);
    const set = await turbo.setArNSRecord({ antId, owner, transactionId: uploaded, undername: 'blog' });
    assert.equal(set.status, 'completed');
    const added = await turbo.addArNSController({ antId, owner });
    assert.equal(added.status, 'completed');
  });

  /** A transaction as it is handed out: one slot is empty, and the service pays. */
  async function servicePayer(): Promise<{ serviceAddress: string }> {
    const created = await turbo.createArNSAction('transfer', {
      antId,
      ownerAddress: await owner.getAddress(),
      target: await friend.getAddress(),
    });
    assert.equal(created.status, 'awaiting-signature');
    assert.ok('transaction' in created);
    assert.equal(emptySignatureSlots(created.transaction), 1);
    return { serviceAddress: created.feePayer };
  }

  test('extends, widens and makes the name permanent without asking the owner', async () => {
    await turbo.extendArNSLease({ name, years: 1 });
    await turbo.increaseArNSUndernameLimit({ name, increaseQty: 3 });
    const upgraded = await turbo.upgradeArNSName({ name });
    assert.equal(upgraded.status, 'completed');
    const price = turbo.getArNSPriceForName({ intent: 'Upgrade-Name', name });
    await assert.rejects(price, /is a permabuy/);
  });

  test('hands the token over; the former owner can no longer act', async () => {
    await turbo.transferArNSAnt({ antId, owner, target: await friend.getAddress() });
    await assert.rejects(turbo.setArNSRecord({ antId, owner, transactionId: uploaded }), /401/);
    const set = await turbo.setArNSRecord({ antId, owner: friend, transactionId: uploaded });
    assert.equal(set.status, 'completed');
  });

  test('no owner ever held a lamport', async () => {
    const connection = new Connection(stack.urls.solana ?? '', 'confirmed');
    for (const { publicKey } of [ownerKey, friendKey]) {
      assert.equal(await connection.getBalance(publicKey), 0);
      const history = await connection.getSignaturesForAddress(new PublicKey(publicKey));
      assert.ok(history.length > 0);
    }
  });

  test('a name cannot be bought without credits', async () => {
    const poor = TurboFactory.authenticated({
      paymentServiceConfig: { url: stack.urls.payment ?? '' },
      privateKey: `0x${Buffer.from(Keypair.generate().secretKey).toString('hex').slice(0, 64)}`,
      token: 'ethereum',
    });
    await assert.rejects(poor.buyArNSName({ name: 'too-dear-for-me', owner, years: 1 }), /402|Insufficient/);
  });

  test('quotes a purchase by card', async () => {
    const quote = await turbo.getArNSFiatPurchaseQuote({
      intent: 'Buy-Name',
      name: 'paid-by-card',
      type: 'lease',
      years: 1,
      currency: 'usd',
      method: 'payment-intent',
    });
    assert.ok(quote.purchaseQuote.paymentAmount > 0);
    const status = await turbo.getArNSPurchaseStatus({ nonce: quote.purchaseQuote.nonce });
    assert.equal(status.status, 'PENDING');
  });
});

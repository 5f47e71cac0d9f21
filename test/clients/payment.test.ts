/** The published SDK, unmodified, pays a local stack in AR and ARIO and reads what it has. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ARIOToken,
  ARIOToTokenAmount,
  ArweaveToken,
  TurboFactory,
  USD,
  WinstonToTokenAmount,
} from '@ardrive/turbo-sdk/node';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { freePort } from '../support/free-port.ts';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const friend = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const other = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const oneAr = 1_000_000_000_000;

describe('@ardrive/turbo-sdk on the payment service', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack({
      environment: {
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '50',
        PENDING_PAYMENT_RECHECK_MS: '200',
        // Clients look for WebSockets on the port after it.
        LOCAL_SOLANA_PORT: String(await freePort()),
      },
    });
    await fetch(`${stack.urls.arweave}/mint/${arweaveTestAddress}/${100 * oneAr}`);
  });
  after(() => stack.stop());

  const services = () => ({
    paymentServiceConfig: { url: stack.urls.payment ?? '' },
    uploadServiceConfig: { url: stack.urls.upload ?? '' },
  });
  const stranger = () => TurboFactory.unauthenticated(services());
  /** The SDK's own pauses are made for minutes between blocks. */
  const owner = () =>
    TurboFactory.authenticated({
      ...services(),
      privateKey: arweaveTestKey,
      token: 'arweave',
      tokenTools: new ArweaveToken({
        gatewayUrl: stack.urls.gateway ?? '',
        pollingOptions: { maxAttempts: 100, pollingIntervalMs: 100, initialBackoffMs: 0 },
      }),
    });

  test('asks prices, rates, currencies and countries', async () => {
    const turbo = stranger();
    const [small, large] = await turbo.getUploadCosts({ bytes: [1_024, 2 ** 30] });
    assert.ok(BigInt(small?.winc ?? 0) > 0n && BigInt(large?.winc ?? 0) > BigInt(small?.winc ?? 0));

    const rates = await turbo.getFiatRates();
    assert.ok(Number(rates.winc) > 0);
    assert.ok(rates.fiat.usd > 0 && rates.fiat.jpy > rates.fiat.usd);
    assert.deepEqual(await turbo.getFiatToAR({ currency: 'usd' }), { currency: 'usd', rate: 6.25 });

    const { supportedCurrencies, limits } = await turbo.getSupportedCurrencies();
    assert.equal(supportedCurrencies.length, 10);
    assert.equal(limits.usd?.minimumPaymentAmount, 500);
    assert.ok((await turbo.getSupportedCountries()).includes('Zimbabwe'));
  });

  test('asks what a payment buys', async () => {
    const turbo = stranger();
    const token = await turbo.getWincForToken({ tokenAmount: WinstonToTokenAmount(oneAr) });
    assert.equal(token.winc, '766000000000');
    assert.equal(token.equivalentWincTokenAmount, String(oneAr));
    const fiat = await turbo.getWincForFiat({ amount: USD(10) });
    assert.equal(fiat.winc, '1225600000000');
    assert.equal(fiat.actualPaymentAmount, 1_000);
    assert.equal(fiat.fees[0]?.operatorMagnitude, '0.766');
  });

  test('has nothing before it pays', async () => {
    const balance = await owner().getBalance();
    assert.deepEqual([balance.winc, balance.effectiveBalance, balance.givenApprovals], ['0', '0', []]);
    assert.deepEqual(await owner().getBalance(), await stranger().getBalance(arweaveTestAddress));
  });

  test('tops up in AR on the local chain and sees the credit', async () => {
    const turbo = owner();
    const paid = await turbo.topUpWithTokens({ tokenAmount: WinstonToTokenAmount(2 * oneAr) });
    assert.equal(Number(paid.quantity), 2 * oneAr);
    assert.equal(paid.winc, '1532000000000');
    assert.equal(paid.owner, arweaveTestAddress);
    assert.notEqual(paid.status, 'failed');

    const credited = async (): Promise<boolean> => {
      const { status } = await turbo.submitFundTransaction({ txId: paid.id });
      return status === 'confirmed';
    };
    const giveUpAt = Date.now() + 90_000;
    while (!(await credited())) {
      assert.ok(Date.now() < giveUpAt, 'the payment was not credited in time');
      await new Promise((done) => setTimeout(done, 200));
    }
    assert.equal((await turbo.getBalance()).winc, '1532000000000');

    const history = await turbo.getPaymentHistory();
    assert.equal(history.hasMore, false);
    const [payment] = history.payments;
    assert.ok(payment?.type === 'crypto');
    assert.deepEqual(
      [payment.transactionId, payment.wincCredited, payment.tokenType, payment.tokenQuantity],
      [paid.id, '1532000000000', 'arweave', String(2 * oneAr)],
    );
  });

  test('tops up in ARIO on the local Solana ledger, for itself and for another wallet', async () => {
    const [payer] = localWallets(1).solana;
    assert.ok(payer !== undefined);
    const turbo = TurboFactory.authenticated({
      ...services(),
      privateKey: payer.secretKey,
      token: 'ario',
      tokenTools: new ARIOToken({
        gatewayUrl: stack.urls.solana ?? '',
        pollingOptions: { maxAttempts: 100, pollingIntervalMs: 100, initialBackoffMs: 0 },
      }),
    });
    const before = BigInt((await turbo.getBalance()).winc);
    const amount = ARIOToTokenAmount(5);
    const { winc } = await turbo.getWincForToken({ tokenAmount: amount });
    assert.ok(BigInt(winc) > 0n);
    const paid = await turbo.topUpWithTokens({ tokenAmount: amount });
    assert.deepEqual([paid.status, paid.winc, String(paid.quantity)], ['confirmed', winc, '5000000']);
    assert.equal(BigInt((await turbo.getBalance()).winc), before + BigInt(winc));
    await turbo.topUpWithTokens({ tokenAmount: amount, turboCreditDestinationAddress: other });
    assert.equal((await stranger().getBalance(other)).winc, winc);
  });

  test('shares credits and takes them back', async () => {
    const turbo = owner();
    const created = await turbo.shareCredits({
      approvedAddress: friend,
      approvedWincAmount: '1000000',
      expiresBySeconds: 3_600,
    });
    assert.equal(created.approvedWincAmount, '1000000');
    const approvals = await turbo.getCreditShareApprovals();
    assert.deepEqual(
      approvals.givenApprovals.map((given) => given.approvedAddress),
      [friend],
    );
    const received = await stranger().getBalance(friend);
    assert.deepEqual([received.winc, received.effectiveBalance], ['0', '1000000']);
    const revoked = await turbo.revokeCredits({ revokedAddress: friend });
    assert.equal(revoked.length, 1);
    assert.deepEqual((await turbo.getCreditShareApprovals()).givenApprovals, []);
  });

  test('asks how much it may upload for nothing', async () => {
    assert.equal((await owner().getFreeStatus()).bytesRemaining, 0);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../services/console.ts';
import {
  type CardPurchase,
  type CoinPurchase,
  look,
  type PurchaseServices,
  type X402Purchase,
} from './purchase.ts';

const now = 1_000_000_000;
const common = { id: 'a', madeAt: now, to: 'wallet', paid: '$10.00', winc: 500n, state: 'open' as const };
const card: CardPurchase = {
  ...common,
  way: 'card',
  quoteId: 'q',
  url: 'https://pay.example/',
  expiresAt: now + 1_000,
  wincBefore: 100n,
};
const coin: CoinPurchase = { ...common, way: 'coin', token: 'arweave', transactionId: 't' };
const x402: X402Purchase = { ...common, way: 'x402', credits: '1', payment: 'p' };

function services(some: Partial<PurchaseServices>): PurchaseServices {
  const never = () => Promise.reject(new Error('not asked for'));
  return { cardState: never, balance: never, report: never, pay: never, now: () => now, ...some };
}
const refuse = (status: number) => () => Promise.reject(new ServiceError(status, 'no'));

test('a card payment is what the service says of it', async () => {
  const at = (state: 'waiting' | 'paid' | 'failed' | 'refunded') =>
    look(card, services({ cardState: async () => ({ state }) }));
  assert.equal((await at('waiting')).state, 'open');
  assert.deepEqual(await at('paid'), { ...card, state: 'credited', endedAt: now });
  assert.equal((await at('failed')).state, 'failed');
  assert.equal((await at('refunded')).state, 'failed');
});

test('where the service does not say, the balance does', async () => {
  const at = (balance: bigint) =>
    look(card, services({ cardState: async () => undefined, balance: async () => balance }));
  assert.equal((await at(599n)).state, 'open');
  assert.equal((await at(600n)).state, 'credited');
});

test('a checkout that nobody paid ends with its time', async () => {
  const late = services({ cardState: async () => ({ state: 'waiting' }), now: () => now + 3_600_000 });
  assert.equal((await look(card, late)).state, 'cancelled');
});

test('a coin is followed from unknown to credited, and looked for no longer than it can be late', async () => {
  const answering = (state: 'pending' | 'credited' | 'failed') =>
    services({
      report: async () => ({ state, winc: 7n, reason: state === 'failed' ? 'reverted' : undefined }),
    });
  assert.deepEqual(await look(coin, answering('pending')), { ...coin, state: 'paid', winc: 7n });
  assert.equal((await look(coin, answering('credited'))).state, 'credited');
  assert.equal((await look(coin, answering('failed'))).problem, 'reverted');
  assert.equal((await look(coin, services({ report: refuse(404) }))).state, 'open');
  const late = services({ report: refuse(404), now: () => now + 3_600_000 });
  assert.equal((await look(coin, late)).state, 'failed');
  await assert.rejects(look(coin, services({ report: refuse(503) })), /no/);
  await assert.rejects(look(coin, services({ report: refuse(0) })), /no/);
});

test('a signed transfer is asked for again until it is settled or refused', async () => {
  const settled = {
    creditedWinc: '9',
    balance: '9',
    x402SettlementResponse: { transaction: '0x1', network: 'base' },
  };
  const done = await look(x402, services({ pay: async () => settled }));
  assert.deepEqual([done.state, done.winc], ['credited', 9n]);
  assert.equal((await look(x402, services({ pay: refuse(402) }))).state, 'failed');
  await assert.rejects(look(x402, services({ pay: refuse(409) })), /no/);
  await assert.rejects(look(x402, services({ pay: refuse(503) })), /no/);
});

test('what is final is not looked at again', async () => {
  const final = { ...card, state: 'credited' as const };
  assert.equal(await look(final, services({})), final);
});

/** For tests of this room: a ledger with payments of every kind, and a bank that loses answers when it is told to. */
import { type Credits, winc } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import { silentLog } from '../../kernel/testing.ts';
import { insertion } from '../../storage/sql/columns.ts';
import type { Migration, Sql } from '../../storage/sql/sql.ts';
import { cardMigrations } from '../card/migrations.ts';
import { insertRow } from '../chain/store.ts';
import { x402Migrations } from '../x402/migrations.ts';
import { createCreditReturns } from './credit-returns.ts';
import { returnsMigrations } from './migrations.ts';
import { CannotSend, type ReturnRules, type WayBack } from './returns.ts';

/** Beside these, the table of chain payments, which the payment surface makes. */
export const returnsTestMigrations: readonly Migration[] = [
  ...creditsMigrations,
  {
    id: 'test-chain-payments',
    up: `CREATE TABLE payment_chain_transactions (
      chain TEXT NOT NULL, transaction_id TEXT NOT NULL, token TEXT NOT NULL, state TEXT NOT NULL,
      quantity AMOUNT NOT NULL, winc AMOUNT NOT NULL, adjustments TEXT NOT NULL, usd_equivalent TEXT NOT NULL,
      sender TEXT NOT NULL, destination TEXT NOT NULL, destination_type TEXT NOT NULL, referer TEXT,
      created_at BIGINT NOT NULL, ended_at BIGINT, block_height BIGINT, failure_reason TEXT, checks BIGINT NOT NULL,
      checked_at BIGINT NOT NULL, next_check_at BIGINT NOT NULL, missing_since BIGINT, seen_height BIGINT,
      PRIMARY KEY (chain, transaction_id))`,
  },
  ...cardMigrations,
  ...x402Migrations,
  ...returnsMigrations,
];

export const dayMs = 86_400_000;
export const testRules: ReturnRules = {
  windowMs: 14 * dayMs,
  feeBasisPoints: 0n,
  minimumWinc: winc(1n),
};

/** Every transfer that arrived, by its reference. */
export interface FakeBank {
  readonly arrived: Map<string, { readonly returnId: string; readonly to: string; readonly amount: bigint }>;
  /** References that the bank will never take. */
  readonly dead: Set<string>;
  /** It takes what is sent, and its answer is lost. */
  losesAnswers: boolean;
  isDown: boolean;
  /** Without a key the operator has to send. */
  hasKey: boolean;
  /** Whether what has arrived is final. */
  isFinal: boolean;
  prepared: number;
}

export function fakeBank(): { bank: FakeBank; way: WayBack } {
  const bank: FakeBank = {
    ...{ arrived: new Map(), dead: new Set() },
    ...{ losesAnswers: false, isDown: false, hasKey: true, isFinal: true, prepared: 0 },
  };
  const way: WayBack = {
    async prepare({ id, recipient, amount }) {
      if (bank.isDown) throw new CannotSend('the bank is down');
      bank.prepared += 1;
      const reference = `transfer ${bank.prepared} of ${id}`;
      return { reference, wire: JSON.stringify([id, recipient, amount.toString()]), validUntil: 0 };
    },
    async deliver({ reference = '', wire = '' }) {
      if (bank.isDown) throw new CannotSend('the bank is down');
      if (bank.dead.has(reference)) return { state: 'void', reason: 'the bank did not take it' };
      const [returnId, to, amount]: string[] = JSON.parse(wire);
      bank.arrived.set(reference, { returnId: returnId ?? '', to: to ?? '', amount: BigInt(amount ?? 0) });
      if (bank.losesAnswers) throw new CannotSend('no answer');
      return { state: bank.isFinal ? 'confirmed' : 'waiting' };
    },
  };
  return { bank, way };
}

/** `rules` may be changed by the test. */
export function openReturnsBench(sql: Sql, rules: ReturnRules = testRules) {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = () => clock.now;
  const credits = createCredits({ sql, now });
  const { bank, way } = fakeBank();
  const transfers = new Map<string, { recipient: string; quantity: bigint }>();
  const outside = { isConfigured: true };
  const returns = createCreditReturns(rules, {
    ...{ sql, credits, log: silentLog, now },
    ways: {
      wayOf: () => (bank.hasKey ? way : undefined),
      readerOf: () =>
        outside.isConfigured
          ? {
              parseId: (text) => (text.startsWith('tx') ? text : undefined),
              async read(id) {
                const found = transfers.get(id);
                return found === undefined
                  ? { state: 'not-found' }
                  : { state: 'confirmed', transfer: { sender: 'operator', ...found } };
              },
            }
          : undefined,
      close: async () => {},
    },
  });
  return {
    ...{ sql, credits, clock, bank, returns, transfers, outside },
    wallet: (address: string) => ({ kind: 'arweave' as const, address }),
    request: (address: string, payment: string, amount?: bigint, key: string = crypto.randomUUID()) =>
      returns.request({
        wallet: { kind: 'arweave', address },
        payment,
        amount: amount === undefined ? undefined : winc(amount),
        requestKey: key,
      }),
    /** Runs the worker until nothing is due. */
    async work(): Promise<void> {
      returns.start();
      await returns.settled();
      await returns.stop();
    },
    unspent: async (address: string) =>
      Object.fromEntries(
        (await returns.returnable(address)).map(({ payment, unspent }) => [payment, unspent]),
      ),
  };
}

/** A payment of tokens that was credited. */
export async function payByChain(
  sql: Sql,
  credits: Credits,
  address: string,
  { id, quantity, bought, at }: { id: string; quantity: bigint; bought: bigint; at: number },
): Promise<string> {
  const sender = `sender of ${id}`;
  await sql.transaction(async (tx) => {
    await insertRow(tx, {
      ...{ chain: 'test', transaction_id: id, token: 'arweave', state: 'credited' },
      ...{ quantity: quantity.toString(), winc: bought.toString(), adjustments: '[]', usd_equivalent: '0' },
      ...{ sender, destination: address, destination_type: 'arweave', referer: null, created_at: at },
      ...{
        ended_at: at,
        block_height: 1,
        failure_reason: null,
        checks: 1,
        checked_at: at,
        next_check_at: at,
      },
      ...{ missing_since: null, seen_height: null },
    });
    await credits.within(tx).credit({
      ...{
        address,
        addressType: 'arweave',
        amount: winc(bought),
        reason: 'crypto_payment',
        id: `test:${id}`,
      },
      payment: {
        ...{ type: 'crypto', tokenType: 'arweave', tokenQuantity: quantity.toString(), usdEquivalent: '0' },
        ...{ senderAddress: sender, transactionId: id },
      },
    });
  });
  return `test:${id}`;
}

/** An x402 payment of which part was reserved for what it bought. */
export async function payByX402(
  sql: Sql,
  credits: Credits,
  address: string,
  {
    id,
    value,
    bought,
    reserved,
    at,
  }: { id: string; value: bigint; bought: bigint; reserved: bigint; at: number },
): Promise<void> {
  await sql.transaction(async (tx) => {
    const row = {
      ...{ id, version: 1, network: 'eip155:84532', payer: `payer of ${id}`, nonce: id },
      ...{ value: value.toString(), valid_before: '0', request: '{}', purpose: 'upload', address },
      ...{ address_type: 'arweave', winc: bought.toString(), reserved: reserved.toString() },
      ...{ purchase: 'reserved', state: 'credited', leased_until: 0, attempts: 0, due_at: at },
      ...{ created_at: at, changed_at: at, credited_at: at },
      settlement: JSON.stringify({ success: true, transaction: `0x${id}`, network: 'base-sepolia' }),
    };
    await tx.run(`INSERT INTO x402_payments ${insertion(row)}`, ...Object.values(row));
    await credits.within(tx).credit({
      ...{ address, addressType: 'arweave', amount: winc(bought), reason: 'x402_payment', id },
      reserve: { reason: 'upload', id, amount: winc(reserved) },
      payment: {
        ...{ type: 'crypto', tokenType: 'usdc', tokenQuantity: value.toString(), usdEquivalent: '0' },
        ...{ senderAddress: `payer of ${id}`, transactionId: `0x${id}` },
      },
    });
  });
}

/** Credits that nobody paid for. */
export const gift = (credits: Credits, address: string, amount: bigint, id: string) =>
  credits.credit({
    ...{ address, addressType: 'arweave', amount: winc(amount), reason: 'admin_credit', id },
    payment: {
      ...{ type: 'fiat', paymentAmount: '0', currencyType: 'winc', paymentProvider: 'admin' },
      ...{ receiptId: id, giftMessage: null },
    },
  });

export const spend = (credits: Credits, signer: string, amount: bigint, id: string) =>
  credits.spend({ id, reason: 'upload', signer, signerType: 'arweave', amount: winc(amount) });

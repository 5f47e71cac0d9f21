/** Transfers to our wallet that no payment knows of: who used an authorisation is credited, once; the others are told. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { collected } from '../../kernel/collected.ts';
import { paymentMigrations } from '../../payment/migrations.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { insertRow } from '../chain/store.ts';
import { aChainPayment } from '../chain/testing.ts';
import type { IncomingTransfer } from './chain.ts';
import { x402Migrations } from './migrations.ts';
import { readPaymentRow } from './payment-rows.ts';
import { unknownTransfers } from './unknown-transfers.ts';

const network = findX402Network('base-sepolia');
const other = findX402Network('base');
assert.ok(network !== undefined && other !== undefined);
const payer = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const minute = 60_000;

const transferOf = (name: string, more: Partial<IncomingTransfer> = {}): IncomingTransfer => ({
  ...{ from: payer, value: 7n, nonce: `0x${name}`, transaction: `0xAB${name}`, at: 5, ...more },
});

async function setUp(open: OpenForTest, transfers: readonly IncomingTransfer[]) {
  const sql = await open([...creditsMigrations, ...paymentMigrations, ...x402Migrations]);
  const clock = { now: 1_000 * minute };
  const credits = createCredits({ sql, now: () => clock.now });
  const asked: string[] = [];
  const source = unknownTransfers({
    ...{ sql, credits, networks: [network!, other!], payTo: '0xus', now: () => clock.now },
    pricing: { wincForUsdc: async (amount) => winc(amount * 100n) },
    chain: {
      knows: (one) => one === network,
      async *transfersTo(one, wallet, since) {
        asked.push(`${one.name} ${wallet} ${since}`);
        yield* transfers;
      },
    },
  });
  const balance = async () => (await credits.balance(payer))?.winc ?? 0n;
  return { sql, clock, credits, asked, source, balance };
}

forEachEngine((_engine, open) => {
  it('is credited to who paid, once, however often it is taken in', async () => {
    const s = await setUp(open, [transferOf('01')]);
    const [record] = await collected(s.source.unknown(3));
    assert.deepEqual(s.asked, ['base-sepolia 0xus 3'], 'a chain without an address is not asked');
    assert.deepEqual(
      [record?.id, record?.at, record?.what],
      ['0xAB01', 5, `7 of USDC on base-sepolia from ${payer}`],
    );
    const [again] = await collected(s.source.unknown(3));
    assert.deepEqual(await record?.credit?.(), { state: 'credited', address: payer, winc: 700n });
    assert.deepEqual(await again?.credit?.(), { state: 'taken in', reason: 'it was credited meanwhile' });
    assert.equal(await s.balance(), 700n);
    assert.deepEqual(await collected(s.source.unknown(3)), [], 'it is known from then on');
    const row = await readPaymentRow(s.sql, `eip155:84532:${payer}:0x01`);
    assert.deepEqual(
      [row?.state, row?.purpose, row?.settlement?.transaction],
      ['credited', 'top-up', '0xAB01'],
    );
  });

  it('is left to a person where it used no authorisation, and to its report where that was made', async () => {
    const s = await setUp(open, [
      transferOf('01', { nonce: undefined }),
      transferOf('02', { from: 'nobody' }),
      transferOf('03'),
    ]);
    const { sql } = s;
    await sql.transaction((tx) => insertRow(tx, { ...aChainPayment, transaction_id: '0xab03' }));
    const found = await collected(s.source.unknown(0));
    assert.deepEqual(
      found.map(({ id, credit }) => [id, credit]),
      [
        ['0xAB01', undefined],
        ['0xAB02', undefined],
      ],
    );
    assert.match(found[0]?.openBecause ?? '', /used no authorisation/);
  });

  it('is left to those who settle it, for a while, and is not taken for a payment of another amount', async () => {
    const s = await setUp(open, [transferOf('01')]);
    const [record] = await collected(s.source.unknown(0));
    await record?.credit?.();
    // As it was stored before it was settled.
    await s.sql.run("UPDATE x402_payments SET state = 'open', transaction_id = NULL");
    s.clock.now += 10 * minute - 1;
    assert.deepEqual(await record?.credit?.(), { state: 'taken in', reason: 'the service is settling it' });
    s.clock.now += 1;
    await s.sql.run("UPDATE x402_payments SET value = '8'");
    assert.deepEqual(await record?.credit?.(), {
      ...{ state: 'open', reason: 'the payment here is of another amount' },
    });
    assert.equal(await s.balance(), 700n);
  });
});

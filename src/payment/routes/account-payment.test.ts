import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setUpQuote } from '../../payments/card/testing.ts';
import type { ChainTransaction, Transfer } from '../../payments/chain/chain.ts';
import { serviceWallets } from '../../payments/chain/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type PaymentBench, paymentBench, paymentBenchMigrations } from '../testing.ts';
import { ethereum, ethereumHeaders } from '../testing-wallets.ts';

const payer = `${'p'.repeat(42)}A`;
const excluded = `${'o'.repeat(42)}A`;
const id = `${'t'.repeat(42)}A`;
const hash = `0x${'ab'.repeat(32)}`;

interface Found {
  readonly state: string;
  readonly explanation: string;
  readonly kind?: string;
  readonly winc?: string;
  readonly amount?: string;
  readonly currency?: string;
  readonly sender?: string | null;
  readonly address?: string | null;
}

forEachEngine((_engine, open) =>
  describe('GET /account/payments/{id}', () => {
    let bench: PaymentBench;
    beforeEach(async () => {
      bench = await paymentBench(
        { CRYPTO_FUND_EXCLUDED_ADDRESSES: excluded },
        await open(paymentBenchMigrations),
      );
    });
    afterEach(() => bench.close());

    const knows = (chain: string, key: string, found: ChainTransaction): void => {
      bench.outside.transactions.set(`${chain} ${key}`, found);
    };
    const paid = (state: 'pending' | 'confirmed', more: Partial<Transfer> = {}): ChainTransaction => {
      const transfer = {
        sender: payer,
        recipient: serviceWallets.arweave,
        quantity: 10n ** 12n,
        blockHeight: 7,
      };
      return { state, transfer: { ...transfer, ...more } };
    };
    const find = async (key: string, headers?: Record<string, string>) => {
      const { status, json } = await bench.get(`/v1/account/payments/${key}`, headers);
      return { status, ...(json as Found) };
    };
    const owned = async (address: string) => (await bench.credits.balance(address))?.winc;

    it('credits a deposit that nobody reported, once, to its sender', async () => {
      knows('arweave', id, paid('confirmed'));
      const all = await Promise.all(Array.from({ length: 20 }, () => find(id)));
      for (const found of all) {
        assert.deepEqual(
          [found.status, found.state, found.kind, found.winc, found.address, found.currency],
          [200, 'credited', 'chain', '766000000000', payer, 'arweave'],
        );
      }
      assert.equal(await owned(payer), 766_000_000_000n);
      assert.equal((await bench.post('/v1/account/balance/arweave', `{"tx_id":"${id}"}`)).status, 200);
      assert.equal(await owned(payer), 766_000_000_000n);
    });

    it('tells apart what waits, what pays somebody else, what is not mined and what is not there', async () => {
      knows('arweave', id, paid('pending'));
      assert.deepEqual([(await find(id)).status, (await find(id)).state], [200, 'pending']);
      const told = async (key: string, found: ChainTransaction) => {
        knows('arweave', key, found);
        const { status, state, explanation } = await find(key);
        assert.ok(explanation.endsWith('.'));
        return [status, state];
      };
      const key = (letter: string) => `${letter.repeat(42)}A`;
      assert.deepEqual(await told(key('a'), { state: 'unreadable' }), [200, 'not-mined']);
      assert.deepEqual(await told(key('b'), paid('confirmed', { recipient: payer })), [
        200,
        'wrong-recipient',
      ]);
      assert.deepEqual(await told(key('c'), paid('confirmed', { quantity: 0n })), [200, 'nothing-moved']);
      assert.deepEqual(await told(key('d'), paid('confirmed', { sender: excluded })), [
        200,
        'excluded-sender',
      ]);
      assert.deepEqual(await told(key('e'), { state: 'not-found' }), [404, 'not-found']);
      assert.deepEqual(await told(key('f'), paid('confirmed', { quantity: 1n })), [200, 'too-small']);
      assert.equal(await owned(payer), undefined);
      assert.equal((await bench.get('/v1/account/payments/so%20what')).status, 400);
    });

    it('finds it whatever token of the chain it moved', async () => {
      const wallet = { sender: ethereum, recipient: serviceWallets.ethereum };
      // As a payment in the chain's own coin it is a call of the token's contract.
      knows('polygon', hash, paid('confirmed', { ...wallet, recipient: '0xcontract' }));
      knows('polygon-usdc', hash, paid('confirmed', { ...wallet, quantity: 5_000_000n }));
      const found = await find(hash.toUpperCase().replace('0X', '0x'));
      assert.deepEqual([found.state, found.currency, found.address], ['credited', 'polygon-usdc', ethereum]);
    });

    it('says that a chain cannot be asked, and limits what finds nothing', async () => {
      bench.outside.chainDown = true;
      assert.equal((await bench.get(`/v1/account/payments/${id}`)).status, 503);
      bench.outside.chainDown = false;
      let last = 404;
      for (let count = 0; last === 404 && count < 200; count += 1) {
        last = (await find(`${String(count).padStart(42, 'z')}A`)).status;
      }
      assert.equal(last, 429);
    });

    it('tells of a card payment by its quote or receipt, and nobody whom a gift is for', async () => {
      const { sync, row } = await setUpQuote(bench.sql);
      const told = async (key: string) => {
        const { status, kind, state, address, currency, amount } = await find(key);
        return [status, kind, state, address, currency, amount];
      };
      assert.deepEqual(await told('quote'), [200, 'card', 'pending', 'wallet', 'usd', '1000']);
      await sync({});
      const { receiptId = '' } = await row();
      assert.deepEqual(await told(receiptId), [200, 'card', 'credited', 'wallet', 'usd', '1000']);
      await sync({ refunded: 1000 });
      assert.equal((await told('quote'))[2], 'returned');
      // Whoever has the id of a gift and its email address takes it.
      await bench.sql.run("UPDATE card_quotes SET address = 'friend@mail.test', address_type = 'email'");
      assert.equal((await told('quote'))[3], null);
    });

    it('tells of an x402 payment by its id or its transaction, and its wallets to them alone', async () => {
      const row = {
        id: `eip155:8453:${ethereum}:0x01`,
        version: 1,
        network: 'eip155:8453',
        payer: ethereum,
        nonce: '0x01',
        value: '1000000',
        valid_before: '9',
        request: '{}',
        purpose: 'top-up',
        address: payer,
        address_type: 'arweave',
        winc: '77',
        state: 'credited',
        transaction_id: hash,
        leased_until: 0,
        attempts: 1,
        due_at: 0,
        created_at: 1,
        changed_at: 2,
      };
      await bench.sql.run(
        `INSERT INTO x402_payments (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row)
          .map(() => '?')
          .join(', ')})`,
        ...Object.values(row),
      );
      for (const key of [hash, encodeURIComponent(row.id)]) {
        const { kind, state, winc, sender, address } = await find(key);
        assert.deepEqual([kind, state, winc, sender, address], ['x402', 'credited', '77', null, null]);
      }
      const own = await find(hash, ethereumHeaders);
      assert.deepEqual([own.sender, own.address], [ethereum, payer]);
    });
  }),
);

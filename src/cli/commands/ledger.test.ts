import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { LOSS_ACCOUNT, winc } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { examplePayment } from '../../formats/x402/testing.ts';
import { signPayment } from '../../localnet/x402/testing.ts';
import { writeReceipt } from '../../names/receipts.ts';
import { createGifts } from '../../payment/gifts.ts';
import { insertRow } from '../../payments/chain/store.ts';
import { UsageError } from '../command.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { ledger } from './ledger.ts';
import { promo } from './promo.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-ledger-'));
const { DATA_DIR, DATABASE_URL } = process.env;
before(() => {
  process.env.DATA_DIR = folder;
  delete process.env.DATABASE_URL;
});
after(() => {
  setVariable('DATA_DIR', DATA_DIR);
  setVariable('DATABASE_URL', DATABASE_URL);
  rmSync(folder, { recursive: true, force: true });
});

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

const wallet = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';

const other = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';

/** Runs a command as the command line does; a usage error is exit code 64. */
async function turnpike(name: 'ledger' | 'promo', ...args: string[]) {
  const lines: unknown[] = [];
  const log = mock.method(console, 'log', (line: unknown) => void lines.push(line));
  try {
    const code = await { ledger, promo }[name].run(args);
    return { code, out: lines.join('\n'), error: '' };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { code: 64, out: '', error: error.message };
  } finally {
    log.mock.restore();
  }
}

describe('turnpike ledger', () => {
  it('gives credits once per id, shows them, and checks that all adds up', async () => {
    assert.match(
      (await turnpike('ledger', 'credit', wallet, '0.5', '--id', 'x')).out,
      /gave 500000000000 winc/,
    );
    assert.match(
      (await turnpike('ledger', 'credit', wallet.toLowerCase(), '0.5', '--id', 'x')).out,
      /given before/,
    );
    assert.match((await turnpike('ledger', 'show', wallet)).out, /500000000000 winc {2}\(0\.5 credits\)/);
    assert.equal((await turnpike('ledger', 'check')).code, 0);

    const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    try {
      assert.equal((await createCredits({ sql }).balance(wallet))?.winc, 500_000_000_000n);
      await sql.run("UPDATE credits_accounts SET balance = '7' WHERE same_as IS NULL");
    } finally {
      await sql.close();
    }
    const broken = await turnpike('ledger', 'check');
    assert.equal(broken.code, 1);
    assert.match(broken.out, /has 7 winc but its entries sum to 500000000000/);
  });

  it('shows what is open and lets a person end a payment that nobody can look up', async () => {
    assert.match((await turnpike('ledger', 'open')).out, /nothing is open/);
    const id = 'eip155:84532:0xpayer:0xnonce';
    const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    try {
      await sql.run(
        `INSERT INTO x402_payments (id, version, network, payer, nonce, value, valid_before, request, purpose, address,
           address_type, winc, state, leased_until, attempts, due_at, created_at, changed_at)
         VALUES (?, 1, 'eip155:84532', ?, '0x', '1000000', '1', ?, 'top-up', ?, 'ethereum', '700', 'unclear', 0, 1, 0, 0, 0)`,
        id,
        wallet,
        JSON.stringify(signPayment({ payTo: examplePayment.payTo })),
        other,
      );
    } finally {
      await sql.close();
    }
    assert.match((await turnpike('ledger', 'open')).out, /x402 payment of 1000000, 700 winc for 0x/);
    const hash = `0x${'ab'.repeat(32)}`;
    assert.equal((await turnpike('ledger', 'settle', id, 'nothing')).code, 64);
    assert.equal((await turnpike('ledger', 'settle', 'another', hash)).code, 1);
    assert.equal((await turnpike('ledger', 'settle', id, hash)).code, 0);
    assert.equal((await turnpike('ledger', 'settle', id, hash)).code, 1);
    assert.equal((await turnpike('ledger', 'void', id)).code, 1);
    assert.match((await turnpike('ledger', 'show', other)).out, /700 winc/);
    assert.match((await turnpike('ledger', 'open')).out, /nothing is open/);
  });

  it('shows chain payments that failed although the wallet may have been paid, until they are ended', async () => {
    const now = Date.now();
    const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    const failed = (transaction_id: string, failure_reason: string, ended_at: number) =>
      insertRow(sql, {
        chain: 'polygon',
        transaction_id,
        token: 'matic',
        state: 'failed',
        quantity: '5000',
        winc: '700',
        adjustments: '[]',
        usd_equivalent: '1.000000',
        sender: wallet,
        destination: other,
        destination_type: 'ethereum',
        referer: null,
        created_at: 0,
        ended_at,
        block_height: null,
        failure_reason,
        checks: 1,
        checked_at: 0,
        next_check_at: 0,
        missing_since: null,
        seen_height: null,
      });
    await failed('0xlost', 'not_found', now);
    await failed('0xlong-lost', 'not_found', now - 31 * 86_400_000);
    await failed('0xchanged', 'changed', now - 31 * 86_400_000);
    await failed('0xreverted', 'reverted', now);
    await sql.close();
    const open = async () => (await turnpike('ledger', 'open')).out.split('\n');
    const [lost, changed, ...rest] = await open();
    assert.match(
      lost ?? '',
      new RegExp(`payment of 5000 of matic by ${wallet} for ${other} failed: not_found {2}polygon:0xlost$`),
    );
    assert.match(changed ?? '', /failed: changed {2}polygon:0xchanged$/);
    assert.deepEqual(rest, []);
    assert.equal((await turnpike('ledger', 'void', 'polygon:0xreverted')).code, 1);
    assert.equal((await turnpike('ledger', 'void', 'polygon:0xlost')).code, 0);
    assert.equal((await turnpike('ledger', 'void', 'polygon:0xlost')).code, 1);
    assert.equal((await turnpike('ledger', 'void', 'polygon:0xchanged')).code, 0);
    assert.deepEqual(await open(), ['nothing is open']);
  });

  it('shows what the operator has lost, and the names that are kept for it', async () => {
    assert.match((await turnpike('ledger', 'losses')).out, /^0 winc {2}\(0 credits\)$/);
    const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    try {
      await createCredits({ sql }).clawback({
        ...LOSS_ACCOUNT,
        amount: winc(1_500_000_000_000n),
        reason: 'chargeback',
        id: 'receipt:1',
        note: 'card payment q1: Buy-Name of kept, token T is held by the service',
      });
      const receipt = { antId: 'T', intent: 'Buy-Name', payer: other, purchasedAt: 0 } as const;
      await sql.transaction(async (tx) => {
        await writeReceipt(tx, { ...receipt, reference: 'q1', name: 'kept', custody: 'operator' });
        await writeReceipt(tx, { ...receipt, reference: 'q2', name: 'fine', custody: 'buyer' });
      });
    } finally {
      await sql.close();
    }
    const { out } = await turnpike('ledger', 'losses');
    assert.match(out, /^1500000000000 winc {2}\(1\.5 credits\)$/m);
    assert.match(out, /1500000000000 {2}chargeback card payment q1: Buy-Name of kept, token T is held/);
    assert.match(out, /the service keeps name kept, token T: its payment went back, quote q1/);
    assert.doesNotMatch(out, /fine/);
    assert.match((await turnpike('ledger', 'open')).out, /the service keeps name kept/);
    assert.match((await turnpike('ledger', 'losses', '--json')).out, /"total": "1500000000000"/);
    assert.match((await turnpike('ledger', 'check')).out, /1500000000000 winc were lost/);
    const after = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    await after.run('DELETE FROM arns_receipt');
    await after.close();
  });

  it('lists gifts that wait', async () => {
    assert.match((await turnpike('ledger', 'gifts')).out, /no gift waits/);
    const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
    const gifts = createGifts({ sql, credits: createCredits({ sql }) });
    const payment = {
      type: 'fiat',
      paymentAmount: '1',
      currencyType: 'usd',
      paymentProvider: 'stripe',
    } as const;
    await sql.transaction((tx) =>
      gifts.createIn(tx, {
        receiptId: 'receipt-1',
        quoteId: 'quote-1',
        email: 'a@example.com',
        amount: winc(500_000_000_000n),
        payment: { ...payment, receiptId: 'receipt-1', giftMessage: null },
      }),
    );
    await sql.close();
    assert.match(
      (await turnpike('ledger', 'gifts')).out,
      /0\.5 credits for a@example\.com: redeem with receipt-1/,
    );
    assert.match((await turnpike('ledger', 'gifts', '--json')).out, /"quoteId": "quote-1"/);
  });

  it('says what is wrong with its arguments', async () => {
    assert.equal((await turnpike('ledger', 'credit', 'nobody', '1')).code, 64);
    assert.equal((await turnpike('ledger', 'credit', wallet, '0')).code, 64);
    assert.match((await turnpike('ledger', 'credit', wallet, 'lots')).error, /in credits, for example/);
  });
});

describe('turnpike promo', () => {
  it('adds, lists and ends codes', async () => {
    const added = await turnpike(
      'promo',
      'add',
      'TWENTY',
      '--multiply',
      '0.8',
      '--name',
      'Sale',
      '--max-uses',
      '3',
    );
    assert.equal(added.code, 0, added.error);
    assert.match((await turnpike('promo', 'list')).out, /active {2}code TWENTY: multiply 0\.8 {2}Sale/);
    assert.equal((await turnpike('promo', 'end', 'TWENTY')).code, 0);
    assert.equal((await turnpike('promo', 'end', 'TWENTY')).code, 1);
    const listed: unknown = JSON.parse((await turnpike('promo', 'list', '--json')).out);
    assert.ok(Array.isArray(listed));
    assert.deepEqual(
      listed.map(({ promoCode, maxUses, active }) => [promoCode, maxUses, active]),
      [['TWENTY', 3, false]],
    );
  });

  it('refuses what makes no sense', async () => {
    for (const wrong of [
      ['add', 'X', '--name', 'n'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--add', '1'],
      ['add', 'two words', '--name', 'n', '--multiply', '1'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--ends', 'soon'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--group', 'friends'],
    ]) {
      assert.equal((await turnpike('promo', ...wrong)).code, 64, wrong.join(' '));
    }
  });
});

/** Actions as rows: each step moves the one that is meant, from where it stands, and nothing else. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { countOpenActions, listOpenActions } from './open-list.ts';
import {
  advance,
  advanceToCompleted,
  awaitingCountIn,
  findAction,
  findByPayerNonce,
  insertAction,
  keptWincOf,
  openActions,
  toTransaction,
} from './store.ts';

const nonceOf = (n: number) => `aaaaaaaa-0000-4000-8000-00000000000${n}`;

interface Made {
  readonly payer?: string;
  readonly status?: string;
  readonly ownerSigns?: number;
  readonly at?: number;
}

async function add(
  sql: Sql,
  n: number,
  { payer = 'payer', status = 'reserved', ownerSigns = 0, at = n }: Made = {},
) {
  const columns = {
    ...{ nonce: nonceOf(n), payer, payer_type: 'solana', payer_nonce: `nonce ${n}` },
    ...{ winc: '100', mtoken: '5', token_winc: '7', kept_winc: String(n), expires_at: 1_000 },
    owner_signs: ownerSigns,
  };
  await insertAction(sql, { action: 'extend-lease', name: `name-${n}`, years: 1 }, columns, at);
  await sql.run('UPDATE arns_action SET status = ? WHERE nonce = ?', status, nonceOf(n));
}

async function action(sql: Sql, n: number) {
  const found = await findAction(sql, nonceOf(n));
  assert.ok(found);
  return found;
}

const statuses = ['reserved', 'sending', 'awaiting', 'signed', 'spawned', 'completed', 'expired', 'failed'];

test('a transaction is there with its bytes, its signature and its last block, or not at all', () => {
  const wire = Buffer.from('wire');
  assert.deepEqual(toTransaction(wire, 's', 9), { wire, signature: 's', lastValidBlockHeight: 9 });
  assert.equal(toTransaction(null, 's', 9), undefined);
  assert.equal(toTransaction(wire, null, 9), undefined);
  assert.equal(toTransaction(wire, 's', null), undefined);
});

forEachEngine((_engine, open) => {
  describe('a name action', () => {
    it('is found by its nonce in either case, and by its payer and the nonce of that payer', async () => {
      const sql = await open(namesLedgerMigrations);
      await add(sql, 1);
      await add(sql, 2, { payer: 'other' });
      const found = await findAction(sql, nonceOf(1));
      assert.deepEqual(
        [found?.winc, found?.mtoken, found?.tokenWinc, found?.keptWinc, found?.ownerSigns, found?.ownerFirst],
        [100n, 5n, 7n, 1n, false, false],
      );
      assert.deepEqual(found?.request, { action: 'extend-lease', name: 'name-1', years: 1 });
      assert.deepEqual([found?.owned, found?.service, found?.before], [undefined, undefined, undefined]);
      assert.equal((await findAction(sql, nonceOf(1).toUpperCase()))?.nonce, nonceOf(1));
      assert.equal(await findAction(sql, nonceOf(3)), undefined);
      assert.equal((await findByPayerNonce(sql, 'payer', 'nonce 1'))?.nonce, nonceOf(1));
      assert.equal(await findByPayerNonce(sql, 'payer', 'nonce 2'), undefined);
      assert.equal(await findByPayerNonce(sql, 'other', 'nonce 1'), undefined);
      assert.deepEqual([await keptWincOf(sql, nonceOf(2)), await keptWincOf(sql, 'none')], [2n, 0n]);
      // Stored as it came, before both were one.
      await sql.run('UPDATE arns_action SET nonce = ? WHERE nonce = ?', nonceOf(2).toUpperCase(), nonceOf(2));
      assert.equal((await findAction(sql, nonceOf(2).toUpperCase()))?.payer, 'other');
      await add(sql, 2, { payer: 'third' });
      assert.equal(
        (await findAction(sql, nonceOf(2).toUpperCase()))?.payer,
        'other',
        'each as it is written',
      );
      assert.equal((await findAction(sql, nonceOf(2)))?.payer, 'third');
    });

    it('moves on from where it stands, with what is given, and leaves the rest', async () => {
      const sql = await open(namesLedgerMigrations);
      await add(sql, 1);
      await add(sql, 2);
      const service = { wire: Buffer.from('wire'), signature: 'signed', lastValidBlockHeight: 9 };
      const reserved = await action(sql, 1);
      assert.equal(await advance(sql, { ...reserved, status: 'signed' }, 'sending', { at: 5 }), false);
      assert.equal(await advance(sql, reserved, 'sending', { at: 5, service }), true);
      assert.equal(await advance(sql, reserved, 'sending', { at: 6 }), false);
      const sent = await action(sql, 1);
      assert.deepEqual([sent?.status, sent?.service, sent?.owned], ['sending', service, undefined]);
      assert.deepEqual([sent?.failedAt, sent?.keptWinc], [null, 1n]);
      const owned = { ...service, signature: 'by the owner' };
      const more = { at: 7, owned, failedReason: 'why', keptWinc: 4n, ownerFirst: true, messageId: 'm' };
      const other = { ...service, signature: 'of another' };
      assert.equal(await advance(sql, { ...sent, service: other }, 'failed', more), false);
      assert.equal(await advance(sql, { ...sent, service: undefined }, 'failed', more), false);
      assert.equal(await advance(sql, { ...sent, owned: other }, 'failed', more), false);
      assert.equal(await advance(sql, sent, 'failed', more), true);
      const failed = await findAction(sql, nonceOf(1));
      assert.deepEqual(
        [failed?.status, failed?.failedAt, failed?.failedReason, failed?.keptWinc, failed?.messageId],
        ['failed', 7, 'why', 4n, 'm'],
      );
      assert.deepEqual([failed?.owned, failed?.service, failed?.ownerFirst], [owned, service, true]);
      assert.equal((await findAction(sql, nonceOf(2)))?.status, 'reserved');
      assert.equal(await advance(sql, await action(sql, 2), 'expired', { at: 8 }), true);
      const expired = await action(sql, 2);
      assert.equal(expired.failedAt, 8);
      assert.equal(await advance(sql, expired, 'sending', { at: 9 }), false, 'what has ended stays so');
      assert.equal(await advanceToCompleted(sql, nonceOf(2), { at: 9, messageId: 'm' }), false);
    });

    it('is done wherever it stood, once', async () => {
      const sql = await open(namesLedgerMigrations);
      for (const [index, status] of statuses.entries()) await add(sql, index + 1, { status });
      const done: string[] = [];
      for (const [index, status] of statuses.entries()) {
        if (await advanceToCompleted(sql, nonceOf(index + 1), { at: 9, messageId: 'm' })) done.push(status);
      }
      assert.deepEqual(done, ['reserved', 'sending', 'awaiting', 'signed', 'spawned']);
    });

    it('is open until it has ended, listed in pages', async () => {
      const sql = await open(namesLedgerMigrations);
      for (const [index, status] of statuses.entries()) await add(sql, index + 1, { status });
      const nonces = async (since: number, after: string, limit: number, latest = 99) =>
        (await openActions(sql, { since, latest }, after, limit)).map(({ nonce }) => Number(nonce.at(-1)));
      assert.deepEqual(await nonces(99, '', 99), [1, 2, 3, 4, 5]);
      assert.deepEqual(await nonces(1, '', 99, 3), [1, 4, 5]);
      assert.deepEqual(await nonces(3, '', 99), [1, 2, 3]);
      assert.deepEqual(await nonces(99, nonceOf(2), 2), [3, 4]);
      assert.equal(await countOpenActions(sql), 5);
      const first = await listOpenActions(sql, { before: undefined, limit: 2 }, 1_000);
      assert.deepEqual(
        first.items.map(({ id }) => Number(id.at(-1))),
        [5, 4],
      );
      assert.notEqual(first.next, null);
      const rest = await listOpenActions(sql, { before: { at: 4, id: nonceOf(4) }, limit: 5 }, 1_001);
      assert.deepEqual(
        rest.items.map(({ id, why }) => [Number(id.at(-1)), why.slice(0, 17)]),
        [
          [3, 'Nobody signed it '],
          [2, 'The transaction n'],
          [1, 'It is paid for, a'],
        ],
      );
      const all = await listOpenActions(sql, { before: undefined, limit: 5 }, 1_000);
      assert.match(all.items[2]?.why ?? '', /^It waits for its owner/);
      assert.match(all.items[1]?.why ?? '', /^The signed transaction null of its owner is on its way/);
      assert.match(
        all.items[0]?.why ?? '',
        /^The token null exists, and the name is being registered, until 1970-/,
      );
      assert.equal(all.next, null);
    });

    it('is listed before those of the same moment with lower nonces, over pages', async () => {
      const sql = await open(namesLedgerMigrations);
      for (const n of [1, 2, 3]) await add(sql, n, { at: 5 });
      const seen: number[] = [];
      for (const id of [undefined, nonceOf(3), nonceOf(2)]) {
        const before = id === undefined ? undefined : { at: 5, id };
        const { items } = await listOpenActions(sql, { before, limit: 1 }, 1_000);
        seen.push(...items.map((item) => Number(item.id.at(-1))));
      }
      assert.deepEqual(seen, [3, 2, 1]);
    });

    it('is listed among card purchases, the newest first, each with what it waits for', async () => {
      const sql = await open(namesLedgerMigrations);
      const buy = async (n: number, stage: string, { status = 'PENDING', at = n } = {}) => {
        const row = {
          ...{
            nonce: nonceOf(n),
            address: 'buyer',
            address_type: 'solana',
            purchase: 'buy-name',
            intent: 'Buy-Name',
          },
          ...{ name: `name-${n}`, quote: 'q', mtoken: '5', winc: '100', excess_winc: '0', status, stage },
          ...{
            ant_id: 'token',
            service_signature: 'sent',
            card_refunded: 0,
            expires_at: 1_000,
            created_at: at,
            updated_at: at,
          },
        };
        const columns = Object.keys(row);
        await sql.run(
          `INSERT INTO arns_purchase (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
          ...Object.values(row),
        );
      };
      await add(sql, 1, { at: 2 });
      for (const [index, stage] of ['paid', 'spawning', 'spawned', 'paying', 'handing'].entries())
        await buy(index + 2, stage);
      await buy(7, 'paid', { status: 'SUCCESS' });
      assert.equal(await countOpenActions(sql), 6);
      const { items, next } = await listOpenActions(sql, { before: undefined, limit: 6 }, 1_000);
      assert.equal(next, null);
      assert.deepEqual(
        items.map(({ id, paidBy, why }) => [Number(id.at(-1)), paidBy, why]),
        [
          [6, 'card', 'The name is bought, and the token token is being handed to the wallet of the buyer.'],
          [5, 'card', 'The transaction sent that pays the registry is on its way to the chain.'],
          [4, 'card', 'The token token exists, and the registry is paid next.'],
          [3, 'card', 'The transaction sent that makes the token is on its way to the chain.'],
          [2, 'card', 'The card was charged, and nothing was done on the chain yet.'],
          [1, 'credits', 'It is paid for, and the service has not acted yet.'],
        ],
      );
      assert.deepEqual(
        [items[0]?.status, items[0]?.action, items[0]?.payer, items[0]?.owner],
        ['handing', 'buy-name', 'buyer', null],
      );
      const late = await listOpenActions(sql, { before: { at: 2, id: nonceOf(3) }, limit: 1 }, 1_001);
      assert.deepEqual(
        late.items.map(({ id, why }) => [Number(id.at(-1)), why]),
        [
          [
            2,
            'The card was charged, and nothing was done on the chain yet. It should have been done by 1970-01-01 00:00 UTC.',
          ],
        ],
      );
      assert.notEqual(late.next, null);
    });

    it('waits for a signature, or will: so many are counted for one payer', async () => {
      const sql = await open(namesLedgerMigrations);
      await add(sql, 1, { status: 'awaiting' });
      await add(sql, 2, { status: 'reserved', ownerSigns: 1 });
      await add(sql, 3, { status: 'reserved' });
      await add(sql, 4, { status: 'completed', ownerSigns: 1 });
      await add(sql, 5, { status: 'awaiting', payer: 'other' });
      const count = (payer: string) => sql.transaction((tx) => awaitingCountIn(tx, payer));
      assert.deepEqual([await count('payer'), await count('other'), await count('nobody')], [2, 1, 0]);
      assert.equal(await count('payer'), 2);
    });
  });
});

/** Room in lists of tokens: whom a place is kept for, and what is done where a list cannot be extended. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import {
  buy,
  isListOf,
  listAt,
  owner,
  scriptedActions,
  service,
  token,
} from '../../../test/support/scripted-actions.ts';
import { maxAclPageEntries } from '../../formats/solana/accounts-ant.ts';
import { ChainUnavailable } from '../../registry/errors.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { NamesError } from '../errors.ts';
import { openRoom, reserveRoom } from './token-lists.ts';

forEachEngine((_engine, open) => {
  describe('room in a list of tokens', () => {
    it('of the service is kept for those who have yet to sign, and for cards, and for nobody else', async () => {
      const { context, script, add, sent } = await scriptedActions(await open(namesLedgerMigrations));
      const { sql } = context;
      script.outcome = 'confirmed';
      const entries = Array.from({ length: maxAclPageEntries - 2 }, () => ({
        ...{ asset: token, role: 'controller' as const },
      }));
      script.account = (address) => listAt(service.address, address, entries);
      const page = () => reserveRoom(context, async ({ place }) => place.page);
      const action = async (status: string, listPage: number) => {
        const { nonce } = await add(buy, { status });
        await sql.run('UPDATE arns_action SET list_page = ? WHERE nonce = ?', listPage, nonce);
        return (changed: string) =>
          sql.run('UPDATE arns_action SET status = ? WHERE nonce = ?', changed, nonce);
      };
      const purchase = (nonce: string, stage: string, status: string, listPage: number | null) =>
        sql.run(
          `INSERT INTO arns_purchase (nonce, address, address_type, purchase, intent, name, quote, mtoken, winc,
             excess_winc, status, stage, card_refunded, expires_at, created_at, updated_at, list_page)
           VALUES (?, 'a', 'solana', 'buy-name', 'Buy-Name', 'a-name', 'q', '1', '1', '0', ?, ?, 0, 1, 1, 1, ?)`,
          nonce,
          status,
          stage,
          listPage,
        );
      for (const status of ['completed', 'failed', 'expired', 'spawned']) await action(status, 0);
      await action('awaiting', 1);
      await add(buy, { status: 'awaiting' });
      await purchase('a', 'spawned', 'PENDING', 0);
      await purchase('b', 'spawning', 'FAILED', 0);
      await purchase('c', 'spawning', 'PENDING', null);
      await purchase('d', 'spawning', 'PENDING', 1);
      const set = await action('reserved', 0);
      assert.equal(await page(), 0n, 'one place is kept');
      assert.deepEqual(sent, []);
      await purchase('e', 'spawning', 'PENDING', 0);
      assert.equal(await page(), 1n, 'and another for a card');
      assert.equal(sent.length, 1, 'the next page is made');
      for (const status of ['awaiting', 'signed']) {
        await set(status);
        assert.equal(await page(), 1n, status);
      }
      await set('completed');
      assert.equal(await page(), 0n);
    });

    it('that others have made meanwhile is taken as it is then', async () => {
      const { context, script, sent } = await scriptedActions(await open(namesLedgerMigrations));
      script.outcome = 'confirmed';
      assert.equal((await openRoom(context, owner)).made, true);
      assert.equal(sent.length, 1);
      let reads = 0;
      script.account = (address) => {
        if (isListOf(owner, address)) reads += 1;
        return reads > 1 ? listAt(owner, address) : undefined;
      };
      script.outcome = 'pending';
      script.refusal = { InstructionError: [0, { Custom: 0 }] };
      const { room, made } = await openRoom(context, owner);
      assert.deepEqual([room.place.page, room.prepare, made, reads], [0n, [], false, 2]);
    });

    it('that cannot be made is tried for four times with pauses, and not again where that is not known', async () => {
      const { context, script, sent } = await scriptedActions(await open(namesLedgerMigrations));
      await assert.rejects(openRoom(context, owner), ChainUnavailable);
      assert.equal(sent.length, 1);
      script.refusal = { InstructionError: [0, { Custom: 1 }] };
      let tries = 0;
      script.before = (method) => {
        if (method === 'send') tries += 1;
      };
      const from = performance.now();
      await assert.rejects(
        openRoom(context, owner),
        (error: unknown) => error instanceof NamesError && /cannot pay for names/.test(error.message),
      );
      assert.equal(tries, 4);
      assert.ok(performance.now() - from > 4 * 140);
    });
  });
});

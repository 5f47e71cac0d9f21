/** What was left unfinished, and how it goes on by what the chain says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import {
  buy,
  extend,
  funds,
  leased,
  otherToken,
  owner,
  payer,
  price,
  scriptedActions,
  signed,
  token,
} from '../../../test/support/scripted-actions.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { ActionRequest } from '../requests/action.ts';
import { reconcileActions } from './reconcile.ts';
import { beforeOf, insertAction } from './store.ts';

const minute = 60_000;
const hour = 60 * minute;
const setRecord: ActionRequest = {
  ...{ action: 'set-record', antId: token, owner, undername: '@', transactionId: 'x', ttlSeconds: 60 },
};

forEachEngine((_engine, open) => {
  const start = async () => {
    const scripted = await scriptedActions(await open(namesLedgerMigrations));
    const { context, read } = scripted;
    return {
      ...scripted,
      /** One round over everything, whatever its age; answers how the action stands then. */
      round: async ({ nonce }: { readonly nonce: string }) => {
        await reconcileActions(context, 0);
        return read(nonce);
      },
    };
  };

  describe('what was left unfinished', () => {
    it('is left to the request that may still be at work on it for a minute after its last step', async () => {
      const { context, script, add, read } = await start();
      const { now } = script;
      const young = await add(extend, { updatedAt: now - minute + 1 });
      const old = await add(extend, { updatedAt: now - minute });
      // A clock that was ahead by no more than clocks differ, and one that was wrong.
      const ahead = await add(extend, { updatedAt: now + hour });
      const wrong = await add(extend, { updatedAt: now + hour + 1 });
      await reconcileActions(context);
      const statuses = [young, old, ahead, wrong].map(async ({ nonce }) => (await read(nonce)).status);
      assert.deepEqual(await Promise.all(statuses), ['reserved', 'failed', 'reserved', 'failed']);
    });

    it('is all gone through, however much it is', async () => {
      const { context, add, read } = await start();
      const first = await add(setRecord, { status: 'awaiting' });
      const last = 'bbbbbbbb-0000-4000-8000-000000000000';
      await add(setRecord, { status: 'awaiting', nonce: last });
      // More than are read at once lie before it; their owners have yet to sign.
      await context.sql.transaction(async (tx) => {
        for (let n = 100; n < 300; n += 1) {
          const nonce = `aaaaaaaa-0000-4000-9000-000000000${n}`;
          const columns = {
            ...{ nonce, payer, payer_type: 'solana', payer_nonce: nonce, winc: '1', mtoken: '5' },
            ...{ token_winc: '0', owner_signs: 1, owner_first: 0, expires_at: context.now() },
          };
          await insertAction(tx, setRecord, columns, context.now());
        }
        await tx.run("UPDATE arns_action SET status = 'awaiting'");
      });
      const held: string[] = [];
      const locks = Object.assign(Object.create(null), {
        hold: (key: string, work: () => Promise<void>) => {
          held.push(key);
          return work();
        },
      });
      await reconcileActions({ ...context, locks }, 0);
      assert.equal(held.length, 202);
      assert.equal(new Set(held).size, 202, 'each once');
      assert.equal(held.at(-1), `sign ${last}`);
      assert.equal((await read(first.nonce)).status, 'awaiting');
    });

    it('holds up no other where it cannot be finished', async () => {
      const { context, script, add, read, lines } = await start();
      const broken = await add(extend, { status: 'spawned' });
      const next = await add(extend);
      await reconcileActions(context, 0);
      assert.equal((await read(next.nonce)).status, 'failed');
      const kept = () => lines.filter(({ msg }) => msg === 'an action stays open').at(-1);
      assert.deepEqual([kept()?.nonce, kept()?.level], [broken.nonce, 'error'], 'a fault of the program');
      script.isAway = true;
      const waiting = await add(buy, { status: 'spawned', antId: token });
      await reconcileActions(context, 0);
      assert.deepEqual([kept()?.nonce, kept()?.level], [waiting.nonce, 'debug'], 'the chain is away');
      assert.equal((await read(waiting.nonce)).status, 'spawned');
    });

    it('before anything was handed out or sent, is paid back', async () => {
      const { add, round, balance, sent } = await start();
      const ended = await round(await add(extend));
      assert.deepEqual(
        [ended.status, ended.failedReason],
        ['failed', 'The service was interrupted before it acted'],
      );
      assert.equal(await balance(), funds);
      assert.deepEqual(sent, []);
    });

    it('of the service alone ends by what the chain says', async () => {
      const { add, round, script } = await start();
      const action = await add(extend, { status: 'sending', service: signed('s'), before: beforeOf(leased) });
      assert.equal((await round(action)).status, 'sending');
      script.outcome = 'confirmed';
      assert.equal((await round(action)).status, 'completed');
    });

    it('by its owner waits for the chain: what was signed is sent again, what was not is left', async () => {
      const { add, round, script, sent, balance, lines } = await start();
      const owned = signed('o');
      const bare = await add(setRecord, { status: 'awaiting' });
      const waiting = await add(setRecord, { status: 'awaiting', owned });
      assert.equal((await round(bare)).status, 'awaiting');
      assert.equal((await round(waiting)).status, 'awaiting');
      assert.deepEqual(sent, []);
      assert.ok(lines.every(({ level }) => level !== 'error'));
      const given = await add(setRecord, { status: 'signed', owned });
      assert.equal((await round(given)).status, 'signed');
      assert.deepEqual(sent, [owned.wire]);
      script.outcome = 'confirmed';
      const done = await round(waiting);
      assert.deepEqual([done.status, done.messageId], ['completed', 'o']);
      assert.equal((await round(given)).status, 'completed');
      script.outcome = 'failed';
      const failed = await round(await add(setRecord, { status: 'signed', owned }));
      assert.deepEqual(
        [failed.status, failed.failedReason],
        ['failed', 'The transaction failed on the chain'],
      );
      script.outcome = 'dead';
      const late = await round(await add(setRecord, { status: 'signed', owned, ownerFirst: true }));
      assert.deepEqual(
        [late.status, late.failedReason],
        ['expired', 'The transaction was not signed in time'],
      );
      assert.equal(await balance(), funds - 3n * price, 'three are done, or stay open');
    });

    it('whose owner signs first may be signed up to its deadline, though its transaction is dead', async () => {
      const { add, round, script, context } = await start();
      script.outcome = 'dead';
      const { lifeMs } = context.settings;
      const waiting = (expiresAt: number, ownerFirst = true) =>
        add(setRecord, { status: 'awaiting', owned: signed('o'), ownerFirst, expiresAt });
      assert.equal((await round(await waiting(script.now))).status, 'awaiting');
      assert.equal((await round(await waiting(script.now - 1))).status, 'expired');
      assert.equal((await round(await waiting(script.now + 1, false))).status, 'expired');
      // A deadline that no clock gave which was right is none.
      assert.equal((await round(await waiting(script.now + lifeMs + hour))).status, 'awaiting');
      assert.equal((await round(await waiting(script.now + lifeMs + hour + 1))).status, 'expired');
    });

    it('with its token made is registered up to its deadline, one try at a time', async () => {
      const { add, round, script, sent, balance, read, context } = await start();
      const spawned = (kept = {}) =>
        add(buy, { status: 'spawned', antId: token, owned: signed('o'), ...kept });
      // A try that may still be confirmed is waited for, also after the deadline.
      const tried = await spawned({ service: signed('s'), expiresAt: script.now - 1 });
      assert.equal((await round(tried)).status, 'spawned');
      assert.deepEqual(sent, []);
      script.outcome = 'dead';
      const late = await round(tried);
      assert.deepEqual(
        [late.status, late.failedReason],
        ['failed', 'The name could not be registered in time'],
      );
      assert.equal(await balance(), funds);
      script.outcome = 'pending';
      // At the deadline itself it is tried.
      const due = await spawned({ expiresAt: script.now });
      assert.equal((await round(due)).status, 'spawned');
      assert.equal(sent.length, 1);
      assert.notEqual((await read(due.nonce)).service, undefined);
      script.record = leased;
      const done = await round(due);
      assert.equal(done.status, 'completed');
      assert.equal(done.messageId, done.service?.signature);
      assert.equal((await round(await spawned())).messageId, 'o');
      assert.equal((await round(await add(buy, { status: 'spawned', antId: token }))).messageId, '');
      script.record = { ...leased, ant: otherToken };
      const lost = await round(await spawned({ tokenWinc: 300n }));
      assert.deepEqual([lost.status, lost.failedReason], ['failed', 'Name a-name already exists']);
      assert.equal(await balance(), funds - 3n * price - 300n, 'its token is paid for');
      assert.equal(sent.length, 1);
      assert.deepEqual((await context.credits.selfCheck()).problems, []);
    });
  });
});

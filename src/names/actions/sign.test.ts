/** What is brought to be signed: what is taken, what is made anew, and what becomes of the credits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesLedgerMigrations, ownerSigned } from '../../../test/support/names-bench.ts';
import {
  buy,
  funds,
  leased,
  otherToken,
  owner,
  price,
  scriptedActions,
  token,
} from '../../../test/support/scripted-actions.ts';
import { memo } from '../../formats/solana/system.ts';
import { parseTransaction, serializeTransaction } from '../../formats/solana/transaction.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { Plan } from '../chain/plan.ts';
import { NamesError } from '../errors.ts';
import { LockLost } from '../locks.ts';
import type { RecordRequest } from '../requests/action.ts';
import { signAction } from './sign.ts';
import type { Action } from './store.ts';

const change: RecordRequest = {
  ...{ action: 'set-record', antId: token, owner, undername: '@', transactionId: 'x', ttlSeconds: 60 },
};
const plan: Plan = { instructions: [memo('what the owner agrees to', owner)], owner };
/** Somebody else has made an account that it would make. */
const madeMeanwhile = { InstructionError: [0, { Custom: 0 }] };
const otherwise = { InstructionError: [0, { Custom: 77_777 }] };

const refused = (status: number, words: RegExp) => (error: unknown) =>
  error instanceof NamesError && error.status === status && words.test(error.message);
const reserved = refused(503, /credits are still reserved/);

const wireOf = ({ owned }: Action): string => owned?.wire.toString('base64') ?? assert.fail();
const signedBy = (action: Action, name = 'name owner') =>
  ownerSigned(wireOf(action), { ...wallet('name owner'), privateKey: wallet(name).privateKey });

forEachEngine((_engine, open) => {
  const start = async () => {
    const scripted = await scriptedActions(await open(namesLedgerMigrations));
    const { context, add, read } = scripted;
    return {
      ...scripted,
      /** An action that waits for its owner. */
      hand: (request: Parameters<typeof add>[0] = change, kept: Parameters<typeof add>[1] = {}) =>
        add(request, {
          ...{ status: 'awaiting', antId: token, owned: context.planner.sign(plan, '1'.repeat(32), 9) },
          ...kept,
        }),
      /** By default with the signature of the owner. */
      bring: (action: Action, transaction: unknown = signedBy(action), serviceFirst = false) =>
        signAction(context, action.nonce, { transaction, serviceFirst }),
      statusOf: async ({ nonce }: Action) => (await read(nonce)).status,
    };
  };

  describe('what its owner has signed', () => {
    it('is not sent where another process has ended the action meanwhile', async () => {
      const { hand, bring, script, sent, context } = await start();
      const action = await hand(change, { ownerFirst: true });
      script.height = 1;
      script.before = async (method) => {
        if (method === 'finalized') await context.sql.run("UPDATE arns_action SET status = 'failed'");
      };
      await assert.rejects(bring(action), refused(503, /still reserved/));
      assert.deepEqual(sent, []);
    });

    it('is sent with that signature, and done when the chain has it', async () => {
      const { hand, bring, script, sent, balance, read } = await start();
      const action = await hand();
      const stored: unknown[] = [];
      script.outcome = 'confirmed';
      script.before = async (method) => {
        if (method !== 'send') return;
        const { status, owned } = await read(action.nonce);
        stored.push(status, owned?.wire.toString('base64') === signedBy(action));
      };
      const done = await bring(action);
      assert.deepEqual([done.action.status, done.alreadyCompleted], ['completed', false]);
      assert.equal(done.action.messageId, action.owned?.signature);
      assert.deepEqual(stored, ['signed', true], 'a crash loses no signature');
      assert.deepEqual(
        sent.map((wire) => wire.toString('base64')),
        [signedBy(action)],
      );
      assert.equal(await balance(), funds - price);
      const again = await bring(action, 'anything');
      assert.deepEqual([again.action.status, again.alreadyCompleted], ['completed', true]);
      assert.equal(sent.length, 1);
    });

    it('is taken for what was handed out alone, by its owner alone', async () => {
      const { hand, bring, sent, statusOf } = await start();
      const action = await hand();
      const { signatures, messageBytes } = parseTransaction(action.owned?.wire ?? assert.fail());
      const altered = Buffer.from(messageBytes);
      altered.write('nothing', altered.indexOf('what the owner'));
      const other = serializeTransaction(signatures, altered).toString('base64');
      const wrong = [
        ...[5, null, '', 'A'.repeat(1_645)].map(
          (text) => [text, /^transaction must be the base64 wire/] as const,
        ),
        ...['A'.repeat(1_644), 'garbage', ownerSigned(other, wallet('name owner'))].map(
          (text) =>
            [text, /^transaction is not the one that was handed out: sign it without changing it$/] as const,
        ),
        ...[wireOf(action), signedBy(action, 'somebody')].map(
          (text) => [text, /^transaction does not carry the owner's signature$/] as const,
        ),
      ] as const;
      for (const [text, words] of wrong) await assert.rejects(bring(action, text), refused(400, words));
      await assert.rejects(
        signAction((await start()).context, action.nonce, { transaction: 'x', serviceFirst: false }),
        refused(404, /./),
      );
      assert.deepEqual([await statusOf(action), sent], ['awaiting', []]);
      const first = await hand(change, { ownerFirst: true });
      await assert.rejects(
        bring(first, 'garbage'),
        refused(400, /ask for it here with signOrder service-first/),
      );
    });

    it('is refused when it is over, and waited for where nothing was handed out', async () => {
      const { hand, bring, add, script, sent, statusOf } = await start();
      for (const status of ['failed', 'expired'])
        await assert.rejects(bring(await hand(change, { status })), refused(400, /expired and was refunded/));
      await assert.rejects(bring(await add(change), 'x'), reserved);
      const late = await hand(change, { expiresAt: script.now - 1 });
      await assert.rejects(bring(late), refused(400, /expired at .* its blockhash is no longer valid/));
      assert.equal(await statusOf(late), 'awaiting', 'the owner may have sent it');
      assert.deepEqual(sent, []);
      script.outcome = 'confirmed';
      const inTime = await hand(change, { expiresAt: script.now });
      assert.equal((await bring(inTime)).action.status, 'completed');
    });

    it('stays open while it is not known what became of it, and asking again waits for it', async () => {
      const { hand, bring, script, sent, statusOf, balance } = await start();
      const action = await hand();
      await assert.rejects(bring(action), reserved);
      assert.equal(await statusOf(action), 'signed');
      script.refusal = 'BlockhashNotFound';
      await assert.rejects(bring(action, 'anything'), refused(503, /^Blockhash not found by the node yet/));
      script.refusal = otherwise;
      // The owner may still send it, once what is in its way is gone.
      await assert.rejects(bring(action), refused(400, /Custom, 77777/));
      assert.equal(await statusOf(action), 'signed');
      script.refusal = undefined;
      script.outcome = 'confirmed';
      const done = await bring(action, undefined);
      assert.deepEqual([done.action.status, done.alreadyCompleted], ['completed', false]);
      assert.ok(sent.every((wire) => wire.toString('base64') === signedBy(action)));
      assert.equal(await balance(), funds - price);
    });

    it('is paid back where the chain ran it in vain, or can run it no more', async () => {
      const { context, hand, bring, script, statusOf, balance } = await start();
      script.outcome = 'failed';
      const failed = await hand();
      await assert.rejects(bring(failed), refused(400, /./));
      assert.equal(await statusOf(failed), 'failed');
      script.outcome = 'dead';
      script.refusal = 'BlockhashNotFound';
      const late = await hand();
      await assert.rejects(
        bring(late),
        refused(409, /expired before it could be submitted.*have been returned/),
      );
      assert.equal(await statusOf(late), 'expired');
      assert.equal(await balance(), funds);
      // Ended by another process meanwhile: nothing is said of credits.
      const raced = await hand();
      script.before = async (method) => {
        if (method === 'lookUpStatus')
          await context.sql.run("UPDATE arns_action SET status = 'completed' WHERE nonce = ?", raced.nonce);
      };
      await assert.rejects(bring(raced), (error: unknown) => {
        assert.ok(error instanceof NamesError);
        assert.equal(error.status, 409);
        assert.doesNotMatch(error.message, /have been returned/);
        return true;
      });
    });
  });

  describe('a name whose owner signs', () => {
    it('is registered once its token is made', async () => {
      const { hand, bring, script, sent, settled, balance } = await start();
      script.outcome = 'confirmed';
      const { action } = await bring(await hand(buy));
      await settled();
      assert.deepEqual([action.status, action.messageId], ['completed', action.service?.signature]);
      assert.equal(sent.length, 3, 'the token, the name, the traits');
      assert.equal(await balance(), funds - price);
      const spawned = await hand(buy, { status: 'spawned' });
      assert.equal((await bring(spawned, undefined)).action.status, 'completed');
      await settled();
      assert.ok(!sent.slice(3).some((wire) => wire.equals(spawned.owned?.wire ?? assert.fail())));
    });

    it('and that is gone makes no token; the credits return when nobody can have it made any more', async () => {
      const { hand, bring, script, sent, statusOf, balance } = await start();
      script.record = { ...leased, ant: otherToken };
      const given = await hand(buy);
      await assert.rejects(bring(given), refused(400, /^Name a-name already exists$/));
      assert.equal(await statusOf(given), 'awaiting', 'its owner has all signatures');
      const first = await hand(buy, { ownerFirst: true });
      await assert.rejects(bring(first), refused(400, /^Name a-name already exists$/));
      assert.equal(await statusOf(first), 'failed');
      assert.equal(await balance(), funds - price);
      assert.deepEqual(sent, []);
      script.before = (method) => {
        script.isAway = method === 'name';
      };
      await assert.rejects(bring(await hand(buy)), reserved);
    });

    it('and that others register meanwhile is told to the signer', async () => {
      const { hand, bring, script, statusOf } = await start();
      script.outcome = 'confirmed';
      const action = await hand(buy);
      script.before = (method) => {
        if (method === 'status') script.record = { ...leased, ant: otherToken };
      };
      await assert.rejects(bring(action), refused(400, /^Name a-name already exists$/));
      assert.equal(await statusOf(action), 'failed');
    });
  });

  describe('what its owner signs first', () => {
    /** Another transaction than before, for the same action and the same credits. */
    const isAnew = (before: Action, after: Action) => {
      assert.deepEqual([after.status, after.nonce], ['awaiting', before.nonce]);
      assert.notEqual(wireOf(after), wireOf(before));
    };
    const first = { ownerFirst: true };

    it('is handed out as it is while it lives, and made anew when no block can hold it', async () => {
      const { hand, bring, script, context } = await start();
      const action = await hand(buy, first);
      const ask = (serviceFirst = false) =>
        signAction(context, action.nonce, { transaction: undefined, serviceFirst });
      script.height = 9;
      assert.equal(wireOf((await ask()).action), wireOf(action), 'one block may still hold it');
      assert.equal((await ask()).action.ownerFirst, true);
      script.height = 10;
      script.outcome = 'confirmed';
      const { action: anew, alreadyCompleted } = await ask();
      isAnew(action, anew);
      assert.equal(alreadyCompleted, false);
      const { action: late } = await bring(anew);
      isAnew(anew, late);
      script.height = 9;
      const given = (await ask(true)).action;
      assert.deepEqual([given.ownerFirst, wireOf(given)], [false, wireOf(late)]);
      await assert.rejects(ask(), refused(400, /must be the base64/), 'it has all signatures now');
      script.isAway = true;
      await assert.rejects(bring(await hand(buy, first)), reserved);
    });

    it('is made anew for a record as for a name, and not by a process that lost its subject meanwhile', async () => {
      const { hand, script, context, read } = await start();
      script.height = 10;
      const action = await hand(change, first);
      const ask = () => signAction(context, action.nonce, { transaction: undefined, serviceFirst: false });
      script.before = async (method) => {
        if (method === 'latestBlockhash')
          await context.sql.run("UPDATE arns_locks SET holder = 'another' WHERE name = ?", `ant ${token}`);
      };
      await assert.rejects(ask(), LockLost);
      assert.equal(wireOf(await read(action.nonce)), wireOf(action));
      await context.sql.run('DELETE FROM arns_locks');
      script.before = () => {};
      isAnew(action, (await ask()).action);
    });

    it('is not asked whether it is dead where the owner has all signatures', async () => {
      const { hand, bring, script } = await start();
      script.height = 10;
      script.outcome = 'confirmed';
      assert.equal((await bring(await hand(buy))).action.status, 'completed');
    });

    it('is made anew where it was in vain and had no effect, up to its deadline', async () => {
      const { hand, bring, script, statusOf, settled } = await start();
      const vain = async (kept = {}, request: Parameters<typeof hand>[0] = buy) => {
        const action = await hand(request, { ...first, ...kept });
        script.height = script.outcome === 'dead' ? undefined : 9;
        // Once it is known to be in vain, whatever is made for the next one goes well.
        const { outcome, refusal } = script;
        script.before = (method) => {
          if (method !== 'accounts') return;
          script.refusal = undefined;
          script.outcome = 'confirmed';
        };
        const brought = await bring(action).catch((error: unknown) => error);
        Object.assign(script, { outcome, refusal, before: () => {} });
        return { action, brought };
      };
      const anew = async (kept = {}) => {
        const { action, brought } = await vain(kept);
        assert.ok(typeof brought === 'object' && brought !== null && 'action' in brought, String(brought));
        isAnew(action, brought.action as Action);
      };
      script.refusal = madeMeanwhile;
      await anew();
      await anew({ expiresAt: script.now });
      // What was refused later than at the first try may have been sent: it is asked for again until it is dead.
      const again = await vain({ status: 'signed' });
      assert.ok(refused(503, /still reserved/)(again.brought));
      assert.equal(await statusOf(again.action), 'signed');
      const given = await vain({ ownerFirst: false });
      assert.ok(refused(400, /was quicker/)(given.brought));
      script.refusal = otherwise;
      assert.ok(refused(400, /Custom, 77777/)((await vain()).brought));
      // It was taken, and ran into what others had made meanwhile.
      script.refusal = undefined;
      script.outcome = 'failed';
      script.failure = madeMeanwhile;
      await anew();
      assert.equal(await statusOf((await vain({ ownerFirst: false })).action), 'failed');
      script.failure = otherwise;
      assert.equal(await statusOf((await vain()).action), 'failed');
      script.refusal = 'BlockhashNotFound';
      script.outcome = 'dead';
      await anew({ status: 'signed' });
      const over = await vain({ status: 'signed', expiresAt: script.now - 1 });
      assert.ok(refused(409, /have been returned/)(over.brought));
      await settled();
    });
  });
});

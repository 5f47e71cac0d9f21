/** What an action does on the chain, and what becomes of it and of its credits by what the chain says. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import {
  buy,
  extend,
  funds,
  isListOf,
  leased,
  listAt,
  otherToken,
  owner,
  payer,
  price,
  scriptedActions,
  service,
  signed,
  token,
} from '../../../test/support/scripted-actions.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { namePrograms } from '../../formats/solana/programs.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import type { AntState } from '../../registry/name-registry.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { Builders, Plan } from '../chain/plan.ts';
import { registryPlan, traitsPlan } from '../chain/plan-purchase.ts';
import { sponsorEmpty } from '../errors.ts';
import { takeBackCustody, writeReceipt } from '../receipts.ts';
import type { ActionRequest, BuyRequest } from '../requests/action.ts';
import {
  authorityWork,
  performAlone,
  prepare,
  registerName,
  settleAlone,
  spawnWork,
  subjectOf,
} from './perform.ts';
import { beforeOf } from './store.ts';

const before = beforeOf(leased);
const reserved = /credits are still reserved/;
const away = /^The name chain is unavailable$/;
/** Of a program that has no such error. */
const refusal = { InstructionError: [2, { Custom: 77_777 }] };
const inWords = /^The chain refused the transaction \(Custom, 77777\)$/;

/** What the transaction that writes the traits carries. */
const traitsOf = (build: Builders): Buffer =>
  Buffer.from(traitsPlan(build, token, 'a-name').instructions[0]?.data ?? assert.fail());

const saying = (words: RegExp) => (error: unknown) => error instanceof Error && words.test(error.message);

test('one name, or one token, is acted on at a time', () => {
  assert.deepEqual([subjectOf(buy), subjectOf(extend)], ['name a-name', 'name a-name']);
  const change: ActionRequest = { action: 'transfer', antId: token, owner, target: service.address };
  assert.equal(subjectOf(change), `ant ${token}`);
});

forEachEngine((_engine, open) => {
  const start = async () => {
    const scripted = await scriptedActions(await open(namesLedgerMigrations));
    const { context } = scripted;
    const plan = registryPlan(await context.builders(), extend, null);
    return {
      ...scripted,
      plan,
      /** As a request does it, with the lock of what the action is about. */
      perform: (action: Parameters<typeof performAlone>[1], what: Plan = plan) =>
        context.locks.hold(subjectOf(action.request), () => performAlone(context, action, what)),
    };
  };

  describe('what the service does alone', () => {
    it('is stored before it is sent, and done when the chain has it', async () => {
      const { add, read, perform, script, sent, balance } = await start();
      script.outcome = 'confirmed';
      const action = await add(extend, { before });
      const seen: unknown[] = [];
      script.before = async (method) => {
        if (method === 'send') seen.push((await read(action.nonce)).status);
      };
      const done = await perform(action);
      assert.deepEqual(seen.slice(0, 1), ['sending']);
      assert.deepEqual([done.status, done.messageId], ['completed', done.service?.signature]);
      assert.deepEqual(sent[0], done.service?.wire);
      assert.equal(await balance(), funds - price);
    });

    it('is not sent where it was ended meanwhile, or its subject went to another process', async () => {
      const { context, add, read, perform, script, sent, plan, balance } = await start();
      const ended = await add(extend);
      script.before = async (method) => {
        if (method !== 'latestBlockhash') return;
        await context.sql.run("UPDATE arns_action SET status = 'failed' WHERE nonce = ?", ended.nonce);
      };
      await assert.rejects(perform(ended), saying(/still on its way/));
      script.before = () => {};
      const unheld = await add(extend);
      await assert.rejects(performAlone(context, unheld, plan), saying(/still on its way/));
      assert.equal((await read(unheld.nonce)).status, 'failed');
      assert.deepEqual(sent, []);
      assert.equal(await balance(), funds - price, 'of the first whoever ended it pays back');
    });

    it('is left to the next round where the database fails before it is sent', async () => {
      const { context, add, read, sent, plan } = await start();
      const action = await add(extend);
      let fails = true;
      const sql = Object.assign(Object.create(null), {
        transaction: (work: Parameters<typeof context.sql.transaction>[0]) => {
          if (!fails) return context.sql.transaction(work);
          fails = false;
          return Promise.reject(new Error('a full disk'));
        },
        get: context.sql.get.bind(context.sql),
        all: context.sql.all.bind(context.sql),
      });
      await assert.rejects(performAlone({ ...context, sql }, action, plan), /^Error: a full disk$/);
      assert.equal((await read(action.nonce)).status, 'reserved');
      assert.deepEqual(sent, []);
    });

    it('is paid back where the chain is away before it is sent', async () => {
      const { add, read, perform, script, sent, balance } = await start();
      const action = await add(extend);
      script.before = (method) => {
        script.isAway = method === 'latestBlockhash';
      };
      await assert.rejects(perform(action), saying(away));
      const { status, failedReason } = await read(action.nonce);
      assert.deepEqual([status, failedReason], ['failed', 'The name chain was unavailable']);
      assert.equal(await balance(), funds);
      assert.deepEqual(sent, []);
    });

    it('hands no token over that was taken back from its buyer', async () => {
      const { context, add, read, perform, script, sent, plan } = await start();
      const transfer: ActionRequest = {
        ...{ action: 'transfer', antId: token, owner: service.address, target: owner },
      };
      const receipt = {
        reference: 'r',
        name: 'a-name',
        antId: token,
        intent: 'Buy-Name',
        payer,
        purchasedAt: 1,
      };
      await context.sql.transaction((tx) => writeReceipt(tx, { ...receipt, custody: 'buyer' }));
      script.outcome = 'confirmed';
      // The card takes its money back after the action was checked.
      script.before = async (method) => {
        if (method === 'latestBlockhash')
          await context.sql.transaction((tx) => takeBackCustody(tx, receipt.reference));
      };
      const late = await add(transfer);
      await assert.rejects(perform(late, plan), saying(/only its buyer may transfer it/));
      assert.equal((await read(late.nonce)).status, 'failed');
      assert.deepEqual(sent, []);
      script.before = () => {};
      await context.sql.transaction((tx) =>
        writeReceipt(tx, { ...receipt, reference: 'again', custody: 'buyer' }),
      );
      assert.equal((await perform(await add(transfer), plan)).status, 'completed');
    });

    it('ends by what became of it; what is not known is decided by nobody', async () => {
      const { context, add, read, script, plan, balance } = await start();
      const transaction = { ...context.planner.sign(plan, '1'.repeat(32), 9), signature: 's' };
      const sending = () => add(extend, { status: 'sending', service: transaction, before });
      const settle = async (time: 'first' | 'again') => {
        const action = await sending();
        const error = await settleAlone(context, action, transaction, time).then(
          () => undefined,
          (failure: unknown) => failure,
        );
        const { status, failedReason } = await read(action.nonce);
        return [error instanceof Error ? error.message : error, status, failedReason];
      };
      const first = await settle('first');
      assert.match(String(first[0]), reserved);
      assert.equal(first[1], 'sending');
      // Refused at the first try it was never sent; later its own effect may be in the way.
      script.refusal = refusal;
      const again = await settle('again');
      assert.match(String(again[0]), reserved);
      assert.equal(again[1], 'sending');
      const refused = await settle('first');
      assert.match(String(refused[0]), inWords);
      assert.deepEqual(refused.slice(1), ['failed', refused[0]]);
      script.refusal = undefined;
      script.outcome = 'failed';
      assert.deepEqual((await settle('again')).slice(1, 2), ['failed']);
      assert.equal(await balance(), funds - 2n * price);
      script.outcome = 'dead';
      script.refusal = 'BlockhashNotFound';
      script.record = leased;
      const lost = await settle('first');
      assert.match(String(lost[0]), away);
      assert.deepEqual(lost.slice(1), ['failed', 'The transaction did not land in time']);
      script.record = { ...leased, end: 9e9 };
      assert.deepEqual(await settle('first'), [undefined, 'completed', null]);
      script.before = (method) => {
        script.isAway = method === 'name';
      };
      const unread = await settle('first');
      assert.match(String(unread[0]), reserved);
      assert.equal(unread[1], 'sending');
    });

    it('says in the traits of its token that a name became permanent or wider', async () => {
      const { context, add, script, sent, settled, lines } = await start();
      script.outcome = 'confirmed';
      const traits = traitsOf(await context.builders());
      const writes = async (request: ActionRequest, kept = {}) => {
        sent.length = 0;
        await settleAlone(context, await add(request, { status: 'sending', ...kept }), signed('s'), 'first');
        await settled();
        return sent.filter((wire) => wire.includes(traits)).length;
      };
      const upgrade: ActionRequest = { action: 'upgrade-name', name: 'a-name' };
      const widen: ActionRequest = { action: 'increase-undername-limit', name: 'a-name', quantity: 1 };
      assert.equal(await writes(upgrade, { before }), 1);
      assert.equal(await writes(widen, { before }), 1);
      assert.equal(await writes(extend, { before }), 0);
      assert.equal(await writes(upgrade), 0);
      const unwritten = () => lines.filter(({ msg }) => msg === 'traits were not written').length;
      assert.equal(unwritten(), 0);
      // The name is permanent all the same.
      script.before = (method) => {
        if (method === 'latestBlockhash') script.outcome = 'failed';
      };
      assert.equal(await writes(widen, { before }), 1);
      assert.equal(unwritten(), 1);
    });
  });

  describe('what an owner is to sign', () => {
    it('is stored once the chain would take it, else all is paid back', async () => {
      const { context, add, read, script, plan, balance } = await start();
      const work = { plan: { ...plan, owner }, antId: token };
      const change: ActionRequest = {
        ...{ action: 'set-record', antId: token, owner, undername: '@', transactionId: 'x', ttlSeconds: 60 },
      };
      const hand = (action: Parameters<typeof prepare>[1], what: { plan: Plan }) =>
        context.locks.hold(subjectOf(change), () =>
          prepare(context, action, { work: what, again: async () => what }, 0n),
        );
      const given = await hand(await add(change), work);
      assert.deepEqual([given.status, given.antId], ['awaiting', token]);
      assert.notEqual(given.owned, undefined);
      const alone = await add(change);
      await assert.rejects(hand(alone, { plan }), saying(/no longer needs the signature of the owner/));
      assert.match((await read(alone.nonce)).failedReason ?? '', /no longer needs/);
      const unheld = await add(change);
      await assert.rejects(
        prepare(context, unheld, { work, again: async () => work }, 0n),
        saying(/still on its way/),
      );
      assert.equal((await read(unheld.nonce)).failedReason, 'The action could not be prepared');
      script.isAway = true;
      const late = await add(change);
      await assert.rejects(hand(late, work), saying(away));
      assert.equal((await read(late.nonce)).failedReason, 'The name chain was unavailable');
      assert.equal(await balance(), funds - price);
    });
  });

  describe('what the chain would not take yet', () => {
    const change: ActionRequest = {
      ...{ action: 'set-record', antId: token, owner, undername: '@', transactionId: 'x', ttlSeconds: 60 },
    };
    /** Somebody else makes an account meanwhile that it would make. */
    const madeMeanwhile = { InstructionError: [0, { Custom: 0 }] };
    const begin = async () => {
      const scripted = await start();
      const { context, plan } = scripted;
      const work = { plan: { ...plan, owner } };
      return {
        ...scripted,
        work,
        hand: (action: Parameters<typeof prepare>[1], again: () => Promise<{ plan: Plan }>) =>
          context.locks.hold(subjectOf(change), () => prepare(context, action, { work, again }, 0n)),
      };
    };

    it('is planned again from what the chain has by then, after a pause', async () => {
      const { context, add, hand, script } = await begin();
      const other = {
        plan: { ...registryPlan(await context.builders(), { ...extend, years: 2 }, null), owner },
      };
      script.simulation = madeMeanwhile;
      const from = performance.now();
      let plans = 1;
      const given = await hand(await add(change), async () => {
        plans += 1;
        if (plans === 4) script.simulation = null;
        return other;
      });
      assert.deepEqual([given.status, plans], ['awaiting', 4]);
      assert.ok(performance.now() - from > 3 * 140);
      const data = Buffer.from(other.plan.instructions[0]?.data ?? assert.fail());
      assert.ok(given.owned?.wire.includes(data));
    });

    it('is paid back where it is still so the fourth time, or for any other reason', async () => {
      const { add, hand, script, read, work, balance } = await begin();
      script.simulation = madeMeanwhile;
      let plans = 1;
      const tired = await add(change);
      const again = async () => {
        plans += 1;
        return work;
      };
      await assert.rejects(hand(tired, again), saying(/was quicker/));
      assert.equal(plans, 4);
      assert.match((await read(tired.nonce)).failedReason ?? '', /was quicker/);
      script.simulation = refusal;
      await assert.rejects(hand(await add(change), again), saying(inWords));
      assert.equal(plans, 4);
      script.simulation = madeMeanwhile;
      const empty = await add(change);
      await assert.rejects(
        hand(empty, () => Promise.reject(sponsorEmpty())),
        saying(/cannot pay for names/),
      );
      assert.equal((await read(empty.nonce)).failedReason, 'The action could not be prepared');
      assert.equal(await balance(), funds);
    });
  });

  describe('a token that is handed over', () => {
    it('leaves the lists of its controllers where that fits, and is handed over where it does not', async () => {
      const { context, script } = await start();
      const friend = wallet('controller').address;
      const asked = new Set<SolanaAddress>();
      script.account = (address) => {
        for (const user of [owner, friend, otherToken]) if (isListOf(user, address)) asked.add(user);
        return (
          listAt(owner, address, [
            { asset: token, role: 'owner' },
            { asset: token, role: 'controller' },
          ]) ?? listAt(friend, address, [{ asset: token, role: 'controller' }])
        );
      };
      const ant: AntState = Object.assign(Object.create(null), {
        ...{ asset: token, owner, program: namePrograms.mainnet.ant, controllers: [owner, friend] },
      });
      const request = { antId: token, owner, target: otherToken } as const;
      const build = await context.builders();
      const removals = [owner, friend].map((user) =>
        build.ant.aclEntry('removeAclController', token, { user, page: 0n }, build.service),
      );
      const tidied = ({ plan }: { readonly plan: Plan }) =>
        removals.filter((one) => plan.instructions.some((other) => isDeepStrictEqual(one, other))).length;
      const work = await authorityWork(context, { ...request, action: 'transfer' }, ant);
      assert.deepEqual([tidied(work), work.plan.owner], [2, owner]);
      assert.deepEqual(asked, new Set([otherToken, owner, friend]));
      const planner = Object.assign(Object.create(null), { fits: () => false });
      assert.equal(
        tidied(await authorityWork({ ...context, planner }, { ...request, action: 'transfer' }, ant)),
        0,
      );
      asked.clear();
      await authorityWork(context, { ...request, action: 'add-controller' }, ant);
      assert.deepEqual(asked, new Set([otherToken, owner]), 'what is not needed is not asked for');
    });
  });

  describe('the token of a bought name', () => {
    /** The longest that fits, with the list of its owner made before. */
    const long = { ...buy, name: 'y'.repeat(51), opening: { description: 'd'.repeat(69) } };
    const begin = async () => {
      const scripted = await start();
      const { context, add, script } = scripted;
      script.outcome = 'confirmed';
      const again = () => assert.fail('it is planned from what the chain has');
      return {
        ...scripted,
        hand: async (request: BuyRequest) => {
          const action = await add(request);
          const work = await spawnWork(context, request);
          const given = await context.locks.hold(subjectOf(request), () =>
            prepare(context, action, { work, again }, 40n),
          );
          assert.equal(given.status, 'awaiting');
          return { ...given, work };
        },
      };
    };

    it('is made with the list of its owner where both fit: nothing is spent before the owner signs', async () => {
      const { hand, sent, context } = await begin();
      const { work, keptWinc, owned, nonce } = await hand(buy);
      assert.equal(work.firstForOwner, undefined);
      assert.equal(keptWinc, 0n);
      assert.equal(sent.length, 1, 'the place in the list of the service');
      assert.ok((owned?.wire.length ?? 0) > 0);
      const row = await context.sql.get('SELECT list_page FROM arns_action WHERE nonce = ?', nonce);
      assert.deepEqual(row, { list_page: 0 });
    });

    it('has the list of its owner made before where both do not fit, which is not paid back', async () => {
      const { hand, sent } = await begin();
      const { work, keptWinc } = await hand(long);
      assert.equal(work.firstForOwner, true);
      assert.equal(keptWinc, 40n);
      assert.equal(sent.length, 2);
    });

    it('is not charged for a list that is there, or that somebody else has made meanwhile', async () => {
      const there = await begin();
      there.script.account = (address) => listAt(long.owner, address);
      const { work, keptWinc } = await there.hand(long);
      assert.deepEqual([work.firstForOwner ?? false, keptWinc, there.sent.length], [false, 0n, 1]);
      const meanwhile = await begin();
      // It was not there when the purchase was checked, nor when it was planned.
      let reads = 0;
      meanwhile.script.account = (address) => {
        if (isListOf(long.owner, address)) reads += 1;
        return reads > 2 ? listAt(long.owner, address) : undefined;
      };
      const late = await meanwhile.hand(long);
      assert.deepEqual([late.work.firstForOwner, late.keptWinc, meanwhile.sent.length], [true, 0n, 1]);
    });

    it('is not promised a place of the list of the service that went to another process', async () => {
      const { context, add, script, read, balance } = await begin();
      script.before = async (method) => {
        if (method === 'send')
          await context.sql.run("UPDATE arns_locks SET holder = 'another' WHERE name = 'service list'");
      };
      const action = await add(buy);
      const work = await spawnWork(context, buy);
      await assert.rejects(
        context.locks.hold(subjectOf(buy), () =>
          prepare(context, action, { work, again: () => assert.fail() }, 40n),
        ),
        saying(/still on its way/),
      );
      assert.equal((await read(action.nonce)).status, 'failed');
      assert.equal(await balance(), funds);
      const row = await context.sql.get('SELECT list_page FROM arns_action WHERE nonce = ?', action.nonce);
      assert.deepEqual(row, { list_page: null });
    });

    it('that does not fit in any case is refused with what would help', async () => {
      const { context } = await begin();
      const opening = { description: 'd'.repeat(70) };
      await assert.rejects(
        spawnWork(context, { ...long, opening }),
        saying(/^antState does not fit: the transaction is 1233 bytes, 1 over Solana's 1232-byte limit/),
      );
    });
  });

  describe('a name whose token is made', () => {
    const spawned = { status: 'spawned', antId: token, owned: signed('o'), tokenWinc: 300n } as const;

    it('is registered, and its token says so', async () => {
      const { context, add, script, sent, settled, balance } = await start();
      script.outcome = 'confirmed';
      const done = await registerName(context, await add(buy, spawned));
      await settled();
      assert.deepEqual([done.status, done.messageId], ['completed', done.service?.signature]);
      const traits = traitsOf(await context.builders());
      assert.deepEqual(
        sent.map((wire) => wire.includes(traits)),
        [false, true],
      );
      assert.equal(await balance(), funds - price);
      await assert.rejects(registerName(context, await add(extend)), saying(/not a purchase/));
      await assert.rejects(registerName(context, await add(buy)), saying(/not a purchase/));
    });

    it('is not paid for again where the chain has it, nor where it was ended meanwhile', async () => {
      const { context, add, script, sent } = await start();
      script.record = leased;
      assert.equal((await registerName(context, await add(buy, spawned))).messageId, 'o');
      const tried = await add(buy, { ...spawned, service: signed('s') });
      assert.equal((await registerName(context, tried)).messageId, 's');
      script.record = undefined;
      const ended = await add(buy, spawned);
      await context.sql.run("UPDATE arns_action SET status = 'completed' WHERE nonce = ?", ended.nonce);
      assert.equal((await registerName(context, ended)).status, 'completed');
      assert.deepEqual(sent, []);
    });

    it('stays open while it is not known, or can be tried again', async () => {
      const { context, add, read, script, balance } = await start();
      const action = await add(buy, spawned);
      await assert.rejects(registerName(context, action), saying(reserved));
      // It was signed for, and died before any node took it.
      script.refusal = 'BlockhashNotFound';
      script.outcome = 'dead';
      await assert.rejects(registerName(context, await read(action.nonce)), saying(away));
      assert.equal((await read(action.nonce)).status, 'spawned');
      script.before = (method) => {
        if (method === 'lookUpStatus') script.isAway = true;
      };
      await assert.rejects(registerName(context, await read(action.nonce)), Error);
      assert.equal((await read(action.nonce)).status, 'spawned');
      assert.equal(await balance(), funds - price);
    });

    it('that is refused is done where it has its effect, lost where others have it, else paid back', async () => {
      const { context, add, script, balance } = await start();
      script.refusal = refusal;
      const appears = (record: typeof leased | undefined) => {
        script.record = undefined;
        script.before = (method) => {
          if (method === 'send') script.record = record;
        };
      };
      appears(leased);
      assert.equal((await registerName(context, await add(buy, spawned))).status, 'completed');
      appears({ ...leased, ant: otherToken });
      const lost = await registerName(context, await add(buy, spawned));
      assert.deepEqual(
        [lost.status, lost.failedReason, lost.keptWinc],
        ['failed', 'Name a-name already exists', 300n],
      );
      assert.equal(await balance(), funds - price - 300n);
      appears(undefined);
      const refused = await registerName(context, await add(buy, spawned));
      assert.equal(refused.status, 'failed');
      assert.match(refused.failedReason ?? '', inWords);
      assert.equal(await balance(), funds - price - 300n);
      assert.deepEqual((await context.credits.selfCheck()).problems, []);
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import {
  token as ant,
  buy,
  extend,
  funds,
  leased,
  otherToken as other,
  owner,
  payer,
  price,
  scriptedActions,
  service,
  signed,
} from '../../../test/support/scripted-actions.ts';
import { toldWallets } from '../../events/testing-wallets.ts';
import type { ArnsRecord } from '../../formats/solana/accounts-arns.ts';
import { yearSeconds as year } from '../../formats/solana/name-prices.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { custodialPayer, writeReceipt } from '../receipts.ts';
import type { ActionRequest, RecordRequest, TokenRequest } from '../requests/action.ts';
import { complete, giveUp, isEffectOnChain, requireSettled, settleSent } from './finish.ts';
import { advance, beforeOf } from './store.ts';

/** Whether a purchase is taken to have happened where the chain had `before`, and has `after` now. */
function isDone(
  request: ActionRequest,
  after: Partial<ArnsRecord> | undefined,
  before: ArnsRecord | 'unknown' = leased,
): Promise<boolean> {
  const record = after === undefined ? undefined : { ...leased, ...after };
  const registry = { name: async () => ({ record, returned: undefined, reserved: undefined }) };
  return isEffectOnChain(registry, {
    request,
    antId: ant,
    before: before === 'unknown' ? undefined : beforeOf(before),
  });
}

test('a purchase is told from that of others by what stood before it', async () => {
  const extend: ActionRequest = { action: 'extend-lease', name: 'a-name', years: 2 };
  assert.equal(await isDone(extend, { end: 5_000 + 2 * year - 1 }), false);
  assert.equal(await isDone(extend, { end: 5_000 + 2 * year }), true);
  assert.equal(await isDone(extend, { type: 'permabuy', end: undefined }), false);
  assert.equal(await isDone(extend, { end: 9e9 }, 'unknown'), false);
  assert.equal(await isDone(extend, { end: 9e9 }, { ...leased, end: undefined }), false);
  const widen: ActionRequest = { action: 'increase-undername-limit', name: 'a-name', quantity: 5 };
  assert.equal(await isDone(widen, { undernameLimit: 14 }), false);
  assert.equal(await isDone(widen, { undernameLimit: 15 }), true);
  assert.equal(await isDone(widen, { undernameLimit: 15 }, 'unknown'), false);
  const upgrade: ActionRequest = { action: 'upgrade-name', name: 'a-name' };
  assert.equal(await isDone(upgrade, { type: 'permabuy' }), true);
  assert.equal(await isDone(upgrade, {}), false);
  assert.equal(await isDone(upgrade, { type: 'permabuy' }, { ...leased, type: 'permabuy' }), false);
  assert.equal(await isDone(upgrade, undefined), false);
});

test('a name is bought by the token that was made for it', async () => {
  assert.equal(await isDone(buy, {}), true);
  assert.equal(await isDone(buy, { ant: other }), false);
  assert.equal(await isDone(buy, undefined), false);
});

test('what is written into a token is known by its transaction alone', async () => {
  const request: ActionRequest = { action: 'transfer', antId: ant, owner: other, target: ant };
  assert.equal(await isDone(request, {}), false);
});

const transfer: Exclude<TokenRequest, RecordRequest> = {
  action: 'transfer',
  antId: ant,
  owner: service.address,
  target: owner,
};
const setRecord: ActionRequest = {
  ...{ action: 'set-record', antId: ant, owner, undername: '@', transactionId: 'x', ttlSeconds: 60 },
};
const busy = /still on its way/;

/** Who was told what of names, with what went back. */
const toldOfNames = async (sql: Sql) =>
  (await toldWallets(sql))
    .filter(({ type }) => type.startsWith('name.'))
    .map(({ wallet, type, data }) => [wallet, type, data.refundedWinc]);

forEachEngine((_engine, open) => {
  const start = async () => scriptedActions(await open(namesLedgerMigrations));

  describe('an action', () => {
    it('ends once: whoever comes second moves no credits and tells nobody', async () => {
      const { context, add, balance, told, counted } = await start();
      const action = await add(buy, { status: 'spawned', antId: ant });
      for (const messageId of ['first', 'second']) {
        const done = await complete(context, action, messageId);
        assert.deepEqual([done.status, done.messageId], ['completed', 'first']);
      }
      assert.equal((await giveUp(context, action, 'failed', 'late', 7n)).status, 'completed');
      assert.deepEqual([told, counted], [[buy], ['buy-name completed']]);
      assert.equal((await context.credits.holds(payer, 9)).count, 0, 'what was reserved is spent');
      assert.equal(await balance(), funds - price);
      const lost = await add(extend);
      for (const reason of ['first', 'second']) {
        const ended = await giveUp(context, lost, 'expired', reason);
        assert.deepEqual([ended.status, ended.failedReason], ['expired', 'first']);
      }
      assert.equal((await complete(context, lost, 'late')).status, 'expired');
      assert.deepEqual(told, [buy]);
      assert.deepEqual(counted.slice(1), ['extend-lease expired', 'refund expired']);
      assert.equal(await balance(), funds - price);
      assert.deepEqual(await toldOfNames(context.sql), [
        [payer, 'name.bought', undefined],
        [owner, 'name.bought', undefined],
        [payer, 'name.failed', '1000'],
      ]);
      assert.deepEqual((await context.credits.selfCheck()).problems, []);
    });

    it('that is done leaves a receipt of what was bought, for whom, and by whom', async () => {
      const { context, add, forgotten } = await start();
      await complete(context, await add(buy, { antId: other }), 'm');
      await complete(context, await add(extend, { before: beforeOf(leased) }), 'm');
      await complete(context, await add({ action: 'upgrade-name', name: 'a-name' }, { antId: ant }), 'm');
      await complete(context, await add({ ...buy, type: 'permabuy', years: 0 }), 'm');
      await complete(context, await add(setRecord), 'm');
      const rows = await context.sql.all(
        'SELECT name, ant_id, intent, type, years, payer, owner, custodial FROM arns_receipt ORDER BY id',
      );
      const all = { name: 'a-name', payer, custodial: 0, type: null, years: null, owner: null };
      assert.deepEqual(rows, [
        { ...all, ant_id: other, intent: 'Buy-Name', type: 'lease', years: 1, owner },
        { ...all, ant_id: ant, intent: 'Extend-Lease', years: 1 },
        { ...all, ant_id: ant, intent: 'Upgrade-Name' },
        { ...all, ant_id: '', intent: 'Buy-Name', type: 'permabuy', owner },
      ]);
      assert.deepEqual(forgotten, ['a-name', 'a-name', 'a-name', 'a-name'], 'it is priced anew');
    });

    it('that is done has its lease watched, from the beginning where the name was bought', async () => {
      const { context, add, script } = await start();
      const { sql } = context;
      const watched = () => sql.all('SELECT name, step, look_at FROM arns_leases');
      const day = 86_400_000;
      await complete(context, await add(buy), 'm');
      assert.deepEqual(await watched(), [{ name: 'a-name', step: 0, look_at: script.now + day }]);
      // Its owner was told that it ends in a month, and extends it.
      await sql.run('UPDATE arns_leases SET step = 1');
      script.now += 5;
      await complete(context, await add(extend), 'm');
      assert.deepEqual(await watched(), [{ name: 'a-name', step: 1, look_at: script.now + day }]);
      await complete(context, await add(buy), 'm');
      assert.deepEqual(await watched(), [{ name: 'a-name', step: 0, look_at: script.now + day }]);
    });

    it('that hands a token over ends its custody; no other does', async () => {
      const { context, add } = await start();
      const receipt = {
        reference: 'r',
        name: 'a-name',
        antId: ant,
        intent: 'Buy-Name',
        payer,
        purchasedAt: 1,
      };
      await context.sql.transaction((tx) => writeReceipt(tx, { ...receipt, custody: 'buyer' }));
      await complete(context, await add(setRecord), 'm');
      await complete(context, await add({ ...transfer, action: 'add-controller' }), 'm');
      assert.equal(await custodialPayer(context.sql, ant), payer);
      await complete(context, await add(transfer), 'm');
      assert.equal(await custodialPayer(context.sql, ant), undefined);
    });

    it('that is given up pays back all but what was spent on the chain for it', async () => {
      const { context, add, balance } = await start();
      const { sql } = context;
      const whole = await giveUp(context, await add(buy), 'failed', 'x'.repeat(501));
      assert.deepEqual([whole.failedReason, whole.failedAt], ['x'.repeat(500), context.now()]);
      assert.equal(await balance(), funds);
      const spendings = await sql.all('SELECT state FROM credits_spendings');
      assert.deepEqual(spendings, [{ state: 'refunded' }], 'not spent for nothing');
      assert.equal((await giveUp(context, await add(buy), 'failed', 'no', 300n)).keptWinc, 300n);
      assert.equal(await balance(), funds - 300n);
      // What was kept before stays kept.
      const early = await add(buy);
      await sql.run("UPDATE arns_action SET kept_winc = '20' WHERE nonce = ?", early.nonce);
      assert.equal((await giveUp(context, early, 'failed', 'no')).keptWinc, 20n);
      assert.equal(await balance(), funds - 320n);
      const back = (await toldOfNames(sql)).filter(([wallet]) => wallet === payer);
      assert.deepEqual(
        back.map(([, , refunded]) => refunded),
        ['1000', '700', '980'],
      );
      assert.deepEqual((await context.credits.selfCheck()).problems, []);
    });

    it('that was sent or handed out meanwhile is not given up for what was true before', async () => {
      const { context, add, read, balance } = await start();
      const judged = await add(extend);
      assert.ok(await advance(context.sql, judged, 'sending', { at: 1, service: signed('s') }));
      assert.equal((await giveUp(context, judged, 'failed', 'interrupted')).status, 'sending');
      const dead = await add(buy, { status: 'awaiting', owned: signed('dead'), ownerFirst: true });
      assert.ok(await advance(context.sql, dead, 'awaiting', { at: 1, owned: signed('anew') }));
      assert.equal((await giveUp(context, dead, 'expired', 'not signed in time')).status, 'awaiting');
      assert.equal(await balance(), funds - 2n * price);
      assert.equal((await giveUp(context, await read(dead.nonce), 'expired', 'no')).status, 'expired');
      assert.equal(await balance(), funds - price);
    });

    it('that the service has sent ends by what the chain says of it', async () => {
      const { context, script, add, balance, sent } = await start();
      const before = beforeOf(leased);
      const sending = () => add(extend, { status: 'sending', service: signed('s'), before });
      const waiting = await sending();
      assert.equal((await settleSent(context, waiting)).status, 'sending');
      assert.deepEqual(sent, [waiting.service?.wire], 'it is sent again');
      script.outcome = 'confirmed';
      assert.equal((await settleSent(context, waiting)).messageId, 's');
      script.outcome = 'failed';
      // Others have paid for the same.
      script.record = { ...leased, end: 5_000 + year };
      assert.equal(
        (await settleSent(context, await sending())).failedReason,
        'The transaction failed on the chain',
      );
      script.outcome = 'dead';
      assert.equal((await settleSent(context, await sending())).status, 'completed');
      script.record = leased;
      assert.equal((await settleSent(context, await sending())).failedReason, 'The transaction did not land');
      const none = await settleSent(context, await add(extend, { status: 'sending' }));
      assert.equal(none.failedReason, 'The service was interrupted before it acted');
      assert.equal(await balance(), funds - 2n * price);
      assert.equal(sent.length, 1);
    });

    it('is not begun while something for the same name or token is on its way', async () => {
      const { context, script, add, read } = await start();
      const named = { name: 'a-name' };
      const before = beforeOf(leased);
      // None of these stands in the way.
      await add(extend, { status: 'spawned', service: signed('a') });
      await add({ ...extend, name: 'another' }, { status: 'sending', service: signed('b'), antId: ant });
      await add(setRecord, { status: 'sending', service: signed('c'), antId: other });
      await requireSettled(context, named);
      await requireSettled(context, { antId: ant });
      const onName = await add(extend, { status: 'sending', service: signed('d'), antId: other, before });
      await assert.rejects(requireSettled(context, named), busy);
      script.isAway = true;
      await assert.rejects(requireSettled(context, named), busy);
      script.isAway = false;
      script.outcome = 'confirmed';
      await requireSettled(context, named);
      assert.equal((await read(onName.nonce)).status, 'completed');
      script.outcome = 'pending';
      const onToken = await add(setRecord, { status: 'sending', service: signed('e'), antId: ant });
      await requireSettled(context, named);
      await assert.rejects(requireSettled(context, { antId: ant }), busy);
      script.outcome = 'failed';
      await requireSettled(context, { antId: ant });
      assert.equal((await read(onToken.nonce)).status, 'failed');
    });

    it('is not begun while something is on its way, however much was done for the same before', async () => {
      const { context, add } = await start();
      for (let n = 0; n < 11; n += 1) await add(extend, { status: 'completed' });
      await requireSettled(context, { name: 'a-name' });
      await add(extend, { status: 'sending', service: signed('s'), before: beforeOf(leased) });
      await assert.rejects(requireSettled(context, { name: 'a-name' }), busy);
    });

    it('is planned on what another process has seen done, whichever node is asked', async () => {
      const sql = await open(namesLedgerMigrations);
      const one = await scriptedActions(sql);
      const two = await scriptedActions(sql);
      one.context.chain.reach(700);
      await complete(one.context, await one.add(extend), 'm');
      one.context.chain.reach(650);
      await complete(one.context, await one.add(setRecord), 'm');
      await requireSettled(two.context, { name: 'a-name' });
      assert.equal(two.context.chain.reached(), 700);
      // What is told of one chain says nothing of another.
      two.script.genesisHash = 'another chain';
      two.context.chain.reach(800);
      await complete(two.context, await two.add(extend, { nonce: 'of the other' }), 'm');
      await requireSettled(one.context, { antId: ant });
      assert.equal(one.context.chain.reached(), 700);
      // Whoever does not know which chain it is plans nothing.
      one.script.isAway = true;
      await assert.rejects(requireSettled(one.context, { antId: ant }), /chain is unavailable/);
    });

    it('is not begun while a card pays the registry for the same name', async () => {
      const { context } = await start();
      const { sql } = context;
      const pay = (columns: string) => sql.run(`UPDATE arns_purchase SET ${columns}`);
      await sql.run(
        `INSERT INTO arns_purchase (nonce, address, address_type, purchase, intent, name, quote, mtoken, winc,
           excess_winc, status, stage, card_refunded, expires_at, created_at, updated_at)
         VALUES ('n', 'a', 'solana', 'extend-lease', 'Extend-Lease', 'a-name', 'q', '1', '1', '0', 'PENDING',
           'paying', 0, 1, 1, 1)`,
      );
      const ask = (name = 'a-name') => requireSettled(context, { name });
      await assert.rejects(ask(), busy);
      await ask('another');
      await requireSettled(context, { antId: ant });
      await pay("stage = 'paid'");
      await ask();
      await pay("stage = 'paying', status = 'SUCCESS'");
      await ask();
      // The name is not there yet: whoever pays first has it.
      await pay("status = 'PENDING', purchase = 'buy-name'");
      await ask();
    });
  });
});

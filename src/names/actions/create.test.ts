/** One nonce is one action, whoever shows it how often: what is charged, what is answered, and what is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesLedgerMigrations } from '../../../test/support/names-bench.ts';
import {
  buy,
  extend,
  funds,
  isListOf,
  leased,
  listAt,
  payer,
  price,
  rates,
  scriptedActions,
  signed,
  token,
} from '../../../test/support/scripted-actions.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { NamesError } from '../errors.ts';
import { aclRent } from '../prices/lamports.ts';
import { lamportWinc } from '../prices/prices.ts';
import type { ActionRequest } from '../requests/action.ts';
import { createAction } from './create.ts';
import { beforeOf } from './store.ts';

type Asked = Parameters<typeof createAction>[1];
const payerNonce = '11111111-1111-4111-8111-111111111111';
const third = '33333333-3333-4333-8333-333333333333';
const other = '22222222-2222-4222-8222-222222222222';

const refused = (status: number, words: RegExp) => (error: unknown) =>
  error instanceof NamesError && error.status === status && words.test(error.message);
const ofAnother = refused(409, /used for another request/);
const replayed = refused(401, /replay rejected/);
const reserved = refused(503, /credits are still reserved/);

forEachEngine((_engine, open) => {
  const start = async () => {
    const scripted = await scriptedActions(await open(namesLedgerMigrations));
    const { context, script } = scripted;
    script.outcome = 'confirmed';
    script.record = leased;
    return {
      ...scripted,
      ask: (request: ActionRequest = extend, more: Partial<Asked> = {}) =>
        createAction(context, {
          ...{ request, payer: { kind: 'solana', address: payer }, provenOwner: undefined, payerNonce },
          ...{ claimed: { payer: 'ours', owner: 'ours' }, paidBy: [], ownerFirst: false },
          ...more,
        }),
      count: async () => (await context.sql.all('SELECT nonce FROM arns_action')).length,
    };
  };

  describe('an action that is asked for', () => {
    it('is paid for and stored with what stood before it, then done', async () => {
      const { ask, balance, context, script, read } = await start();
      const seen: unknown[] = [];
      script.before = async (method) => {
        if (method !== 'latestBlockhash') return;
        const { status, winc, mtoken, antId, before, expiresAt } = await read(payerNonce);
        seen.push(status, winc, mtoken, antId, before, expiresAt);
      };
      const { action, repeated } = await ask();
      assert.deepEqual([action.status, action.nonce, repeated], ['completed', payerNonce, false]);
      const until = script.now + context.settings.lifeMs;
      assert.deepEqual(seen, ['reserved', price, 5n, token, beforeOf(leased), until]);
      assert.equal(await balance(), funds - price);
    });

    it('and asked for again is the same, and paid for once', async () => {
      const { ask, balance, sent, script } = await start();
      await ask();
      const again = await ask();
      assert.deepEqual([again.action.status, again.repeated], ['completed', true]);
      assert.equal(await balance(), funds - price);
      assert.equal(sent.length, 1);
      // What is undefined is not there when it is stored.
      assert.equal((await ask({ ...extend, ...{ more: undefined } })).repeated, true);
      script.isAway = true;
      assert.equal((await ask()).repeated, true, 'the chain need not be asked');
    });

    it('and asked for again while it is on its way waits for it', async () => {
      const { ask, add, script, sent } = await start();
      const sending = { status: 'sending', service: signed('s'), before: beforeOf(leased) } as const;
      await add(extend, { ...sending, nonce: payerNonce });
      script.outcome = 'pending';
      await assert.rejects(ask(), reserved);
      assert.deepEqual(sent, [sending.service.wire], 'it is sent again');
      script.outcome = 'confirmed';
      const { action, repeated } = await ask();
      assert.deepEqual([action.status, action.messageId, repeated], ['completed', 's', true]);
      await add(extend, { nonce: other });
      await assert.rejects(ask(extend, { payerNonce: other }), reserved, 'it is being prepared');
    });

    it('and waits for its owner is answered again as it stands', async () => {
      const { ask, add, sent, script } = await start();
      // A try to register a name belongs to the reconciler and to whoever signs.
      for (const [nonce, status] of [
        [payerNonce, 'awaiting'],
        [other, 'spawned'],
      ] as const) {
        await add(buy, { nonce, status, service: signed('s'), owned: signed('o'), antId: token });
        script.outcome = 'pending';
        const { action, repeated } = await ask(buy, { payerNonce: nonce });
        assert.deepEqual([action.status, repeated], [status, true]);
      }
      assert.deepEqual(sent, []);
    });

    it('with the nonce of another request is refused, and so is a signature that was shown before', async () => {
      const { ask, balance, count } = await start();
      const claimed = (by: Asked['claimed']['payer'], owner: Asked['claimed']['owner'] = 'ours') => ({
        claimed: { payer: by, owner },
      });
      await assert.rejects(ask(extend, claimed('another')), ofAnother);
      await assert.rejects(ask(extend, claimed('spent')), replayed);
      await assert.rejects(ask(extend, claimed('ours', 'another')), replayed);
      await assert.rejects(ask(extend, claimed('ours', 'spent')), replayed);
      assert.deepEqual([await balance(), await count()], [funds, 0]);
      await ask();
      await assert.rejects(ask({ ...extend, years: 2 }), ofAnother);
      await assert.rejects(ask(extend, claimed('another')), ofAnother);
      assert.equal((await ask(extend, claimed('spent', 'spent'))).repeated, true, 'it acts no more');
      const stranger = { payer: { kind: 'solana', address: token } } as const;
      await assert.rejects(ask(extend, stranger), replayed);
      assert.deepEqual([await balance(), await count()], [funds - price, 1]);
    });

    it('twice at the same moment is one: whoever comes second answers for the first', async () => {
      const { ask, add, script, balance, count } = await start();
      let isFirst = true;
      // Another process stores it while this one asks for the price.
      script.before = async (method) => {
        if (method !== 'price' || !isFirst) return;
        isFirst = false;
        await add(extend, { nonce: payerNonce, status: 'sending', service: signed('s') });
      };
      const { action, repeated } = await ask();
      assert.deepEqual([action.messageId, repeated], ['s', true]);
      assert.deepEqual([await balance(), await count()], [funds - price, 1]);
    });

    it('that cannot be paid for leaves nothing behind and says what is missing', async () => {
      const { ask, script, balance, count } = await start();
      script.price = funds + 7n;
      await assert.rejects(ask(), refused(402, /it costs 50007 winc, the wallet has 50000, 7 are missing/));
      assert.deepEqual([await balance(), await count()], [funds, 0]);
    });

    it('of a name that the chain, or the service, cannot deal with now costs nothing', async () => {
      const { ask, script, balance, count } = await start();
      script.isAway = true;
      await assert.rejects(ask(), refused(503, /^The name chain is unavailable$/));
      script.isAway = false;
      script.tokens = 4n;
      await assert.rejects(ask(), refused(503, /cannot pay for names/));
      script.tokens = 5n;
      script.record = undefined;
      await assert.rejects(ask(), refused(503, /^The name chain is unavailable$/));
      script.record = leased;
      script.before = (method) => {
        if (method === 'price') throw new Error('a fault of the program');
      };
      await assert.rejects(ask(), /^Error: a fault of the program$/);
      assert.deepEqual([await balance(), await count()], [funds, 0]);
    });

    it('that needs the list of its owner first keeps what that costs, and no more than a token does', async () => {
      const { ask, script } = await start();
      script.record = undefined;
      const long = { ...buy, name: 'y'.repeat(51), opening: { description: 'd'.repeat(69) } };
      assert.equal((await ask(long)).action.keptWinc, script.surcharge);
      const list = lamportWinc(aclRent, rates);
      script.surcharge = list + 1n;
      assert.equal((await ask(long, { payerNonce: other })).action.keptWinc, list);
      // What it was not said to cost it is not charged for.
      let reads = 0;
      script.account = (address) => {
        if (isListOf(long.owner, address)) reads += 1;
        return reads > 1 ? undefined : listAt(long.owner, address);
      };
      const { action } = await ask(long, { payerNonce: third });
      assert.deepEqual([action.status, action.keptWinc], ['awaiting', 0n]);
    });

    it('that its owner must sign is one of so many, and says who signs first', async () => {
      const { ask, add, context, script, read } = await start();
      script.record = undefined;
      const { maxOpen } = context.settings;
      const nonceOf = (n: number) => `33333333-3333-4333-8333-33333333333${n}`;
      await add(extend, { status: 'sending' });
      for (let n = 0; n < maxOpen; n += 1) {
        script.price = 100n;
        const { action } = await ask(
          { ...buy, name: `name-${n}` },
          { payerNonce: nonceOf(n), ownerFirst: n === 1 },
        );
        assert.deepEqual([action.status, action.ownerSigns, action.ownerFirst], ['awaiting', true, n === 1]);
        assert.equal(action.tokenWinc, 300n);
      }
      await assert.rejects(ask(buy), refused(429, /^At most 3 actions may wait/));
      script.record = leased;
      script.price = price;
      const alone = await ask(extend, { payerNonce: other, ownerFirst: true });
      assert.equal(alone.action.status, 'completed', 'what needs no owner is not counted');
      assert.equal((await read(other)).ownerFirst, false);
    });
  });
});

/** Random sequences of changes against a ledger written in the plainest way, on plain numbers and maps. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SeededRandom, seededRandom } from '../../../test/support/seeded-random.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type Credits, CreditsError, type SpendRequest, winc } from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './ledger.ts';
import { Model, type ModelApproval } from './testing-model.ts';

const wallets = ['anna', 'boris', 'clara', 'dimitri'];

async function allowed(change: Promise<unknown>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (error instanceof CreditsError) return false;
    throw error;
  }
}

async function step(
  random: SeededRandom,
  model: Model,
  credits: Credits,
  clock: { now: number },
): Promise<string> {
  const wallet = random.pick(wallets);
  const other = random.pick(wallets);
  const amount = random.below(60);
  const item = `item${random.below(40)}`;
  const agree = async (what: string, expected: boolean, change: Promise<unknown>): Promise<string> => {
    const text = `${what} ${wallet} ${other} ${amount} ${item}`;
    assert.equal(await allowed(change), expected, text);
    return text;
  };
  switch (random.below(12)) {
    case 0:
    case 1: {
      const id = `tx${random.below(30)}`;
      const request = { address: wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
      const expected = model.change(wallet, amount + 1, `credit ${id}`);
      return agree(`credit ${id}`, expected, credits.credit({ ...request, reason: 'payment' }));
    }
    case 2: {
      if (random.below(6) !== 0) return 'nothing';
      const id = `dispute${random.below(30)}`;
      const request = { address: wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
      const expected = model.change(wallet, -amount - 1, `clawback ${id}`);
      return agree(`clawback ${id}`, expected, credits.clawback({ ...request, reason: 'chargeback' }));
    }
    case 3:
    case 4:
    case 5: {
      const paidBy = Array.from({ length: random.below(4) }, () => random.pick(wallets));
      const directive = random.below(3) === 0 ? 'list-only' : 'list-or-signer';
      const state = random.below(2) === 0 ? 'reserved' : 'settled';
      const request: SpendRequest = {
        id: item,
        reason: 'upload',
        signer: wallet,
        signerType: 'arweave',
        amount: winc(BigInt(amount)),
        paidBy,
        directive,
      };
      const expected = model.spend(item, wallet, amount, paidBy, directive, state);
      const change = state === 'reserved' ? credits.reserve(request) : credits.spend(request);
      return agree(`${state} by ${paidBy} ${directive}`, expected, change);
    }
    case 6: {
      const kept = random.below(2) === 0 ? undefined : random.below(60);
      const expected = model.settle(item, kept);
      const change = credits.settle('upload', item, kept === undefined ? undefined : winc(BigInt(kept)));
      return agree(`settle ${kept}`, expected, change);
    }
    case 7:
      model.refund(item);
      return agree('refund', true, credits.refund('upload', item));
    case 10: {
      const id = `payment${random.below(30)}`;
      const reserved = 1 + random.below(amount + 1);
      const expected = model.changeReserving(wallet, amount + 1, `reserving ${id}`, item, reserved);
      const request = { address: wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
      const reserve = { reason: 'upload', id: item, amount: winc(BigInt(reserved)) } as const;
      const change = credits.credit({ ...request, reason: 'x402_payment', reserve });
      return agree(`credit ${id} reserving ${reserved}`, expected, change);
    }
    case 11: {
      const to = `item${random.below(40)}`;
      const expected = model.assign(item, to, amount);
      return agree(`assign to ${to}`, expected, credits.assign('upload', item, to, winc(BigInt(amount))));
    }
    case 8: {
      const id = `approval${random.below(200)}`;
      const seconds = random.below(2) === 0 ? undefined : 1 + random.below(20);
      const expected = model.approve(id, wallet, other, amount, seconds);
      const request = { id, payer: wallet, approved: other, amount: winc(BigInt(amount)) };
      const change = credits.approve(
        seconds === undefined ? request : { ...request, expiresInSeconds: seconds },
      );
      return agree(`approve ${id} for ${seconds}`, expected, change);
    }
    default: {
      clock.now += random.below(5_000);
      if (random.below(4) !== 0) return 'time passes';
      const id = `revoke${clock.now}-${random.below(1e6)}`;
      const expected = model.revoke(wallet, other);
      return agree('revoke', expected, credits.revoke({ id, payer: wallet, approved: other }));
    }
  }
}

async function assertSame(model: Model, credits: Credits, after: string): Promise<void> {
  model.expire();
  for (const wallet of wallets) {
    const received = model.approvals.filter((a) => a.approved === wallet && a.status === 'active');
    const given = model.approvals.filter((a) => a.payer === wallet && a.status === 'active');
    const own = model.balances.get(wallet);
    const balance = await credits.balance(wallet);
    if (own === undefined && received.length === 0) {
      assert.equal(balance, undefined, after);
      continue;
    }
    const left = (list: ModelApproval[]) => list.reduce((sum, a) => sum + a.amount - a.used, 0);
    assert.deepEqual(
      [balance?.winc, balance?.controlledWinc, balance?.effectiveBalance],
      [BigInt(own ?? 0), BigInt((own ?? 0) + left(given)), BigInt(Math.max(own ?? 0, 0) + left(received))],
      `${wallet} after ${after}`,
    );
    const ids = (list: readonly { approvalDataItemId: string }[] | undefined) =>
      list?.map((a) => a.approvalDataItemId).sort();
    assert.deepEqual(ids(balance?.givenApprovals), given.map(({ id }) => id).sort(), after);
    assert.deepEqual(ids(balance?.receivedApprovals), received.map(({ id }) => id).sort(), after);
  }
}

forEachEngine((engine, open) => {
  describe('random sequences', () => {
    for (const seed of [1, 2, 3, 4]) {
      it(`agree with the plain model (seed ${seed})`, async () => {
        const random = seededRandom(seed);
        const clock = { now: 1_000_000 };
        const credits = createCredits({ sql: await open(creditsMigrations), now: () => clock.now });
        const model = new Model(clock);
        const steps = engine === 'sqlite' ? 1_500 : 400;
        for (let count = 0; count < steps; count += 1) {
          const did = await step(random, model, credits, clock);
          if (count % 10 === 0) await assertSame(model, credits, `step ${count}: ${did}`);
        }
        await assertSame(model, credits, 'the end');
        const { problems, drift } = await credits.selfCheck();
        assert.deepEqual({ problems, drift }, { problems: [], drift: 0n });
      });
    }

    it('keep every invariant when many run at once', async () => {
      const random = seededRandom(9);
      const clock = { now: 1_000_000 };
      const credits = createCredits({ sql: await open(creditsMigrations), now: () => clock.now });
      const ignore = new Model(clock);
      const workers = Array.from({ length: 16 }, async () => {
        for (let count = 0; count < (engine === 'sqlite' ? 100 : 30); count += 1) {
          await step(random, ignore, credits, clock).catch((error: unknown) => {
            // Which of two concurrent changes comes first is open, so the model's verdict does not count here.
            if (!(error instanceof assert.AssertionError)) throw error;
          });
        }
      });
      await Promise.all(workers);
      const { problems, drift, spendings } = await credits.selfCheck();
      assert.deepEqual({ problems, drift }, { problems: [], drift: 0n });
      assert.ok(spendings > 10);
    });
  });
});

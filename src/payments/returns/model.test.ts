/** Random sequences of payments, gifts, spending, loans and returns against a plain list of what came in. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type SeededRandom, seededRandom } from '../../../test/support/seeded-random.ts';
import { CreditsError, winc } from '../../credits/credits.ts';
import { assertSound } from '../../credits/ledger/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { checkReturns } from './check.ts';
import { ReturnRefused } from './returns.ts';
import { gift, openReturnsBench, payByChain, returnsTestMigrations, spend, testRules } from './testing.ts';

interface ModelLot {
  readonly id: string;
  readonly isPayment: boolean;
  readonly bought: bigint;
  readonly paid: bigint;
  returned: bigint;
  returns: number;
}

/** One wallet: what came in, in order, and what is left of all of it together. */
class Model {
  readonly lots: ModelLot[] = [];
  readonly spent = new Map<string, bigint>();
  readonly loans = new Map<string, bigint>();
  balance = 0n;

  come(lot: Omit<ModelLot, 'returned' | 'returns'>): void {
    this.lots.push({ ...lot, returned: 0n, returns: 0 });
    this.balance += lot.bought;
  }

  /** By going through everything that is left, the newest first. */
  unspent(id: string): bigint {
    let left = this.balance;
    for (const lot of this.lots.toReversed()) {
      const size = lot.bought - lot.returned;
      const part = size < left ? size : left;
      if (lot.id === id) return part;
      left -= part;
    }
    return 0n;
  }
}

type Bench = ReturnType<typeof openReturnsBench>;

async function step(random: SeededRandom, model: Model, bench: Bench, count: number): Promise<void> {
  const { sql, credits, clock } = bench;
  const amount = BigInt(1 + random.below(100));
  const id = `${count}`;
  switch (random.below(8)) {
    case 0: {
      const quantity = BigInt(1 + random.below(1_000));
      await payByChain(sql, credits, 'anna', { id, quantity, bought: amount, at: clock.now });
      model.come({ id: `test:${id}`, isPayment: true, bought: amount, paid: quantity });
      return;
    }
    case 1:
      await gift(credits, 'anna', amount, id);
      model.come({ id, isPayment: false, bought: amount, paid: 0n });
      return;
    case 2:
    case 3: {
      const isDone = await spend(credits, 'anna', amount, id).then(() => true, refusedOnly);
      assert.equal(isDone, model.balance >= amount);
      if (isDone) model.spent.set(id, amount);
      if (isDone) model.balance -= amount;
      return;
    }
    case 4: {
      const item = random.pick([...model.spent.keys(), 'none']);
      await credits.refund('upload', item);
      model.balance += model.spent.get(item) ?? 0n;
      model.spent.delete(item);
      return;
    }
    case 5: {
      if (random.below(2) === 0) {
        const request = { id, payer: 'anna', approved: 'boris', amount: winc(amount) };
        const isDone = await credits.approve(request).then(() => true, refusedOnly);
        assert.equal(isDone, model.balance >= amount);
        if (isDone) model.loans.set(id, amount);
        if (isDone) model.balance -= amount;
        return;
      }
      await credits.revoke({ id, payer: 'anna', approved: 'boris' }).catch(refusedOnly);
      for (const lent of model.loans.values()) model.balance += lent;
      model.loans.clear();
      return;
    }
    default:
      await returnStep(random, model, bench);
  }
}

/** Asks for a return, and has it sent or refused. */
async function returnStep(random: SeededRandom, model: Model, bench: Bench): Promise<void> {
  if (model.lots.length === 0) return;
  const lot = random.pick(model.lots);
  const unspent = model.unspent(lot.id);
  const part = random.below(3) === 0 ? undefined : BigInt(1 + random.below(100));
  const wanted = part ?? unspent;
  const amount = (lot.paid * wanted) / lot.bought;
  const isFine = lot.isPayment && lot.returns < 3 && wanted > 0n && wanted <= unspent && amount > 0n;
  bench.bank.hasKey = random.below(4) !== 0;
  const asked = await bench.request('anna', lot.id, part).catch((error: unknown) => {
    if (error instanceof ReturnRefused) return undefined;
    throw error;
  });
  assert.equal(asked !== undefined, isFine, `${lot.id} ${part} of ${unspent}`);
  if (asked === undefined) return;
  assert.deepEqual([asked.made.winc, asked.made.amount], [wanted, amount]);
  await bench.work();
  if (!bench.bank.hasKey && (await bench.returns.refuse(asked.made.id, 'not now'))) return;
  lot.returned += wanted;
  lot.returns += 1;
  model.balance -= wanted;
}

const refusedOnly = (error: unknown): false => {
  if (error instanceof CreditsError) return false;
  throw error;
};

forEachEngine((engine, open) => {
  for (const seed of [1, 2]) {
    it(`leave of each payment what the plain list leaves, and never send more than was paid (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const bench = openReturnsBench(await open(returnsTestMigrations), testRules);
      const model = new Model();
      for (let count = 0; count < (engine === 'sqlite' ? 400 : 120); count += 1) {
        await step(random, model, bench, count);
        bench.clock.now += random.below(1_000);
        assert.equal((await bench.credits.balance('anna'))?.winc ?? 0n, model.balance);
        if (count % 5 !== 0) continue;
        const expected = model.lots.filter(({ isPayment }) => isPayment);
        assert.deepEqual(
          await bench.unspent('anna'),
          Object.fromEntries(expected.map(({ id }) => [id, model.unspent(id)])),
        );
      }
      for (const { id, paid, bought, returned } of model.lots) {
        const sent = (await bench.returns.of('anna', 1_000))
          .filter(({ payment, state }) => payment === id && state === 'confirmed')
          .reduce((sum, { amount }) => sum + amount, 0n);
        assert.ok(sent * bought <= paid * returned, id);
      }
      assert.ok(bench.bank.arrived.size > 0);
      await assertSound(bench.credits);
      assert.deepEqual(await checkReturns(bench.sql), []);
    });
  }
});

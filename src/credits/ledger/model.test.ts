/** Random sequences of changes against a ledger written in the plainest way, on plain numbers and maps. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SeededRandom, seededRandom } from '../../../test/support/seeded-random.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type Credits, CreditsError, type PaymentDirective, type SpendRequest, winc } from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './ledger.ts';
import { assertToldOnce } from './testing.ts';

interface ModelApproval {
  readonly id: string;
  payer: string;
  approved: string;
  readonly amount: number;
  used: number;
  status: 'active' | 'used' | 'revoked' | 'expired';
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface ModelSpending {
  signer: string;
  state: 'reserved' | 'settled' | 'refunded';
  shares: { payer: string; approval: ModelApproval | undefined; amount: number }[];
}

/** Answers true where the ledger should change or repeat, false where it should refuse. */
class Model {
  readonly balances = new Map<string, number>();
  readonly changes = new Map<string, string>();
  readonly approvals: ModelApproval[] = [];
  readonly spendings = new Map<string, ModelSpending>();
  readonly #clock: { now: number };

  constructor(clock: { now: number }) {
    this.#clock = clock;
  }

  /** From now on the other form is the wallet, and always was. */
  unite(wallet: string, form: string): void {
    const named = (name: string): string => (name === form ? wallet : name);
    const held = this.balances.get(form);
    if (held !== undefined) {
      this.balances.delete(form);
      this.#add(wallet, held);
    }
    for (const [id, made] of this.changes) {
      const [address = '', amount] = made.split(' ');
      this.changes.set(id, `${named(address)} ${amount}`);
    }
    for (const approval of this.approvals) {
      approval.payer = named(approval.payer);
      approval.approved = named(approval.approved);
      if (approval.payer !== approval.approved) continue;
      if (approval.status === 'active') this.#add(wallet, approval.amount - approval.used);
      if (approval.status === 'active' || approval.status === 'used') approval.status = 'revoked';
    }
    for (const spending of this.spendings.values()) {
      spending.signer = named(spending.signer);
      for (const share of spending.shares) share.payer = named(share.payer);
    }
    this.#callBack(wallet);
  }

  change(address: string, amount: number, id: string): boolean {
    const made = this.changes.get(id);
    if (made !== undefined) return made === `${address} ${amount}`;
    this.changes.set(id, `${address} ${amount}`);
    this.#add(address, amount);
    if (amount < 0) this.#callBack(address);
    return true;
  }

  changeReserving(address: string, amount: number, id: string, item: string, reserved: number): boolean {
    const isNew = !this.changes.has(id);
    if (isNew && this.spendings.has(item)) return false;
    if (!this.change(address, amount, id)) return false;
    if (!isNew) return true;
    this.#add(address, -reserved);
    const shares = [{ payer: address, approval: undefined, amount: reserved }];
    this.spendings.set(item, { signer: address, state: 'reserved', shares });
    return true;
  }

  assign(from: string, to: string, amount: number): boolean {
    const held = this.spendings.get(from);
    if (held?.state !== 'reserved' || total(held) < amount) return false;
    const { signer } = held;
    if (held.shares.some(({ payer, approval }) => payer !== signer || approval !== undefined)) return false;
    if (to !== from && (this.spendings.get(to)?.state ?? 'refunded') !== 'refunded') return false;
    this.refund(from);
    this.#add(signer, -amount);
    const shares = amount === 0 ? [] : [{ payer: signer, approval: undefined, amount }];
    this.spendings.set(to, { signer, state: 'settled', shares });
    return true;
  }

  #callBack(payer: string): void {
    const balance = () => this.balances.get(payer) ?? 0;
    if (balance() >= 0) return;
    this.expire();
    const lent = this.approvals.filter((a) => a.payer === payer && a.status === 'active');
    for (const approval of lent.sort((a, b) => b.createdAt - a.createdAt || compare(b.id, a.id))) {
      if (balance() >= 0) return;
      approval.status = 'revoked';
      this.#add(payer, approval.amount - approval.used);
    }
  }

  expire(): void {
    for (const approval of this.approvals) {
      if (approval.status !== 'active' || approval.expiresAt > this.#clock.now) continue;
      approval.status = 'expired';
      this.#add(approval.payer, approval.amount - approval.used);
    }
  }

  spend(
    id: string,
    signer: string,
    amount: number,
    paidBy: string[],
    directive: PaymentDirective,
    state: 'reserved' | 'settled',
  ): boolean {
    this.expire();
    const standing = this.spendings.get(id);
    if (standing !== undefined && standing.state !== 'refunded') return standing.signer === signer;
    const shares: ModelSpending['shares'] = [];
    let rest = amount;
    const own = this.balances.get(signer) ?? 0;
    const payers = [...new Set(paidBy)];
    for (const payer of payers) {
      if (payer === signer) {
        const share = Math.max(0, Math.min(own, rest));
        if (share > 0) shares.push({ payer, approval: undefined, amount: share });
        rest -= share;
      } else {
        for (const approval of this.active(payer, signer)) {
          const share = Math.min(approval.amount - approval.used, rest);
          if (share > 0) shares.push({ payer, approval, amount: share });
          rest -= share;
        }
      }
    }
    const signerLeft = payers.length === 0 || (directive === 'list-or-signer' && !payers.includes(signer));
    if (rest > 0 && signerLeft && own >= rest) {
      shares.push({ payer: signer, approval: undefined, amount: rest });
      rest = 0;
    }
    if (rest > 0) return false;
    for (const share of shares) {
      if (share.approval === undefined) this.#add(share.payer, -share.amount);
      else {
        share.approval.used += share.amount;
        if (share.approval.used === share.approval.amount) share.approval.status = 'used';
      }
    }
    this.spendings.set(id, { signer, state, shares });
    return true;
  }

  settle(id: string, kept: number | undefined): boolean {
    const spending = this.spendings.get(id);
    if (spending === undefined || spending.state === 'refunded') return false;
    const held = total(spending);
    if (spending.state === 'settled') return kept === undefined || kept === held;
    if (kept !== undefined && kept > held) return false;
    let excess = held - (kept ?? held);
    for (const share of spending.shares.toReversed()) {
      const part = Math.min(share.amount, excess);
      if (part > 0) this.#giveBack(share, part);
      share.amount -= part;
      excess -= part;
    }
    spending.shares = spending.shares.filter(({ amount }) => amount > 0);
    spending.state = 'settled';
    return true;
  }

  refund(id: string): void {
    const spending = this.spendings.get(id);
    if (spending === undefined || spending.state === 'refunded') return;
    for (const share of spending.shares) this.#giveBack(share, share.amount);
    spending.state = 'refunded';
  }

  approve(id: string, payer: string, approved: string, amount: number, seconds: number | undefined): boolean {
    const now = this.#clock.now;
    if (payer === approved || amount < 1 || this.approvals.some((approval) => approval.id === id))
      return false;
    this.expire();
    if ((this.balances.get(payer) ?? 0) < amount) return false;
    this.#add(payer, -amount);
    const expiresAt = seconds === undefined ? Number.POSITIVE_INFINITY : now + seconds * 1000;
    this.approvals.push({
      id,
      payer,
      approved,
      amount,
      used: 0,
      status: 'active',
      createdAt: now,
      expiresAt,
    });
    return true;
  }

  revoke(payer: string, approved: string): boolean {
    this.expire();
    if (this.active(payer, approved).length === 0) return false;
    for (const approval of this.approvals) {
      if (approval.payer !== payer || approval.approved !== approved) continue;
      if (approval.status === 'active') this.#add(payer, approval.amount - approval.used);
      if (approval.status === 'active' || approval.status === 'used') approval.status = 'revoked';
    }
    return true;
  }

  active(payer: string, approved: string): ModelApproval[] {
    return this.approvals
      .filter((a) => a.payer === payer && a.approved === approved && a.status === 'active')
      .sort((a, b) => compare(a.expiresAt, b.expiresAt) || a.createdAt - b.createdAt || compare(a.id, b.id));
  }

  #giveBack(
    { payer, approval }: { payer: string; approval: ModelApproval | undefined },
    amount: number,
  ): void {
    const expired = (approval?.expiresAt ?? 0) <= this.#clock.now;
    const owes = (this.balances.get(payer) ?? 0) < 0;
    const lives = approval?.status === 'active' || (approval?.status === 'used' && !expired && !owes);
    if (!lives) this.#add(payer, amount);
    if (approval === undefined) return;
    approval.used -= amount;
    if (lives) approval.status = 'active';
    else if (approval.status === 'used') approval.status = expired ? 'expired' : 'revoked';
  }

  #add(address: string, amount: number): void {
    this.balances.set(address, (this.balances.get(address) ?? 0) + amount);
  }
}

const compare = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
const total = ({ shares }: ModelSpending): number => shares.reduce((sum, { amount }) => sum + amount, 0);

const wallets = ['anna', 'boris', 'clara', 'dimitri'];
/** Other forms of the first two, which are not known to be theirs at first. */
const forms = new Map([
  ['kyve1anna', 'anna'],
  ['kyve1boris', 'boris'],
]);
const names = [...wallets, ...forms.keys()];

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
  // What is asked for under any form counts for the wallet once it is known.
  const asked = { wallet: random.pick(names), other: random.pick(names) };
  const named = async (name: string): Promise<string> => (await credits.namesOf(name))[0] ?? name;
  const wallet = await named(asked.wallet);
  const other = await named(asked.other);
  const amount = random.below(60);
  const item = `item${random.below(40)}`;
  const agree = async (what: string, expected: boolean, change: Promise<unknown>): Promise<string> => {
    const text = `${what} ${wallet} ${other} ${amount} ${item}`;
    assert.equal(await allowed(change), expected, text);
    return text;
  };
  if (random.below(150) === 0) {
    const [form, owner] = random.pick([...forms]);
    await credits.unite({ wallet: { kind: 'ethereum', address: owner }, others: [form] });
    // Nothing is written of a wallet that the ledger does not know.
    if ((await named(form)) === owner) model.unite(owner, form);
    return `unite ${form}`;
  }
  switch (random.below(12)) {
    case 0:
    case 1: {
      const id = `tx${random.below(30)}`;
      const request = { address: asked.wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
      const expected = model.change(wallet, amount + 1, `credit ${id}`);
      return agree(`credit ${id}`, expected, credits.credit({ ...request, reason: 'payment' }));
    }
    case 2: {
      if (random.below(6) !== 0) return 'nothing';
      const id = `dispute${random.below(30)}`;
      const request = { address: asked.wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
      const expected = model.change(wallet, -amount - 1, `clawback ${id}`);
      return agree(`clawback ${id}`, expected, credits.clawback({ ...request, reason: 'chargeback' }));
    }
    case 3:
    case 4:
    case 5: {
      const paidBy = Array.from({ length: random.below(4) }, () => random.pick(names));
      const directive = random.below(3) === 0 ? 'list-only' : 'list-or-signer';
      const state = random.below(2) === 0 ? 'reserved' : 'settled';
      const request: SpendRequest = {
        id: item,
        reason: 'upload',
        signer: asked.wallet,
        signerType: 'arweave',
        amount: winc(BigInt(amount)),
        paidBy,
        directive,
      };
      const payers = await Promise.all(paidBy.map(named));
      const expected = model.spend(item, wallet, amount, payers, directive, state);
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
      const request = { address: asked.wallet, addressType: 'arweave', amount: winc(BigInt(amount + 1)), id };
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
      const request = { id, payer: asked.wallet, approved: asked.other, amount: winc(BigInt(amount)) };
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
      return agree('revoke', expected, credits.revoke({ id, payer: asked.wallet, approved: asked.other }));
    }
  }
}

async function assertSame(model: Model, credits: Credits, after: string): Promise<void> {
  model.expire();
  for (const name of names) {
    const wallet = (await credits.namesOf(name))[0] ?? name;
    const received = model.approvals.filter((a) => a.approved === wallet && a.status === 'active');
    const given = model.approvals.filter((a) => a.payer === wallet && a.status === 'active');
    const own = model.balances.get(wallet);
    const balance = await credits.balance(name);
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
        const sql = await open(creditsMigrations);
        const credits = createCredits({ sql, now: () => clock.now });
        const model = new Model(clock);
        const steps = engine === 'sqlite' ? 1_500 : 400;
        for (let count = 0; count < steps; count += 1) {
          const did = await step(random, model, credits, clock);
          if (count % 10 === 0) await assertSame(model, credits, `step ${count}: ${did}`);
        }
        await assertSame(model, credits, 'the end');
        const { problems, drift } = await credits.selfCheck();
        assert.deepEqual({ problems, drift }, { problems: [], drift: 0n });
        await assertToldOnce(sql);
      });
    }

    it('keep every invariant when many run at once', async () => {
      const random = seededRandom(9);
      const clock = { now: 1_000_000 };
      const sql = await open(creditsMigrations);
      const credits = createCredits({ sql, now: () => clock.now });
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
      await assertToldOnce(sql);
    });
  });
});

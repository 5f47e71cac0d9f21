/** A ledger written in the plainest way, on numbers and maps: what the real one is compared with in tests. */
import type { PaymentDirective } from '../credits.ts';

export interface ModelApproval {
  readonly id: string;
  readonly payer: string;
  readonly approved: string;
  readonly amount: number;
  used: number;
  status: 'active' | 'used' | 'revoked' | 'expired';
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface ModelSpending {
  readonly signer: string;
  state: 'reserved' | 'settled' | 'refunded';
  shares: { payer: string; approval: ModelApproval | undefined; amount: number }[];
}

/** Answers true where the ledger should change or repeat, false where it should refuse. */
export class Model {
  readonly balances = new Map<string, number>();
  readonly changes = new Map<string, string>();
  readonly approvals: ModelApproval[] = [];
  readonly spendings = new Map<string, ModelSpending>();
  readonly #clock: { now: number };

  constructor(clock: { now: number }) {
    this.#clock = clock;
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

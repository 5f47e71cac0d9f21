/** Accounts as the ledger holds them: every one in memory, found by address or by owning program. */
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { systemProgram } from '../../formats/solana/programs.ts';

/** A value: changed accounts are new objects, so a failed transaction leaves nothing behind. */
export interface Account {
  readonly lamports: bigint;
  readonly owner: SolanaAddress;
  readonly data: Buffer;
  readonly executable: boolean;
}

/** What an address that was never used looks like. */
export const emptyAccount: Account = {
  lamports: 0n,
  owner: systemProgram,
  data: Buffer.alloc(0),
  executable: false,
};

export interface AccountReader {
  get(address: SolanaAddress): Account;
}

/** Undefined in a change means: gone. */
export type AccountChanges = ReadonlyMap<SolanaAddress, Account | undefined>;

/** Accounts that nobody stores, made when they are read. */
export type ComputedAccounts = ReadonlyMap<SolanaAddress, () => Account>;

export class AccountStore implements AccountReader {
  readonly #computed: ComputedAccounts;
  readonly #accounts = new Map<SolanaAddress, Account>();
  readonly #byOwner = new Map<SolanaAddress, Set<SolanaAddress>>();

  constructor(computed: ComputedAccounts = new Map()) {
    this.#computed = computed;
  }

  get(address: SolanaAddress): Account {
    return this.#accounts.get(address) ?? this.#computed.get(address)?.() ?? emptyAccount;
  }

  has(address: SolanaAddress): boolean {
    return this.#accounts.has(address);
  }

  get size(): number {
    return this.#accounts.size;
  }

  entries(): IterableIterator<[SolanaAddress, Account]> {
    return this.#accounts.entries();
  }

  *ownedBy(program: SolanaAddress): Generator<[SolanaAddress, Account]> {
    for (const address of this.#byOwner.get(program) ?? []) {
      const account = this.#accounts.get(address);
      if (account !== undefined) yield [address, account];
    }
  }

  apply(changes: AccountChanges): void {
    for (const [address, account] of changes) {
      const before = this.#accounts.get(address);
      if (before !== undefined && before.owner !== account?.owner) {
        this.#byOwner.get(before.owner)?.delete(address);
      }
      if (account === undefined) {
        this.#accounts.delete(address);
      } else {
        this.#accounts.set(address, account);
        if (before?.owner !== account.owner) this.#list(account.owner, address);
      }
    }
  }

  /** Plain wallets are not listed: nobody asks for all of them, and they are most of the accounts. */
  #list(owner: SolanaAddress, address: SolanaAddress): void {
    if (owner === systemProgram) return;
    const set = this.#byOwner.get(owner);
    if (set === undefined) this.#byOwner.set(owner, new Set([address]));
    else set.add(address);
  }
}

/** Changes over a reader that are not yet its own: a batch that is being executed, or one transaction. */
export class Overlay implements AccountReader {
  readonly #below: AccountReader;
  readonly #changed = new Map<SolanaAddress, Account>();

  constructor(below: AccountReader) {
    this.#below = below;
  }

  get(address: SolanaAddress): Account {
    return this.#changed.get(address) ?? this.#below.get(address);
  }

  has(address: SolanaAddress): boolean {
    return this.#changed.has(address);
  }

  set(address: SolanaAddress, account: Account): void {
    this.#changed.set(address, account);
  }

  absorb(changes: AccountChanges): void {
    for (const [address, account] of changes) this.#changed.set(address, account ?? emptyAccount);
  }

  /** At the end of a transaction an account without lamports is gone, whatever else it held. */
  changes(): AccountChanges {
    const changes = new Map<SolanaAddress, Account | undefined>();
    for (const [address, account] of this.#changed) {
      changes.set(address, account.lamports === 0n ? undefined : account);
    }
    return changes;
  }

  /** Lamports made (or lost) by the changes. */
  difference(): bigint {
    let difference = 0n;
    for (const [address, account] of this.#changed) {
      difference += account.lamports - this.#below.get(address).lamports;
    }
    return difference;
  }
}

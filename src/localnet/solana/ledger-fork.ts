/**
 * Accounts of a forked cluster: one that the ledger has never had is taken over when somebody asks for it or sends a
 * transaction that names it. From then on it is the ledger's own; one that ended here does not come back.
 */
import { LRUCache } from 'lru-cache';
import type { ForkedAccount, ForkedAccounts, ListMethod } from '../../fork/accounts.ts';
import { ForkRefusal } from '../../fork/upstream.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { Message } from '../../formats/solana/message.ts';
import { tokenProgram } from '../../formats/solana/programs.ts';
import { decodeTokenAccount, tokenAccountSize } from '../../formats/solana/token.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Ledger } from './ledger.ts';
import { resolveLookups } from './runtime/lookups.ts';

/** How long it is believed that the cluster has no such account: a client asks for the same ones again and again. */
const absentMs = 5_000;

export class LedgerFork {
  readonly #ledger: Ledger;
  readonly #cluster: ForkedAccounts;
  readonly #absent = new LRUCache<SolanaAddress, true>({ max: 50_000, ttl: absentMs });

  readonly #log: Logger;
  readonly #refused = new Set<ListMethod>();

  constructor(ledger: Ledger, cluster: ForkedAccounts, log: Logger) {
    this.#ledger = ledger;
    this.#cluster = cluster;
    this.#log = log;
  }

  /** Where the cluster is, for people. */
  get shown(): string {
    return this.#cluster.shown;
  }

  /** Afterwards the ledger has each of them that the cluster has. Fails with `ForkUnavailable`. */
  async bring(addresses: Iterable<SolanaAddress>): Promise<void> {
    const unknown = [...new Set(addresses)].filter((address) => this.#mayBeThere(address));
    if (unknown.length === 0) return;
    const found = await this.#cluster.accounts(unknown);
    for (const address of unknown) if (!found.has(address)) this.#absent.set(address, true);
    await this.#takeOver(found);
  }

  /** The same for all that a message names, in lookup tables too. */
  async bringNamed(message: Message): Promise<void> {
    await this.bring([...message.keys, ...message.lookups.map(({ table }) => table)]);
    const { accounts, slots } = this.#ledger;
    const resolved = resolveLookups(message, accounts, slots.now().slot);
    if (!('error' in resolved)) await this.bring(resolved.keys);
  }

  /**
   * The same for all accounts that a method of the cluster lists. Public nodes refuse to make some lists: then it is that
   * of the ledger alone.
   */
  async bringList(method: ListMethod, params: readonly unknown[]): Promise<void> {
    try {
      await this.#takeOver(await this.#cluster.list(method, params));
    } catch (error) {
      if (!(error instanceof ForkRefusal)) throw error;
      if (this.#refused.has(method)) return;
      this.#refused.add(method);
      this.#log.warn(`${error.message}: ${method} lists what is on the local ledger only`);
    }
  }

  #mayBeThere(address: SolanaAddress): boolean {
    // The state of the cluster itself (clock, rent, recent blockhashes) is not that of this ledger.
    if (address.startsWith('Sysvar')) return false;
    return !this.#ledger.isDecided(address) && !this.#absent.has(address);
  }

  async #takeOver(found: ReadonlyMap<SolanaAddress, ForkedAccount>): Promise<void> {
    await this.#ledger.takeOver(found);
    const mints = [...found.values()].flatMap(({ owner, data }) =>
      owner === tokenProgram && data.length === tokenAccountSize ? [decodeTokenAccount(data).mint] : [],
    );
    // What a balance is worth stands in its mint.
    if (mints.length > 0) await this.bring(mints);
  }
}

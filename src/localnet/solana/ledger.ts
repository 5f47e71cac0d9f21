/**
 * The ledger: takes signed transactions, executes them in order, makes them durable, answers what is.
 *
 * Signatures are checked off the event loop while others are being executed. Executed transactions wait in a
 * batch over the committed accounts; one write makes the batch durable, and only then do readers see it and
 * senders get their answer. So whatever was answered survives a crash, and there is nothing to roll back.
 */
import { encodeBase58 } from '../../formats/base58.ts';
import { FormatError } from '../../formats/format-error.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { Message } from '../../formats/solana/message.ts';
import { maxTransactionBytes, parseTransaction, type Transaction } from '../../formats/solana/transaction.ts';
import { type Account, type AccountChanges, type AccountStore, Overlay } from './accounts.ts';
import { innerOf, lamportsOf, memoOf, type TransactionMeta, tokensOf } from './meta.ts';
import type { TransactionError } from './runtime/errors.ts';
import { type Environment, type Execution, executeTransaction, refused } from './runtime/execute.ts';
import type { ProgramTable } from './runtime/invocation.ts';
import { durableNonce, usedNonce } from './runtime/nonces.ts';
import { signaturesHold } from './signatures.ts';
import type { Moment, Slots } from './slots.ts';
import type { ExecutedTransaction, LedgerStore, StoredTransaction } from './store.ts';

/** Transactions that may wait at once; beyond it senders are told to come back. */
const maxWaiting = 20_000;
/** Executed together and written together. */
const batchSize = 512;
/** Slots for which a signature is remembered, longer than any blockhash lives. */
const rememberedSlots = 300;

/** The bytes are no transaction. Nothing happened. */
export class NotATransaction extends Error {
  override readonly name = 'NotATransaction';
}

/** The ledger has more to do than it can keep. Nothing happened. */
export class LedgerBusy extends Error {
  override readonly name = 'LedgerBusy';
}

/** The transaction was not taken: it is not in the log and cost nothing. */
export class TransactionRefused extends Error {
  override readonly name = 'TransactionRefused';
  readonly error: TransactionError;
  readonly logs: readonly string[];
  readonly unitsConsumed: number;

  constructor(error: TransactionError, logs: readonly string[] = [], unitsConsumed = 0) {
    super(typeof error === 'string' ? error : JSON.stringify(error));
    this.error = error;
    this.logs = logs;
    this.unitsConsumed = unitsConsumed;
  }
}

export interface SignatureStatus {
  readonly slot: number;
  readonly err: TransactionError | null;
  readonly sequence: number;
}

interface Waiting {
  readonly transaction: Transaction;
  readonly signature: string;
  readonly wire: Buffer;
  /** With it, a transaction that would fail is not taken at all. */
  readonly preflight: boolean;
  readonly resolve: (status: SignatureStatus) => void;
  readonly reject: (error: Error) => void;
}

/** Called with what a batch changed, and its transactions in order. */
type CommitListener = (changes: AccountChanges, transactions: readonly ExecutedTransaction[]) => void;

export class Ledger {
  readonly slots: Slots;
  readonly accounts: AccountStore;
  readonly #store: LedgerStore;
  readonly #programs: ProgramTable;
  readonly #recent = new Map<string, SignatureStatus>();
  readonly #waiting: Waiting[] = [];
  readonly #inFlight = new Map<string, Promise<SignatureStatus>>();
  readonly #listeners = new Set<CommitListener>();
  /** Accounts that ended here; told only where a fork is behind the ledger. */
  readonly #ended: Set<SolanaAddress> | undefined;
  #sequence: number;
  #draining: Promise<void> | undefined;
  #batch: Promise<void> = Promise.resolve();

  constructor(
    store: LedgerStore,
    accounts: AccountStore,
    programs: ProgramTable,
    slots: Slots,
    lastSequence: number,
    recent: Iterable<[string, SignatureStatus]> = [],
    ended?: Iterable<SolanaAddress>,
  ) {
    this.#store = store;
    this.accounts = accounts;
    this.#programs = programs;
    this.slots = slots;
    this.#sequence = lastSequence;
    for (const [signature, status] of recent) this.#recent.set(signature, status);
    this.#ended = ended && new Set(ended);
  }

  get transactionCount(): number {
    return this.#sequence;
  }

  /** Whether this ledger has had the account, so that no other's counts. */
  isDecided(address: SolanaAddress): boolean {
    return this.accounts.has(address) || this.#ended?.has(address) === true;
  }

  /** Accounts of a fork become the ledger's own, but those that it has, or has had. */
  async takeOver(accounts: ReadonlyMap<SolanaAddress, Account>): Promise<void> {
    const isNew = ([address]: readonly [SolanaAddress, Account]) => !this.isDecided(address);
    const taken = new Map([...accounts].filter(isNew));
    if (taken.size === 0) return;
    await this.#store.takeOver(taken);
    // A transaction may have made or ended one of them meanwhile.
    this.accounts.apply(new Map([...taken].filter(isNew)));
  }

  /** Called with every committed batch. */
  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Takes a wire transaction; resolves when it is durable, also with an error of its own when it may fail
   * (`preflight` false). Fails with `NotATransaction`, `TransactionRefused` or `LedgerBusy`.
   */
  async submit(wire: Buffer, preflight: boolean): Promise<SignatureStatus> {
    const transaction = parse(wire);
    const signature = encodeBase58(transaction.signatures[0]!);
    const running = this.#inFlight.get(signature);
    if (running !== undefined) return running;
    if (this.#inFlight.size >= maxWaiting) throw new LedgerBusy('too many transactions are waiting');
    const result = this.#take(transaction, signature, wire, preflight);
    this.#inFlight.set(signature, result);
    try {
      return await result;
    } finally {
      this.#inFlight.delete(signature);
    }
  }

  async #take(
    transaction: Transaction,
    signature: string,
    wire: Buffer,
    preflight: boolean,
  ): Promise<SignatureStatus> {
    if (!(await signaturesHold(transaction))) throw new TransactionRefused('SignatureFailure');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ transaction, signature, wire, preflight, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** What a message would do now, on the committed accounts. Nothing is kept. */
  simulate(message: Message, options: { readonly anyBlockhash: boolean }): Execution {
    const moment = this.slots.now();
    if (!options.anyBlockhash && !this.isCurrent(message)) return refused(message, 'BlockhashNotFound');
    return this.#execute(message, this.accounts, moment, this.#sequence + 1);
  }

  /** Whether a message may be sent now: its blockhash lives, or it uses a nonce. */
  isCurrent(message: Message): boolean {
    return (
      this.slots.isAlive(message.blockhash, this.slots.now()) ||
      usedNonce(message, this.accounts) !== undefined
    );
  }

  recentStatus(signature: string): SignatureStatus | undefined {
    return this.#recent.get(signature);
  }

  find(signature: string): Promise<StoredTransaction | undefined> {
    return this.#store.bySignature(signature);
  }

  history(
    address: SolanaAddress,
    range: { before: number; after: number; limit: number },
  ): Promise<StoredTransaction[]> {
    return this.#store.byAddress(address, range);
  }

  newest(limit: number): Promise<StoredTransaction[]> {
    return this.#store.newest(limit);
  }

  inSlot(slot: number): Promise<StoredTransaction[]> {
    return this.#store.inSlot(slot);
  }

  countsSince(slot: number, groupSize: number): Promise<Map<number, number>> {
    return this.#store.countsSince(slot, groupSize);
  }

  /** Resolves when what is being executed is durable. */
  batchDone(): Promise<void> {
    return this.#batch;
  }

  /** Resolves when nothing is waiting any more. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0 || this.#draining !== undefined) {
      await Promise.allSettled([...this.#inFlight.values(), this.#draining]);
    }
  }

  #execute(message: Message, accounts: AccountStore | Overlay, moment: Moment, sequence: number): Execution {
    return executeTransaction(message, accounts, this.#programs, environmentOf(this.slots, moment, sequence));
  }

  async #drain(): Promise<void> {
    // Whatever arrives in the same turn of the event loop goes into the same batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchSize);
      this.#batch = this.#runBatch(batch);
      await this.#batch;
    }
    this.#draining = undefined;
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    const moment = this.slots.now();
    this.#forget(moment.slot);
    const overlay = new Overlay(this.accounts);
    const taken: { waiting: Waiting; entry: ExecutedTransaction; status: SignatureStatus }[] = [];
    const seen = new Set<string>();
    for (const waiting of batch) {
      try {
        if (seen.has(waiting.signature)) throw new TransactionRefused('AlreadyProcessed');
        const entry = this.#runOne(waiting, overlay, moment, this.#sequence + taken.length + 1);
        seen.add(waiting.signature);
        const status = { slot: entry.slot, err: entry.meta.err, sequence: entry.sequence };
        taken.push({ waiting, entry, status });
      } catch (error) {
        waiting.reject(error instanceof Error ? error : new Error(String(error)));
      }
    }
    if (taken.length === 0) return;
    const changes = overlay.changes();
    const transactions = taken.map(({ entry }) => entry);
    try {
      await this.#store.commit(transactions, changes);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      for (const { waiting } of taken) waiting.reject(reason);
      return;
    }
    this.accounts.apply(changes);
    if (this.#ended !== undefined) {
      for (const [address, account] of changes) if (account === undefined) this.#ended.add(address);
    }
    this.#sequence += taken.length;
    for (const { waiting, status } of taken) {
      this.#recent.set(waiting.signature, status);
      waiting.resolve(status);
    }
    for (const listener of this.#listeners) listener(changes, transactions);
  }

  #runOne(waiting: Waiting, overlay: Overlay, moment: Moment, sequence: number): ExecutedTransaction {
    const sent = waiting.transaction.message;
    if (!this.slots.isAlive(sent.blockhash, moment) && usedNonce(sent, overlay) === undefined) {
      throw new TransactionRefused('BlockhashNotFound');
    }
    if (this.#recent.has(waiting.signature)) throw new TransactionRefused('AlreadyProcessed');
    const execution = this.#execute(sent, overlay, moment, sequence);
    const { error, fee, message } = execution;
    if (error !== undefined && (fee === undefined || waiting.preflight)) {
      throw new TransactionRefused(error, execution.logs, execution.unitsConsumed);
    }
    const before = { pre: lamportsOf(message, overlay), preTokens: tokensOf(message, overlay) };
    overlay.absorb(execution.changes);
    const meta: TransactionMeta = {
      err: error ?? null,
      fee: (fee ?? 0n).toString(),
      ...before,
      post: lamportsOf(message, overlay),
      postTokens: tokensOf(message, overlay),
      logs: execution.logs,
      units: execution.unitsConsumed,
      inner: innerOf(message, execution),
      returnData: execution.returnData
        ? { programId: execution.returnData.programId, data: execution.returnData.data.toString('base64') }
        : null,
      memo: memoOf(message),
      ...(message.lookups.length > 0 && { loaded: message.loaded }),
    };
    return {
      sequence,
      signature: waiting.signature,
      slot: moment.slot,
      timeMs: moment.ms,
      wire: waiting.wire,
      meta,
      keys: message.keys,
    };
  }

  #forget(slot: number): void {
    for (const [signature, status] of this.#recent) {
      if (status.slot >= slot - rememberedSlots) break;
      this.#recent.delete(signature);
    }
  }
}

/** Where and when the transaction of this place in the log is executed: the same each time. */
export function environmentOf(slots: Slots, moment: Moment, sequence: number): Environment {
  return {
    slot: moment.slot,
    now: Math.floor(moment.ms / 1000),
    nextNonce: () => durableNonce(slots.blockhash(moment.slot), sequence),
  };
}

function parse(wire: Buffer): Transaction {
  if (wire.length > maxTransactionBytes) throw new NotATransaction('transaction too large');
  try {
    return parseTransaction(wire);
  } catch (error) {
    if (error instanceof FormatError) throw new NotATransaction(error.message);
    throw error;
  }
}

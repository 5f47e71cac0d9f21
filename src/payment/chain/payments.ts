/**
 * Reported chain payments: found on their chain, priced when they are reported, credited once when they have
 * the confirmations asked for. A payment to another wallet, of nothing, or that moved nothing credits nothing.
 */
import { type Credits, winc } from '../../credits/credits.ts';
import { AmountTooSmall, type Pricing, renderAdjustment } from '../../pricing/pricing.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { parseAddress } from '../../wallets/address.ts';
import {
  excludedSender,
  notMinedYet,
  paymentTooSmall,
  tokenNotSupported,
  transactionFailure,
  transactionNotFound,
  wrongTarget,
  zeroQuantity,
} from '../errors.ts';
import type { AcceptedToken, ChainTransaction, Transfer } from './chain.ts';
import { type ChainPaymentRow, dueRows, endRow, insertRow, postponeRow, readRow } from './store.ts';

export interface ChainPaymentsOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  readonly tokens: ReadonlyMap<string, AcceptedToken>;
  /** Wallets whose payments are refused, in normal form. */
  readonly excludedSenders: ReadonlySet<string>;
  /** How often an unknown transaction is looked for, and the pauses between. */
  readonly attempts: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** A pending payment that its chain has not known for so long fails. */
  readonly forgetAfterMs: number;
  /** A repeated report asks the chain again at most this often. */
  readonly recheckMs: number;
  readonly now?: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  onCredited?(row: ChainPaymentRow): void;
  onFailed?(row: ChainPaymentRow, reason: string): void;
}

const MAX_FINDING = 64;
const CHECKED_AT_ONCE = 4;
const MAX_CHECK_PAUSE_MS = 600_000;
const ROWS_PER_RUN = 100;

export class ChainPayments {
  readonly #options: ChainPaymentsOptions;
  readonly #now: () => number;
  /** One look at a transaction at a time, whoever asks. */
  readonly #flights = new Map<string, Promise<ChainPaymentRow>>();
  /** Unknown transactions that are being looked for. */
  #finding = 0;

  constructor(options: ChainPaymentsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Token -> wallet, for `/info`. */
  get addresses(): Record<string, string> {
    return Object.fromEntries([...this.#options.tokens].map(([name, { wallet }]) => [name, wallet]));
  }

  async report(tokenName: string, transactionId: string, referer?: string): Promise<ChainPaymentRow> {
    const token = this.#options.tokens.get(tokenName);
    if (token === undefined) throw tokenNotSupported();
    const id = token.reader.parseId(transactionId);
    if (id === undefined) throw transactionNotFound();
    // A payment in the coin of a chain and one in a token on it are read differently, so that they share nothing here.
    const key = `${token.token} ${id}`;
    const flight = this.#flights.get(key) ?? this.#look(token, id, referer);
    this.#flights.set(key, flight);
    try {
      return await flight;
    } finally {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    }
  }

  /** Looks again at payments that wait; answers how many ended. */
  async checkPending(): Promise<number> {
    const rows = await dueRows(this.#options.sql, this.#now(), ROWS_PER_RUN);
    let ended = 0;
    const next = rows.values();
    // A chain that does not answer is asked once in a run, and holds up nobody on another.
    const away = new Map<string, unknown>();
    const check = async (row: ChainPaymentRow): Promise<ChainPaymentRow> => {
      if (away.has(row.chain)) return this.#postpone(row);
      return this.#recheck(row).catch((error: unknown) => {
        away.set(row.chain, error);
        return this.#postpone(row);
      });
    };
    const worker = async (): Promise<void> => {
      for (const row of next) if ((await check(row)).state !== 'pending') ended += 1;
    };
    await Promise.all(Array.from({ length: CHECKED_AT_ONCE }, worker));
    if (away.size > 0) throw new AggregateError(away.values(), `cannot ask ${[...away.keys()].join(', ')}`);
    return ended;
  }

  async #look(token: AcceptedToken, id: string, referer?: string): Promise<ChainPaymentRow> {
    const known = await readRow(this.#options.sql, token.chain, id);
    if (known?.state === 'pending') return this.#mayRecheck(known) ? this.#recheck(known) : known;
    if (known !== undefined) return known;
    // Anyone may report anything, and each unknown id costs calls to a chain.
    if (this.#finding >= MAX_FINDING) throw transactionFailure(undefined, 1);
    this.#finding += 1;
    try {
      return await this.#accept(token, id, await this.#find(token, id), referer);
    } finally {
      this.#finding -= 1;
    }
  }

  /** Waits a little for a transaction that its sender has just sent. */
  async #find(token: AcceptedToken, id: string): Promise<ChainTransaction & { transfer: Transfer }> {
    const { attempts, firstPauseMs, maxPauseMs, sleep } = this.#options;
    let found: ChainTransaction = { state: 'not-found' };
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      if (attempt > 0) await sleep(Math.min(maxPauseMs, firstPauseMs * 2 ** (attempt - 1)));
      found = await token.reader.read(id);
      if ('transfer' in found) return found;
    }
    throw found.state === 'unreadable' ? notMinedYet(id) : transactionNotFound();
  }

  async #accept(
    token: AcceptedToken,
    id: string,
    found: ChainTransaction & { transfer: Transfer },
    referer?: string,
  ): Promise<ChainPaymentRow> {
    const { transfer } = found;
    this.#check(token, id, transfer);
    const now = this.#now();
    const row = await this.#priced(token, id, transfer, referer ?? null, now);
    const ended = { ended_at: now, block_height: transfer.blockHeight ?? null };
    const state =
      found.state === 'confirmed' ? 'credited' : found.state === 'reverted' ? 'failed' : 'pending';
    const reported: ChainPaymentRow = {
      ...row,
      state,
      ...(state === 'pending' ? {} : ended),
      failure_reason: state === 'failed' ? 'reverted' : null,
    };
    const stored = await this.#options.sql.transaction(async (tx) => {
      const added = await insertRow(tx, reported);
      if (added && state === 'credited') await this.#credit(tx, reported);
      return added ? undefined : await readRow(tx, token.chain, id);
    });
    if (stored !== undefined) return stored;
    this.#tell(reported);
    return reported;
  }

  #check(token: AcceptedToken, id: string, transfer: Transfer): void {
    if (transfer.recipient !== token.wallet) throw wrongTarget(id, transfer.recipient);
    if (transfer.quantity <= 0n) throw zeroQuantity();
    if (this.#options.excludedSenders.has(transfer.sender)) throw excludedSender(id, transfer.sender);
  }

  /** The rate is that of the moment of the report. */
  async #priced(
    { token, chain, addressKind }: AcceptedToken,
    id: string,
    transfer: Transfer,
    referer: string | null,
    now: number,
  ): Promise<ChainPaymentRow> {
    const quote = await this.#options.pricing.quoteToken(transfer.quantity, token).catch((error: unknown) => {
      throw error instanceof AmountTooSmall ? paymentTooSmall(error.message) : error;
    });
    if (quote.winc < 1n) {
      throw paymentTooSmall(
        'Crypto payment amount is too small! Token value must convert to at least one winc',
      );
    }
    const named = transfer.destination === undefined ? undefined : parseAddress(transfer.destination);
    return {
      chain,
      transaction_id: id,
      token,
      state: 'pending',
      quantity: transfer.quantity.toString(),
      winc: quote.winc.toString(),
      adjustments: JSON.stringify(quote.fees.map(renderAdjustment)),
      usd_equivalent: quote.usdEquivalent,
      sender: transfer.sender,
      destination: named?.address ?? transfer.sender,
      destination_type: named?.kind ?? addressKind,
      referer,
      created_at: now,
      ended_at: null,
      block_height: transfer.blockHeight ?? null,
      failure_reason: null,
      checks: 1,
      checked_at: now,
      next_check_at: now + this.#options.recheckMs,
      missing_since: null,
    };
  }

  async #recheck(row: ChainPaymentRow): Promise<ChainPaymentRow> {
    const token = this.#tokenOf(row);
    if (token === undefined) return this.#postpone(row);
    const found = await token.reader.read(row.transaction_id);
    const blockHeight = 'transfer' in found ? (found.transfer.blockHeight ?? null) : row.block_height;
    if (found.state === 'confirmed') {
      const same = isSame(row, found.transfer, token);
      return same
        ? this.#end(row, 'credited', blockHeight, null)
        : this.#end(row, 'failed', blockHeight, 'changed');
    }
    if (found.state === 'reverted') return this.#end(row, 'failed', blockHeight, 'reverted');
    if (found.state !== 'not-found') return this.#postpone({ ...row, missing_since: null });
    // One endpoint that lags behind does not make a payment disappear: it has to be gone for long.
    const missingSince = row.missing_since ?? this.#now();
    const forgotten = this.#now() - missingSince > this.#options.forgetAfterMs;
    if (forgotten) return this.#end(row, 'failed', null, 'not_found');
    return this.#postpone({ ...row, missing_since: missingSince });
  }

  async #end(
    row: ChainPaymentRow,
    state: 'credited' | 'failed',
    blockHeight: number | null,
    reason: string | null,
  ): Promise<ChainPaymentRow> {
    const end = { state, ended_at: this.#now(), block_height: blockHeight, failure_reason: reason };
    const ended: ChainPaymentRow = { ...row, ...end };
    const other = await this.#options.sql.transaction(async (tx) => {
      if (!(await endRow(tx, row, end))) return readRow(tx, row.chain, row.transaction_id);
      if (state === 'credited') await this.#credit(tx, ended);
      return undefined;
    });
    if (other !== undefined) return other;
    this.#tell(ended);
    return ended;
  }

  async #credit(tx: SqlExecutor, row: ChainPaymentRow): Promise<void> {
    await this.#options.credits.within(tx).credit({
      address: row.destination,
      addressType: row.destination_type,
      amount: winc(BigInt(row.winc)),
      reason: 'crypto_payment',
      id: `${row.chain}:${row.transaction_id}`,
      payment: {
        type: 'crypto',
        tokenType: row.token,
        tokenQuantity: row.quantity,
        usdEquivalent: row.usd_equivalent,
        senderAddress: row.sender,
        transactionId: row.transaction_id,
        ...(row.block_height === null ? {} : { blockHeight: String(row.block_height) }),
      },
    });
  }

  async #postpone(row: ChainPaymentRow): Promise<ChainPaymentRow> {
    const pause = Math.min(MAX_CHECK_PAUSE_MS, this.#options.recheckMs * 2 ** Math.min(row.checks, 10));
    const now = this.#now();
    await postponeRow(this.#options.sql, row, now, now + pause);
    return row;
  }

  #mayRecheck(row: ChainPaymentRow): boolean {
    return this.#now() >= row.checked_at + this.#options.recheckMs;
  }

  #tokenOf(row: ChainPaymentRow): AcceptedToken | undefined {
    const named = this.#options.tokens.get(row.token);
    if (named !== undefined) return named;
    return [...this.#options.tokens.values()].find(({ chain }) => chain === row.chain);
  }

  #tell(row: ChainPaymentRow): void {
    if (row.state === 'credited') this.#options.onCredited?.(row);
    if (row.state === 'failed') this.#options.onFailed?.(row, row.failure_reason ?? 'unknown');
  }
}

/** What a call of a contract pays is known when its block is final: one that was replaced may have paid something else. */
const isSame = (row: ChainPaymentRow, { sender, recipient, quantity }: Transfer, { wallet }: AcceptedToken) =>
  recipient === wallet && sender === row.sender && quantity === BigInt(row.quantity);

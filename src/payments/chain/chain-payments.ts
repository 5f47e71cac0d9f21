/**
 * Reported chain payments: found on their chain, priced when they are reported, credited once when they have
 * the confirmations asked for. A payment to another wallet, of nothing, or that moved nothing credits nothing.
 * A payment that failed because its chain did not know it is credited when the chain shows it after all.
 */
import { type Credits, winc } from '../../credits/credits.ts';
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { Together } from '../../kernel/background/together.ts';
import { networkOf, plainAddress } from '../../kernel/http/client-network.ts';
import { AmountTooSmall, type Pricing, renderAdjustment } from '../../pricing/pricing.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { parseAddress } from '../../wallets/address.ts';
import { type AcceptedToken, type ChainTransaction, isPaidTo, type Transfer } from './chain.ts';
import { ChainPaymentRefused, type ChainRefusal, ChainUnavailable } from './errors.ts';
import { LookUpLimits } from './look-up-limits.ts';
import {
  type ChainPaymentRow,
  checkPauses,
  dueFailed,
  duePending,
  insertRow,
  isFinal,
  moveRow,
  readRow,
} from './store.ts';

export interface ChainPaymentsOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pick<Pricing, 'quoteToken'>;
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
  /** How long after its report a payment is credited at the rate of its report. */
  readonly rateMs: number;
  /** Unknown ids that clients of one network may report in a minute. */
  readonly lookUpsPerMinute: number;
  readonly now?: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  onCredited?(row: ChainPaymentRow): void;
  onFailed?(row: ChainPaymentRow, reason: string): void;
}

/** Who reports, as far as it matters. */
export interface Reporter {
  /** The address of the client. */
  readonly client: string;
  readonly referer?: string | undefined;
}

const CHECKED_AT_ONCE = 4;
const ROWS_PER_RUN = 100;
const FAILED_ROWS_PER_RUN = 20;

interface Candidate {
  readonly token: AcceptedToken;
  readonly id: string;
}
type Outcome = { readonly row: ChainPaymentRow } | { readonly error: unknown };

type Searched = ChainPaymentRow | 'not-found' | 'unreadable';
type Priced = Pick<ChainPaymentRow, 'quantity' | 'winc' | 'adjustments' | 'usd_equivalent'>;

export class ChainPayments {
  readonly #options: ChainPaymentsOptions;
  readonly #now: () => number;
  readonly #limits: LookUpLimits;
  /** One search of a client network for an id at a time: it takes one place. */
  readonly #searches = new Together<string, ChainPaymentRow>();
  /** One look at an unknown transaction at a time, for all who ask. */
  readonly #lookUps = new Together<string, Searched>();
  /** The same for one that is stored. */
  readonly #rechecks = new Together<string, ChainPaymentRow>();

  constructor(options: ChainPaymentsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#limits = new LookUpLimits(options.lookUpsPerMinute, options.now);
  }

  /** Token -> wallet, for `/info`. */
  get addresses(): Record<string, string> {
    return Object.fromEntries([...this.#options.tokens].map(([name, { wallet }]) => [name, wallet]));
  }

  /** Throws `ChainPaymentRefused`, `AmountTooSmall`, and what may work later: `ChainUnavailable`, `TooManyLookUps`. */
  async report(tokenName: string, transactionId: string, reporter: Reporter): Promise<ChainPaymentRow> {
    const token = this.#options.tokens.get(tokenName);
    if (token === undefined) throw refused({ kind: 'token-not-supported' });
    const id = token.reader.parseId(transactionId);
    if (id === undefined) throw refused({ kind: 'not-found' });
    const known = await readRow(this.#options.sql, token.chain, id);
    if (known !== undefined) return this.#current(known, reporter.client);
    const network = networkOf(plainAddress(reporter.client));
    const key = `${network} ${token.token} ${id}`;
    return this.#searches.run(key, () => this.#search(token, id, reporter));
  }

  /**
   * A transaction by its id alone: what is stored, else what the chains say on which there may be such an id. A payment that
   * nobody has reported is taken in as if somebody had. Throws as `report`, the refusal that says most.
   */
  async find(transactionId: string, reporter: Reporter, tokenName?: string): Promise<ChainPaymentRow> {
    const { sql } = this.#options;
    const candidates = this.#candidates(transactionId, tokenName);
    for (const { token, id } of candidates) {
      const known = await readRow(sql, token.chain, id);
      if (known !== undefined) return this.#current(known, reporter.client);
    }
    if (candidates.length === 0) throw refused({ kind: 'not-found' });
    await this.#limits.count(reporter.client);
    const chains = Map.groupBy(candidates, ({ token }) => token.chain);
    const looked = await Promise.all(
      [...chains.values()].map((ways) => this.#findOnChain(ways, reporter.referer)),
    );
    const outcomes = looked.flat();
    const found = outcomes.find((outcome) => 'row' in outcome);
    const problem = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
    if (found === undefined) throw mostTelling(problem);
    this.#limits.giveBack(reporter.client);
    return found.row;
  }

  /**
   * A transaction that was found among those of our wallet: taken in as if somebody had reported it, without the limits
   * that reports of strangers have. Undefined where it pays us nothing.
   */
  async takeIn(tokenName: string, transactionId: string): Promise<ChainPaymentRow | undefined> {
    const token = this.#options.tokens.get(tokenName);
    const id = token?.reader.parseId(transactionId);
    if (token === undefined || id === undefined) return undefined;
    try {
      const found = await this.#look(token, id, undefined);
      return typeof found === 'string' ? undefined : found;
    } catch (error) {
      if (error instanceof ChainPaymentRefused || error instanceof AmountTooSmall) return undefined;
      throw error;
    }
  }

  /** Each way to read an id once: some tokens are two names of one coin. */
  #candidates(transactionId: string, tokenName: string | undefined): Candidate[] {
    const named = [...this.#options.tokens.values()].filter(
      ({ token }) => tokenName === undefined || token === tokenName,
    );
    const ways = named.filter(
      ({ reader }, index) => named.findIndex((other) => other.reader === reader) === index,
    );
    return ways.flatMap((token) => {
      const id = token.reader.parseId(transactionId);
      return id === undefined ? [] : [{ token, id }];
    });
  }

  /** One way after the other: a transaction counts once on its chain. */
  async #findOnChain(ways: readonly Candidate[], referer: string | undefined): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const { token, id } of ways) {
      try {
        const found = await this.#look(token, id, referer);
        if (typeof found !== 'string') return [{ row: found }];
        outcomes.push({
          error: refused(found === 'unreadable' ? { kind: 'not-mined', id } : { kind: 'not-found' }),
        });
      } catch (error) {
        outcomes.push({ error });
      }
    }
    return outcomes;
  }

  /** Looks again at payments that wait, and at failed ones that may have been paid; answers how many ended. */
  async checkPending(): Promise<number> {
    const { sql } = this.#options;
    const now = this.#now();
    const rows = [
      ...(await duePending(sql, now, ROWS_PER_RUN)),
      ...(await dueFailed(sql, now, FAILED_ROWS_PER_RUN)),
    ];
    let ended = 0;
    const next = rows.values();
    // A chain that does not answer is asked once in a run, and holds up nobody on another.
    const away = new Map<string, unknown>();
    const failures: unknown[] = [];
    const check = async (row: ChainPaymentRow): Promise<ChainPaymentRow> => {
      if (away.has(row.chain)) return this.#postpone(row);
      return this.#recheck(row).catch((error: unknown) => {
        if (error instanceof ChainUnavailable) away.set(row.chain, error);
        else failures.push(error);
        return this.#postpone(row);
      });
    };
    const worker = async (): Promise<void> => {
      for (const row of next) {
        const { state } = await check(row);
        if (state !== row.state && state !== 'pending') ended += 1;
      }
    };
    await Promise.all(Array.from({ length: CHECKED_AT_ONCE }, worker));
    if (away.size > 0) {
      throw new AggregateError([...away.values(), ...failures], `cannot ask ${[...away.keys()].join(', ')}`);
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some payments could not be looked at');
    return ended;
  }

  /** A stored payment as it stands now: the chain is asked where it may have something new to say. */
  async #current(row: ChainPaymentRow, client: string): Promise<ChainPaymentRow> {
    if (isFinal(row) || this.#now() < row.checked_at + this.#options.recheckMs) return row;
    // One that failed may never be found: it counts like one that is unknown.
    if (row.state === 'failed' && !(await this.#limits.takeShare(client))) return row;
    return this.#rechecks.run(`${row.chain} ${row.transaction_id}`, () => this.#recheck(row));
  }

  /** Looks once, and waits a little for a transaction that its sender has just sent. */
  async #search(token: AcceptedToken, id: string, { client, referer }: Reporter): Promise<ChainPaymentRow> {
    const { attempts, firstPauseMs, maxPauseMs, sleep } = this.#options;
    const pauses: Backoff = { firstMs: firstPauseMs, longestMs: maxPauseMs };
    await this.#limits.count(client);
    let found = await this.#look(token, id, referer);
    if (typeof found === 'string' && attempts > 1) {
      const leave = this.#limits.takePlace(client);
      try {
        for (let attempt = 1; attempt < attempts && typeof found === 'string'; attempt += 1) {
          await sleep(backoffMs(pauses, attempt));
          found = await this.#look(token, id, referer);
        }
      } finally {
        leave();
      }
    }
    if (found === 'unreadable') throw refused({ kind: 'not-mined', id });
    if (found === 'not-found') throw refused({ kind: 'not-found' });
    this.#limits.giveBack(client);
    return found;
  }

  /** A payment in the coin of a chain and one in a token on it are read differently, so that they share nothing here. */
  #look(token: AcceptedToken, id: string, referer: string | undefined): Promise<Searched> {
    return this.#lookUps.run(`${token.token} ${id}`, async () => {
      const known = await readRow(this.#options.sql, token.chain, id);
      if (known !== undefined) return known;
      const found = await this.#limits.look(() => readChain(token, id));
      if ('transfer' in found) return this.#accept(token, id, found, referer);
      if (found.state === 'not-known') throw unavailable(found.cause);
      return found.state;
    });
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
    const priced = await this.#priced(token, transfer);
    const waiting: ChainPaymentRow = {
      chain: token.chain,
      transaction_id: id,
      token: token.token,
      state: 'pending',
      ...priced,
      ...partiesOf(token, transfer),
      referer: referer ?? null,
      created_at: now,
      ended_at: null,
      block_height: transfer.blockHeight ?? null,
      failure_reason: null,
      checks: 1,
      checked_at: now,
      next_check_at: now + this.#options.recheckMs,
      missing_since: null,
      seen_height: found.at ?? null,
    };
    const reported: ChainPaymentRow =
      found.state === 'confirmed'
        ? { ...waiting, state: 'credited', ended_at: now }
        : found.state === 'reverted'
          ? { ...waiting, state: 'failed', ended_at: now, failure_reason: 'reverted' }
          : waiting;
    const stored = await this.#options.sql.transaction(async (tx) => {
      const added = await insertRow(tx, reported);
      if (added && reported.state === 'credited') await this.#credit(tx, reported);
      return added ? undefined : await readRow(tx, token.chain, id);
    });
    if (stored !== undefined) return stored;
    this.#notify(reported);
    return reported;
  }

  #check(token: AcceptedToken, id: string, transfer: Transfer): void {
    const { sender, recipient, quantity } = transfer;
    if (!isPaidTo(token, recipient)) throw refused({ kind: 'wrong-target', id, target: recipient });
    if (quantity <= 0n) throw refused({ kind: 'nothing-moved' });
    if (this.#options.excludedSenders.has(sender)) throw refused({ kind: 'excluded-sender', id, sender });
  }

  /** At the rate of now. Throws `AmountTooSmall`. */
  async #priced({ token }: AcceptedToken, { quantity }: Transfer): Promise<Priced> {
    const quote = await this.#options.pricing.quoteToken(quantity, token);
    if (quote.winc < 1n) {
      throw new AmountTooSmall(
        'Crypto payment amount is too small! Token value must convert to at least one winc',
      );
    }
    return {
      quantity: quantity.toString(),
      winc: quote.winc.toString(),
      adjustments: JSON.stringify(quote.fees.map(renderAdjustment)),
      usd_equivalent: quote.usdEquivalent,
    };
  }

  /** Fails with `ChainUnavailable` when the chain cannot be asked. */
  async #recheck(row: ChainPaymentRow): Promise<ChainPaymentRow> {
    const token = this.#tokenOf(row);
    if (token === undefined) return this.#postpone(row);
    const found = await readChain(token, row.transaction_id);
    switch (found.state) {
      case 'confirmed':
        return this.#confirmed(row, token, found.transfer);
      case 'reverted':
        return this.#end(row, { failure_reason: 'reverted', ...heightOf(found.transfer) });
      case 'pending':
      case 'unreadable':
        return this.#seen(row, found.at);
      case 'not-known':
        return this.#postpone(row);
      case 'not-found':
        return this.#missing(row, found.at);
    }
  }

  /**
   * It is final. What a call of a contract pays is known only now: a block that was replaced may have paid something
   * else, and what the chain has in the end is what is credited.
   */
  async #confirmed(row: ChainPaymentRow, token: AcceptedToken, transfer: Transfer): Promise<ChainPaymentRow> {
    const height = heightOf(transfer);
    const { sender, recipient, quantity } = transfer;
    if (!isPaidTo(token, recipient) || quantity <= 0n) {
      return this.#end(row, { failure_reason: 'not_paid', ...height });
    }
    if (this.#options.excludedSenders.has(sender)) {
      return this.#end(row, { failure_reason: 'excluded_sender', ...height });
    }
    const isSame = sender === row.sender && quantity === BigInt(row.quantity);
    if (isSame && this.#now() - row.created_at <= this.#options.rateMs) {
      return this.#end(row, { state: 'credited', ...height });
    }
    // A payer who keeps a payment waiting and has it credited at an old rate would have a free option.
    try {
      const parties = isSame ? {} : partiesOf(token, transfer);
      return await this.#end(row, {
        state: 'credited',
        ...(await this.#priced(token, transfer)),
        ...parties,
        ...height,
      });
    } catch (error) {
      if (!(error instanceof AmountTooSmall)) throw error;
      return this.#end(row, { failure_reason: 'too_small', ...height });
    }
  }

  /** On its way, and one that had failed is so again. */
  #seen(row: ChainPaymentRow, at: number | undefined): Promise<ChainPaymentRow> {
    return this.#postpone(
      {
        ...row,
        state: 'pending',
        ended_at: null,
        failure_reason: null,
        missing_since: null,
        checks: row.state === 'failed' ? 0 : row.checks,
        seen_height: at === undefined ? row.seen_height : Math.max(at, row.seen_height ?? 0),
      },
      row,
    );
  }

  /** It has to be gone for long, at heights beyond the one at which it was last seen: below, nobody could miss it. */
  #missing(row: ChainPaymentRow, at: number | undefined): Promise<ChainPaymentRow> {
    const couldKnow = at === undefined || row.seen_height === null || at > row.seen_height;
    if (row.state === 'failed' || !couldKnow) return this.#postpone(row);
    const missingSince = row.missing_since ?? this.#now();
    const isForgotten = this.#now() - missingSince > this.#options.forgetAfterMs;
    if (isForgotten) return this.#end(row, { failure_reason: 'not_found', block_height: null });
    return this.#postpone({ ...row, missing_since: missingSince }, row);
  }

  /** Failed unless `how` says otherwise. */
  async #end(before: ChainPaymentRow, how: Partial<ChainPaymentRow>): Promise<ChainPaymentRow> {
    const now = this.#now();
    const ended: ChainPaymentRow = {
      ...before,
      state: 'failed',
      failure_reason: null,
      ended_at: now,
      checked_at: now,
      next_check_at: now + checkPauses.failed,
      ...how,
    };
    const other = await this.#options.sql.transaction(async (tx) => {
      if (!(await moveRow(tx, before, ended))) return readRow(tx, before.chain, before.transaction_id);
      if (ended.state === 'credited') await this.#credit(tx, ended);
      return undefined;
    });
    if (other !== undefined) return other;
    this.#notify(ended);
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

  /** Waits on; `before`: the row as it was read, where it has changed. */
  async #postpone(row: ChainPaymentRow, before: ChainPaymentRow = row): Promise<ChainPaymentRow> {
    const { recheckMs } = this.#options;
    const longestMs = row.state === 'failed' ? checkPauses.failed : checkPauses.pending;
    const pause = backoffMs({ firstMs: recheckMs, longestMs }, row.checks + 1);
    const now = this.#now();
    const waiting = { ...row, checks: row.checks + 1, checked_at: now, next_check_at: now + pause };
    if (await moveRow(this.#options.sql, before, waiting)) return waiting;
    return (await readRow(this.#options.sql, row.chain, row.transaction_id)) ?? row;
  }

  #tokenOf(row: ChainPaymentRow): AcceptedToken | undefined {
    const named = this.#options.tokens.get(row.token);
    if (named !== undefined) return named;
    return [...this.#options.tokens.values()].find(({ chain }) => chain === row.chain);
  }

  #notify(row: ChainPaymentRow): void {
    if (row.state === 'credited') this.#options.onCredited?.(row);
    if (row.state === 'failed') this.#options.onFailed?.(row, row.failure_reason ?? 'unknown');
  }
}

async function readChain({ reader }: AcceptedToken, id: string): Promise<ChainTransaction> {
  try {
    return await reader.read(id);
  } catch (cause) {
    throw unavailable(cause);
  }
}

/** Who paid, and which wallet is credited: the one that the payer names, else the payer's own. */
function partiesOf(
  { addressKind }: AcceptedToken,
  { sender, destination }: Transfer,
): Pick<ChainPaymentRow, 'sender' | 'destination' | 'destination_type'> {
  const named = destination === undefined ? undefined : parseAddress(destination);
  return { sender, destination: named?.address ?? sender, destination_type: named?.kind ?? addressKind };
}

/** Of what several ways to read a transaction say, what tells its sender most: why it is not taken before that it is not there. */
function mostTelling(errors: readonly unknown[]): unknown {
  const order = ['excluded-sender', 'wrong-target', 'nothing-moved', 'not-mined'];
  const rank = (error: unknown): number => {
    if (error instanceof AmountTooSmall) return -1;
    // It may be there all the same.
    if (!(error instanceof ChainPaymentRefused)) return order.length;
    const place = order.indexOf(error.refusal.kind);
    return place < 0 ? order.length + 1 : place;
  };
  return [...errors].sort((a, b) => rank(a) - rank(b))[0];
}

const heightOf = ({ blockHeight }: Transfer) => ({ block_height: blockHeight ?? null });

const refused = (refusal: ChainRefusal) => new ChainPaymentRefused(refusal);
const unavailable = (cause: unknown) => new ChainUnavailable('the chain cannot be asked', { cause });

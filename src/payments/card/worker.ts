/**
 * The background of card payments: deals with webhooks, asks about quotes that are open, makes refunds that are
 * owed, and reads the provider's list of events for what never arrived. Nothing here is lost by a crash: all of it
 * starts from rows.
 */

import { readLosses } from '../../credits/ledger/accounts.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { type GiveUpAfter, hasTriedEnough } from '../../kernel/background/give-up.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import type { CardObservation } from './card.ts';
import { CardProviderUnavailable } from './errors.ts';
import type { InboxEvent } from './inbox.ts';
import {
  countOpenEvents,
  dueEvents,
  endEvents,
  eventRetry,
  forgetEvents,
  nextEventAt,
  postponeEvents,
  readCursor,
  storeEvent,
  writeCursor,
} from './inbox.ts';
import { type CardProvider, isOfLedger } from './provider.ts';
import type { QuoteRow } from './quotes.ts';
import {
  dueQuotes,
  isGivenUp,
  lockQuote,
  longestRefundWaitMs,
  postponeQuote,
  quoteIdBy,
  readQuote,
  takeTicket,
  wakeOpenQuotes,
} from './quotes.ts';
import { countOwedRefunds, giveBackIfOwed, type RefundContext } from './refunds.ts';
import { failQuote, syncQuote } from './sync.ts';

const eventsAtOnce = 100;
const quotesAtOnce = 50;
const mostBatches = 40;
/** After so many questions in a row without an answer the others wait for the next round. */
const mostUnanswered = 5;
/** After a failure that is not of one event. */
const inboxPauseMs = 5_000;
/** A day and a half of trying. */
const giveUpAfter: GiveUpAfter = { tries: 200, ms: 36 * 3_600_000 };
/** A quote whose session was never made, because the process died while asking. */
const abandonedAfterMs = 5 * 60_000;
/** Events are listed by the second of their making and may appear a little late. */
const cursorOverlapSeconds = 300;
const firstCursorSeconds = 24 * 3600;
/** Longer than the provider lists events. */
const eventLifeMs = 40 * 24 * 3600 * 1000;

export interface WorkerOptions extends RefundContext {
  readonly provider: Pick<
    CardProvider,
    'close' | 'eventsSince' | 'factsOf' | 'paymentOf' | 'quoteIdOf' | 'refund'
  >;
  /** What the payments of this ledger are marked with, so that those of another that shares the provider's account are told apart. */
  readonly ledgerId: () => Promise<string>;
  readonly log: Logger;
  readonly intervalMs: number;
  observe(observation: CardObservation): void;
}

export class CardWorker {
  readonly #options: WorkerOptions;
  readonly #inbox: WakeableTask;
  readonly #refunds: WakeableTask;
  readonly #reconciliation: WakeableTask;
  #hasWoken = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { intervalMs } = options;
    const task = (name: string, run: () => Promise<number | undefined>, pauseMs: number, failure: string) =>
      new WakeableTask({
        name,
        run,
        failed: (error) => {
          this.#report(error, failure);
          return pauseMs;
        },
      });
    const refund = () => this.#askAboutQuotes().then(() => undefined);
    const reconcile = () => this.#reconcile().then(() => intervalMs);
    this.#inbox = task(
      'card webhooks',
      () => this.#workInbox(),
      inboxPauseMs,
      'card webhooks could not be dealt with',
    );
    this.#refunds = task('card refunds', refund, inboxPauseMs, 'card refunds could not be made');
    this.#reconciliation = task(
      'reconcile card payments',
      reconcile,
      intervalMs,
      'card payments could not be reconciled',
    );
  }

  start(): void {
    this.#inbox.start();
    // The reconciliation begins with all of them.
    this.#refunds.start({ waits: true });
    this.#reconciliation.start();
  }

  reports(): readonly RunReport[] {
    return [this.#inbox, this.#refunds, this.#reconciliation].flatMap((task) => task.reports());
  }

  async stop(): Promise<void> {
    await Promise.all([this.#inbox.stop(), this.#refunds.stop(), this.#reconciliation.stop()]);
  }

  /** Resolves when the inbox has been gone through. */
  async settled(): Promise<void> {
    // It wakes the inbox at its end.
    await this.#reconciliation.settled();
    await Promise.all([this.#inbox.settled(), this.#refunds.settled()]);
  }

  /** Looks at the quotes that are due. */
  refundNow(): void {
    this.#refunds.wake();
  }

  /** Something came in. */
  wake(): void {
    this.#inbox.wake();
  }

  get #isStopped(): boolean {
    return this.#inbox.isStopped;
  }

  /** Answers when the next event is due. */
  async #workInbox(): Promise<number | undefined> {
    const { sql, now } = this.#options;
    for (;;) {
      const due = await dueEvents(sql, now(), eventsAtOnce);
      if (due.length === 0 || this.#isStopped) break;
      const byQuote = new Map<string, InboxEvent[]>();
      for (const event of due) {
        const quoteId = await this.#quoteOf(event);
        if (quoteId === 'unknown yet') continue;
        if (quoteId === undefined) await this.#endForeign(event);
        else byQuote.set(quoteId, [...(byQuote.get(quoteId) ?? []), event]);
      }
      for (const [quoteId, events] of byQuote) {
        if (this.#isStopped) return undefined;
        await this.#deal(quoteId, events);
      }
    }
    const next = await nextEventAt(sql);
    return next === undefined ? undefined : Math.min(Math.max(next - now(), 1), eventRetry.longestMs);
  }

  /** Which quote an event speaks of; asks the provider when only it can know. Undefined: none that is here. */
  async #quoteOf(event: InboxEvent): Promise<string | 'unknown yet' | undefined> {
    const { sql, provider } = this.#options;
    if (event.quoteId !== undefined && (await readQuote(sql, event.quoteId)) !== undefined)
      return event.quoteId;
    const known =
      (event.intentId === undefined ? undefined : await quoteIdBy(sql, 'intent_id', event.intentId)) ??
      (event.sessionId === undefined ? undefined : await quoteIdBy(sql, 'session_id', event.sessionId));
    if (known !== undefined || event.intentId === undefined || event.quoteId !== undefined) return known;
    try {
      const quoteId = await provider.quoteIdOf(event.intentId);
      return quoteId === undefined || (await readQuote(sql, quoteId)) === undefined ? undefined : quoteId;
    } catch (error) {
      await this.#postpone([event], error);
      return 'unknown yet';
    }
  }

  /**
   * An event of no quote that is here. Where somebody paid for a quote of this ledger, which a restore may have lost, it
   * stays open and is told; else it is not ours.
   */
  async #endForeign(event: InboxEvent): Promise<void> {
    const { sql, provider, log, ledgerId } = this.#options;
    let isOurs: boolean;
    try {
      const payment = event.intentId === undefined ? undefined : await provider.paymentOf(event.intentId);
      isOurs = payment?.isPaid === true && isOfLedger(payment, await ledgerId());
    } catch (error) {
      await this.#postpone([event], error);
      return;
    }
    await sql.transaction((tx) => endEvents(tx, [event], isOurs ? 'open' : 'ignored'));
    if (!isOurs) return;
    log.error(
      { event: event.id, quote: event.quoteId, intent: event.intentId },
      'a card payment was made whose quote is not here: see "turnpike reconcile"',
    );
    await this.#observeOpen();
  }

  async #observeOpen(): Promise<void> {
    this.#observe([{ kind: 'open-events', count: await countOpenEvents(this.#options.sql) }]);
  }

  async #deal(quoteId: string, events: readonly InboxEvent[]): Promise<void> {
    const { sql } = this.#options;
    try {
      const intentId = events.find((event) => event.intentId !== undefined)?.intentId;
      await this.bringUpToDate(quoteId, intentId);
      await sql.transaction((tx) => endEvents(tx, events, 'done'));
    } catch (error) {
      await this.#postpone(events, error);
    }
  }

  async #postpone(events: readonly InboxEvent[], error: unknown): Promise<void> {
    const { sql, now } = this.#options;
    this.#report(error, 'card webhook put off');
    await sql.transaction(async (tx) => {
      const hopeless = events.filter(({ attempts, receivedAt }) =>
        hasTriedEnough(giveUpAfter, attempts, receivedAt, now()),
      );
      await postponeEvents(tx, events, ({ attempts }) => now() + backoffMs(eventRetry, attempts + 1));
      // Nobody could find out what they tell of: a person has to.
      await endEvents(tx, hopeless, 'open');
    });
    await this.#observeOpen();
  }

  /** Reads the payment of a quote from the provider, and brings the quote to it. */
  async bringUpToDate(quoteId: string, intentId: string | undefined): Promise<void> {
    const { sql, provider, now } = this.#options;
    const ticket = await sql.transaction((tx) => takeTicket(tx, quoteId));
    const quote = await readQuote(sql, quoteId);
    if (quote === undefined || ticket === undefined) return;
    const known: QuoteRow = { ...quote, intentId: quote.intentId ?? intentId };
    if (known.intentId === undefined && known.sessionId === undefined) {
      if (now() - quote.createdAt > abandonedAfterMs)
        this.#observe(await failQuote(this.#options, quoteId, 'abandoned'));
      return;
    }
    let facts = await provider.factsOf(known);
    if (facts.status === 'open' && now() > quote.payableUntil) {
      await provider.close({ ...known, intentId: facts.intentId ?? known.intentId });
      facts = await provider.factsOf(known);
      if (facts.status === 'open') facts = { ...facts, status: 'closed' };
    }
    const synced = await syncQuote(this.#options, quoteId, facts, ticket);
    this.#observe(synced);
    if (synced.some(({ kind }) => kind === 'taken-back' || kind === 'given-back'))
      await this.#observeLosses();
    this.#observe(await giveBackIfOwed(this.#options, quoteId));
  }

  async #observeLosses(): Promise<void> {
    this.#observe([{ kind: 'losses', winc: await readLosses(this.#options.sql) }]);
  }

  async #reconcile(): Promise<void> {
    const { sql, now, ledgerId } = this.#options;
    // Not before the start: a ledger that takes no writes now does not keep the service from answering.
    if (!this.#hasWoken) {
      // Made with the first payment, it would not be in the backups before: restored from one, they would seem another's.
      await ledgerId();
      await sql.transaction((tx) => wakeOpenQuotes(tx, now()));
    }
    this.#hasWoken = true;
    await this.#askAboutQuotes();
    await this.#readMissedEvents();
    this.#observe([{ kind: 'refunds', ...(await countOwedRefunds(sql)) }]);
    await this.#observeLosses();
    await this.#observeOpen();
    await sql.transaction((tx) => forgetEvents(tx, now() - eventLifeMs));
  }

  async #askAboutQuotes(): Promise<void> {
    const { sql, now } = this.#options;
    // Each is put off as it is dealt with, so that the next ones come up; the rest waits for the next round.
    for (let batches = 0; batches < mostBatches; batches += 1) {
      const due = await dueQuotes(sql, now(), quotesAtOnce);
      const isThere = await this.#askAbout(due);
      if (due.length < quotesAtOnce || !isThere || this.#isStopped) return;
    }
  }

  /** False when the provider seems to be away. One quote that cannot be dealt with holds up no other. */
  async #askAbout(due: readonly string[]): Promise<boolean> {
    const { sql, now } = this.#options;
    let unanswered = 0;
    for (const id of due) {
      if (this.#isStopped || unanswered === mostUnanswered) return false;
      try {
        await this.bringUpToDate(id, undefined);
        unanswered = 0;
      } catch (error) {
        if (error instanceof CardProviderUnavailable) unanswered += 1;
        this.#report(error, 'card quote put off');
      }
      await sql.transaction(async (tx) => {
        const quote = await lockQuote(tx, id);
        if (quote === undefined) return;
        const next =
          now() + (isGivenUp(quote) ? longestRefundWaitMs : backoffMs(eventRetry, quote.attempts + 7));
        const end = quote.payableUntil + 1_000;
        await postponeQuote(tx, id, now() < end ? Math.min(next, end) : next);
      });
    }
    return true;
  }

  async #readMissedEvents(): Promise<void> {
    const { sql, provider, now } = this.#options;
    const cursor = await readCursor(sql);
    let newest: number | undefined;
    try {
      const since = this.#listFrom(cursor);
      for await (const events of provider.eventsSince(since)) {
        await sql.transaction(async (tx) => {
          for (const event of events) await storeEvent(tx, event, 'waiting', now());
        });
        for (const { created } of events) newest = Math.max(newest ?? created, created);
        if (this.#isStopped) return;
      }
    } catch (error) {
      if (!(error instanceof CardProviderUnavailable)) throw error;
      this.#report(error, 'card events could not be listed');
      return;
    }
    // By the provider's own times: one of ours that was ahead would leave out what happens until then.
    const read = newest;
    if (read !== undefined && read !== cursor) await sql.transaction((tx) => writeCursor(tx, read));
    this.wake();
  }

  /** Unix seconds from which on the provider's events are listed. */
  #listFrom(cursor: number | undefined): number {
    const seconds = Math.floor(this.#options.now() / 1000);
    // One that is ahead of us was written by a clock that was: nobody knows up to when the list was read.
    const isKnown = cursor !== undefined && cursor <= seconds + cursorOverlapSeconds;
    return isKnown ? cursor - cursorOverlapSeconds : seconds - firstCursorSeconds;
  }

  #observe(observations: readonly CardObservation[]): void {
    for (const observation of observations) this.#options.observe(observation);
  }

  #report(error: unknown, what: string): void {
    const { log } = this.#options;
    if (error instanceof CardProviderUnavailable) log.warn({ err: error }, what);
    else log.error({ err: error }, what);
  }
}

/** Sends the returns that are due and finds out what became of those that were sent. All of it starts from rows. */
import type { Credits } from '../../credits/credits.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { type GiveUpAfter, hasTriedEnough } from '../../kernel/background/give-up.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { CannotSend, type CreditReturn, type WayBack } from './returns.ts';
import {
  confirmReturn,
  dueReturns,
  isQueueBusy,
  leaseReturn,
  moveReturn,
  nextReturnAt,
  type ReturnRow,
  returnRetry,
  undoReturn,
} from './rows.ts';

export interface ReturnWorkerOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly log: Logger;
  /** Undefined where the service cannot send by itself: the operator has to. */
  wayOf(order: CreditReturn): WayBack | undefined;
  /** Told of every return that ended or waits for a person, for metrics. */
  onMoved?(order: CreditReturn): void;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How soon after it was sent a return is looked at again; the pauses grow. */
  readonly recheckMs: number;
}

const atOnce = 20;
const longestRecheckMs = 10 * 60_000;
/** Half a day: then a person has to look. */
const giveUpAfter: GiveUpAfter = { tries: 30, ms: 12 * 3_600_000 };
const pauseMs = 10_000;
/** Other processes make returns too. */
const longestSleepMs = 60_000;

export class ReturnWorker {
  readonly #options: ReturnWorkerOptions;
  readonly #task: WakeableTask;

  constructor(options: ReturnWorkerOptions) {
    this.#options = options;
    this.#task = new WakeableTask({
      name: 'send returns',
      run: () => this.#run(),
      failed: (error) => {
        options.log.error({ err: error }, 'returns could not be dealt with');
        return pauseMs;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  /** A return was made, or put back. */
  wake(): void {
    this.#task.wake();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** Resolves when everything that was due has been dealt with or put off. */
  settled(): Promise<void> {
    return this.#task.settled();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  /** Answers when to run again. */
  async #run(): Promise<number> {
    const { sql, now } = this.#options;
    for (const id of await dueReturns(sql, now(), atOnce)) {
      if (this.#task.isStopped) break;
      const row = await sql.transaction((tx) => leaseReturn(tx, id, now()));
      if (row !== undefined) await this.#work(row);
    }
    const next = await nextReturnAt(sql);
    return next === undefined ? longestSleepMs : Math.min(Math.max(next - now(), 1), longestSleepMs);
  }

  /** One that cannot be dealt with holds up no other. */
  async #work(row: ReturnRow): Promise<void> {
    const { log } = this.#options;
    try {
      const sent = row.state === 'due' ? await this.#prepare(row) : row;
      if (sent !== undefined) await this.#deliver(sent);
    } catch (error) {
      if (error instanceof CannotSend) log.warn({ return: row.id, reason: error.message }, 'return put off');
      else log.error({ return: row.id, err: error }, 'return put off');
      // What was stored as sent stays so: it is asked for again, and never sent otherwise.
      await this.#putOff(row, reasonOf(error));
    }
  }

  /** The row once what is to be sent is stored; undefined when another has it, or it has to wait. */
  async #prepare(row: ReturnRow): Promise<ReturnRow | undefined> {
    const { sql, now } = this.#options;
    const way = this.#options.wayOf(row);
    if (way === undefined) {
      await this.#leaveToPerson(row, 'the service has no key to send it with');
      return undefined;
    }
    if (way.queue !== undefined && (await isQueueBusy(sql, way.queue))) {
      await sql.transaction((tx) => moveReturn(tx, row, { dueAt: now() + returnRetry.firstMs }, now()));
      return undefined;
    }
    const prepared = await way.prepare(row);
    const change = { state: 'sent', queue: way.queue, reason: undefined, ...prepared } as const;
    const isMoved = await sql.transaction((tx) => moveReturn(tx, row, change, now(), true));
    return isMoved ? { ...row, ...change } : undefined;
  }

  async #deliver(row: ReturnRow): Promise<void> {
    const { sql, credits, now, recheckMs } = this.#options;
    const way = this.#options.wayOf(row);
    // Its key was taken away after it was sent: what became of it can be told by whoever has it again, or by hand.
    if (way === undefined) {
      await this.#putOff(row, 'the service has no key to ask with');
      return;
    }
    const outcome = await way.deliver(row);
    switch (outcome.state) {
      case 'confirmed': {
        const { reference } = outcome;
        if (await sql.transaction((tx) => confirmReturn(tx, credits, row, reference, now()))) {
          this.#tell({ ...row, state: 'confirmed', reference: reference ?? row.reference });
        }
        return;
      }
      case 'failed':
        await this.#fail(row, outcome.reason);
        return;
      case 'void':
        await this.#again(row, outcome.reason);
        return;
      case 'waiting': {
        const age = Math.max(now() - row.changedAt, recheckMs);
        const change = {
          dueAt: now() + Math.min(age, longestRecheckMs),
          reference: outcome.reference ?? row.reference,
        };
        await sql.transaction((tx) => moveReturn(tx, row, change, row.changedAt));
      }
    }
  }

  async #fail(row: ReturnRow, reason: string): Promise<void> {
    const { sql, credits, now } = this.#options;
    const how = { state: 'failed', reason } as const;
    // The quote of a card is locked before its return, so that the row is read again under both.
    const isUndone = await sql.transaction((tx) => undoReturn(tx, credits, row, how, now()));
    if (isUndone) this.#tell({ ...row, ...how });
  }

  /** What was sent is proven void: another is made. */
  async #again(row: ReturnRow, reason: string): Promise<void> {
    const { sql, now } = this.#options;
    const tries = row.tries + 1;
    if (hasTriedEnough(giveUpAfter, tries, row.createdAt, now())) {
      await this.#leaveToPerson(row, reason);
      return;
    }
    await sql.transaction((tx) =>
      moveReturn(
        tx,
        row,
        {
          ...{ state: 'due', reference: undefined, wire: undefined, queue: undefined, validUntil: undefined },
          ...{ tries, reason, dueAt: now() + backoffMs(returnRetry, tries) },
        },
        now(),
      ),
    );
  }

  async #putOff(row: ReturnRow, reason: string): Promise<void> {
    const { sql, now } = this.#options;
    const tries = row.tries + 1;
    if (row.state === 'due' && hasTriedEnough(giveUpAfter, tries, row.createdAt, now())) {
      await this.#leaveToPerson(row, reason);
      return;
    }
    await sql.transaction(async (tx) => {
      // It may have been stored as sent since it was read.
      const dueAt = now() + backoffMs(returnRetry, tries);
      const isMoved = await moveReturn(tx, row, { tries, reason, dueAt }, now());
      if (!isMoved) await moveReturn(tx, { ...row, state: 'sent' }, { tries, reason, dueAt }, now());
    });
  }

  async #leaveToPerson(row: ReturnRow, reason: string): Promise<void> {
    const { sql, log, now } = this.#options;
    const nothing = { reference: undefined, wire: undefined, queue: undefined, validUntil: undefined };
    const change = { state: 'by_hand', reason, ...nothing } as const;
    if (!(await sql.transaction((tx) => moveReturn(tx, row, change, now())))) return;
    log.warn({ return: row.id, reason }, 'a return has to be made by hand');
    this.#tell({ ...row, ...change });
  }

  #tell(row: CreditReturn): void {
    this.#options.log.info({ return: row.id, address: row.address, state: row.state }, 'return moved');
    this.#options.onMoved?.(row);
  }
}

const reasonOf = (error: unknown): string => messageOf(error).slice(0, 300);

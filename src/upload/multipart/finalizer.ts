/**
 * Makes an item of the parts of a session: read once in order, verified, paid and stored like any other. The parts
 * stay where they are and become the item's bytes; nothing is written again. What was being finalized when the
 * process died is taken up by `resume`.
 */
import { MAX_WINC, winc } from '../../credits/credits.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import { itemProblems } from '../../formats/ans104/item-problem.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { uploadErrors } from '../errors.ts';
import type { PayloadHash, PayloadHashes } from '../hashing/payload-hash.ts';
import { explain } from '../intake/explain.ts';
import { type Accepted, type Admitted, type Intake, type Payers, verified } from '../intake/intake.ts';
import type { StoredPayload } from '../intake/payload-sink.ts';
import { findItem, findKept, type StoredItem } from '../items/item-rows.ts';
import { readItemBytes, type Segment } from '../items/segments.ts';
import {
  asSegment,
  closeSession,
  expireSessions,
  findSession,
  type PartRow,
  partsOf,
  type SessionPayment,
  type SessionRow,
  type SessionState,
} from './sessions.ts';

/** A process that works on a session says so again before this is over. */
const claimMs = 60_000;
const renewMs = 15_000;
const none = Buffer.alloc(0);

export interface FinalizerDeps {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  readonly intake: Intake;
  readonly hashes: PayloadHashes;
  readonly log: Logger;
  readonly now: () => number;
  /** How often unfinished uploads are looked after. */
  readonly keepMs: number;
}

export class Finalizer {
  readonly #deps: FinalizerDeps;
  readonly #working = new Map<string, Promise<Accepted>>();

  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> | undefined;

  constructor(deps: FinalizerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#keeping ??= this.keep().finally(() => {
        this.#keeping = undefined;
      });
    }, this.#deps.keepMs).unref();
  }

  /** Resolves when nothing is being worked on any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeping;
    await Promise.allSettled(this.#working.values());
  }

  /** Takes up what is unfinished and removes what was abandoned. */
  async keep(): Promise<void> {
    const { sql, log, now } = this.#deps;
    try {
      await this.resume();
      while ((await expireSessions(sql, 50, now())) > 0);
    } catch (error) {
      log.warn({ err: error }, 'unfinished uploads were not looked after');
    }
  }

  /** Finalizes and waits for the end. Throws the answer; once finalized it answers the same receipt always. */
  async finalize(id: string, payers: Pick<Payers, 'paidBy' | 'clientAddress'>): Promise<Accepted> {
    const running = this.#working.get(id);
    if (running !== undefined) return running;
    const session = await findSession(this.#deps.sql, id);
    if (session.state === 'FINALIZED') return this.#finished(session);
    if (session.state !== 'open' && session.state !== 'UNDERFUNDED' && session.state !== 'finalizing') {
      throw failureOf(session);
    }
    if (await this.#claim(id, payers)) return this.#work(id);
    // Another request of this process may have been quicker; one of another process answers later.
    const begun = this.#working.get(id);
    if (begun !== undefined) return begun;
    const now = await findSession(this.#deps.sql, id);
    if (now.state === 'FINALIZED') return this.#finished(now);
    throw uploadErrors.sessionBusy();
  }

  /** Begins to finalize, and answers at once. */
  async begin(id: string, payers: Pick<Payers, 'paidBy' | 'clientAddress'>): Promise<void> {
    if (this.#working.has(id)) return;
    const session = await findSession(this.#deps.sql, id);
    if (session.state !== 'open' && session.state !== 'UNDERFUNDED') return;
    if (!(await this.#claim(id, payers))) return;
    this.#work(id).catch(() => {}); // it is in the session and in the log
  }

  /** Takes up what an earlier run left, and what failed for a reason that may have passed. */
  async resume(): Promise<void> {
    const { sql, now } = this.#deps;
    const rows = await sql.all<{ id: string }>(
      `SELECT id FROM upload_sessions WHERE state = 'finalizing' AND claimed_until < ? LIMIT 20`,
      now(),
    );
    for (const { id } of rows) {
      if (await this.#claim(id)) await this.#work(id).catch(() => {});
    }
  }

  async #claim(id: string, payers?: Pick<Payers, 'paidBy' | 'clientAddress'>): Promise<boolean> {
    const { sql, now } = this.#deps;
    const time = now();
    return sql.transaction(async (tx) => {
      const changed = await tx.run(
        `UPDATE upload_sessions SET state = 'finalizing', claimed_until = ?, changed_at = ?
         WHERE id = ? AND claimed_until < ? AND state IN ('open', 'UNDERFUNDED', 'finalizing')`,
        time + claimMs,
        time,
        id,
        time,
      );
      if (changed > 0 && payers !== undefined) {
        await tx.run(
          'UPDATE upload_sessions SET paid_by = ?, client_address = ? WHERE id = ?',
          JSON.stringify(payers.paidBy),
          payers.clientAddress,
          id,
        );
      }
      return changed > 0;
    });
  }

  #work(id: string): Promise<Accepted> {
    const { sql, now } = this.#deps;
    const renewal = setInterval(() => {
      void sql
        .run('UPDATE upload_sessions SET claimed_until = ? WHERE id = ?', now() + claimMs, id)
        .catch(() => {});
    }, renewMs).unref();
    const working = this.#assemble(id).finally(() => {
      clearInterval(renewal);
      this.#working.delete(id);
    });
    this.#working.set(id, working);
    return working;
  }

  async #assemble(id: string): Promise<Accepted> {
    const { sql, now } = this.#deps;
    try {
      const session = await findSession(sql, id);
      const accepted = await this.#accept(session, await partsOf(sql, id));
      await closeSession(sql, id, { state: 'FINALIZED', itemId: accepted.receipt.id }, now());
      return accepted;
    } catch (error) {
      const answer = explain(error);
      if (!(answer instanceof HttpError) || answer.status >= 500)
        this.#deps.log.error({ err: answer, session: id }, 'an upload could not be finalized yet');
      await this.#fail(id, answer);
      throw answer;
    }
  }

  async #accept(session: SessionRow, parts: readonly PartRow[]): Promise<Accepted> {
    const { intake } = this.#deps;
    const size = checkWhole(parts);
    const hash = this.#deps.hashes.begin(size);
    let admitted: Admitted | StoredItem;
    try {
      const parser = new ItemParser({ hash: false });
      admitted = await this.#read(session, parts, size, parser, hash);
      if ('receivedAt' in admitted) return await intake.repeat(admitted);
      await verified(parser, hash);
    } finally {
      hash.release();
    }
    const payers = payersOf(session);
    await intake.checkFunds(payers, admitted, size);
    return intake.accept(payers, admitted, size, payloadOf(parts, admitted.header.length));
  }

  async #read(
    session: SessionRow,
    parts: readonly PartRow[],
    size: number,
    parser: ItemParser,
    hash: PayloadHash,
  ): Promise<Admitted | StoredItem> {
    const { blobs, intake } = this.#deps;
    let admitted: Admitted | undefined;
    for await (const piece of readItemBytes(blobs, none, parts.map(asSegment), 0, size)) {
      const payload = parser.push(piece);
      if (typeof payload === 'string') throw uploadErrors.incompleteUpload(itemProblems[payload]);
      if (admitted === undefined && parser.header !== undefined) {
        const stored = await findKept(this.#deps.sql, parser.header.id);
        if (stored !== undefined) return stored;
        admitted = intake.admit(parser.header, session.token);
      }
      await hash.update(payload);
    }
    if (admitted === undefined) throw uploadErrors.incompleteUpload(itemProblems.truncated);
    return admitted;
  }

  /** Remembers why, where trying again cannot help; else the session is taken up again. */
  async #fail(id: string, answer: unknown): Promise<void> {
    const { sql, now } = this.#deps;
    const state = stateAfter(answer);
    const failure = answer instanceof HttpError ? answer.message : undefined;
    if (state === 'finalizing') {
      await sql
        .run('UPDATE upload_sessions SET claimed_until = ? WHERE id = ?', now() + 5_000, id)
        .catch(() => {});
    } else if (state === 'UNDERFUNDED') {
      await sql.run(
        `UPDATE upload_sessions SET state = 'UNDERFUNDED', failure = ?, claimed_until = 0, changed_at = ? WHERE id = ?`,
        failure ?? null,
        now(),
        id,
      );
    } else {
      await closeSession(sql, id, { state, ...(failure === undefined ? {} : { failure }) }, now());
    }
  }

  async #finished(session: SessionRow): Promise<Accepted> {
    const item = session.item_id === null ? undefined : await findItem(this.#deps.sql, session.item_id);
    if (item === undefined) throw uploadErrors.unknownSession(session.id);
    return this.#deps.intake.repeat(item);
  }
}

/** Parts must follow one another without gap or overlap; answers how many bytes they are. */
function checkWhole(parts: readonly PartRow[]): number {
  let end = 0;
  for (const part of parts) {
    if (part.start !== end)
      throw uploadErrors.incompleteUpload(`The bytes from ${end} to ${part.start} are missing`);
    end += part.size;
  }
  if (end === 0) throw uploadErrors.incompleteUpload('There are no chunks');
  return end;
}

/** The parts without the item's header, which is kept with its row. */
function payloadOf(parts: readonly PartRow[], headerBytes: number): StoredPayload {
  const segments: Segment[] = [];
  let skip = headerBytes;
  for (const { digest, size } of parts) {
    const start = Math.min(skip, size);
    skip -= start;
    if (start < size) segments.push({ digest, start, size: size - start });
  }
  return { inline: none, segments };
}

/** What was paid when the session was created is charged to the account that got the credits. */
function payersOf(session: SessionRow): Payers {
  const paidBy: string[] = JSON.parse(session.paid_by);
  const base = { paidBy, clientAddress: session.client_address };
  if (session.payment === null) return base;
  const { account, winc: credited, answer }: SessionPayment = JSON.parse(session.payment);
  const most = credited === undefined ? MAX_WINC : winc(BigInt(credited));
  return { ...base, charged: { account, most, answer } };
}

function stateAfter(answer: unknown): SessionState {
  if (!(answer instanceof HttpError) || answer.status >= 500) return 'finalizing';
  if (answer.status === 402 || answer.status === 429) return 'UNDERFUNDED';
  if (answer.message.includes('create delegated') || answer.message.startsWith('Approval '))
    return 'APPROVAL_FAILED';
  return answer.message.includes('revoke delegated') ? 'REVOKE_FAILED' : 'INVALID';
}

/** What a session that failed for good answers, each time it is asked. */
function failureOf(session: SessionRow): HttpError {
  const status = session.state === 'UNDERFUNDED' ? 402 : 400;
  return new HttpError(status, session.failure ?? 'Invalid Data Item!');
}

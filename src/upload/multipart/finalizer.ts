/**
 * Makes an item of the parts of a session: verified by what was hashed while they came in, paid and stored like any
 * other; what was not hashed then is read now. The parts stay where they are and become the item's bytes: nothing is
 * written again. What was being finalized when the process died is taken up again.
 */
import { Type } from 'typebox';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import { itemProblems } from '../../formats/ans104/item-problem.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { HttpError } from '../../kernel/errors.ts';
import { hashHere } from '../../kernel/hashing/hash-threads.ts';
import { returnAbandoned } from '../../payments/x402/purchases.ts';
import { jsonReader } from '../../storage/sql/typed-rows.ts';
import { ApprovalRefused, MissingBytes, RevokeRefused, translateError, uploadErrors } from '../errors.ts';
import type { PayloadHash } from '../hashing/payload-hash.ts';
import { type Accepted, type Admitted, type Intake, type IntakeDeps, verify } from '../intake/intake.ts';
import type { StoredPayload } from '../intake/payload-sink.ts';
import type { Payers } from '../intake/payment.ts';
import { deleteUnused } from '../items/blob-uses.ts';
import { findItem, findKept, type StoredItem } from '../items/item-rows.ts';
import { findDamage, readItemBytes, type Segment } from '../items/segments.ts';
import {
  type Claim,
  claimSession,
  countMissedPart,
  isUnclaimed,
  keepClaim,
  LostClaim,
  markUnderfunded,
  postponeClaim,
  renewClaim,
  unclaimedAt,
} from './claims.ts';
import type { Hashed, RunningHashes } from './running-hashes.ts';
import {
  asSegment,
  closeSession,
  expireSessions,
  findSession,
  type PartRow,
  partsOf,
  reservedFor,
  type SessionRow,
  type SessionState,
} from './sessions.ts';

const renewMs = 15_000;
/** Blobs that are deleted before it is checked again whether to stop. */
const deletedAtOnce = 50;
const deleteAgainMs = 10_000;
const none = Buffer.alloc(0);
const readPaidBy = jsonReader('who pays for an upload in parts', Type.Array(Type.String()));

interface FinalizerDeps extends Pick<IntakeDeps, 'sql' | 'credits' | 'blobs' | 'hashes' | 'log' | 'now'> {
  readonly intake: Intake;
  readonly running: RunningHashes;
  /** How often what is unfinished is taken up again. */
  readonly sweepMs: number;
  /** How long a payment may wait for the upload that it was made for. */
  readonly lifeMs: number;
}

export class Finalizer {
  readonly #deps: FinalizerDeps;
  readonly #working = new Map<string, Promise<Accepted>>();
  /** Deletes what sessions that ended have left. Nobody who finalizes waits for it. */
  readonly #deleting = new WakeableTask({
    name: 'delete parts',
    run: async () => {
      const { sql, blobs, now } = this.#deps;
      while (!this.#deleting.isStopped && (await deleteUnused(sql, blobs, now(), deletedAtOnce)) > 0);
      return undefined;
    },
    failed: (error) => {
      this.#deps.log.warn({ err: error }, 'the parts of uploads that ended were not deleted yet');
      return deleteAgainMs;
    },
  });
  readonly #sweeping: Job;

  constructor(deps: FinalizerDeps) {
    this.#deps = deps;
    const { log, sweepMs: everyMs } = deps;
    this.#sweeping = createJob({ name: 'unfinished uploads', everyMs, log, run: () => this.#sweep() });
  }

  start(): void {
    this.#deleting.start();
    this.#sweeping.start();
  }

  reports(): readonly RunReport[] {
    return [...this.#sweeping.reports(), ...this.#deleting.reports()];
  }

  /** Resolves when nothing is being worked on any more. */
  async stop(): Promise<void> {
    await this.#sweeping.stop();
    await Promise.allSettled(this.#working.values());
    await this.#deps.running.stop();
    await this.#deleting.stop();
  }

  /** Takes up what is unfinished and removes what was abandoned. */
  async #sweep(): Promise<void> {
    const { sql, credits, now, lifeMs } = this.#deps;
    await this.#resume();
    while ((await expireSessions(sql, credits, 50, now())) > 0) this.#deleting.wake();
    while ((await returnAbandoned(sql, credits, now() - lifeMs, 50)) > 0);
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
    const claim = await this.#claim(id, payers);
    if (claim !== undefined) return this.#work(claim);
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
    const claim = await this.#claim(id, payers);
    if (claim === undefined) return;
    this.#work(claim).catch(() => {}); // it is in the session and in the log
  }

  /** Takes up what an earlier run left, and what failed for a reason that may have passed. */
  async #resume(): Promise<void> {
    const { sql, now } = this.#deps;
    const rows = await sql.all<{ id: string }>(
      `SELECT id FROM upload_sessions WHERE state = 'finalizing' AND ${isUnclaimed} LIMIT 20`,
      ...unclaimedAt(now()),
    );
    for (const { id } of rows) {
      const claim = await this.#claim(id);
      if (claim !== undefined) await this.#work(claim).catch(() => {});
    }
  }

  #claim(id: string, payers?: Pick<Payers, 'paidBy' | 'clientAddress'>): Promise<Claim | undefined> {
    return claimSession(this.#deps.sql, id, payers, this.#deps.now());
  }

  #work(claim: Claim): Promise<Accepted> {
    const { sql, now } = this.#deps;
    const { session } = claim;
    const renewal = setInterval(() => void renewClaim(sql, claim, now()).catch(() => {}), renewMs).unref();
    const working = this.#assemble(claim).finally(() => {
      clearInterval(renewal);
      if (this.#working.get(session) === working) this.#working.delete(session);
    });
    this.#working.set(session, working);
    return working;
  }

  async #assemble(claim: Claim): Promise<Accepted> {
    const { sql, credits, now, log } = this.#deps;
    const id = claim.session;
    try {
      const session = await findSession(sql, id);
      const accepted = await this.#accept(claim, session, await partsOf(sql, id));
      await closeSession(sql, credits, claim, { state: 'FINALIZED', itemId: accepted.receipt.id }, now());
      this.#deps.running.forget(id);
      return accepted;
    } catch (error) {
      if (error instanceof LostClaim) {
        log.warn({ err: error, session: id }, 'an upload was taken over while it was finalized');
        throw uploadErrors.sessionBusy();
      }
      const missed =
        error instanceof MissingBytes ? await countMissedPart(sql, claim, error.blob) : undefined;
      const { misses = 0, isLost = false } = missed ?? {};
      const answer = isLost ? uploadErrors.lostUpload() : translateError(error);
      if (isLost) log.error({ err: error, session: id }, 'bytes of an upload are lost: it is given up');
      else if (!(answer instanceof HttpError) || answer.status >= 500)
        log.error({ err: error, session: id }, 'an upload could not be finalized yet');
      // Perhaps what was hashed is what is wrong.
      if (error instanceof MissingBytes) this.#deps.running.forget(id);
      await this.#fail(claim, answer, misses);
      throw answer;
    } finally {
      this.#deleting.wake();
    }
  }

  async #accept(claim: Claim, session: SessionRow, parts: readonly PartRow[]): Promise<Accepted> {
    const { intake } = this.#deps;
    const size = checkWhole(parts);
    const hashed = await this.#deps.running.of(session.id, parts);
    const hash = hashed === undefined ? this.#deps.hashes.begin(size) : hashHere(hashed.hash.copy());
    let admitted: Admitted | StoredItem;
    try {
      admitted = await this.#read(session, parts, size, hashed, hash);
      if ('receivedAt' in admitted) return await intake.repeat(admitted);
      await verify(admitted.header, hash);
    } catch (error) {
      // Before its owner is told that it is wrong: was it right when it came?
      if (stateAfter(error) === 'INVALID') await findDamage(this.#deps.blobs, none, parts.map(asSegment));
      throw error;
    } finally {
      hash.release();
    }
    const payers: Payers = { ...payersOf(session), guard: (tx) => keepClaim(tx, claim) };
    await intake.checkFunds(payers, admitted, size);
    return intake.accept(payers, admitted, size, payloadOf(parts, admitted.header.length));
  }

  async #read(
    session: SessionRow,
    parts: readonly PartRow[],
    size: number,
    hashed: Hashed | undefined,
    hash: PayloadHash,
  ): Promise<Admitted | StoredItem> {
    const parser = new ItemParser({ hash: false });
    if (hashed !== undefined) parser.push(hashed.header.bytes);
    let admitted: Admitted | StoredItem | undefined;
    const from = hashed?.end ?? 0;
    if (parser.header !== undefined) admitted = await this.#admit(parser.header, session);
    const segments = parts.map(asSegment);
    const options = { span: { start: from, end: size }, comparedWith: 'signature' } as const;
    for await (const piece of readItemBytes(this.#deps.blobs, none, segments, options)) {
      const payload = parser.push(piece);
      if (typeof payload === 'string') throw uploadErrors.incompleteUpload(itemProblems[payload]);
      if (admitted === undefined && parser.header !== undefined)
        admitted = await this.#admit(parser.header, session);
      if (admitted !== undefined && 'receivedAt' in admitted) return admitted;
      await hash.update(payload);
    }
    if (admitted === undefined) throw uploadErrors.incompleteUpload(itemProblems.truncated);
    return admitted;
  }

  /** The item where it is stored already. */
  async #admit(header: ItemHeader, { token }: SessionRow): Promise<Admitted | StoredItem> {
    return (await findKept(this.#deps.sql, header.id)) ?? this.#deps.intake.admit(header, token);
  }

  /** Remembers why, where trying again cannot help; else the session is taken up again. */
  async #fail(claim: Claim, answer: unknown, misses: number): Promise<void> {
    const { sql, credits, now } = this.#deps;
    const state = stateAfter(answer);
    const failure = answer instanceof HttpError ? answer.message : undefined;
    if (state === 'finalizing') await postponeClaim(sql, claim, misses, now()).catch(() => {});
    else if (state === 'UNDERFUNDED') await markUnderfunded(sql, claim, failure, now());
    else await closeSession(sql, credits, claim, { state, failure }, now());
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
  return { inline: none, segments, isNoted: false };
}

/** What was paid when the session was created pays for it. */
function payersOf(session: SessionRow): Payers {
  const base = { paidBy: readPaidBy(session.paid_by), clientAddress: session.client_address };
  const reserved = reservedFor(session);
  return reserved === undefined ? base : { ...base, reserved };
}

/** What a session is after its finalization was answered so. */
export function stateAfter(answer: unknown): SessionState {
  if (!(answer instanceof HttpError) || answer.status >= 500) return 'finalizing';
  if (answer.status === 402 || answer.status === 429) return 'UNDERFUNDED';
  if (answer instanceof ApprovalRefused) return 'APPROVAL_FAILED';
  return answer instanceof RevokeRefused ? 'REVOKE_FAILED' : 'INVALID';
}

/** What a session that failed for good answers, each time it is asked. */
function failureOf(session: SessionRow): HttpError {
  const status = session.state === 'UNDERFUNDED' ? 402 : 400;
  return new HttpError(status, session.failure ?? 'Invalid Data Item!');
}

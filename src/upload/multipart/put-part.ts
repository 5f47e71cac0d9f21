/**
 * One part of an upload: streamed into a blob, then made part of the session. Again is instead, and what was there
 * before is deleted at once: only a finalizer reads parts, and while there is one no part is replaced.
 */
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { translateError, uploadErrors } from '../errors.ts';
import type { IntakeDeps } from '../intake/intake.ts';
import { deleteFreed, forgetNotes, freeBlobs, noteBlobs, useNoted } from '../items/blob-uses.ts';
import type { PartBudget } from './part-budget.ts';
import type { RunningHashes } from './running-hashes.ts';
import { asSegment, findSession, multipartLimits, type PartRow, type SessionRow } from './sessions.ts';

export interface PutPart {
  readonly session: string;
  readonly start: number;
  readonly contentLength: number | undefined;
  readonly body: AsyncIterable<Buffer>;
}

export interface PutPartDeps
  extends Pick<IntakeDeps, 'sql' | 'blobs' | 'disk' | 'maxItemBytes' | 'log' | 'now'> {
  readonly budget: PartBudget;
  readonly running: RunningHashes;
}

export async function putPart(deps: PutPartDeps, part: PutPart): Promise<void> {
  const { sql, budget, disk } = deps;
  const { contentLength, start } = part;
  if (contentLength === undefined || contentLength < 1) throw uploadErrors.chunkLength();
  const session = await findSession(sql, part.session);
  checkPart(session, start, contentLength, deps.maxItemBytes);
  const replaced = await checkRoom(sql, session, start, contentLength, deps.maxItemBytes);
  const release = await budget.reserve(sql, session, contentLength, replaced?.size ?? 0);
  try {
    const room = await disk.reserve(contentLength);
    try {
      await receive(deps, part, contentLength, (bytes) => room.use(bytes));
    } finally {
      room.release();
    }
  } catch (error) {
    throw translateError(error);
  } finally {
    release();
  }
}

async function receive(
  deps: PutPartDeps,
  { session, start, body }: PutPart,
  stated: number,
  writing: (bytes: number) => void,
): Promise<void> {
  const { sql, blobs, running, now } = deps;
  const writer = await blobs.writer(stated);
  const hash = running.follow(session, start);
  let written: PartRow;
  try {
    let size = 0;
    for await (const piece of body) {
      size += piece.length;
      if (size > stated) throw uploadErrors.invalidChunk('It is longer than Content-Length said');
      writing(piece.length);
      const written = writer.write(piece);
      hash?.update(piece);
      await written;
    }
    if (size !== stated) throw uploadErrors.cutShort();
    const { digest } = await writer.commit((name) =>
      noteBlobs(sql, [{ digest: name, start: 0, size: stated }], now()),
    );
    written = { start, size, digest };
  } catch (error) {
    await writer.abort();
    throw error;
  }
  // The answer does not depend on these deletions: the sweeper does them otherwise.
  const later = (error: unknown) => deps.log.warn({ err: error }, 'bytes of a part are deleted later');
  let replaced: PartRow | undefined;
  try {
    replaced = await sql.transaction((tx) => addPart(tx, deps, session, written));
  } catch (error) {
    await forgetNotes(sql, blobs, [asSegment(written)], now()).catch(later);
    throw error;
  }
  running.arrived(session, written, hash);
  if (replaced !== undefined) await deleteFreed(sql, blobs, [asSegment(replaced)], now()).catch(later);
}

/** Parts of one declared size lie on its multiples; none reaches beyond what an item may have. */
function checkPart(session: SessionRow, start: number, size: number, maxItemBytes: number): void {
  const { maxBytes, maxParts } = multipartLimits;
  checkOpen(session);
  if (size > maxBytes) throw uploadErrors.invalidChunk(`A chunk has at most ${maxBytes} bytes`);
  const { chunk_size: chunkSize, total_bytes: totalBytes } = session;
  if (chunkSize !== null) {
    if (start % chunkSize !== 0) throw uploadErrors.invalidChunk(`Its offset is no multiple of ${chunkSize}`);
    if (size > chunkSize)
      throw uploadErrors.invalidChunk(`It is larger than the declared ${chunkSize} bytes`);
    if (start / chunkSize >= maxParts)
      throw uploadErrors.invalidChunk(`There are more than ${maxParts} chunks`);
  }
  if (totalBytes !== null && start + size > totalBytes) {
    throw uploadErrors.invalidChunk(`Only ${totalBytes} bytes were paid for`);
  }
  if (start + size > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
}

/**
 * Parts may overlap until they are sent again, but together they are no more than an item may be, or than was paid for.
 * Answers the part that the new one is instead of.
 */
async function checkRoom(
  sql: SqlExecutor,
  { id, total_bytes: totalBytes, part_bytes: held }: SessionRow,
  start: number,
  size: number,
  maxItemBytes: number,
): Promise<PartRow | undefined> {
  const replaced = await sql.get<PartRow>(
    'SELECT start, size, digest FROM upload_parts WHERE session = ? AND start = ?',
    id,
    start,
  );
  const bytes = held - (replaced?.size ?? 0) + size;
  if (totalBytes !== null && bytes > totalBytes)
    throw uploadErrors.invalidChunk(`Only ${totalBytes} bytes were paid for`);
  if (bytes > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
  if (replaced !== undefined) return replaced;
  const parts = await sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM upload_parts WHERE session = ?', id);
  if ((parts?.n ?? 0) >= multipartLimits.maxParts)
    throw uploadErrors.invalidChunk('There are too many chunks');
  return undefined;
}

function checkOpen(session: SessionRow): void {
  if (session.state !== 'open' && session.state !== 'UNDERFUNDED') throw uploadErrors.sessionClosed();
}

/** Answers the part that was there before, whose blob is free. */
async function addPart(
  tx: SqlExecutor,
  deps: PutPartDeps,
  id: string,
  part: PartRow,
): Promise<PartRow | undefined> {
  const now = deps.now();
  const session = await lockSession(tx, deps.budget, id);
  checkOpen(session);
  const replaced = await checkRoom(tx, session, part.start, part.size, deps.maxItemBytes);
  await deps.budget.check(tx, session, part.size, replaced?.size ?? 0);
  if (replaced !== undefined) await freeBlobs(tx, [asSegment(replaced)], now);
  await useNoted(tx, [asSegment(part)], now);
  await tx.run(
    `INSERT INTO upload_parts (session, start, size, digest) VALUES (?, ?, ?, ?)
     ON CONFLICT (session, start) DO UPDATE SET size = excluded.size, digest = excluded.digest`,
    id,
    part.start,
    part.size,
    part.digest,
  );
  await changeOne(
    tx,
    'UPDATE upload_sessions SET part_bytes = part_bytes + ?, changed_at = ? WHERE id = ?',
    part.size - (replaced?.size ?? 0),
    now,
    id,
  );
  return replaced;
}

async function lockSession(tx: SqlExecutor, budget: PartBudget, id: string): Promise<SessionRow> {
  const before = await findSession(tx, id);
  await budget.lock(tx, before);
  const session = await findSession(tx, id, tx.forUpdate);
  // Another client finalizes it, and it counts there from now on.
  if (session.client_address !== before.client_address) throw uploadErrors.sessionBusy();
  return session;
}

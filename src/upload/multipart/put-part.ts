/** One part of an upload: streamed into a blob, then made part of the session. Again is instead. */
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { uploadErrors } from '../errors.ts';
import { explain } from '../intake/explain.ts';
import { dropBlobs, noteBlobs, useBlobs } from '../items/blob-uses.ts';
import { multipartLimits } from './limits.ts';
import { asSegment, findSession, type PartRow, type SessionRow } from './sessions.ts';

export interface PutPart {
  readonly session: string;
  readonly start: number;
  readonly contentLength: number | undefined;
  readonly body: AsyncIterable<Buffer>;
}

export interface PutPartDeps {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  readonly maxItemBytes: number;
  readonly now: () => number;
}

export async function putPart(deps: PutPartDeps, part: PutPart): Promise<void> {
  const { sql, blobs, now } = deps;
  const { contentLength } = part;
  if (contentLength === undefined || contentLength < 1) throw uploadErrors.chunkLength();
  const session = await findSession(sql, part.session);
  checkPart(session, part.start, contentLength, deps.maxItemBytes);
  await checkRoom(sql, session, part.start, contentLength, deps.maxItemBytes);
  const writer = await blobs.writer();
  try {
    let size = 0;
    for await (const piece of part.body) {
      size += piece.length;
      if (size > contentLength) throw uploadErrors.invalidChunk('It is longer than Content-Length said');
      await writer.write(piece);
    }
    if (size !== contentLength) throw uploadErrors.cutShort();
    const { digest } = await writer.commit((name) =>
      noteBlobs(sql, [{ digest: name, start: 0, size: contentLength }], now()),
    );
    await sql.transaction((tx) => addPart(tx, deps, part.session, { start: part.start, size, digest }));
  } catch (error) {
    await writer.abort();
    throw explain(error);
  }
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

/** Parts may overlap until they are sent again, but together they are no more than an item may be. */
async function checkRoom(
  sql: SqlExecutor,
  { id }: SessionRow,
  start: number,
  size: number,
  maxItemBytes: number,
): Promise<void> {
  const others = await sql.get<{ n: number; bytes: number }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM upload_parts
     WHERE session = ? AND start <> ?`,
    id,
    start,
  );
  const { n = 0, bytes = 0 } = others ?? {};
  if (n >= multipartLimits.maxParts) throw uploadErrors.invalidChunk('There are too many chunks');
  if (bytes + size > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
}

function checkOpen(session: SessionRow): void {
  if (session.state !== 'open' && session.state !== 'UNDERFUNDED') throw uploadErrors.sessionClosed();
}

async function addPart(tx: SqlExecutor, deps: PutPartDeps, id: string, part: PartRow): Promise<void> {
  const now = deps.now();
  const session = await tx.get<SessionRow>(`SELECT * FROM upload_sessions WHERE id = ? ${tx.forUpdate}`, id);
  if (session === undefined) throw uploadErrors.unknownSession(id);
  checkOpen(session);
  await checkRoom(tx, session, part.start, part.size, deps.maxItemBytes);
  const replaced = await tx.get<PartRow>(
    'SELECT start, size, digest FROM upload_parts WHERE session = ? AND start = ?',
    id,
    part.start,
  );
  if (replaced !== undefined) await dropBlobs(tx, [asSegment(replaced)], now);
  await useBlobs(tx, [asSegment(part)], now);
  await tx.run(
    `INSERT INTO upload_parts (session, start, size, digest) VALUES (?, ?, ?, ?)
     ON CONFLICT (session, start) DO UPDATE SET size = excluded.size, digest = excluded.digest`,
    id,
    part.start,
    part.size,
    part.digest,
  );
  await tx.run('UPDATE upload_sessions SET changed_at = ? WHERE id = ?', now, id);
}

/** Whether an error says that a database is damaged, which no later try mends. */

/** SQLITE_CORRUPT and SQLITE_NOTADB, sqlite.org/rescode.html. */
const sqliteCodes: ReadonlySet<number> = new Set([11, 26]);
/** data_corrupted and index_corrupted, PostgreSQL appendix A. */
const postgresCodes: ReadonlySet<string> = new Set(['XX001', 'XX002']);
const deepestCause = 8;

export function isCorruption(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < deepestCause && current instanceof Error; depth += 1) {
    if (
      'errcode' in current &&
      typeof current.errcode === 'number' &&
      sqliteCodes.has(current.errcode & 0xff)
    )
      return true;
    if ('code' in current && typeof current.code === 'string' && postgresCodes.has(current.code)) return true;
    current = current.cause;
  }
  return false;
}

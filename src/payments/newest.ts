/** The newest rows of a table of payments, in pages. */
import type { PageRequest } from '../kernel/admin/paging.ts';
import type { Row, Sql, SqlValue } from '../storage/sql/sql.ts';

export interface NewestQuery {
  /** Of one state only. */
  readonly state?: string | undefined;
  readonly page: PageRequest;
}

/** One more than the page holds, so that it is known whether there are more. `id`: what tells rows of one moment apart. */
export function newestRows(
  sql: Sql,
  { table, columns, id }: { readonly table: string; readonly columns: string; readonly id: string },
  { state, page: { before, limit } }: NewestQuery,
): Promise<Row[]> {
  const conditions = [
    ...(state === undefined ? [] : ['state = ?']),
    // The first condition finds the place in the index, whatever the id is made of.
    ...(before === undefined ? [] : ['created_at <= ?', `(created_at < ? OR ${id} < ?)`]),
  ];
  const values: SqlValue[] = [
    ...(state === undefined ? [] : [state]),
    ...(before === undefined ? [] : [before.at, before.at, before.id]),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return sql.all(
    `SELECT ${columns} FROM ${table} ${where} ORDER BY created_at DESC, ${id} DESC LIMIT ?`,
    ...values,
    limit + 1,
  );
}

/** A database that is not to be written while something is wrong with it: reads go on, writes say that it is not available. */
import { DatabaseUnavailable, type Sql, type SqlValue, type Work } from './sql.ts';
import { isQuery } from './sqlite/statement.ts';

/** `trouble`: why nothing may be written now; undefined: all is well. */
export function guardWrites(sql: Sql, trouble: () => string | undefined): Sql {
  const assertWritable = (): void => {
    const reason = trouble();
    if (reason !== undefined) throw new DatabaseUnavailable(reason);
  };
  return {
    engine: sql.engine,
    forUpdate: sql.forUpdate,
    async all<T>(statement: string, ...values: SqlValue[]): Promise<T[]> {
      if (!isQuery(statement)) assertWritable();
      return sql.all<T>(statement, ...values);
    },
    async get<T>(statement: string, ...values: SqlValue[]): Promise<T | undefined> {
      if (!isQuery(statement)) assertWritable();
      return sql.get<T>(statement, ...values);
    },
    async run(statement, ...values) {
      assertWritable();
      return sql.run(statement, ...values);
    },
    async transaction<T>(work: Work<T>, queue?: string): Promise<T> {
      assertWritable();
      return sql.transaction(work, queue);
    },
    stream: <T>(statement: string, ...values: SqlValue[]) => sql.stream<T>(statement, ...values),
    visible: () => sql.visible(),
    close: () => sql.close(),
  };
}

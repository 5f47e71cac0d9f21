/**
 * Schemas of PostgreSQL for tests. To make one by its migrations takes up to thirty times as long as to put back its first
 * rows, so the next test gets the one of the test before; not where that changed more than rows.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Migration } from '../sql.ts';

interface Made {
  readonly migrations: readonly Migration[];
  /** What its tables, indexes and sequences are. */
  readonly shape: string;
  /** Statements that leave the rows and numbers that the migrations left. */
  readonly reset: string;
}

export class TestSchemas {
  readonly #url: string;
  readonly #made = new Map<string, Made>();
  readonly #taken = new Set<string>();

  constructor(url: string) {
    this.#url = url;
  }

  /** A name: of a schema that is as these migrations make it, or of none yet. */
  take(migrations: readonly Migration[]): string {
    const free = [...this.#made].find(
      ([schema, made]) => made.migrations === migrations && !this.#taken.has(schema),
    );
    const schema = free?.[0] ?? `test_${randomBytes(8).toString('hex')}`;
    this.#taken.add(schema);
    return schema;
  }

  /** What this schema is when it was first opened, it shall be again. */
  async remember(schema: string, migrations: readonly Migration[]): Promise<void> {
    if (this.#made.has(schema)) return;
    await connected(this.#url, async (client) => {
      const shape = await shapeOf(client, schema);
      this.#made.set(schema, { migrations, shape, reset: await resetOf(client, schema) });
    });
  }

  /** After a test: what it took may be taken again. */
  async giveBack(): Promise<void> {
    if (this.#taken.size === 0) return;
    await connected(this.#url, async (client) => {
      for (const schema of this.#taken) {
        const made = this.#made.get(schema);
        if (made !== undefined && (await shapeOf(client, schema)) === made.shape) {
          await client.query(made.reset);
        } else {
          this.#made.delete(schema);
          await dropSchema(client, schema);
        }
      }
    });
    this.#taken.clear();
  }

  async drop(): Promise<void> {
    if (this.#made.size === 0) return;
    await connected(this.#url, async (client) => {
      for (const schema of this.#made.keys()) await dropSchema(client, schema);
    });
    this.#made.clear();
  }
}

/** A connection for each time: tests break those that they find. */
export async function connected(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

export async function dropSchema(client: pg.Client, schema: string): Promise<void> {
  await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
}

/** Other after each statement that changes a table, an index or a sequence, and after none that changes rows. */
async function shapeOf(client: pg.Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ shape: string | null }>(
    `SELECT string_agg(oid || ' ' || xmin, ',' ORDER BY oid) AS shape
     FROM pg_class WHERE relnamespace = to_regnamespace($1)`,
    [schema],
  );
  return rows[0]?.shape ?? '';
}

async function resetOf(client: pg.Client, schema: string): Promise<string> {
  const ask = async <T extends object>(text: string, ...values: string[]): Promise<T[]> =>
    (await client.query<T>(text, values)).rows;
  /** Tables are `r`, sequences `S`. */
  const objects = (kind: 'r' | 'S') =>
    ask<{ name: string }>(
      `SELECT quote_ident($1) || '.' || quote_ident(relname) AS name
       FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = $2`,
      schema,
      kind,
    );
  const statements: string[] = [];
  for (const { name } of await objects('r')) {
    statements.push(`DELETE FROM ${name}`);
    const rows = `SELECT quote_literal(json_agg(kept)) AS kept FROM ${name} kept HAVING count(*) > 0`;
    for (const { kept } of await ask<{ kept: string }>(rows))
      statements.push(
        `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, ${kept})`,
      );
  }
  for (const { name } of await objects('S')) {
    const numbers = `SELECT last_value || ', ' || is_called AS kept FROM ${name}`;
    for (const { kept } of await ask<{ kept: string }>(numbers))
      statements.push(`SELECT setval('${name}', ${kept})`);
  }
  return statements.join(';\n');
}

/** Opens one schema of a PostgreSQL: finds its primary, makes the schema, brings it up to date, keeps connections to it. */
import { postgresHosts } from '../../../config/postgres-url.ts';
import { StartupError } from '../../../kernel/errors.ts';
import type { Migration, StorageLog } from '../sql.ts';
import { type ConnectionOptions, localSettings } from './connection.ts';
import { PostgresDatabase } from './database.ts';
import { migrate } from './migrate.ts';
import { Primary } from './primary.ts';
import { Standbys } from './standbys.ts';
import { Statements } from './statements.ts';

export interface PostgresOptions {
  /** Of one host, or of several of which one is the primary. */
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  readonly statementTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly byIndexOnly?: boolean;
  /** How long an opener waits for another process that migrates the schema, before it gives up. */
  readonly migrationWaitMs?: number;
  /** Standbys that read scopes are answered from. */
  readonly readUrls?: readonly string[];
  readonly maxStalenessMs?: number;
}

/** Of each schema in each process; PostgreSQL allows 100 connections by default. */
const defaultPoolSize = 8;
/** The server ends a statement that takes too long; this is for a server that is not there any more and said nothing. */
const answerSlackMs = 5_000;
/** A migration may rebuild an index. A process that waits longer reports it and ends; its supervisor starts it again. */
const defaultMigrationWaitMs = 120_000;
const defaultMaxStalenessMs = 1_000;

export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { schema, log, statementTimeoutMs = 30_000, byIndexOnly = false, readUrls = [] } = options;
  const { answerTimeoutMs = statementTimeoutMs + answerSlackMs, maxStalenessMs = defaultMaxStalenessMs } =
    options;
  const { urls, poolSize } = withPoolSize(options.url);
  const connections: ConnectionOptions = {
    ...{ schema, poolSize, statementTimeoutMs, answerTimeoutMs, byIndexOnly, log },
  };
  const { migrations, migrationWaitMs = defaultMigrationWaitMs } = options;
  const migrating = new Primary(urls, {
    ...connections,
    ...{ poolSize: 2, statementTimeoutMs: 0, answerTimeoutMs: 0, byIndexOnly: false },
  });
  try {
    await migrate(migrating, { schema, migrations, migrationWaitMs, ...(log && { log }) });
  } finally {
    await migrating.end();
  }
  const lookMs = maxStalenessMs * 2;
  const looking = { poolSize: 1, statementTimeoutMs: lookMs, answerTimeoutMs: lookMs };
  return new PostgresDatabase({
    primary: new Primary(urls, connections),
    statements: new Statements(schema),
    localSettings: localSettings(connections),
    standbys:
      readUrls.length === 0
        ? undefined
        : new Standbys({
            ...connections,
            urls: readUrls.flatMap((url) => withPoolSize(url).urls),
            maxStalenessMs,
            primary: new Primary(urls, { ...connections, ...looking }),
          }),
  });
}

/** Takes our own parameter out of the address; the rest is the client library's. */
function withPoolSize(text: string): { urls: string[]; poolSize: number } {
  let poolSize = defaultPoolSize;
  const urls = postgresHosts(text).map((one) => {
    const url = new URL(one);
    const given = url.searchParams.get('pool_size');
    if (given === null) return one;
    if (!/^[1-9][0-9]{0,2}$/.test(given)) throw new StartupError('DATABASE_URL: pool_size is 1 to 999');
    poolSize = Number(given);
    url.searchParams.delete('pool_size');
    return url.toString();
  });
  return { urls, poolSize };
}

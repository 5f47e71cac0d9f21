/** `turnpike history`: the tables of the history in ClickHouse, and how far it is. */
import { type Config, readProcessConfig } from '../../config/config.ts';
import { HistoryUnavailable } from '../../gateway/chain-index/history.ts';
import { heightOf } from '../../gateway/chain-index/order.ts';
import { ClickHouse } from '../../gateway/history/clickhouse.ts';
import { openBatches, readExtent } from '../../gateway/history/extent.ts';
import { placementOf } from '../../gateway/history/part.ts';
import { createStatements } from '../../gateway/history/tables.ts';
import { gatewayMigrations } from '../../gateway/migrations.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { type Command, readArguments, UsageError } from '../command.ts';

export const history: Command = {
  usage: `turnpike history ddl      print the statements that make the tables; of a cluster, run them on every server
turnpike history status   show what was moved to the history, and whether it answers

  --server <version>  with ddl: for a server of this version, such as 24.8, instead of the one of INDEX_HISTORY_URL
  --json              with status: for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { json: { type: 'boolean' }, server: { type: 'string' } },
      allowPositionals: true,
    });
    const [action, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    if (action === 'ddl') return ddl(config, values.server);
    if (action === 'status') return status(config, values.json === true);
    throw new UsageError(`there is no "history ${action ?? ''}"`);
  },
};

/** Where nothing else is known. */
const usualVersion = 24_008;

async function ddl(config: Config, given: string | undefined): Promise<number> {
  const version = given === undefined ? await versionOf(config) : parseVersion(given);
  console.log(
    createStatements(version, placementOf(config))
      .map((statement) => `${statement};`)
      .join('\n\n'),
  );
  return 0;
}

function parseVersion(text: string): number {
  const [, major, minor] = /^([0-9]{2})\.([0-9]{1,2})(\.|$)/.exec(text) ?? [];
  if (major === undefined || minor === undefined)
    throw new UsageError('--server must be a version such as 24.8');
  return Number(major) * 1_000 + Number(minor);
}

async function versionOf(config: Config): Promise<number> {
  if (config.INDEX_HISTORY_URL === undefined) return usualVersion;
  const server = connect(config, config.INDEX_HISTORY_URL);
  try {
    return await server.version();
  } catch (error) {
    if (!(error instanceof HistoryUnavailable)) throw error;
    throw new StartupError(`${reasonOf(error)}; start it, or say its version with --server`);
  } finally {
    await server.close();
  }
}

const connect = (config: Config, url: string): ClickHouse =>
  new ClickHouse({
    url,
    password: config.INDEX_HISTORY_PASSWORD,
    timeoutMs: config.INDEX_HISTORY_TIMEOUT_MS,
  });

const reasonOf = (error: Error): string => messageOf(error.cause ?? error);

async function status(config: Config, json: boolean): Promise<number> {
  const url = config.INDEX_HISTORY_URL;
  if (url === undefined)
    throw new StartupError('INDEX_HISTORY_URL is not set: everything is in the SQL database');
  const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir } = config;
  const sql = await openDatabase({ databaseUrl, dataDir, name: 'gateway', migrations: gatewayMigrations });
  const server = connect(config, url);
  try {
    const { items, first_pos, last_pos } = await readExtent(sql);
    const open = (await openBatches(sql)).map(({ batch }) => batch);
    const heights = items === 0 ? undefined : { min: heightOf(first_pos), max: heightOf(last_pos) };
    const trouble = await server.version().then(
      () => undefined,
      (error: unknown) => (error instanceof HistoryUnavailable ? reasonOf(error) : messageOf(error)),
    );
    if (json) console.log(JSON.stringify({ items, heights, openBatches: open, trouble }));
    else {
      const where = heights === undefined ? '' : ` of heights ${heights.min}–${heights.max}`;
      console.log(
        `${items} items${where} are in the history${open.length > 0 ? ', a batch is on its way' : ''}`,
      );
      console.log(trouble === undefined ? 'it answers' : `it does NOT answer: ${trouble}`);
    }
    return trouble === undefined ? 0 : 1;
  } finally {
    await server.close();
    await sql.close();
  }
}

/**
 * A start that shares a database with others and not their keys is refused: receipts of one process would be strangers' to
 * the next, a token good here and wrong there. On SQLite the folder that the database is in has the keys too.
 */
import { createPublicKey } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { readObserverKey } from '../../gateway/observer-key.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { routerToken } from '../../router/tokens.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { renewSharedKeysMs, SharedKeys, sharedKeysMigrations } from '../../storage/sql/shared-keys.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { ServiceKeys } from './service-keys.ts';

export interface SharedKeysOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly keys: ServiceKeys;
  /** The surfaces that run in this process. */
  readonly surfaces: readonly string[];
}

interface Shared {
  /** What an operator sets to have it alike. */
  readonly variable: string;
  readonly surfaces: readonly string[];
  isUsed?(config: Config): boolean;
  /** The key, or for one of two halves the public one. */
  read(options: SharedKeysOptions): Promise<string>;
}

/** Listed in docs/scaling.md. */
const shared: readonly Shared[] = [
  {
    variable: 'SERVICE_WALLET_FILE',
    surfaces: ['payment', 'upload'],
    read: async ({ keys }) => (await keys.wallet()).address,
  },
  {
    variable: 'RECEIPT_KEY_FILE',
    surfaces: ['upload'],
    read: async ({ keys }) => (await keys.receipts()).address,
  },
  {
    variable: 'DATA_KEY_FILE',
    surfaces: ['upload'],
    read: async ({ keys }) => (await keys.unsignedData()).address,
  },
  {
    variable: 'SOLANA_SIGNER_SECRET_KEY',
    surfaces: ['payment', 'upload'],
    read: async ({ keys }) => (await keys.solana()).address,
  },
  { variable: 'JWT_SECRET', surfaces: ['payment'], read: ({ keys }) => keys.jwtSecret() },
  {
    variable: 'ADMIN_API_KEY',
    surfaces: ['gateway', 'payment', 'upload'],
    read: ({ keys }) => keys.adminKey(),
  },
  {
    variable: 'OBSERVER_KEY_FILE',
    surfaces: ['gateway'],
    isUsed: ({ HTTPSIG_ENABLED }) => HTTPSIG_ENABLED,
    read: async ({ config }) =>
      createPublicKey(await readObserverKey(config)).export({ format: 'jwk' }).x ?? '',
  },
  {
    variable: 'MODERATION_ADMIN_TOKEN',
    surfaces: ['router'],
    isUsed: ({ MODERATION_ENABLED }) => MODERATION_ENABLED,
    read: ({ config, log }) => routerToken(config, 'MODERATION_ADMIN_TOKEN', log),
  },
  {
    variable: 'ADMIN_TOKEN',
    surfaces: ['router'],
    isUsed: ({ ADMIN_UI_ENABLED }) => ADMIN_UI_ENABLED,
    read: ({ config, log }) => routerToken(config, 'ADMIN_TOKEN', log),
  },
];

/** Started before the surfaces whose keys these are. */
export function insistOnSharedKeys(options: SharedKeysOptions): Surface {
  const { config, log, surfaces } = options;
  const used = shared.filter(
    (one) => one.surfaces.some((name) => surfaces.includes(name)) && one.isUsed?.(config) !== false,
  );
  let sql: Sql | undefined;
  let keys: SharedKeys | undefined;
  let renewing: Job | undefined;
  return {
    name: 'shared keys',
    url: '',
    async start() {
      if (config.DATABASE_URL === undefined || used.length === 0) return;
      sql = await openDatabase({
        databaseUrl: config.DATABASE_URL,
        dataDir: config.DATA_DIR,
        name: 'installation',
        migrations: sharedKeysMigrations,
        log,
      });
      const own = new SharedKeys(sql);
      const read = used.map(async (one) => [one.variable, await one.read(options)] as const);
      const others = await own.claim(new Map(await Promise.all(read)));
      if (others.length > 0) throw new StartupError(others.map(refusal).join('\n'));
      keys = own;
      renewing = createJob({
        name: 'say which keys are used',
        everyMs: renewSharedKeysMs,
        log,
        async run() {
          for (const variable of await own.renew()) log.error(refusal(variable));
        },
      });
      renewing.start();
    },
    drain: async () => true,
    async stop() {
      await renewing?.stop();
      await keys?.release().catch(() => {});
      await sql?.close();
    },
  };
}

const refusal = (variable: string): string =>
  `${variable} is not what other processes on this database have: set it to theirs, or stop them first to change it (docs/scaling.md)`;

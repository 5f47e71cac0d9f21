/** The tokens of the router's operators: given, or made on first start and kept in DATA_DIR/keys. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { makeToken, readOrCreateKey } from '../kernel/keys.ts';
import type { Logger } from '../kernel/log.ts';

const files = {
  MODERATION_ADMIN_TOKEN: 'moderation-admin-token',
  ADMIN_TOKEN: 'router-admin-token',
} as const;

export async function routerToken(
  config: Config,
  variable: keyof typeof files,
  log: Logger,
): Promise<string> {
  const given = config[variable];
  if (given !== undefined) return given;
  const { path, text, made } = await readOrCreateKey(
    join(config.DATA_DIR, 'keys'),
    files[variable],
    makeToken,
  );
  if (made) log.info({ path }, 'made a token');
  return text;
}

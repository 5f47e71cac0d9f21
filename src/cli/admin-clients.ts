/** The operator's routes of each service, with the key of this installation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { isRecord, memberOf, tryParseJson } from '../formats/json.ts';
import { StartupError } from '../kernel/errors.ts';
import { ServiceClient } from './service-client.ts';

export interface AdminClient {
  /** Throws what the service refused, in its own words. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<Record<string, unknown>>;
}

/** What a service refused; the words are its own. */
export class AdminRefusal extends StartupError {
  readonly status: number;

  constructor(status: number, words: string) {
    super(`${status}: ${words}`);
    this.status = status;
  }
}

const prefixes = {
  gateway: '/gw/admin/',
  payment: '/v1/admin/',
  upload: '/v1/admin/',
  router: '/router/moderation/',
} as const;

export function adminClient(what: keyof typeof prefixes, url: string, config: Config): AdminClient {
  const service = new ServiceClient(what, url, 0);
  return {
    async call(method, path, body) {
      const key = what === 'router' ? moderationToken(config) : adminKey(config);
      const headers = { authorization: `Bearer ${key}` };
      const { status, text } = await service.call(`${prefixes[what]}${path}`, { method, headers }, body);
      const parsed = tryParseJson(text) ?? text.slice(0, 200);
      if (status >= 400) throw new AdminRefusal(status, String(memberOf(parsed, 'error') ?? parsed));
      if (!isRecord(parsed))
        throw new StartupError(`the ${what} answered something else: ${text.slice(0, 200)}`);
      return parsed;
    },
  };
}

function adminKey(config: Config): string {
  if (config.ADMIN_API_KEY !== undefined) return config.ADMIN_API_KEY;
  const path = join(config.DATA_DIR, 'keys', 'admin-api-key');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new StartupError(`there is no admin key: set ADMIN_API_KEY, or start the gateway once (${path})`);
  }
}

/** Of the router's moderation routes. */
function moderationToken(config: Config): string {
  if (config.MODERATION_ADMIN_TOKEN !== undefined) return config.MODERATION_ADMIN_TOKEN;
  const path = join(config.DATA_DIR, 'keys', 'moderation-admin-token');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new StartupError(
      `there is no moderation token: set MODERATION_ADMIN_TOKEN, or start the router once (${path})`,
    );
  }
}

/** Addresses of PostgreSQL. Several hosts may stand in one, as PostgreSQL's own clients write it. */
import { checkEscapes } from './url-escapes.ts';

const form = /^(postgres(?:ql)?):\/\/(?:([^@/?#]*)@)?([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/;
const mostHosts = 16;

/**
 * One address for each host: `postgres://user@one:5432,two:5433/name` is `postgres://user@one:5432/name` and
 * `postgres://user@two:5433/name`. Throws the rest of the sentence "NAME …".
 */
export function postgresHosts(text: string): string[] {
  const [, scheme, user, hosts = '', path = '', query = ''] = form.exec(text) ?? [];
  const urls = hosts
    .split(',')
    .map((host) => `${scheme}://${user === undefined ? '' : `${user}@`}${host}${path}${query}`);
  const isList = urls.length > 1;
  if (scheme === undefined || !urls.every((url) => URL.canParse(url) && !(isList && isHostless(url)))) {
    throw new Error('must be a URL that begins with postgres:// or postgresql://');
  }
  checkEscapes(text);
  if (urls.length > mostHosts) throw new Error(`names more than ${mostHosts} hosts`);
  return urls.map((url) => url.replace(/\/+$/, ''));
}

const isHostless = (url: string): boolean => new URL(url).hostname === '';

import type { Request } from '../kernel/http/server.ts';

/** `/gw` and its aliases, for every part that has routes there. */
export function gatewayPrefixes(aliases: readonly string[]): string[] {
  return ['/gw', ...aliases.map((alias) => `/${alias.replace(/^\/+|\/+$/g, '')}`)];
}

/** A parameter of the path; empty where it has none of that name. */
export function param(request: Request, name: string): string {
  const { params } = request;
  const value: unknown =
    typeof params === 'object' && params !== null ? Reflect.get(params, name) : undefined;
  return typeof value === 'string' ? value : '';
}

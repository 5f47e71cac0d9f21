/**
 * Where the services are that the console is for, as its server knows it and as the browser reaches them. On one machine
 * a browser that opened the console as `https://localhost` reaches the others by that name and scheme too.
 */
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../kernel/http/loopback.ts';
import type { ConsoleSettings, ServiceName } from './api.ts';

export type Services = ConsoleSettings['services'];

/** How the browser reached the console. */
export interface Reached {
  readonly protocol: string;
  /** Without the port. */
  readonly hostname: string;
}

/** The same services as that browser reaches them: loopback addresses by the name and scheme it came with. */
export function servicesFor(services: Services, { protocol, hostname }: Reached): Services {
  if (!isLoopbackHost(hostname)) return services;
  return Object.fromEntries(
    (Object.entries(services) as [ServiceName, string][]).map(([name, url]) => {
      const { hostname: own, port } = new URL(url);
      return [name, isLoopbackHost(own) && port !== '' ? `${protocol}://${hostname}:${port}` : url];
    }),
  );
}

/** Where each id has an origin of its own: below the gateway's root host. */
export const sandboxOf = (gateway: string | undefined, config: Config): string | undefined =>
  hostsBelow(gateway, config.ARNS_ROOT_HOST[0] ?? 'localhost');

/** Where each name has an origin of its own at the router. */
export const routerHostsOf = (router: string | undefined, config: Config): string | undefined =>
  hostsBelow(router, config.BASE_DOMAIN.replace(/:[0-9]+$/, ''));

/** `loopback`: the root host of a service on this machine. */
function hostsBelow(url: string | undefined, loopback: string): string | undefined {
  if (url === undefined) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const root = isLoopbackHost(hostname) ? loopback : hostname;
  return `${protocol}//{label}.${root}${port === '' ? '' : `:${port}`}`;
}

/** What is examined: the settings of this environment, and the addresses under which readers find the services. */
import type { Config } from '../../config/config.ts';
import type { TxId } from '../../formats/base64url.ts';
import { UsageError } from '../command.ts';
import { givenUrl } from '../service-url.ts';
import type { View } from './view.ts';

export type ServiceName = 'gateway' | 'router' | 'upload' | 'payment';
export const serviceNames: readonly ServiceName[] = ['gateway', 'router', 'upload', 'payment'];

export type PublicAddresses = Readonly<Partial<Record<ServiceName, string>>>;

export interface Patient {
  readonly config: Config;
  /** As a start names them. */
  readonly surfaces: readonly string[];
  /** As the outside reaches them; those that are not known are not looked at from there. */
  readonly publicUrls: PublicAddresses;
  readonly view: View;
  /** How long something that comes at once may take. */
  readonly timeoutMs: number;
  /** An id and a name to read; without them the doctor looks for some. */
  readonly id: TxId | undefined;
  readonly name: string | undefined;
}

/** Hosts that only this machine knows. */
export const isPrivateHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '127.0.0.1' || host === '[::1]';

/** What is given, else what the settings say, where it is not this machine alone. */
export function publicUrlsOf(
  config: Config,
  surfaces: readonly string[],
  given: PublicAddresses,
): PublicAddresses {
  const settings: Record<ServiceName, string | undefined> = {
    gateway: config.GATEWAY_URL ?? atHost(config.ARNS_ROOT_HOST[0]),
    router: config.ROUTER_URL ?? atHost(config.BASE_DOMAIN),
    upload: config.UPLOAD_URL,
    payment: config.PAYMENT_URL,
  };
  const found = serviceNames.flatMap((name): [ServiceName, string][] => {
    const named = given[name];
    if (named !== undefined) return [[name, readGiven(named)]];
    const url = settings[name];
    if (url === undefined || !surfaces.includes(name) || isPrivateHost(new URL(url).hostname)) return [];
    return [[name, url]];
  });
  return Object.fromEntries(found);
}

const atHost = (host: string | undefined): string | undefined =>
  host === undefined ? undefined : `https://${host}`;

function readGiven(text: string): string {
  const url = givenUrl(text.includes('://') ? text : `https://${text}`);
  if (new URL(url).pathname !== '/') throw new UsageError(`"${text}" is an address with a path`);
  return url;
}

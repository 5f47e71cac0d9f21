/** Where the console's server itself reaches the services, and with which keys. */
import type { OperatorService, ServiceName } from './api.ts';

export interface Reach {
  /** Base addresses without a slash at their end; asked each time, because others may start later, and again. */
  readonly services: () => Readonly<Partial<Record<ServiceName, string>>>;
  /** Base of the router's admin page, which has a port of its own. */
  readonly routerAdmin: () => string | undefined;
  /** The keys of this installation, in the world `local` alone. */
  readonly ownKeys: (() => Promise<OwnKeys>) | undefined;
}

export interface OwnKeys {
  readonly operator: Readonly<Partial<Record<OperatorService, string>>>;
  /** What the local card provider takes from its merchant. */
  readonly card: string | undefined;
}

export const operatorServices: readonly OperatorService[] = ['gateway', 'payment', 'upload', 'router'];

/** The base of a service's routes for operators. */
export function adminBase(reach: Reach, service: OperatorService): string | undefined {
  if (service === 'router') {
    const base = reach.routerAdmin();
    return base && `${base}/api`;
  }
  const base = reach.services()[service];
  return base && `${base}${service === 'gateway' ? '/gw/admin' : '/v1/admin'}`;
}

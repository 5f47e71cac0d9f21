/**
 * `/api/local`: the control of the local network, and of its stand-ins what is in this table and nothing else. For the
 * console's page alone, in the world `local` alone.
 */
import type { App, Request } from '../../kernel/http/app.ts';
import type { ServiceName } from '../api.ts';
import { notTheLocalNetwork } from '../errors.ts';
import type { Forward } from '../forward.ts';
import type { Reach } from '../reach.ts';
import { forwardedScope, restOf } from './forwarded.ts';

export interface LocalDeps {
  readonly reach: Reach;
  readonly forward: Forward;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What is asked of a stand-in, by the path below its name. */
const standIns: readonly {
  readonly service: ServiceName;
  readonly methods: readonly Method[];
  readonly url: string;
  /** As the stand-in has it; parameters keep their names. */
  readonly path: string;
}[] = [
  { service: 'arweave', methods: ['GET', 'POST', 'DELETE'], url: '/faults', path: 'faults' },
  { service: 'arweave', methods: ['POST'], url: '/fork', path: 'fork' },
  { service: 'arweave', methods: ['GET'], url: '/logs', path: 'logs' },
  { service: 'card', methods: ['GET', 'POST'], url: '/webhooks', path: 'test/webhooks' },
  { service: 'card', methods: ['GET'], url: '/deliveries', path: 'test/deliveries' },
  { service: 'card', methods: ['GET'], url: '/events', path: 'v1/events' },
  { service: 'card', methods: ['POST'], url: '/events/:id/resend', path: 'test/events/:id/resend' },
  { service: 'x402', methods: ['GET', 'POST'], url: '/faults', path: 'test/faults' },
  { service: 'solana', methods: ['GET'], url: '/transactions', path: 'transactions' },
  // What a mailer would write about.
  { service: 'payment', methods: ['GET'], url: '/gifts', path: 'v1/admin/ledger/gifts' },
];

/** Below `/local` of the network's control. */
const control: readonly { readonly methods: readonly Method[]; readonly url: string }[] = [
  { methods: ['GET'], url: '' },
  { methods: ['POST'], url: '/reset' },
  { methods: ['GET', 'POST'], url: '/snapshots' },
  { methods: ['POST'], url: '/revert' },
  { methods: ['POST'], url: '/snapshots/:name/revert' },
  { methods: ['DELETE'], url: '/snapshots/:name' },
  { methods: ['GET', 'POST'], url: '/clock' },
  { methods: ['POST'], url: '/mine' },
  { methods: ['GET', 'POST'], url: '/mining' },
  { methods: ['GET'], url: '/wallets' },
  { methods: ['POST'], url: '/faucet' },
];

/** A change stops the network and starts it again. */
const timeoutMs = 120_000;

export function localRoutes(app: App, { reach, forward }: LocalDeps): void {
  const baseOf = (service: ServiceName): string => {
    const base = reach.services()[service];
    if (base === undefined) throw notTheLocalNetwork();
    return base;
  };
  forwardedScope(app, (scope) => {
    for (const { methods, url } of control) {
      scope.route({
        method: [...methods],
        url: `/local${url}`,
        schema: { summary: 'The control of the local network' },
        handler: (request, reply) =>
          forward(request, reply, {
            name: 'local network',
            base: `${baseOf('arweave')}/local`,
            path: restOf(request, '/local'),
            timeoutMs,
          }),
      });
    }
    for (const { service, methods, url, path } of standIns) {
      scope.route({
        method: [...methods],
        url: `/local/${service}${url}`,
        schema: { summary: `A control of the local ${service}` },
        handler: async (request, reply) => {
          const key = await ownKeyFor(reach, service);
          return await forward(request, reply, {
            name: `local ${service}`,
            base: baseOf(service),
            path: `${filled(path, request)}${queryOf(request)}`,
            ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
          });
        },
      });
    }
  });
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    // A saved state may be large: it is passed on as it comes.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.route({
      method: ['GET', 'PUT'],
      url: '/local/state',
      schema: { summary: 'The whole state as one file' },
      handler: (request, reply) =>
        forward(request, reply, {
          name: 'local network',
          base: `${baseOf('arweave')}/local`,
          path: 'state',
          timeoutMs,
          isFile: true,
        }),
    });
  });
}

/** Of the installation: whoever has its local network has its keys. */
async function ownKeyFor(reach: Reach, service: ServiceName): Promise<string | undefined> {
  if (service !== 'card' && service !== 'payment') return undefined;
  const keys = await reach.ownKeys?.();
  return service === 'card' ? keys?.card : keys?.operator.payment;
}

function filled(path: string, request: Request): string {
  const params = request.params as Readonly<Record<string, string>>;
  return path.replaceAll(/:([a-z]+)/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
}

function queryOf({ url }: Pick<Request, 'url'>): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at);
}

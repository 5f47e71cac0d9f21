/**
 * `/api/session`: a key is shown once, tried at the services, and kept by this server alone. The page gets a cookie that
 * no script can read, and learns what the session may do.
 */
import { Type } from 'typebox';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import type { HttpClient } from '../../outside/http.ts';
import type { OperatorService, SessionInfo, SessionRequest } from '../api.ts';
import { readSessionCookie, writeSessionCookie } from '../cookies.ts';
import { keyRefused, noOwnKeys, notSignedIn } from '../errors.ts';
import { adminBase, operatorServices, type Reach } from '../reach.ts';
import type { SessionKey, Sessions } from '../sessions.ts';

export interface SessionDeps {
  readonly sessions: Sessions;
  readonly client: HttpClient;
  readonly reach: Reach;
  /** Known once the server listens. */
  readonly port: () => number;
}

/** Names the session's key for a service to who forwards a request. */
export type OperatorKey = (request: Request, service: OperatorService) => Promise<string>;

const Body = Type.Union([
  Type.Object(
    {
      key: Type.String({ minLength: 1, maxLength: 1_024 }),
      for: Type.Optional(
        Type.Array(Type.Union(operatorServices.map((name) => Type.Literal(name))), { maxItems: 4 }),
      ),
    },
    { additionalProperties: false },
  ),
  Type.Object({ own: Type.Literal(true) }, { additionalProperties: false }),
]);

export function sessionRoutes(app: App, deps: SessionDeps): void {
  const { sessions, reach, port } = deps;
  const idOf = (request: Request) => readSessionCookie(request, port());
  const infoOf = (id: string | undefined): SessionInfo => {
    const session = sessions.get(id);
    const may = (service: OperatorService) => session?.keys.has(service) === true;
    return {
      operator: {
        gateway: may('gateway'),
        payment: may('payment'),
        upload: may('upload'),
        router: may('router'),
      },
      until: session === undefined ? null : Math.round(Date.now() + session.leftMs),
      ownKeys: reach.ownKeys !== undefined,
    };
  };
  const setCookie = (request: Request, reply: Reply, id: string | undefined) =>
    reply.header('set-cookie', writeSessionCookie(id, port(), request.protocol === 'https'));

  app.get('/session', { schema: { summary: 'What this session may do' } }, (request) =>
    infoOf(idOf(request)),
  );
  app.post(
    '/session',
    {
      config: { clientLimit: 'keys', invalid: 'Send a key of at most 1024 characters, or {"own": true}' },
      schema: { summary: 'Exchange a key for a session', body: Body },
    },
    async (request, reply) => {
      const body: SessionRequest = request.body;
      const keys =
        'own' in body
          ? await ownKeysAccepted(deps)
          : await accepted(deps, body.key, body.for ?? operatorServices);
      if (keys.size === 0) throw keyRefused();
      const before = idOf(request);
      // A second key joins the first: gateway and router have different ones.
      const id = before !== undefined && sessions.add(before, keys) ? before : sessions.open(keys);
      setCookie(request, reply, id);
      return infoOf(id);
    },
  );
  app.delete('/session', { schema: { summary: 'End the session' } }, async (request, reply) => {
    const id = idOf(request);
    if (id !== undefined) sessions.end(id);
    setCookie(request, reply, undefined);
    return infoOf(undefined);
  });
}

export function createOperatorKey({ sessions, reach, port }: SessionDeps): OperatorKey {
  return async (request, service) => {
    const session = sessions.get(readSessionCookie(request, port()), true);
    const key = session?.keys.get(service);
    if (key === undefined) throw notSignedIn();
    if (key !== 'own') return key.text;
    const own = (await reach.ownKeys?.())?.operator[service];
    if (own === undefined) throw notSignedIn();
    return own;
  };
}

type Keys = Map<OperatorService, SessionKey>;

async function accepted(
  deps: SessionDeps,
  text: string,
  services: readonly OperatorService[],
): Promise<Keys> {
  const tried = services.map(async (service) => ({ service, takes: await takesKey(deps, service, text) }));
  const found = (await Promise.all(tried)).filter(({ takes }) => takes);
  return new Map(found.map(({ service }) => [service, { text }]));
}

async function ownKeysAccepted(deps: SessionDeps): Promise<Keys> {
  if (deps.reach.ownKeys === undefined) throw noOwnKeys();
  const { operator } = await deps.reach.ownKeys();
  const tried = operatorServices.map(async (service) => {
    const key = operator[service];
    return { service, takes: key !== undefined && (await takesKey(deps, service, key)) };
  });
  const found = (await Promise.all(tried)).filter(({ takes }) => takes);
  return new Map(found.map(({ service }) => [service, 'own']));
}

/** What each service answers with the key alone. */
const probes: Readonly<Record<OperatorService, string>> = {
  gateway: '/debug',
  payment: '/state',
  upload: '/state',
  router: '/status',
};

/** The service compares it, in constant time. One that does not answer takes no key. */
async function takesKey(
  { client, reach }: SessionDeps,
  service: OperatorService,
  key: string,
): Promise<boolean> {
  const base = adminBase(reach, service);
  // A header's value is one line of visible ASCII.
  if (base === undefined || !/^[\x21-\x7e]+$/.test(key)) return false;
  const headers = { authorization: `Bearer ${key}` };
  const answer = await client.call(`${base}${probes[service]}`, { headers }).catch(() => undefined);
  return answer?.status === 200;
}

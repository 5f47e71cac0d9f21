/**
 * The operator's page on a port of its own: gateways with their speed and errors, the cache, the blocklist, names
 * as each verifier sees them, and the configuration. It is made of the console's parts (`src/page/router-admin.tsx`);
 * nothing is loaded from elsewhere, nothing runs inline.
 */
import { Type } from 'typebox';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isTxId } from '../../formats/base64url.ts';
import { textOf } from '../../formats/json.ts';
import { type Actor, type AuditLog, fingerprintOf } from '../../kernel/audit-log.ts';
import { addPageRoutes } from '../../kernel/http/page/page-routes.ts';
import {
  type App,
  createHttpServer,
  type HttpServer,
  mountGuarded,
  type Request,
} from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import { tlsKeysOf } from '../../kernel/tls/tls-keys.ts';
import { fellows, hear } from '../../kernel/workers/fellows.ts';
import { managementError } from '../errors.ts';
import { blockContent, type Moderation } from '../moderation/block-content.ts';
import { readBlock, readTarget } from '../routes/moderation.ts';
import { toCsv } from '../telemetry/summary.ts';
import { createAdminGuard } from './guard.ts';
import { configView, gatewaysView, ranges, statusView, telemetryView, type ViewDeps } from './views.ts';

const strict = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

const name = /^[a-z0-9_-]{1,63}$/;

export interface AdminDeps extends ViewDeps {
  readonly log: Logger;
  readonly content: Moderation['content'];
  readonly audit: AuditLog;
  /** What every call must carry. */
  readonly token: string;
}

export interface AdminPart extends Part {
  /** Known once it has started. */
  readonly url: string;
}

export function createAdminPart(deps: AdminDeps): AdminPart {
  const server = createAdminServer(deps);
  hearOthers(deps);
  return {
    name: 'admin',
    get url() {
      return server.url;
    },
    async start() {
      await server.listen();
      deps.log.info({ url: server.url }, "the router's admin page");
    },
    async drain() {
      // Nobody waits for the page's requests.
      await server.drain(0);
      return true;
    },
    stop: () => server.close(),
  };
}

function createAdminServer(deps: AdminDeps): HttpServer {
  const { config } = deps.settings;
  const guard = createAdminGuard(config.ADMIN_HOST, () => deps.token);
  const server = createHttpServer({
    name: 'router-admin',
    title: 'Router administration',
    host: config.ADMIN_HOST,
    hostVariable: 'ADMIN_HOST',
    port: config.ADMIN_PORT,
    portVariable: 'ADMIN_PORT',
    tls: tlsKeysOf(config),
    log: deps.log,
    metrics: new Metrics(),
    bodyLimit: 16 * 1024,
    errorBody: (_status, message) => ({ error: message }),
    docs: false,
    // For nobody but the page itself.
    cors: false,
  });
  const { app } = server;

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(strict);
    try {
      guard.checkOrigin(request);
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  });

  addPageRoutes(app, {
    name: 'router-admin',
    path: '/',
    title: 'Router',
    withoutScript: 'This page needs JavaScript. What it shows is told by the routes below /api too.',
    headers: () => ({}),
  });

  mountGuarded(app, '/api', guard, (scope) => apiRoutes(scope, deps));
  return server;
}

/** Everything that the page reads and does, all of it with the token. */
function apiRoutes(app: App, deps: AdminDeps): void {
  const who = fingerprintOf(deps.token);
  const actor = (request: Request): Actor => ({ who, via: 'admin', from: request.ip });
  app.get('/status', () => statusView(deps));
  app.get('/gateways', () => {
    const gateways = gatewaysView(deps);
    return { gateways, total: gateways.length };
  });
  app.get('/config', () => ({ variables: configView(deps) }));

  const Range = Type.Object({ range: Type.Optional(Type.String()), format: Type.Optional(Type.String()) });
  app.get('/telemetry', { schema: { querystring: Range } }, (request) =>
    telemetryView(deps, hoursOf(request.query.range)),
  );
  app.get('/telemetry/export', { schema: { querystring: Range } }, async (request, reply) => {
    const view = await telemetryView(deps, hoursOf(request.query.range));
    if (!view.enabled) throw managementError(503, 'Telemetry not enabled');
    if (request.query.format !== 'csv') return view;
    return reply.header('content-type', 'text/csv; charset=utf-8').send(toCsv(view.gateways));
  });

  const Origin = Type.Object({ gateway: Type.String() });
  for (const action of ['quarantine', 'release'] as const) {
    app.post(`/gateways/${action}`, { schema: { body: Origin } }, async (request) => {
      const gateway = deps.gateways.find(request.body.gateway);
      if (gateway === undefined) throw managementError(404, 'Gateway not found');
      judge(deps, { action, origin: gateway.origin });
      await fellows()?.tell(topics.judge, { action, origin: gateway.origin });
      const given = { gateway: gateway.origin };
      await deps.audit.record({ ...actor(request), action, given, result: 'done' });
      return { ok: true, state: gateway.health.state };
    });
  }

  app.get('/names/:name', { schema: { params: Type.Object({ name: Type.String() }) } }, async (request) => {
    const label = asciiLowerCase(request.params.name);
    if (!name.test(label)) throw managementError(400, 'Invalid ArNS name');
    return { name: label, ballots: await deps.names.poll(label) };
  });

  app.post('/cache/purge', { schema: { body: Type.Object({ id: Type.String() }) } }, async (request) => {
    const { id } = request.body;
    if (!isTxId(id)) throw managementError(400, 'Invalid transaction ID format');
    const here = await deps.content.purge(id);
    const elsewhere = (await fellows()?.askAll(topics.purge, id)) ?? [];
    const purged = here || elsewhere.includes(true);
    const result = purged ? 'done' : 'no change';
    await deps.audit.record({ ...actor(request), action: 'purge', kind: 'id', value: id, result });
    return { ok: true, purged };
  });

  const moderation = (): Moderation => {
    if (deps.moderation === undefined) throw managementError(404, 'Moderation is not enabled');
    return deps.moderation;
  };
  app.get('/moderation', async () => {
    if (deps.moderation === undefined) return { enabled: false };
    const { blocklist } = deps.moderation;
    const [entries, stats] = [blocklist.entries(), blocklist.stats()];
    return { enabled: true, entries, stats, audit: await deps.audit.read({ limit: 50 }) };
  });
  app.post('/moderation/block', { schema: { body: Type.Unknown() } }, async (request) => {
    const { type, canonical, reason, blockedBy } = readBlock(request.body);
    const by = blockedBy === 'api' ? 'admin' : blockedBy;
    const entry = { type, value: canonical, reason, blockedBy: by };
    return { ok: true, ...(await blockContent(moderation(), entry, actor(request))) };
  });
  const Target = Type.Object({ type: Type.String(), value: Type.String() });
  app.post('/moderation/unblock', { schema: { body: Target } }, async (request) => {
    const { type, canonical } = readTarget(request.body.type, request.body.value);
    const removed = await moderation().blocklist.unblock(type, canonical, actor(request));
    return { ok: true, removed: removed !== undefined };
  });
}

/** What an operator says to one process of a start is said to all of them. */
const topics = { judge: 'router gateway judged', purge: 'router content purged' } as const;

interface Judgement {
  readonly action: 'quarantine' | 'release';
  readonly origin: string;
}

function judge({ gateways }: Pick<AdminDeps, 'gateways'>, { action, origin }: Judgement): void {
  const health = gateways.find(origin)?.health;
  if (action === 'release') health?.release();
  else health?.quarantine('operator', 'by the operator');
}

function hearOthers(deps: AdminDeps): void {
  hear(topics.judge, (told) => {
    const [action, origin] = [textOf(told, 'action'), textOf(told, 'origin')];
    if ((action === 'quarantine' || action === 'release') && origin !== undefined)
      judge(deps, { action, origin });
  });
  hear(topics.purge, (id) => (typeof id === 'string' && isTxId(id) ? deps.content.purge(id) : false));
}

function hoursOf(range: string | undefined): number {
  const hours = ranges[range ?? '24h'];
  if (hours === undefined) throw managementError(400, 'Invalid range');
  return hours;
}

/**
 * The operator's page on a port of its own: gateways with their speed and errors, the cache, the blocklist, names
 * as each verifier sees them, and the configuration. Plain HTML, one style sheet and one script from this folder;
 * nothing is loaded from elsewhere, nothing runs inline.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { isTxId } from '../../formats/base64url.ts';
import { type App, createHttpServer, type HttpServer, mountGuarded } from '../../kernel/http/server.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { managementError } from '../errors.ts';
import { blockContent } from '../moderation/block-content.ts';
import type { RouterParts } from '../parts.ts';
import { readBlock, readTarget } from '../routes/moderation.ts';
import { toCsv } from '../telemetry/summary.ts';
import { createAdminGuard } from './guard.ts';
import { configView, gatewaysView, ranges, statusView, telemetryView } from './views.ts';

const assets = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/admin.css': { file: 'admin.css', type: 'text/css; charset=utf-8' },
  '/admin.js': { file: 'admin.js', type: 'text/javascript; charset=utf-8' },
  '/icon.svg': { file: 'icon.svg', type: 'image/svg+xml' },
} as const;

const strict = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

const name = /^[a-z0-9_-]{1,63}$/;

export function createAdminServer(parts: RouterParts, token: string): HttpServer {
  const { config } = parts.settings;
  const guard = createAdminGuard(config.ADMIN_HOST, () => token);
  const server = createHttpServer({
    name: 'router-admin',
    title: 'Router administration',
    host: config.ADMIN_HOST,
    hostVariable: 'ADMIN_HOST',
    port: config.ADMIN_PORT,
    portVariable: 'ADMIN_PORT',
    log: parts.log,
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

  for (const [url, { file, type }] of Object.entries(assets)) {
    const bytes = readFileSync(join(import.meta.dirname, 'assets', file));
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (_request, reply) => reply.header('content-type', type).send(bytes),
    });
  }

  mountGuarded(app, '/api', guard, (scope) => apiRoutes(scope, parts));
  return server;
}

/** Everything that the page reads and does, all of it with the token. */
function apiRoutes(app: App, parts: RouterParts): void {
  app.get('/status', () => statusView(parts));
  app.get('/gateways', () => {
    const gateways = gatewaysView(parts);
    return { gateways, total: gateways.length };
  });
  app.get('/config', () => ({ variables: configView(parts) }));

  const Range = Type.Object({ range: Type.Optional(Type.String()), format: Type.Optional(Type.String()) });
  app.get('/telemetry', { schema: { querystring: Range } }, (request) =>
    telemetryView(parts, hoursOf(request.query.range)),
  );
  app.get('/telemetry/export', { schema: { querystring: Range } }, async (request, reply) => {
    const view = await telemetryView(parts, hoursOf(request.query.range));
    if (!view.enabled) throw managementError(503, 'Telemetry not enabled');
    if (request.query.format !== 'csv') return view;
    return reply.header('content-type', 'text/csv; charset=utf-8').send(toCsv(view.gateways));
  });

  const Origin = Type.Object({ gateway: Type.String() });
  for (const action of ['quarantine', 'release'] as const) {
    app.post(`/gateways/${action}`, { schema: { body: Origin } }, (request) => {
      const gateway = parts.gateways.find(request.body.gateway);
      if (gateway === undefined) throw managementError(404, 'Gateway not found');
      if (action === 'release') gateway.health.release();
      else gateway.health.quarantine('by the operator');
      parts.log.info({ gateway: gateway.origin, action }, 'a gateway was changed by hand');
      return { ok: true, state: gateway.health.state };
    });
  }

  app.get('/names/:name', { schema: { params: Type.Object({ name: Type.String() }) } }, async (request) => {
    const label = request.params.name.toLowerCase();
    if (!name.test(label)) throw managementError(400, 'Invalid ArNS name');
    return { name: label, ballots: await parts.names.poll(label) };
  });

  app.post('/cache/purge', { schema: { body: Type.Object({ id: Type.String() }) } }, async (request) => {
    const { id } = request.body;
    if (!isTxId(id)) throw managementError(400, 'Invalid transaction ID format');
    return { ok: true, purged: await parts.content.purge(id) };
  });

  const blocklist = () => {
    if (parts.blocklist === undefined) throw managementError(404, 'Moderation is not enabled');
    return parts.blocklist;
  };
  app.get('/moderation', async () => {
    if (parts.blocklist === undefined) return { enabled: false };
    const { entries, stats } = { entries: parts.blocklist.entries(), stats: parts.blocklist.stats() };
    return { enabled: true, entries, stats, audit: await parts.blocklist.audit(50) };
  });
  app.post('/moderation/block', { schema: { body: Type.Unknown() } }, async (request) => {
    const { type, canonical, reason, blockedBy } = readBlock(request.body);
    const by = blockedBy === 'api' ? 'admin' : blockedBy;
    const entry = { type, value: canonical, reason, blockedBy: by };
    return { ok: true, ...(await blockContent(parts, blocklist(), entry, 'admin')) };
  });
  const Target = Type.Object({ type: Type.String(), value: Type.String() });
  app.post('/moderation/unblock', { schema: { body: Target } }, async (request) => {
    const { type, canonical } = readTarget(request.body.type, request.body.value);
    const removed = await blocklist().unblock(type, canonical, 'admin', 'admin');
    return { ok: true, removed: removed !== undefined };
  });
}

function hoursOf(range: string | undefined): number {
  const hours = ranges[range ?? '24h'];
  if (hours === undefined) throw managementError(400, 'Invalid range');
  return hours;
}

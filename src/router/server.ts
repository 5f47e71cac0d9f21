/** The public server of the router: content on every host, management on the root host. */
import { type App, createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import { refusal } from './errors.ts';
import type { RouterParts } from './parts.ts';
import type { ChainProxy } from './routes/chain.ts';
import { contentRoutes } from './routes/content.ts';
import { guardRoutes, healthRoutes } from './routes/health.ts';
import { infoRoutes, metricsRoute } from './routes/info.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { statsRoutes } from './routes/stats.ts';

export function createRouterServer(parts: RouterParts, chain: ChainProxy): HttpServer {
  const { config, rootContent } = parts.settings;
  const server = createHttpServer({
    name: 'router',
    title: 'Content router',
    description: 'Serves permanent content by id and name from several gateways, verified and cached.',
    version: parts.version,
    host: config.HOST,
    port: config.PORT,
    portVariable: 'PORT',
    log: parts.log,
    metrics: parts.metrics,
    trustedProxies: config.TRUSTED_PROXIES,
    bodyLimit: 64 * 1024,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    cors: { methods: ['GET', 'HEAD', 'OPTIONS'], exposeHeaders: ['*'] },
    errorBody: (_status, message, request) => refusal(message, request?.url),
    notFound: (request) => ({ error: 'Not Found', path: request.url.split('?', 1)[0] ?? request.url }),
    // A site at the root host has all paths but the router's own.
    docs: rootContent === undefined,
  });
  // First, so that hosts of names and ids never reach a route of the router's.
  const count = contentRoutes(server.app, parts, chain);
  const limited = (app: App) => app.addHook('onRequest', async (request, reply) => count(request, reply));
  const own = ['/router', ...config.ROUTER_ALIAS_PREFIXES.map((prefix) => `/${prefix}`)];
  server.mount((app) => {
    healthRoutes(app, parts);
    metricsRoute(app, parts);
  }, own);
  server.mount((app) => {
    limited(app);
    infoRoutes(app, parts);
    statsRoutes(app, parts);
    moderationRoutes(app, parts);
  }, own);
  server.mount(
    (app) => guardRoutes(app, parts),
    ['/gw', ...config.GW_ALIAS_PREFIXES.map((one) => `/${one}`)],
  );
  if (rootContent === undefined && config.ARWEAVE_API_ENABLED) {
    server.mount((app) => {
      limited(app);
      chain.graphqlRoutes(app);
    });
  }
  return server;
}

/** Makes the console: the page, and what the page asks its own server. */
import type { Config } from '../config/config.ts';
import { createHttpServer, type Request } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Surface } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import type { ConsoleSettings } from './api.ts';
import { createPageGuard } from './guard.ts';
import { pageHeaders } from './policy.ts';
import { pageRoutes } from './routes/page.ts';
import { settingsRoutes } from './routes/settings.ts';
import { routerHostsOf, type Services, sandboxOf, servicesFor } from './services.ts';

export interface ConsoleDeps {
  readonly log: Logger;
  readonly version: string;
  /** Asked with every request: others may start later, and again. */
  readonly services: () => Services;
}

export function createConsoleSurface(config: Config, deps: ConsoleDeps): Surface {
  return createSurface('console', () => {
    const server = createHttpServer({
      name: 'console',
      title: 'Console',
      host: config.CONSOLE_HOST,
      hostVariable: 'CONSOLE_HOST',
      port: config.CONSOLE_PORT,
      portVariable: 'CONSOLE_PORT',
      tls: tlsKeysOf(config),
      log: deps.log,
      metrics: new Metrics(),
      bodyLimit: 64 * 1024,
      trustedProxies: config.TRUSTED_PROXIES,
      docs: false,
      // For nobody but the page itself.
      cors: false,
    });
    const { app } = server;
    const guard = createPageGuard(config.CONSOLE_HOSTS);
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(pageHeaders);
      guard.checkHost(request);
      done();
    });
    const settingsFor = settingsOf(config, deps);
    settingsRoutes(app, settingsFor);
    pageRoutes(app, settingsFor);
    return { server, parts: [] };
  });
}

function settingsOf(config: Config, deps: ConsoleDeps): (request: Request) => ConsoleSettings {
  return ({ protocol, hostname }) => {
    const services = servicesFor(deps.services(), { protocol, hostname });
    return {
      version: deps.version,
      world: config.WORLD,
      services,
      sandbox: sandboxOf(services.gateway, config),
      routerHosts: routerHostsOf(services.router, config),
      controlsLocalNetwork: config.WORLD === 'local' && services.arweave !== undefined,
    };
  };
}

/** Makes the console: the page, and what the page asks its own server. */
import type { Config } from '../config/config.ts';
import { limitClients } from '../kernel/http/limit-clients.ts';
import { type App, createHttpServer, type HttpServerOptions, type Request } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import { HttpClient } from '../outside/http.ts';
import type { ConsoleSettings } from './api.ts';
import { tooManyTries } from './errors.ts';
import { createForward } from './forward.ts';
import { createPageGuard } from './guard.ts';
import { OpenStreams } from './open-streams.ts';
import { pageHeaders } from './policy.ts';
import type { Reach } from './reach.ts';
import { mountApi } from './routes/api.ts';
import { liveRoutes } from './routes/live.ts';
import { localRoutes } from './routes/local.ts';
import { operatorRoutes } from './routes/operator.ts';
import { pageRoutes } from './routes/page.ts';
import { createOperatorKey, sessionRoutes } from './routes/session.ts';
import { settingsRoutes } from './routes/settings.ts';
import { routerHostsOf, type Services, sandboxOf, servicesFor } from './services.ts';
import type { ConsoleState } from './state.ts';
import { LiveFeed } from './watch/live-feed.ts';
import { Observer } from './watch/observer.ts';
import { Sampler } from './watch/sampler.ts';

export interface ConsoleDeps {
  readonly log: Logger;
  readonly version: string;
  /** As browsers reach them. Asked with every request: others may start later, and again. */
  readonly services: () => Services;
  readonly reach: Reach;
  readonly state: ConsoleState;
}

/** Tries of keys that were wrong, of one client. */
const keyTries = { burst: 10, perMinute: 10, refusal: tooManyTries, failuresOnly: true };

const serverOptions = (name: string, config: Config, log: Logger): HttpServerOptions => ({
  name,
  title: 'Console',
  host: config.CONSOLE_HOST,
  port: config.CONSOLE_PORT,
  portVariable: 'CONSOLE_PORT',
  log,
  metrics: new Metrics(),
  bodyLimit,
  trustedProxies: config.TRUSTED_PROXIES,
  docs: false,
  // For nobody but the page itself.
  cors: false,
});

export function createConsoleSurface(config: Config, deps: ConsoleDeps): Surface {
  return createSurface('console', () => {
    const { log, reach, state } = deps;
    const server = createHttpServer({
      ...serverOptions('console', config, log),
      hostVariable: 'CONSOLE_HOST',
      tls: tlsKeysOf(config),
    });
    const { app } = server;
    const guard = guardPages(app, config);
    limitClients(app, 'console', { keys: keyTries }, config.TRUSTED_PROXY_COUNT);
    const client = new HttpClient(clientLimits);
    const streams = new OpenStreams();
    const observer = new Observer(client, reach.services);
    const feed = new LiveFeed(() => observer.live(), log);
    const sampler = new Sampler(state.charts, () => observer.figures(), log);
    const forward = createForward(client, streams);
    const sessions = { sessions: state.sessions, client, reach, port: () => server.port };
    const keyOf = createOperatorKey(sessions);

    const settingsFor = settingsOf(config, deps);
    settingsRoutes(app, settingsFor);
    mountApi(app, guard, (scope) => {
      liveRoutes(scope, { feed, sampler, streams });
      sessionRoutes(scope, sessions);
      operatorRoutes(scope, { client, reach, forward, keyOf, charts: state.charts, sampler });
      if (config.WORLD === 'local') localRoutes(scope, { reach, forward });
    });
    pageRoutes(app, settingsFor);
    const watching: Part = {
      name: 'watching',
      jobs: [sampler.job],
      async drain() {
        // A stream has no end of its own; the page opens another where it comes back.
        streams.endAll();
        return true;
      },
      async stop() {
        await feed.stop();
        await client.close();
      },
    };
    return { server, parts: [watching] };
  });
}

const bodyLimit = 64 * 1024;
const clientLimits = { timeoutMs: 10_000, maxBytes: 4 * 1024 * 1024 };

/** Headers and the check of the host for every request; the check of the page is for those who mount routes. */
function guardPages(app: App, config: Config) {
  const guard = createPageGuard(config.CONSOLE_HOSTS);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(pageHeaders);
    guard.checkHost(request);
    done();
  });
  return guard;
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

/**
 * Answers `/api/local` where the local network is of this process: its changes stop and start every surface, the console
 * among them, and whoever asked for the change wants to hear of its end. It has no port of its own.
 */
export async function createLocalControlServer(
  config: Config,
  { log, reach }: Pick<ConsoleDeps, 'log' | 'reach'>,
) {
  const { app } = createHttpServer(serverOptions('console-local', config, log));
  const guard = guardPages(app, config);
  const forward = createForward(new HttpClient(clientLimits), new OpenStreams());
  mountApi(app, guard, (scope) => localRoutes(scope, { reach, forward }));
  await app.ready();
  return app.server;
}

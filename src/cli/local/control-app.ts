/**
 * The routes of the local network as a whole, on the port of the local Arweave node. Their server has no port of its own
 * and outlives every change of the state: it answers when the change is done.
 */
import type { Server } from 'node:http';
import type { Config } from '../../config/config.ts';
import { isForeignPage } from '../../kernel/http/foreign-page.ts';
import { type App, createHttpServer } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { mountConsoleControl } from './console-control.ts';
import type { LocalControl } from './control.ts';
import { foreignPage } from './errors.ts';
import type { LocalStack } from './local-stack.ts';
import { answererOf, answerInPlace } from './one-address.ts';
import { arlocalRoutes } from './routes/arlocal.ts';
import { stateRoutes } from './routes/state.ts';
import { timeRoutes } from './routes/time.ts';
import { walletRoutes } from './routes/wallets.ts';

/** Adds routes below `/local`, and `/reset`. */
export type ControlRoutes = (app: App, control: LocalControl, config: Config) => void;

const allRoutes: readonly ControlRoutes[] = [stateRoutes, timeRoutes, walletRoutes, arlocalRoutes];

/** Mounts the control of the local network on the port of its Arweave node. Before the stack starts. */
export async function mountControl(
  config: Config,
  log: Logger,
  local: LocalStack,
  control: LocalControl,
): Promise<void> {
  mountConsoleControl(config, log, local);
  const server = await createControlServer(config, log, control);
  local.ports.choose('LOCAL_ARWEAVE_PORT', (request) => {
    const answerer = answererOf(request);
    if (answerer === 'control') return server;
    if (answerer === 'node') return undefined;
    answerInPlace(request);
    return { port: 'GATEWAY_PORT' };
  });
}

async function createControlServer(config: Config, log: Logger, control: LocalControl): Promise<Server> {
  const { app } = createHttpServer({
    name: 'local',
    title: 'Local network',
    host: config.LOCAL_NETWORK_HOST,
    port: config.LOCAL_ARWEAVE_PORT,
    portVariable: 'LOCAL_ARWEAVE_PORT',
    log,
    metrics: new Metrics(),
    docs: false,
  });
  app.register(async (scope: App) => {
    scope.addHook('onRequest', async (request) => {
      if (isForeignPage(request.headers)) throw foreignPage();
    });
    for (const routes of allRoutes) routes(scope, control, config);
  });
  await app.ready();
  return app.server;
}

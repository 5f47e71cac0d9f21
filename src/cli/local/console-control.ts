/**
 * What the console's page does with the local network as a whole, answered on the console's port by a server that
 * outlives every change: the console itself is one of the surfaces that a change stops.
 */
import { type IncomingMessage, Server } from 'node:http';
import type { Config } from '../../config/config.ts';
import type { ServiceName } from '../../console/api.ts';
import { originForm } from '../../kernel/http/one-host.ts';
import { urlHost } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { ownKeysOf } from '../stack/console.ts';
import type { LocalStack } from './local-stack.ts';

const controlPath = /^\/api\/local(?:\/|$)/;

const ports: readonly (readonly [ServiceName, port: string, host: 'HOST' | 'LOCAL_NETWORK_HOST'])[] = [
  ['arweave', 'LOCAL_ARWEAVE_PORT', 'LOCAL_NETWORK_HOST'],
  ['solana', 'LOCAL_SOLANA_PORT', 'LOCAL_NETWORK_HOST'],
  ['card', 'LOCAL_CARD_PORT', 'LOCAL_NETWORK_HOST'],
  ['x402', 'LOCAL_X402_PORT', 'LOCAL_NETWORK_HOST'],
  ['payment', 'PAYMENT_PORT', 'HOST'],
];

/** Before the stack starts. */
export function mountConsoleControl(config: Config, log: Logger, local: LocalStack): void {
  /** By the ports that are held: they are the same before, during and after a change. */
  const services = () =>
    Object.fromEntries(
      ports.flatMap(([name, variable, host]) => {
        const address = local.ports.get(variable)?.front.address();
        if (typeof address !== 'object' || address === null) return [];
        return [[name, `http://${urlHost(config[host])}:${address.port}`]];
      }),
    );
  const reach = { services, routerAdmin: () => undefined, ownKeys: ownKeysOf(config) };
  let making: Promise<Server> | undefined;
  const made = async () => {
    const { createLocalControlServer } = await import('../../console/surface.ts');
    return await createLocalControlServer(config, { log, reach });
  };
  // Made when it is first asked: a start need not wait for it.
  const server = new Server((request, response) => {
    making ??= made();
    making.then(
      (target) => target.emit('request', request, response),
      () => response.destroy(),
    );
  });
  local.ports.choose('CONSOLE_PORT', (request) => (isControl(request) ? server : undefined));
}

function isControl({ url = '/' }: IncomingMessage): boolean {
  const [path = '/'] = originForm(url).split('?', 1);
  return controlPath.test(path);
}

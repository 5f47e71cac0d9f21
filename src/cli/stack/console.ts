/** Where the services are that the console is for: those of this process, else as the settings say. */
import type { Config } from '../../config/config.ts';
import type { ServiceName } from '../../console/api.ts';
import type { Services } from '../../console/services.ts';
import { urlHost } from '../../kernel/http/server.ts';
import { type LocalNetwork, standIns } from './local-network.ts';

/** `own`: of this process, empty where it is not started here. */
export function consoleServices(
  config: Config,
  network: LocalNetwork,
  own: Readonly<Record<'gateway' | 'payment' | 'upload' | 'router', string>>,
): Services {
  const at = (host: string, port: number): string => `http://${urlHost(host)}:${port}`;
  const surfaces = {
    gateway: own.gateway,
    payment: config.PAYMENT_URL ?? (own.payment || at(config.HOST, config.PAYMENT_PORT)),
    upload: config.UPLOAD_URL ?? (own.upload || at(config.HOST, config.UPLOAD_PORT)),
    router: config.ROUTER_URL ?? (own.router || at(config.HOST, config.PORT)),
  };
  const localPorts: Readonly<Record<(typeof standIns)[number]['name'], number>> = {
    arweave: config.LOCAL_ARWEAVE_PORT,
    solana: config.LOCAL_SOLANA_PORT,
    card: config.LOCAL_CARD_PORT,
    x402: config.LOCAL_X402_PORT,
  };
  const local =
    config.WORLD !== 'local'
      ? []
      : standIns.map(({ name }): [ServiceName, string] => {
          const running = network.surfaces.find((surface) => surface.name === name);
          return [name, running?.url || at(config.LOCAL_NETWORK_HOST, localPorts[name])];
        });
  const all = [...(Object.entries(surfaces) as [ServiceName, string][]), ...local];
  return Object.fromEntries(all.map(([name, url]) => [name, url.replace(/\/+$/, '')]));
}

/** Where the services are that the console is for: those of this process, else as the settings say; and their keys. */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { ServiceName } from '../../console/api.ts';
import type { OwnKeys } from '../../console/reach.ts';
import type { Services } from '../../console/services.ts';
import { urlHost } from '../../kernel/http/server.ts';
import { readKey } from '../../kernel/keys.ts';
import { type LocalNetwork, standIns } from './local-network.ts';
import { standsIn } from './outside.ts';

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
  // Also of a network that another process runs: what these settings have switched off is off there too.
  const used = standIns.filter(({ name }) => standsIn(name, config, ['gateway', 'payment', 'upload']));
  const local = used.map(({ name }): [ServiceName, string] => {
    const running = network.surfaces.find((surface) => surface.name === name);
    return [name, running?.url || at(config.LOCAL_NETWORK_HOST, localPorts[name])];
  });
  const all = [...(Object.entries(surfaces) as [ServiceName, string][]), ...local];
  return Object.fromEntries(all.map(([name, url]) => [name, url.replace(/\/+$/, '')]));
}

/** Of the router's admin page, where another process has it; undefined where nobody says. */
export function routerAdminUrl(config: Config): string | undefined {
  const { ROUTER_ADMIN_URL: given, ROUTER_URL: elsewhere } = config;
  if (given !== undefined) return given.replace(/\/+$/, '');
  if (elsewhere !== undefined || !config.ADMIN_UI_ENABLED) return undefined;
  return `http://${urlHost(config.ADMIN_HOST)}:${config.ADMIN_PORT}`;
}

/**
 * The keys of this installation for a console that shows its own local network: whoever reaches that console has this
 * machine. In every other world operators enter their key. Read each time: a state that is loaded brings its own.
 */
export function ownKeysOf(config: Config): (() => Promise<OwnKeys>) | undefined {
  if (config.WORLD !== 'local') return undefined;
  const kept = (name: string) => readKey(join(config.DATA_DIR, 'keys', name));
  return async () => {
    const admin = config.ADMIN_API_KEY ?? (await kept('admin-api-key'));
    const router = config.ADMIN_TOKEN ?? (await kept('router-admin-token'));
    return {
      operator: {
        ...(admin !== undefined && { gateway: admin, payment: admin, upload: admin }),
        ...(router !== undefined && { router }),
      },
      card: await kept('local-card-secret-key'),
    };
  };
}

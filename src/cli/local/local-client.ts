/** How commands reach the local network: at its one address, the port of its Arweave node. */
import type { Config } from '../../config/config.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';

export function localNetworkClient(config: Config, given?: string): ServiceClient {
  return new ServiceClient('local network', serviceUrl(config, 'arweave', given), 60_000);
}

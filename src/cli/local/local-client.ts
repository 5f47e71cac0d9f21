/** How commands reach the local network: at its one address, the port of its Arweave node. */
import type { Config } from '../../config/config.ts';
import { findAddress } from '../run-file.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';

/** What runs on DATA_DIR, else where this environment has it listen. */
export function localNetworkClient(config: Config, given?: string): ServiceClient {
  const found = given ?? findAddress(config.DATA_DIR, 'arweave');
  const url = serviceUrl(found, config.LOCAL_NETWORK_HOST, config.LOCAL_ARWEAVE_PORT);
  return new ServiceClient('local network', url, 60_000);
}

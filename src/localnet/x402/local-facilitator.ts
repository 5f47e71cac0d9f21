/**
 * The local x402 facilitator: verifies real EIP-712 signatures and settles them on a token ledger of its own, as
 * a facilitator does on a chain.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createHttpServer } from '../../kernel/http/server.ts';
import { readOrCreateKey } from '../../kernel/keys.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { createSurface, type Surface } from '../../kernel/part.ts';
import { type TlsConfig, tlsKeysOf } from '../../kernel/tls/tls-keys.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { ethereumAddress } from '../../wallets/ethereum/address.ts';
import { publicKeyOf } from '../../wallets/ethereum/secp256k1.ts';
import { sayLocal } from '../sign.ts';
import { facilitatorRoutes } from './routes.ts';
import { rpcRoutes } from './rpc.ts';
import { migrations, TokenLedger } from './token-ledger.ts';
import type { Facilitator } from './verification.ts';

export interface LocalFacilitatorDeps {
  readonly log: Logger;
  /** Unix milliseconds; the clock unless a test stands in for it. */
  readonly now?: () => number;
}

/** `url` is for X402_FACILITATOR_URL; the rest is known once started. */
export interface LocalFacilitator extends Surface {
  /** For X402_PAYMENT_ADDRESS: an address whose key was made on first start (`keys/local-x402-payee`). */
  readonly payTo: string;
  /** The key of that address, 64 hex digits: what was paid can be sent back with it. */
  readonly payeeKey: string;
  /** Gives so much of each network's token to those of the addresses that never had any of it. */
  endow(addresses: readonly string[], amount: bigint): Promise<void>;
  /** Makes so much of the first network's token out of nothing; answers the new balance. */
  mint(address: string, amount: bigint): Promise<bigint>;
  /** For X402_RPC_URLS. */
  readonly rpcUrls: Readonly<Record<string, string>>;
}

export function createLocalFacilitator(
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_X402_PORT' | 'DATA_DIR' | 'X402_NETWORKS'> & TlsConfig,
  deps: LocalFacilitatorDeps,
): LocalFacilitator {
  const { log, now = Date.now } = deps;
  const networks = config.X402_NETWORKS.map((name) => {
    const network = findX402Network(name);
    if (network === undefined) throw new StartupError(`X402_NETWORKS names "${name}", which is not known`);
    return network;
  });
  let running:
    | { readonly payTo: string; readonly payeeKey: string; readonly ledger: TokenLedger }
    | undefined;
  const keyOf = async (name: string): Promise<string> => {
    const key = await readOrCreateKey(join(config.DATA_DIR, 'keys'), name, () =>
      randomBytes(32).toString('hex'),
    );
    return key.text.trim();
  };
  const addressOf = (key: string) => ethereumAddress(publicKeyOf(Buffer.from(key, 'hex')));
  const live = () => {
    if (running === undefined) throw new Error('the facilitator has not started');
    return running;
  };

  const surface = createSurface('x402 facilitator', async () => {
    const payeeKey = await keyOf('local-x402-payee');
    const address = addressOf(await keyOf('local-x402-facilitator'));
    const sql = await openSqliteFile(join(config.DATA_DIR, 'localnet', 'x402.db'), migrations);
    const ledger = new TokenLedger(sql, now);
    running = { payTo: addressOf(payeeKey), payeeKey, ledger };
    const server = createHttpServer({
      name: 'x402',
      title: 'Local x402 facilitator',
      host: config.LOCAL_NETWORK_HOST,
      hostVariable: 'LOCAL_NETWORK_HOST',
      port: config.LOCAL_X402_PORT,
      portVariable: 'LOCAL_X402_PORT',
      tls: tlsKeysOf(config),
      log,
      metrics: new Metrics(),
      bodyLimit: 128 * 1024,
    });
    sayLocal(server.app, 'local x402 facilitator');
    const facilitator: Facilitator = { networks, ledger, address, now };
    facilitatorRoutes(server.app, facilitator);
    rpcRoutes(server.app, facilitator);
    return { server, parts: [{ name: 'tokens', stop: () => sql.close() }] };
  });

  return {
    ...surface,
    get url() {
      return surface.url;
    },
    get payTo() {
      return live().payTo;
    },
    get payeeKey() {
      return live().payeeKey;
    },
    async endow(addresses, amount) {
      for (const { caip2 } of networks) await live().ledger.endow(caip2, addresses, amount);
    },
    async mint(address, amount) {
      const [network] = networks;
      if (network === undefined) throw new Error('X402_NETWORKS names no network');
      return await live().ledger.mint(network.caip2, address, amount);
    },
    get rpcUrls() {
      return Object.fromEntries(networks.map(({ caip2 }) => [caip2, `${surface.url}/rpc/${caip2}`]));
    },
  };
}

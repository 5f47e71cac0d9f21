/** The gateway as it is put together here. Loaded when it is made. */
import type { Fork } from '../../fork/fork.ts';
import { namesOfRegistry } from '../../gateway/content/names/sources.ts';
import { openContentCache, openSharedStore } from '../../gateway/content/part.ts';
import { createGatewaySurface, type GatewaySurface } from '../../gateway/surface.ts';
import { version } from '../version.ts';
import { openNameRegistry } from './name-registry.ts';
import type { SharedLedger } from './shared-ledger.ts';
import type { SurfaceNeeds } from './surface-needs.ts';

interface GatewayNeeds extends SurfaceNeeds {
  /** Opened when readers pay for bytes. */
  readonly ledger: SharedLedger;
  /** The upload service, which has what is not on the chain yet; empty while that of this stack has not started. */
  readonly uploadUrl: () => string | undefined;
  /** Of the local world: starts everything anew, because the chain is another one. */
  readonly onOtherChain: (() => void) | undefined;
  readonly fork: Fork | undefined;
}

export async function makeGateway(needs: GatewayNeeds): Promise<GatewaySurface> {
  const { config, log, keys, network, uploadUrl, onOtherChain, fork } = needs;
  return createGatewaySurface(config, {
    log,
    nodeUrls: network.arweaveNodeUrls(),
    release: version,
    cache: await openContentCache(config),
    shared: await openSharedStore(config),
    uploadUrl,
    names: nameSources(needs),
    adminKey: await keys.adminKey(),
    egressPayee: () => egressPayee(needs),
    onOtherChain,
    fork,
  });
}

/** The registry, where its chain is known; a gateway without it may still ask trusted gateways. */
function nameSources({ config, log, network }: SurfaceNeeds) {
  const opened = config.NAMES_ENABLED ? openNameRegistry(config, network.solanaRpcUrls()) : undefined;
  // A name that was just changed would show its old target for as long as its record says: at home nobody waits for that.
  const { solana } = network;
  const changes = solana && (() => solana.ledger.transactionCount);
  if (opened !== undefined) return [namesOfRegistry(opened.registry, changes)];
  log.warn('this gateway reads no names from their chain: set SOLANA_RPC_URL and NAMES_ENABLED for that');
  return [];
}

/** What readers pay for more bytes goes to the service. */
async function egressPayee({ ledger, keys }: GatewayNeeds) {
  const { x402, pricing } = await ledger.open();
  if (x402 === undefined) return undefined;
  const { address } = await keys.wallet();
  return { x402, pricing, wallet: { address, addressType: 'arweave' as const } };
}

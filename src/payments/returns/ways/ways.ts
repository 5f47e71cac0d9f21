/**
 * Which way a return goes, by configuration. The service sends by itself only from the wallet that was paid: where that is
 * another than the one it has the key of, and for chains that it cannot write to, the operator sends.
 */
import type { Config } from '../../../config/config.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { findX402Network } from '../../../formats/x402/networks.ts';
import { StartupError } from '../../../kernel/errors.ts';
import { evmCallErrors, solanaCallErrors } from '../../../outside/json-rpc.ts';
import type { ArweaveKey } from '../../../wallets/arweave/rsa.ts';
import { ethereumAddress } from '../../../wallets/ethereum/address.ts';
import { publicKeyOf } from '../../../wallets/ethereum/secp256k1.ts';
import type { CardPayments } from '../../card/card.ts';
import { usdcContracts } from '../../chain/accepted-tokens.ts';
import { type AcceptedToken, type ChainReader, openEndpoints } from '../../chain/chain.ts';
import { evmReader } from '../../chain/evm.ts';
import type { CreditReturn, WayBack } from '../returns.ts';
import { arweaveWay } from './arweave.ts';
import { cardWay } from './card.ts';
import { type EvmSender, evmWay } from './evm.ts';
import { type SolanaSender, solanaWay } from './solana.ts';

export interface WaysWorld {
  readonly tokens: ReadonlyMap<string, AcceptedToken>;
  readonly cards: Pick<CardPayments, 'refundReturn'> | undefined;
  readonly arweaveNodes: readonly string[];
  readonly arweaveKey: ArweaveKey;
  readonly solanaRpcUrls: readonly string[];
  readonly solanaKey: SolanaSender;
  readonly arioMint: SolanaAddress | undefined;
  /** Of RETURN_EVM_KEY, or of the local facilitator's payee. */
  readonly evmKey: EvmSender | undefined;
  readonly x402: {
    readonly payTo: string | undefined;
    /** By the network's name of either version. */
    readonly rpcUrls: Readonly<Record<string, string>>;
  };
}

export interface WaysBack {
  /** Undefined where the operator has to send. */
  wayOf(order: Pick<CreditReturn, 'kind' | 'chain' | 'token'>): WayBack | undefined;
  /** Reads what the operator says to have sent; undefined where the chain is not configured. */
  readerOf(order: CreditReturn): Pick<ChainReader, 'parseId' | 'read'> | undefined;
  close(): Promise<void>;
}

/** The chains of tokens that are paid for by report: their settings, their names for x402, and their dollars. */
const evmChains = {
  ethereum: { variable: 'ETHEREUM', caip2: 'eip155:1', usdc: 'usdc' },
  polygon: { variable: 'MATIC', caip2: 'eip155:137', usdc: 'polygon-usdc' },
  base: { variable: 'BASE', caip2: 'eip155:8453', usdc: 'base-usdc' },
} as const;

/** x402 settles at once on chains whose blocks are rarely replaced; a return is looked at a little longer. */
const x402Confirmations = 5;

export function createWaysBack(config: Config, world: WaysWorld): WaysBack {
  const ways = new Map<string, WayBack | undefined>();
  const readers: ChainReader[] = [];
  const once = (name: string, make: () => WayBack | undefined): WayBack | undefined => {
    if (!ways.has(name)) ways.set(name, make());
    return ways.get(name);
  };
  return {
    wayOf(order) {
      const { kind, chain = '', token } = order;
      if (kind === 'card') return once('card', () => world.cards && cardWay(world.cards));
      if (kind === 'x402') return once(`x402 ${chain}`, () => x402Way(config, world, chain));
      return once(`${chain} ${token}`, () => tokenWay(config, world, world.tokens.get(token)));
    },
    readerOf({ kind, chain = '', token, recipient }) {
      if (kind === 'card') return undefined;
      if (kind === 'chain') {
        const accepted = world.tokens.get(token);
        return accepted?.readerTo?.(recipient) ?? accepted?.reader;
      }
      const network = findX402Network(chain);
      const endpoints = x402Endpoints(world, chain);
      if (network === undefined || endpoints === undefined) return undefined;
      const erc20 = { contract: network.asset, wallet: recipient };
      const reader = evmReader({ endpoints, minConfirmations: minX402(config), erc20 });
      readers.push(reader);
      return reader;
    },
    async close() {
      await Promise.all([...ways.values(), ...readers].map((one) => one?.close?.()));
    },
  };
}

function tokenWay(
  config: Config,
  world: WaysWorld,
  accepted: AcceptedToken | undefined,
): WayBack | undefined {
  if (accepted === undefined) return undefined;
  const { chain, token, wallet } = accepted;
  if (chain === 'arweave') {
    if (wallet !== world.arweaveKey.address) return undefined;
    const minConfirmations = config.ARWEAVE_MIN_CONFIRMATIONS;
    return arweaveWay({ nodes: world.arweaveNodes, key: world.arweaveKey, minConfirmations });
  }
  if (chain === 'solana') {
    if (wallet !== world.solanaKey.address) return undefined;
    const endpoints = openEndpoints(world.solanaRpcUrls, solanaCallErrors);
    return solanaWay({
      ...{ endpoints, key: world.solanaKey },
      ...(token === 'ario' && { mint: world.arioMint }),
    });
  }
  if (chain !== 'ethereum' && chain !== 'polygon' && chain !== 'base') return undefined;
  const { variable, caip2, usdc } = evmChains[chain];
  if (world.evmKey === undefined || world.evmKey.address !== wallet) return undefined;
  return evmWay({
    endpoints: openEndpoints(config[`${variable}_RPC_URL`], evmCallErrors),
    ...{ chain: caip2, key: world.evmKey },
    minConfirmations: config[`${variable}_MIN_CONFIRMATIONS`],
    ...(token === usdc && { contract: usdcContracts[chain] }),
  });
}

function x402Way(config: Config, world: WaysWorld, caip2: string): WayBack | undefined {
  const network = findX402Network(caip2);
  const endpoints = x402Endpoints(world, caip2);
  const { evmKey, x402 } = world;
  if (network === undefined || endpoints === undefined || evmKey === undefined) return undefined;
  if (evmKey.address !== x402.payTo) return undefined;
  const { asset: contract } = network;
  return evmWay({ endpoints, chain: caip2, key: evmKey, minConfirmations: minX402(config), contract });
}

/** In the world `local` nothing is replaced. */
const minX402 = ({ WORLD }: Config): number => (WORLD === 'local' ? 1 : x402Confirmations);

function x402Endpoints({ x402 }: WaysWorld, caip2: string) {
  const network = findX402Network(caip2);
  const urls = x402.rpcUrls[network?.name ?? caip2] ?? x402.rpcUrls[caip2];
  if (urls === undefined) return undefined;
  return openEndpoints(
    urls.split(',').map((url) => url.trim()),
    evmCallErrors,
  );
}

/** A private key as 64 hex digits. */
export function parseEvmKey(text: string, variable = 'RETURN_EVM_KEY'): EvmSender {
  const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text.trim())?.[1];
  if (digits === undefined) throw new StartupError(`${variable} must be 64 hex digits`);
  const privateKey = Buffer.from(digits, 'hex');
  try {
    return { privateKey, address: ethereumAddress(publicKeyOf(privateKey)) };
  } catch {
    throw new StartupError(`${variable} is no private key`);
  }
}

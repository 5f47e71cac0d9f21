/** Which tokens are taken, by configuration: one whose wallet or chain is not configured is not. */
import type { Config } from '../../config/config.ts';
import { parseSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { associatedTokenAddress } from '../../formats/solana/token.ts';
import { StartupError } from '../../kernel/errors.ts';
import { evmCallErrors, solanaCallErrors } from '../../outside/json-rpc.ts';
import type { Token } from '../../pricing/pricing.ts';
import { type AddressKind, normalizeAddress } from '../../wallets/address.ts';
import { arweaveHistory, arweaveReader } from './arweave.ts';
import { type AcceptedToken, type ChainReader, openEndpoints } from './chain.ts';
import { coinHistory, evmReader, tokenHistory } from './evm.ts';
import { kyveHistory, kyveReader } from './kyve.ts';
import { solanaHistory, solanaReader, tokenReader } from './solana.ts';

/** The outside world as the start found it, and the service's own wallets for what is not configured. */
export interface ChainWorld {
  readonly arweaveNodes: readonly string[];
  /** Gateways that list what was paid to a wallet, which nodes do not. */
  readonly gateways?: readonly string[];
  readonly solanaRpcUrls?: readonly string[];
  readonly arweaveAddress?: string | undefined;
  /** Earlier wallets of the service, at which AR may still arrive. */
  readonly formerArweaveAddresses?: readonly string[];
  readonly solanaAddress?: string | undefined;
  /** The mint of ARIO; without it none is taken. */
  readonly arioMint?: SolanaAddress | undefined;
}

/** USDC as its issuer deployed it. */
export const usdcContracts = {
  ethereum: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  base: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  polygon: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
};

export function acceptedTokens(config: Config, world: ChainWorld): Map<string, AcceptedToken> {
  const accepted = new Map<string, AcceptedToken>();
  const accept = (
    tokens: readonly Token[],
    chain: string,
    addressKind: AddressKind,
    wallet: string,
    reader: ChainReader,
    more: Pick<AcceptedToken, 'formerWallets' | 'history' | 'readerTo'>,
  ): void => {
    for (const token of tokens) accepted.set(token, { token, chain, wallet, addressKind, reader, ...more });
  };

  const arweave = wallet('ARWEAVE_ADDRESS', config.ARWEAVE_ADDRESS ?? world.arweaveAddress, 'arweave');
  if (arweave !== undefined && world.arweaveNodes.length > 0) {
    const reader = arweaveReader(world.arweaveNodes, config.ARWEAVE_MIN_CONFIRMATIONS);
    const former = (world.formerArweaveAddresses ?? []).map((address) =>
      checkedAddress('FORMER_ARWEAVE_ADDRESSES', address, 'arweave'),
    );
    accept(['arweave'], 'arweave', 'arweave', arweave, reader, {
      formerWallets: former,
      history: (since) => arweaveHistory(world.gateways ?? [], [arweave, ...former], since),
    });
  }

  const solana = wallet('SOLANA_ADDRESS', config.SOLANA_ADDRESS ?? world.solanaAddress, 'solana');
  const { solanaRpcUrls = [] } = world;
  if (solana !== undefined && solanaRpcUrls.length > 0) {
    const endpoints = openEndpoints(solanaRpcUrls, solanaCallErrors);
    const readerTo = (to: string) => solanaReader(endpoints, to);
    accept(['solana', 'ed25519'], 'solana', 'solana', solana, readerTo(solana), {
      readerTo,
      history: (since) => solanaHistory(endpoints, solana, since),
    });
    const { arioMint } = world;
    if (arioMint !== undefined) {
      const arioTo = (to: string) => tokenReader(endpoints, parseSolanaAddress(to), arioMint);
      const account = associatedTokenAddress(parseSolanaAddress(solana), arioMint);
      accept(['ario'], 'solana', 'solana', solana, arioTo(solana), {
        readerTo: arioTo,
        history: (since) => solanaHistory(endpoints, account, since),
      });
    }
  }

  const kyve = wallet('KYVE_ADDRESS', config.KYVE_ADDRESS, 'kyve');
  if (kyve !== undefined && config.KYVE_API_URL.length > 0) {
    const denom = config.WORLD === 'public' ? 'ukyve' : 'tkyve';
    const reader = kyveReader(config.KYVE_API_URL, {
      denom,
      minConfirmations: config.KYVE_MIN_CONFIRMATIONS,
    });
    accept(['kyve'], 'kyve', 'kyve', kyve, reader, {
      history: (since) => kyveHistory(config.KYVE_API_URL, kyve, since),
    });
  }

  const evm = (
    chain: keyof typeof usdcContracts,
    addressVariable: 'ETHEREUM_ADDRESS' | 'MATIC_ADDRESS' | 'BASE_ETH_ADDRESS',
    variables: 'ETHEREUM' | 'MATIC' | 'BASE',
    coins: readonly Token[],
    usdc: Token,
  ): void => {
    const paidTo = wallet(addressVariable, config[addressVariable], 'ethereum');
    const rpcUrls = config[`${variables}_RPC_URL`];
    if (paidTo === undefined || rpcUrls.length === 0) return;
    const minConfirmations = config[`${variables}_MIN_CONFIRMATIONS`];
    const endpoints = openEndpoints(rpcUrls, evmCallErrors);
    accept(coins, chain, 'ethereum', paidTo, evmReader({ endpoints, minConfirmations }), {
      history: (since) => coinHistory(endpoints, paidTo, since),
    });
    const contract = usdcContracts[chain];
    const usdcTo = (to: string) =>
      evmReader({ endpoints, minConfirmations, erc20: { contract, wallet: to } });
    accept([usdc], chain, 'ethereum', paidTo, usdcTo(paidTo), {
      readerTo: usdcTo,
      history: (since) => tokenHistory(endpoints, { contract, wallet: paidTo }, since),
    });
  };
  evm('ethereum', 'ETHEREUM_ADDRESS', 'ETHEREUM', ['ethereum'], 'usdc');
  evm('polygon', 'MATIC_ADDRESS', 'MATIC', ['matic', 'pol'], 'polygon-usdc');
  evm('base', 'BASE_ETH_ADDRESS', 'BASE', ['base-eth'], 'base-usdc');
  return accepted;
}

function wallet(variable: string, text: string | undefined, kind: AddressKind): string | undefined {
  return text === undefined ? undefined : checkedAddress(variable, text, kind);
}

/** A wrong address would send other people's money into the void, so it stops the start. */
function checkedAddress(variable: string, text: string, kind: AddressKind): string {
  const address = normalizeAddress(text, kind);
  if (address === undefined) throw new StartupError(`${variable} is not an address of ${kind}: ${text}`);
  return address;
}

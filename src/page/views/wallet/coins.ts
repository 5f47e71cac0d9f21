/** The coins of a wallet's chain, read from where this console reads that chain. */
import { findX402Network } from '../../../formats/x402/networks.ts';
import { askConsole, ServiceError } from '../../services/console.ts';
import { serviceUrl } from '../../services/settings.ts';
import { askChain, callChain } from '../../wallet/send/ask.ts';
import type { WalletKind } from '../../wallet/wallet.ts';

export interface Coin {
  readonly symbol: string;
  readonly decimals: number;
  readonly amount: bigint;
}

/** The registry's token, on the public cluster and on the one for trying things out. */
const arioMints = [
  'DcNnMuFxwhgV4WY1HVSaSEgr92bv2b1vUvEKiNxWqHdF',
  '6vTw5CysRXQ4ybbHkDUiisHWVsBeMtUzYvJqs2iqHyaN',
];
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** Undefined where this console cannot read that chain. */
export async function coinsOf(kind: WalletKind, address: string): Promise<readonly Coin[] | undefined> {
  switch (kind) {
    case 'arweave':
      return arweaveCoins(address);
    case 'solana':
      return solanaCoins(address);
    case 'ethereum':
      return localDollars(address);
  }
}

async function arweaveCoins(address: string): Promise<readonly Coin[] | undefined> {
  // A gateway may remember a balance for a while.
  const node = serviceUrl('arweave') ?? serviceUrl('gateway');
  if (node === undefined) return undefined;
  return [
    { symbol: 'AR', decimals: 12, amount: BigInt(await askChain(`${node}/wallet/${address}/balance`)) },
  ];
}

async function solanaCoins(address: string): Promise<readonly Coin[] | undefined> {
  const rpc = serviceUrl('solana');
  if (rpc === undefined) return undefined;
  const [balance, accounts] = await Promise.all([
    callChain(rpc, 'getBalance', [address]) as Promise<{ value: number }>,
    callChain(rpc, 'getTokenAccountsByOwner', [
      address,
      { programId: tokenProgram },
      { encoding: 'jsonParsed' },
    ]) as Promise<{ value: readonly TokenAccount[] }>,
  ]);
  const infos = accounts.value.map(({ account }) => account.data.parsed.info);
  const ario = infos
    .filter(({ mint }) => arioMints.includes(mint))
    .reduce((sum, { tokenAmount }) => sum + BigInt(tokenAmount.amount), 0n);
  return [
    { symbol: 'SOL', decimals: 9, amount: BigInt(balance.value) },
    { symbol: 'ARIO', decimals: 6, amount: ario },
  ];
}

interface TokenAccount {
  readonly account: {
    readonly data: {
      readonly parsed: {
        readonly info: { readonly mint: string; readonly tokenAmount: { readonly amount: string } };
      };
    };
  };
}

/** The local facilitator keeps the dollars that x402 pays with. */
async function localDollars(address: string): Promise<readonly Coin[] | undefined> {
  const facilitator = serviceUrl('x402');
  const network = findX402Network('base-sepolia');
  if (facilitator === undefined || network?.name === undefined) return undefined;
  // balanceOf(address)
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const rpc = `${facilitator}/rpc/${network.name}`;
  const answer = await callChain(rpc, 'eth_call', [{ to: network.asset, data }, 'latest']);
  return [{ symbol: 'USDC', decimals: 6, amount: BigInt(String(answer)) }];
}

/** What the faucet of the local network gives with one click. */
export const faucetGifts: Readonly<
  Record<WalletKind, readonly { readonly coin: string; readonly amount: string }[]>
> = {
  arweave: [
    { coin: 'AR', amount: '10' },
    { coin: 'credits', amount: '1' },
  ],
  ethereum: [
    { coin: 'USDC', amount: '100' },
    { coin: 'credits', amount: '1' },
  ],
  solana: [
    { coin: 'SOL', amount: '10' },
    { coin: 'ARIO', amount: '1000' },
    { coin: 'credits', amount: '1' },
  ],
};

/** Answers how much the address has then, in whole coins. */
export async function askFaucet(address: string, coin: string, amount: string): Promise<string> {
  const asked = { address, coin: coin.toLowerCase(), amount };
  return (await askConsole<{ balance: string }>('POST', '/api/local/faucet', asked)).balance;
}

/** The chain's own time: the clock of a local network may be ahead. */
export async function chainSeconds(isLocal: boolean): Promise<number> {
  const own = Date.now() / 1000;
  if (!isLocal) return own;
  try {
    const { now } = await askConsole<{ now: string }>('GET', '/api/local/clock');
    return Date.parse(now) / 1000;
  } catch (error) {
    if (error instanceof ServiceError) return own;
    throw error;
  }
}

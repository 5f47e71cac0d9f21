/** Gives any address any coin of the local network. */
import { randomUUID } from 'node:crypto';
import { type Winc, winc } from '../../credits/credits.ts';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { HttpError, messageOf } from '../../kernel/errors.ts';
import { parseAddress, type WalletAddress } from '../../wallets/address.ts';
import type { Ledger } from '../stack/shared-ledger.ts';
import type { Stack } from '../stack.ts';
import { type CoinName, coinNames, coins, inCoins, parseCoin, unitsOf } from './coins.ts';
import { ChangeRefused } from './errors.ts';

export interface Given {
  /** In its normal form. */
  readonly address: string;
  readonly coin: CoinName;
  /** Both in whole coins, as decimal text. */
  readonly amount: string;
  readonly balance: string;
}

/** Throws `HttpError` for an order that makes no sense, `ChangeRefused` where the coin does not exist here. */
export async function giveCoins(
  stack: Stack,
  order: { readonly address: string; readonly coin: string; readonly amount: string },
): Promise<Given> {
  const coin = parseCoin(order.coin);
  if (coin === undefined) {
    throw new HttpError(400, `there is no coin "${order.coin}"; there are ${coinNames.join(', ')}`);
  }
  const units = unitsOf(coin, order.amount);
  if (typeof units === 'string') throw new HttpError(400, units);
  const holder = parseAddress(order.address, coins[coin].holder);
  if (holder === undefined) {
    throw new HttpError(400, `${coins[coin].label} is for ${coins[coin].holder ?? 'wallet'} addresses`);
  }
  const balance = await pay[coin](stack, holder, units);
  return {
    address: holder.address,
    coin,
    amount: inCoins(coin, units),
    balance: inCoins(coin, balance),
  };
}

/** Each answers what the address has then. */
const pay: Readonly<
  Record<CoinName, (stack: Stack, holder: WalletAddress, units: bigint) => Promise<bigint>>
> = {
  async ar({ network }, { address }, units) {
    return await running(network.arweave, 'Arweave node').node.mint(address, units);
  },
  async sol({ network }, { address }, units) {
    const solana = running(network.solana, 'Solana ledger');
    const holder = parseSolanaAddress(address);
    await solana.give(holder, { lamports: units }).catch(refuse);
    return solana.holdings(holder).lamports;
  },
  async ario({ network }, { address }, units) {
    const solana = running(network.solana, 'Solana ledger');
    const holder = parseSolanaAddress(address);
    await solana.give(holder, { tokens: units }).catch(refuse);
    return solana.holdings(holder).tokens;
  },
  async usdc({ network }, { address }, units) {
    return await running(network.facilitator, 'x402 facilitator').mint(address, units).catch(refuse);
  },
  async credits({ ledger, surfaces }, holder, units) {
    if (!surfaces.some(({ name }) => name === 'payment' || name === 'upload')) {
      throw new ChangeRefused('neither payment nor upload runs here, so that there are no credits');
    }
    return await creditWallet(await ledger.open(), holder, winc(units));
  },
};

async function creditWallet(
  { credits }: Ledger,
  { address, kind }: WalletAddress,
  amount: Winc,
): Promise<bigint> {
  const { balance } = await credits.credit({
    address,
    addressType: kind,
    amount,
    reason: 'admin_credit',
    id: randomUUID(),
    note: 'faucet',
  });
  return balance;
}

function running<T>(part: T | undefined, what: string): T {
  if (part === undefined) throw new ChangeRefused(`no local ${what} runs in this process`);
  return part;
}

/** Only what the chain itself refuses: nobody can have more than it counts. */
function refuse(error: unknown): never {
  throw new ChangeRefused(`the faucet cannot give that much: ${messageOf(error)}`);
}

/**
 * First money for the wallets of the local network: AR, SOL, ARIO, local dollars and credits. Each coin is given to the
 * wallets that never had any of it, so that a new chain is furnished and one that was used is left as it is.
 */

import type { Credits } from '../../credits/credits.ts';
import { winc } from '../../credits/credits.ts';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { type LocalWallets, localWallets } from '../../wallets/local-wallets.ts';
import type { LocalNetwork } from '../stack/local-network.ts';
import { type CoinName, coins } from './coins.ts';

/** What each wallet has on a new chain, in whole coins. */
export const firstMoney: Readonly<Record<CoinName, bigint>> = {
  ar: 1_000n,
  sol: 1_000n,
  ario: 100_000n,
  usdc: 10_000n,
  credits: 10n,
};

const inUnits = (coin: CoinName): bigint => firstMoney[coin] * 10n ** BigInt(coins[coin].decimals);

export interface Furnished {
  /** The stand-ins that run in this process. */
  readonly network: LocalNetwork;
  /** Undefined where this process deals in no credits. */
  readonly ledger: { readonly sql: Sql; readonly credits: Credits } | undefined;
}

/** Nothing but a few reads where everything was given before. */
export async function furnish(count: number, { network, ledger }: Furnished): Promise<void> {
  if (count === 0) return;
  const wallets = localWallets(count);
  await Promise.all([
    network.arweave?.node.endow(addressesOf(wallets.arweave), inUnits('ar')),
    network.solana?.endow(
      addressesOf(wallets.solana).map((address) => parseSolanaAddress(address)),
      {
        lamports: inUnits('sol'),
        tokens: inUnits('ario'),
      },
    ),
    network.facilitator?.endow(addressesOf(wallets.ethereum), inUnits('usdc')),
    ledger && giveCredits(ledger, wallets),
  ]);
}

const addressesOf = (wallets: readonly { readonly address: string }[]): string[] =>
  wallets.map(({ address }) => address);

/** One transaction for all of them. */
async function giveCredits(
  { sql, credits }: NonNullable<Furnished['ledger']>,
  { arweave, ethereum, solana }: LocalWallets,
): Promise<void> {
  const kinds = { arweave, ethereum, solana };
  const all = Object.entries(kinds).flatMap(([kind, wallets]) =>
    wallets.map(({ address }) => ({ kind, address })),
  );
  const held = await Promise.all(all.map(({ address }) => credits.balance(address)));
  const without = all.filter((_wallet, index) => held[index] === undefined);
  if (without.length === 0) return;
  await sql.transaction(async (tx) => {
    for (const { kind, address } of without) {
      await credits.within(tx).credit({
        address,
        addressType: kind,
        amount: winc(inUnits('credits')),
        reason: 'admin_credit',
        id: `local wallet ${address}`,
        note: 'first credits of a local wallet',
      });
    }
  });
}

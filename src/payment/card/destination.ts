/** Who is topped up: a wallet of any chain, or an email address that will redeem a gift. */
import { type AddressKind, parseAddress } from '../../wallets/address.ts';
import type { RequestWallet } from '../doors.ts';
import { escapeHtml, isEmail } from '../gifts.ts';

/** Clients name a wallet's chain by the token it holds. */
const kindsOf: Readonly<Record<string, readonly AddressKind[]>> = {
  arweave: ['arweave'],
  // The token moved from one chain to the other; wallets of both are about.
  ario: ['solana', 'arweave'],
  ethereum: ['ethereum'],
  'base-eth': ['ethereum'],
  matic: ['ethereum'],
  pol: ['ethereum'],
  usdc: ['ethereum'],
  'base-usdc': ['ethereum'],
  'polygon-usdc': ['ethereum'],
  solana: ['solana'],
  ed25519: ['solana'],
  kyve: ['kyve'],
};

export const isAddressType = (type: string) => type === 'email' || Object.hasOwn(kindsOf, type);

/** The wallet in its normal form, or the email address HTML-escaped; undefined when it is none of its type. */
export function parseDestination(text: string, type: string): RequestWallet | undefined {
  if (type === 'email')
    return isEmail(text) ? { address: escapeHtml(text), addressType: 'email' } : undefined;
  for (const kind of kindsOf[type] ?? []) {
    const parsed = parseAddress(text, kind);
    if (parsed !== undefined) return { address: parsed.address, addressType: type };
  }
  return undefined;
}

/**
 * One key, several texts. Chains write the same key as different addresses: a Solana wallet is base58 of its key, and as
 * the owner of data items it is the SHA-256 of that key; an Ethereum key is also a KYVE wallet. Credits are on one account,
 * called by the wallet's own address; the other forms lead to it.
 *
 * Forms are arithmetic: nobody can make two keys share one, so that knowing a key (or, where that is enough, an address)
 * proves them.
 */
import { hash } from 'node:crypto';
import { decodeBase58 } from '../formats/base58.ts';
import { parseAddress, type WalletAddress } from './address.ts';
import { ethereumAddress } from './ethereum/address.ts';
import { kyveAddress } from './kyve-address.ts';
import { solanaAddress } from './solana/address.ts';

export interface AddressForms {
  /** What the account is called by. */
  readonly wallet: WalletAddress;
  /** Every other text that is the same wallet. */
  readonly others: readonly string[];
}

/** As data items name their owner: Arweave's form of any key. */
const hashed = (key: Uint8Array): string => hash('sha256', key, 'base64url');

/** The forms that an address gives by itself; an Ethereum address does not tell its key, and so not the forms of that. */
export function formsOfAddress(address: string): readonly string[] {
  if (address.startsWith('0x')) return [hashed(Buffer.from(address.toLowerCase(), 'latin1'))];
  if (address.length > 44 || parseAddress(address, 'solana') === undefined) return [];
  return [hashed(decodeBase58(address))];
}

/** The forms of an Ed25519 key, as Solana has them. */
export function formsOfSolanaKey(key: Uint8Array): AddressForms {
  return { wallet: { kind: 'solana', address: solanaAddress(key) }, others: [hashed(key)] };
}

/** The forms of an uncompressed secp256k1 key (`04 ‖ X ‖ Y`). */
export function formsOfEthereumKey(key: Uint8Array): AddressForms {
  const address = ethereumAddress(key);
  return {
    wallet: { kind: 'ethereum', address },
    others: [hashed(key), kyveAddress(key), ...formsOfAddress(address)],
  };
}

/** Whether a text may be another form of a wallet: Arweave's, which any key has, or KYVE's. */
export function mayBeOtherForm(address: string): boolean {
  return address.length === 43 || address.startsWith('kyve1');
}

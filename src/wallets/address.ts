/**
 * Addresses of every chain that can hold credits. The normal form is the ledger's key: addresses are
 * compared in normal form. Everything that enters (path, query, signature, tag, `x-paid-by`) passes
 * through here.
 */
import { hasAddressForm, isArweaveAddress } from '../formats/base64url.ts';
import { parseEthereumAddress } from './ethereum/address.ts';
import { parseKyveAddress } from './kyve-address.ts';
import { parseSolanaAddress } from './solana/address.ts';

export const addressKinds = ['arweave', 'ethereum', 'solana', 'kyve'] as const;
export type AddressKind = (typeof addressKinds)[number];

export interface WalletAddress {
  readonly kind: AddressKind;
  /** The normal form: Ethereum with its checksum, the others as they are. */
  readonly address: string;
}

/** Reads an address of one kind; undefined when it is malformed. */
const parsers: Record<AddressKind, (text: string) => string | undefined> = {
  arweave: (text) => (isArweaveAddress(text) ? text : undefined),
  ethereum: parseEthereumAddress,
  solana: parseSolanaAddress,
  kyve: parseKyveAddress,
};

/**
 * Reads an address of any kind, or of `kind` alone when it is given. Some texts of 43 characters are an
 * Arweave and a Solana address at once: without `kind` such a text counts as Arweave's; the normal form is
 * the same either way.
 */
export function parseAddress(text: string, kind?: AddressKind): WalletAddress | undefined {
  for (const candidate of kind === undefined ? addressKinds : [kind]) {
    const address = parsers[candidate](text);
    if (address !== undefined) return { kind: candidate, address };
  }
  return undefined;
}

export function normalizeAddress(text: string, kind?: AddressKind): string | undefined {
  return parseAddress(text, kind)?.address;
}

/**
 * The address that somebody asks about, where nothing is changed: also one of the form that the contract names for paths
 * (§4.4) that no key has, because the last character has bits to spare. It owns nothing.
 */
export function readableAddress(text: string): string | undefined {
  return normalizeAddress(text) ?? (hasAddressForm(text) ? text : undefined);
}

export function addressKind(text: string): AddressKind | undefined {
  return parseAddress(text)?.kind;
}

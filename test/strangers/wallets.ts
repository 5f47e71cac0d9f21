/** Wallets of three kinds: they sign requests, data items, dollar transfers and the proofs of owners. */

import { createHash } from 'node:crypto';
import { addressBytes } from '../../src/formats/solana/address.ts';
import { type Keypair, keypairOf } from '../../src/localnet/solana/genesis.ts';
import type { AddressKind } from '../../src/wallets/address.ts';
import { type ArweaveKey, signPss } from '../../src/wallets/arweave/rsa.ts';
import {
  arweaveSigner,
  ethereumSigner,
  type ItemSigner,
  solanaSigner,
} from '../../src/wallets/data-items/signer.ts';
import { ethereumAddress } from '../../src/wallets/ethereum/address.ts';
import { personalMessageHash, signEthereumDigest } from '../../src/wallets/ethereum/personal-message.ts';
import { publicKeyOf } from '../../src/wallets/ethereum/secp256k1.ts';
import { signEd25519 } from '../../src/wallets/solana/ed25519.ts';

export interface Wallet {
  readonly label: string;
  readonly kind: AddressKind;
  readonly address: string;
  /** As the `x-public-key` header has it. */
  readonly publicKey: string;
  readonly items: ItemSigner;
  /** The kind's own signature over a text. */
  sign(text: string): Promise<Buffer>;
  /** Signs what happens on Solana; a wallet of another kind has such a key beside it. */
  readonly owner: Keypair;
  /** Pays by x402; a wallet of another kind has such a key beside it. */
  readonly dollars: { readonly privateKey: Buffer; readonly address: string };
}

const seed = (text: string) => createHash('sha256').update(text).digest();

function beside(label: string) {
  const privateKey = seed(`${label} dollars`);
  return {
    owner: keypairOf(seed(`${label} owner`)),
    dollars: { privateKey, address: ethereumAddress(publicKeyOf(privateKey)) },
  };
}

export function arweaveWallet(label: string, key: ArweaveKey): Wallet {
  return {
    label,
    kind: 'arweave',
    address: key.address,
    publicKey: key.modulus.toString('base64url'),
    // Without salt a signature is the same in every run.
    items: arweaveSigner(key, { saltLength: 0 }),
    sign: (text) => signPss(key.privateKey, Buffer.from(text), 0),
    ...beside(label),
  };
}

export function ethereumWallet(label: string): Wallet {
  const privateKey = seed(`${label} dollars`);
  const publicKey = Buffer.from(publicKeyOf(privateKey));
  return {
    label,
    kind: 'ethereum',
    address: ethereumAddress(publicKey),
    publicKey: publicKey.toString('base64url'),
    items: ethereumSigner(privateKey),
    sign: async (text) => signEthereumDigest(personalMessageHash(Buffer.from(text)), privateKey),
    ...beside(label),
  };
}

export function solanaWallet(label: string): Wallet {
  const rest = beside(label);
  const { address, privateKey } = rest.owner;
  return {
    label,
    kind: 'solana',
    address,
    publicKey: addressBytes(address).toString('base64url'),
    items: solanaSigner(privateKey),
    // As the published client signs for Solana: over the hex text of the message.
    sign: async (text) => signEd25519(privateKey, Buffer.from(Buffer.from(text).toString('hex'), 'latin1')),
    ...rest,
  };
}

const signatureTypes: Partial<Record<AddressKind, string>> = { arweave: '1', ethereum: '3', solana: '4' };

export type SignedHeaders = Readonly<Record<string, string>>;

/** The one request, at the one service, that a bound signature is for. */
export interface BoundTo {
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** The headers of a signed request: over its nonce as published clients sign, or bound to it. */
export async function signedHeaders(
  wallet: Wallet,
  nonce: string,
  boundTo?: BoundTo,
): Promise<SignedHeaders> {
  const digest =
    boundTo === undefined || boundTo.body === ''
      ? ''
      : `sha-256=:${createHash('sha256').update(boundTo.body).digest('base64')}:`;
  const text =
    boundTo === undefined
      ? nonce
      : ['turnpike request', boundTo.service, boundTo.method, boundTo.path, digest, nonce].join('\n');
  return {
    'x-nonce': nonce,
    'x-public-key': wallet.publicKey,
    'x-signature': (await wallet.sign(text)).toString('base64url'),
    'x-signature-type': signatureTypes[wallet.kind] ?? '1',
    ...(boundTo && { 'x-service-address': boundTo.service }),
    ...(digest !== '' && { 'content-digest': digest }),
  };
}

/** An owner's proof that names the service; the fields are those that an unbound one covers. */
export function boundProof(
  wallet: Wallet,
  service: string,
  lines: readonly string[],
  nonce: string,
): SignedHeaders {
  const text = ['turnpike owner proof', service, lines.join('\n'), nonce].join('\n');
  return {
    'x-owner-service-address': service,
    'x-owner-public-key': addressBytes(wallet.owner.address).toString('base64url'),
    'x-owner-nonce': nonce,
    'x-owner-signature': signEd25519(wallet.owner.privateKey, Buffer.from(text)).toString('base64url'),
    'x-owner-signature-type': '4',
  };
}

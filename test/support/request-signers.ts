/** Wallets of three kinds that sign requests, as published clients do or bound to one request. */
import { hash, randomUUID } from 'node:crypto';
import { signPss } from '../../src/wallets/arweave/rsa.ts';
import { ethereumAddress } from '../../src/wallets/ethereum/address.ts';
import { personalMessageHash, signEthereumDigest } from '../../src/wallets/ethereum/personal-message.ts';
import { publicKeyOf } from '../../src/wallets/ethereum/secp256k1.ts';
import { type BoundRequest, signedText } from '../../src/wallets/request-signature.ts';
import { solanaAddress } from '../../src/wallets/solana/address.ts';
import { ed25519RawPublicKey, signEd25519 } from '../../src/wallets/solana/ed25519.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../../src/wallets/testing/keys.ts';

export interface RequestSigner {
  readonly kind: 'arweave' | 'ethereum' | 'solana';
  readonly address: string;
  readonly publicKey: Buffer;
  readonly signatureType: string;
  sign(text: string): Promise<Buffer>;
}

export const arweavePayer: RequestSigner = {
  kind: 'arweave',
  address: testArweaveKey.address,
  publicKey: testArweaveKey.modulus,
  signatureType: '1',
  sign: (text) => signPss(testArweaveKey.privateKey, Buffer.from(text)),
};

export function ethereumPayer(label = 'payer'): RequestSigner {
  const key = ethereumTestKey(label);
  const publicKey = Buffer.from(publicKeyOf(key));
  return {
    kind: 'ethereum',
    address: ethereumAddress(publicKey),
    publicKey,
    signatureType: '3',
    sign: async (text) => signEthereumDigest(personalMessageHash(Buffer.from(text)), key),
  };
}

/** As published clients sign for Solana wallets: over the hexadecimal digits of the text. */
export function solanaPayer(label = 'payer'): RequestSigner {
  const key = ed25519TestKey(label);
  const publicKey = ed25519RawPublicKey(key);
  return {
    kind: 'solana',
    address: solanaAddress(publicKey),
    publicKey,
    signatureType: '4',
    sign: async (text) => signEd25519(key, Buffer.from(Buffer.from(text).toString('hex'))),
  };
}

export const payersOfEachKind = (label = 'payer'): readonly RequestSigner[] => [
  arweavePayer,
  ethereumPayer(label),
  solanaPayer(label),
];

export async function signedHeaders(
  signer: RequestSigner,
  nonce: string = randomUUID(),
  boundTo?: BoundRequest,
): Promise<Record<string, string>> {
  const signature = await signer.sign(signedText({ nonce, boundTo }));
  return {
    'x-nonce': nonce,
    'x-signature': signature.toString('base64url'),
    'x-public-key': signer.publicKey.toString('base64url'),
    'x-signature-type': signer.signatureType,
    ...(boundTo && { 'x-service-address': boundTo.service }),
    ...(boundTo && boundTo.contentDigest !== '' && { 'content-digest': boundTo.contentDigest }),
  };
}

export const contentDigest = (body: string): string => `sha-256=:${hash('sha256', body, 'base64')}:`;

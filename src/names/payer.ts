/** Whose request it is (interface §5): the payer signs a nonce and nothing else. */
import type { Request } from '../kernel/http/app.ts';
import type { WalletAddress } from '../wallets/address.ts';
import { verifyRequestSignatureAsync } from '../wallets/request-signature.ts';
import { payerKey } from './actions/create.ts';
import type { SpentNonces } from './actions/spent-nonces.ts';
import { invalidNonce } from './errors.ts';

export interface Payer {
  readonly wallet: WalletAddress;
  readonly nonce: string;
}

/** The payer, where the headers are there and hold. */
export async function payerOf({ headers }: Request): Promise<Payer | undefined> {
  const nonce = headers['x-nonce'];
  const signature = headers['x-signature'];
  const publicKey = headers['x-public-key'];
  const signatureType = headers['x-signature-type'];
  if (typeof nonce !== 'string' || typeof signature !== 'string' || typeof publicKey !== 'string')
    return undefined;
  if (Array.isArray(signatureType)) return undefined;
  const wallet = await verifyRequestSignatureAsync({ publicKey, nonce, signature, signatureType });
  return wallet && { wallet, nonce };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Only a UUID acts. Published clients sign other nonces to read, so that what was signed to read elsewhere cannot be
 * shown here to buy.
 */
export function requireActingNonce({ nonce }: Payer): void {
  if (!uuid.test(nonce)) throw invalidNonce();
}

/**
 * A signature that was seen where none is needed could be replayed where one is: it covers the nonce alone. So a
 * nonce that could act is used up wherever it shows.
 */
export async function useUpNonce(request: Request, nonces: SpentNonces): Promise<void> {
  if (request.headers['x-signature'] === undefined) return;
  const payer = await payerOf(request);
  if (payer !== undefined) await noteShown(nonces, payer.wallet.address, payer.nonce);
}

export async function noteShown(nonces: SpentNonces, address: string, nonce: string): Promise<void> {
  if (uuid.test(nonce)) await nonces.note(payerKey(address), nonce);
}

/** Whose request it is (interface §5), where something is done on a signature. */
import { randomUUID } from 'node:crypto';
import {
  type ActingSigner,
  isActing,
  type RequestSignatures,
} from '../../credits/signatures/request-signatures.ts';
import type { Request } from '../../kernel/http/app.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import {
  invalidNonce,
  signatureForAnotherService,
  signatureRequired,
  unboundRefused,
  unboundSignature,
} from '../errors.ts';

/**
 * The payer; refuses a request that is not signed to act. Only a UUID acts: published clients sign other nonces to
 * read, so that what was signed to read elsewhere cannot be shown here to buy.
 */
export async function requirePayer(
  request: Request,
  signatures: RequestSignatures,
  body: Uint8Array,
): Promise<ActingSigner> {
  if (signatures.isForAnother(request)) throw signatureForAnotherService();
  const signer = await signatures.signerOf(request);
  if (signer === undefined) throw signatureRequired();
  if (!isActing(signer)) throw invalidNonce();
  if (signer.bound && !signatures.coversBody(request, body)) throw unboundSignature();
  if (!signer.bound && signatures.requireBound) throw unboundRefused();
  return signer;
}

const noBody = Buffer.alloc(0);

/**
 * Who signed a card quote; undefined where nobody signed, or where the signature was seen before or made to read: then
 * nobody owes. That wallet will owe the price if the payment goes back, so the signature must be one that acts: over a
 * nonce that published clients sign for nothing else, never shown before, used up here for good.
 */
export async function quoteSigner(
  request: Request,
  signatures: RequestSignatures,
): Promise<WalletAddress | undefined> {
  const signer = await signatures.signerOf(request);
  if (signer === undefined || !isActing(signer)) return undefined;
  if (signer.bound ? !signatures.coversBody(request, noBody) : signatures.requireBound) return undefined;
  // A claim of its own: the same headers never sign a second quote.
  const { payer } = await signatures.claim(request, signer, `quote ${randomUUID()}`);
  return payer === 'ours' ? signer.wallet : undefined;
}

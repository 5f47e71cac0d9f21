/** Whose request it is (interface §5), where something is done on a signature. */
import {
  type ActingSigner,
  isActing,
  type RequestSignatures,
} from '../../credits/signatures/request-signatures.ts';
import type { Request } from '../../kernel/http/app.ts';
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

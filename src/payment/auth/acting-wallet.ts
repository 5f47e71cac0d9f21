/** The wallet that signed a request to change something of its own (interface §5). */
import { randomUUID } from 'node:crypto';
import { isActing, type RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Request } from '../../kernel/http/app.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import {
  invalidSignature,
  nonceNotUuid,
  signatureForAnotherService,
  signatureNotForRequest,
  signatureUsed,
} from '../errors.ts';

/** Each signature acts once: the same headers again are refused, whoever sends them. */
export async function actingWallet(
  request: Request,
  signatures: RequestSignatures,
  body: Uint8Array,
): Promise<WalletAddress> {
  if (signatures.isForAnother(request)) throw signatureForAnotherService();
  const signer = await signatures.signerOf(request);
  if (signer === undefined) throw invalidSignature();
  if (!isActing(signer)) throw nonceNotUuid();
  if (signer.bound ? !signatures.coversBody(request, body) : signatures.requireBound) {
    throw signatureNotForRequest();
  }
  const { payer } = await signatures.claim(request, signer, `${request.method} ${randomUUID()}`);
  if (payer !== 'ours') throw signatureUsed();
  return signer.wallet;
}

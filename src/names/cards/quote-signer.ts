/**
 * Who signed a card quote. That wallet will owe the price if the payment goes back, so the signature must be one that
 * acts: over a nonce that published clients sign for nothing else, never shown before, used up here for good.
 */
import { randomUUID } from 'node:crypto';
import { isActing, type RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Request } from '../../kernel/http/app.ts';
import type { WalletAddress } from '../../wallets/address.ts';

const noBody = Buffer.alloc(0);

/** Undefined where nobody signed, or where the signature was seen before or made to read: then nobody owes. */
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

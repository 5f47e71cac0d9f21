/**
 * Who may have the answer to a payment again. A settled authorisation can be read on its chain by anyone, so that the
 * payment itself proves nothing: it is the client that sent it first who knows the key it chose, or, having chosen none,
 * asks again from where it asked. Kept as a hash that is of use for this payment alone.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export type PaymentClaim =
  /** Chosen by the client, unguessable, never sent to a chain. */
  | { readonly kind: 'key'; readonly key: string }
  /** Weak: others are in the same network. Worth something for a short time only. */
  | { readonly kind: 'network'; readonly network: string };

export function writeClaim(payment: string, claim: PaymentClaim): string {
  const text = claim.kind === 'key' ? claim.key : claim.network;
  const hash = createHash('sha256').update(`${claim.kind}\n${payment}\n${text}`).digest('base64url');
  return `${claim.kind} ${hash}`;
}

/** Which kind of claim was made first and is met now; undefined when it is not. */
export function matchingClaim(
  stored: string | undefined,
  payment: string,
  claim: PaymentClaim,
): PaymentClaim['kind'] | undefined {
  if (stored === undefined) return undefined;
  const [first, second] = [Buffer.from(stored), Buffer.from(writeClaim(payment, claim))];
  return first.length === second.length && timingSafeEqual(first, second) ? claim.kind : undefined;
}

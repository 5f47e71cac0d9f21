/**
 * Who may have the answer to a payment again. A settled authorisation can be read on its chain by anyone, so that the
 * payment itself proves nothing. The client that sent it first proves itself by the key it chose then; one that chose
 * none, by asking from the same network. Kept as a hash that is of use for this payment alone.
 */
import { createHash } from 'node:crypto';
import { sameSecret } from '../../kernel/same-secret.ts';

export interface PaymentClaim {
  /** Weak: others are in the same network. Worth something for a short time only. */
  readonly network: string;
  /** Chosen by the client, unguessable, never sent to a chain. Whoever sends one is known by it alone. */
  readonly key?: string;
}

export type ClaimKind = 'key' | 'network';

export function writeClaim(payment: string, { key, network }: PaymentClaim): string {
  return key === undefined ? written('network', payment, network) : written('key', payment, key);
}

/** How a claim matches the first one of a payment; undefined when it does not. */
export function matchingClaim(
  stored: string | undefined,
  payment: string,
  { key, network }: PaymentClaim,
): ClaimKind | undefined {
  if (stored === undefined) return undefined;
  if (sameSecret(stored, written('network', payment, network))) return 'network';
  return key !== undefined && sameSecret(stored, written('key', payment, key)) ? 'key' : undefined;
}

function written(kind: ClaimKind, payment: string, text: string): string {
  return `${kind} ${createHash('sha256').update(`${kind}\n${payment}\n${text}`).digest('base64url')}`;
}

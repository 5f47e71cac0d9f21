/** Why a reported chain payment is not taken; surfaces choose the answer. */

export type ChainRefusal =
  | { readonly kind: 'token-not-supported' }
  /** No transaction can have such an id, or its chain knows none. */
  | { readonly kind: 'not-found' }
  /** Seen, but its contents cannot be read before it is mined. */
  | { readonly kind: 'not-mined'; readonly id: string }
  | { readonly kind: 'wrong-target'; readonly id: string; readonly target: string }
  | { readonly kind: 'nothing-moved' }
  | { readonly kind: 'excluded-sender'; readonly id: string; readonly sender: string }
  /** The client's network has reported too many unknown ids. `retryAfter`: seconds. */
  | { readonly kind: 'too-many-unknown'; readonly retryAfter: number };

export class ChainPaymentRefused extends Error {
  override readonly name = 'ChainPaymentRefused';
  readonly refusal: ChainRefusal;

  constructor(refusal: ChainRefusal) {
    super(`chain payment refused: ${refusal.kind}`);
    this.refusal = refusal;
  }
}

/** The endpoints of a chain that could know a transaction could not be asked. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** Too many unknown transactions are looked for, of all clients together. */
export class TooManyLookUps extends Error {
  override readonly name = 'TooManyLookUps';
  /** Seconds. */
  readonly retryAfter = 1;
}

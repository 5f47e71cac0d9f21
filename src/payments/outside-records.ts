/**
 * What the outside knows and the ledger does not, as after a restore from a backup: payments that came in since, bundles
 * that were posted, names that were bought. Each way in lists its own; `reconciliation/` goes through them.
 */

export interface OutsideRecord {
  readonly kind: 'card' | 'x402' | 'chain' | 'bundle' | 'name';
  /** As the outside calls it. */
  readonly id: string;
  /** Unix milliseconds; undefined where the outside does not say. */
  readonly at: number | undefined;
  /** In one line for a person. */
  readonly what: string;
  /** Why only a person can deal with it; undefined where it carries its own proof. */
  readonly openBecause?: string | undefined;
  /** Why nobody has to deal with it: the service has seen to it. */
  readonly takenInBecause?: string | undefined;
  /** Credits what it proves, once however often it is called. There where it carries its own proof. */
  credit?(): Promise<CreditOutcome>;
}

export type CreditOutcome =
  | { readonly state: 'credited'; readonly address: string; readonly winc: bigint }
  /** It is on its way, or goes back to its payer: the service sees to it from here on. */
  | { readonly state: 'taken in'; readonly reason: string }
  | { readonly state: 'open'; readonly reason: string };

export interface OutsideSource {
  /** For people, for example `card payments`. */
  readonly name: string;
  /** What is not in the ledger, of what happened since (unix milliseconds). Throws where the outside does not answer. */
  unknown(since: number): AsyncIterable<OutsideRecord>;
}

/**
 * Signatures and nonces that were seen, for ever. A signature over a nonce says neither when it was made nor, from
 * published clients, what for: whoever saw one could show it years later. So the first request that shows it decides
 * what it is good for, and nothing ever takes that back:
 *
 *   spent     it was shown where nothing acts, and never may act
 *   claimed   it stands for one request to act; the same request may come again, no other
 *
 * A row is written once and never changed, so that no lock is needed: whoever comes second reads what the first wrote.
 */
import type { Sql } from '../../storage/sql/sql.ts';

/** One thing that may be used once: a nonce of a signer, or a signature. */
export interface SpentKey {
  readonly signer: string;
  readonly key: string;
}

/** `ours`: this very request has it; `another`: a different one has; `spent`: none may have it. */
export type ClaimResult = 'ours' | 'another' | 'spent';

export const payerNonceKey = (address: string, uuid: string): SpentKey => ({
  signer: `payer:${address}`,
  key: uuid,
});
export const ownerNonceKey = (address: string, uuid: string): SpentKey => ({
  signer: `owner:${address}`,
  key: uuid,
});
/** Without the signer: who has the bytes has seen them, whoever made them. */
export const signatureKey = (hash: string): SpentKey => ({ signer: 'signature', key: hash });

export class SpentSignatures {
  readonly #sql: Sql;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  /** Whether every one of them was seen before. */
  async knowsAll(keys: readonly SpentKey[]): Promise<boolean> {
    return (await this.#rows(keys)).length === keys.length;
  }

  /** None of them may act any more, except what is claimed already. */
  async spend(keys: readonly SpentKey[]): Promise<void> {
    await this.#insert(keys, null);
  }

  /** Takes them for one request, named by `claim`. */
  async claim(keys: readonly SpentKey[], claim: string): Promise<ClaimResult> {
    await this.#insert(keys, claim);
    const rows = await this.#rows(keys);
    if (rows.some((row) => row.claim === null)) return 'spent';
    return rows.every((row) => row.claim === claim) ? 'ours' : 'another';
  }

  async #insert(keys: readonly SpentKey[], claim: string | null): Promise<void> {
    const at = this.#now();
    // In one order, so that two requests that show the same ones never wait for each other.
    const ordered = [...keys].sort((a, b) => (a.signer + a.key < b.signer + b.key ? -1 : 1));
    await this.#sql.run(
      `INSERT INTO spent_signatures (signer, key, claim, created_at)
       VALUES ${ordered.map(() => '(?, ?, ?, ?)').join(', ')} ON CONFLICT DO NOTHING`,
      ...ordered.flatMap(({ signer, key }) => [signer, key, claim, at]),
    );
  }

  #rows(keys: readonly SpentKey[]): Promise<{ claim: string | null }[]> {
    return this.#sql.all<{ claim: string | null }>(
      `SELECT claim FROM spent_signatures WHERE ${keys.map(() => '(signer = ? AND key = ?)').join(' OR ')}`,
      ...keys.flatMap(({ signer, key }) => [signer, key]),
    );
  }
}

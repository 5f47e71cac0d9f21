/**
 * What the service's key has done with names and no action here tells of, as after a restore: names that were bought and
 * resolve, for which nobody here was charged.
 */
import type { SolanaAddress } from '../formats/solana/address.ts';
import type { NamePrograms } from '../formats/solana/programs.ts';
import type { OutsideSource } from '../payments/outside-records.ts';
import type { NameChain } from '../registry/chain.ts';
import { readSteps } from '../registry/name-history.ts';
import type { Sql } from '../storage/sql/sql.ts';

export interface UnknownNamesOptions {
  readonly sql: Sql;
  readonly chain: Pick<NameChain, 'transactionsOf' | 'transaction'>;
  readonly programs: NamePrograms;
  /** The key that buys names and pays for it. */
  readonly key: SolanaAddress;
}

/** The most that a node lists at once. */
const mostListed = 1_000;

export const unknownNames = ({ sql, chain, programs, key }: UnknownNamesOptions): OutsideSource => ({
  name: 'names',
  async *unknown(since) {
    for (const { signature, at, failed } of await chain.transactionsOf(key, mostListed)) {
      if (failed || (at !== undefined && at * 1000 < since)) continue;
      if (await isKnown(sql, signature)) continue;
      const wire = await chain.transaction(signature);
      const steps = wire === undefined ? [] : readSteps(wire, programs);
      if (steps.length === 0) continue;
      const what = steps
        .map(({ instruction, values }) => `${instruction} ${values.name ?? ''}`.trim())
        .join(', ');
      yield {
        ...{ kind: 'name', id: signature, at: at === undefined ? undefined : at * 1000, what },
        openBecause: 'the service paid for it, and no purchase is here: charge its buyer or leave it',
      };
    }
  },
});

async function isKnown(sql: Sql, signature: string): Promise<boolean> {
  const row = await sql.get(
    `SELECT 1 AS one FROM arns_action WHERE signature = ? OR service_signature = ? OR message_id = ?
     UNION ALL SELECT 1 AS one FROM arns_purchase WHERE service_signature = ? OR message_id = ?`,
    ...[signature, signature, signature, signature, signature],
  );
  return row !== undefined;
}

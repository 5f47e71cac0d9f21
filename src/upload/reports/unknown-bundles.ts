/**
 * Bundles that the service's wallet has posted and that were not here, as after a restore. Items that waited here are taken
 * into them (`bundler/look-back.ts`); of the others, the receipts and what they cost are lost.
 */
import { listTransactions } from '../../outside/arweave/list-transactions.ts';
import type { OutsideRecord, OutsideSource } from '../../payments/outside-records.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { findRestore } from '../bundler/after-restore.ts';

export interface UnknownBundlesOptions {
  readonly sql: Sql;
  /** Lists transactions; nodes do not. */
  readonly gatewayUrl: string;
  /** Of the service, with those from before. */
  readonly wallets: readonly string[];
}

interface KnownBundle {
  readonly item_count: number;
  /** Null: it was made here. */
  readonly others: number | null;
}

const tags = [{ name: 'Bundle-Format', values: ['binary'] }];

export const unknownBundles = ({ sql, gatewayUrl, wallets }: UnknownBundlesOptions): OutsideSource => ({
  name: 'bundles',
  async *unknown(since) {
    const isLookedFor = (await findRestore(sql)) !== undefined;
    for await (const { id, at, size } of listTransactions(gatewayUrl, { owners: wallets, tags }, since)) {
      const known = await sql.get<KnownBundle>(
        'SELECT item_count, others FROM upload_bundles WHERE tx_id = ? ORDER BY created_at DESC LIMIT 1',
        id,
      );
      const what = `a bundle of ${size} bytes that this service posted`;
      if (known?.others !== null) yield { kind: 'bundle', id, at, what, ...becauseOf(known, isLookedFor) };
    }
  },
});

function becauseOf(
  known: KnownBundle | undefined,
  isLookedFor: boolean,
): Pick<OutsideRecord, 'openBecause' | 'takenInBecause'> {
  if (known === undefined) {
    return {
      openBecause: isLookedFor
        ? 'the upload service still looks which of its items wait here: run it again later'
        : 'its items came after the backup: they are on the chain; their receipts and what they cost are not here',
    };
  }
  const { item_count: items, others } = known;
  return others === 0
    ? { takenInBecause: `its items, ${items}, waited here and are not bundled again` }
    : {
        openBecause: `${items} of its items waited here and are not bundled again; ${others} came after the backup: their receipts and what they cost are not here`,
      };
}

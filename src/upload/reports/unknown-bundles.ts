/**
 * Bundles that the service's wallet has posted and that are not here, as after a restore. Their items are on the chain;
 * those of them that are here and wait are bundled once more, which costs the service and nobody else.
 */
import { listTransactions } from '../../outside/arweave/list-transactions.ts';
import type { OutsideSource } from '../../payments/outside-records.ts';
import type { Sql } from '../../storage/sql/sql.ts';

export interface UnknownBundlesOptions {
  readonly sql: Sql;
  /** Lists transactions; nodes do not. */
  readonly gatewayUrl: string;
  /** Of the service, with those from before. */
  readonly wallets: readonly string[];
}

const tags = [{ name: 'Bundle-Format', values: ['binary'] }];

export const unknownBundles = ({ sql, gatewayUrl, wallets }: UnknownBundlesOptions): OutsideSource => ({
  name: 'bundles',
  async *unknown(since) {
    for await (const { id, at, size } of listTransactions(gatewayUrl, { owners: wallets, tags }, since)) {
      const known = await sql.get('SELECT 1 AS one FROM upload_bundles WHERE tx_id = ?', id);
      if (known !== undefined) continue;
      yield {
        ...{ kind: 'bundle', id, at, what: `a bundle of ${size} bytes that this service posted` },
        openBecause: 'its items are on the chain; their receipts and what they cost are not here',
      };
    }
  },
});

/** What pricing is made of. */
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';
import type { PaymentAdjustment } from './catalogue/rows.ts';
import type { NetworkPriceSource, RateSource } from './pricing.ts';

export interface PricingOptions {
  /** The `ledger` database, which holds the catalogue. */
  readonly sql: Sql;
  readonly rates: RateSource;
  readonly network: NetworkPriceSource;
  /** Whether a payment was ever credited to the wallet (the ledger knows). */
  readonly hasPaid: (executor: SqlExecutor, address: string) => Promise<boolean>;
  readonly ratesFreshMs: number;
  readonly ratesUsableMs: number;
  readonly networkFreshMs: number;
  readonly networkUsableMs: number;
  readonly catalogueFreshMs: number;
  /** US dollars per data item, decimal text. */
  readonly usdPerItem: string;
  /** Fees that hold without any catalogue row. */
  readonly fees: readonly PaymentAdjustment[];
  readonly tokensWithoutFees: readonly string[];
  readonly now?: () => number;
  onOracleFailure?(oracle: string, error: unknown): void;
}

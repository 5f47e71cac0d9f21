/** The ledger as the surfaces of a process share it; `ledger.ts` opens it. */
import type { Credits } from '../../credits/credits.ts';
import type { LedgerSoundness } from '../../credits/ledger/soundness.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { CardPayments } from '../../payments/card/card.ts';
import type { X402Payments } from '../../payments/x402/x402.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';

export interface Ledger {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  /** Absent when cards are not taken here. */
  readonly cards: CardPayments | undefined;
  /** Absent when x402 payments are not taken here. */
  readonly x402: X402Payments | undefined;
  /** Whether it can be trusted; while it cannot, `sql` takes no writes. */
  readonly soundness: LedgerSoundness;
  /** Counts payments; shown by the payment surface. */
  readonly metrics: Metrics;
}

/** Opened by the first that asks. */
export interface SharedLedger {
  open(): Promise<Ledger>;
  close(): Promise<void>;
}

export function shareLedger(open: () => Promise<Ledger>): SharedLedger {
  let opened: Promise<Ledger> | undefined;
  return {
    open() {
      opened ??= open();
      return opened;
    },
    async close() {
      // Whoever asked for it was told if it could not be opened.
      await (await opened?.catch(() => undefined))?.sql.close();
    },
  };
}

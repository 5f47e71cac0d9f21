/**
 * What the surfaces that deal in credits share: one database, so that a debit and what it pays for are one
 * transaction, and on it the ledger, prices and x402 payments.
 */
import type { Credits } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/index.ts';
import { createX402Payments } from '../../credits/x402/index.ts';
import type { X402Payments } from '../../credits/x402/x402.ts';
import { pricingFromConfig } from '../../pricing/configured.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import type { World } from './part.ts';

export interface Ledger {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  /** Absent when a facilitator is configured without an address to be paid at. */
  readonly x402: X402Payments | undefined;
}

export async function openLedger(world: World): Promise<Ledger> {
  const { config, log } = world;
  const sql = await openLedgerDatabase(config, log);
  const credits = createCredits({ sql });
  const pricing = pricingFromConfig(config, {
    sql,
    arweaveNodes: world.arweaveNodeUrls,
    hasPaid: credits.hasPaid,
    onOracleFailure: (oracle, error) => log.warn({ oracle, err: error }, 'a price source does not answer'),
  });
  return { sql, credits, pricing, x402: x402Payments(world, { sql, credits, pricing }) };
}

function x402Payments(
  world: World,
  { sql, credits, pricing }: Omit<Ledger, 'x402'>,
): X402Payments | undefined {
  const { config, log, localFacilitator } = world;
  const facilitator = config.X402_FACILITATOR_URL ?? localFacilitator?.url;
  const payTo = config.X402_PAYMENT_ADDRESS ?? localFacilitator?.payTo;
  if (facilitator === undefined || payTo === undefined) return undefined;
  return createX402Payments(
    {
      ...config,
      X402_RPC_URLS: { ...localFacilitator?.rpcUrls, ...config.X402_RPC_URLS },
      X402_FACILITATOR_URL: facilitator,
      X402_PAYMENT_ADDRESS: payTo,
    },
    { sql, credits, pricing, log },
  );
}

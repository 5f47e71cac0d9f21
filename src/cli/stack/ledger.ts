/**
 * What the surfaces that deal in credits share: one database, so that a debit and what it pays for are one
 * transaction, and on it the ledger, prices, card and x402 payments.
 */

import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { parseAmount } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { LedgerSoundness } from '../../credits/ledger/soundness.ts';
import { within } from '../../kernel/background/within.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { cardMetrics } from '../../payment/card/part.ts';
import { x402Metrics } from '../../payment/x402/part.ts';
import type { CardPayments } from '../../payments/card/card.ts';
import { createCardPayments } from '../../payments/card/card-payments.ts';
import { failReturn } from '../../payments/returns/rows.ts';
import type { X402Payments } from '../../payments/x402/x402.ts';
import { createX402Payments } from '../../payments/x402/x402-payments.ts';
import { pricingFromConfig } from '../../pricing/configured.ts';
import { guardWrites } from '../../storage/sql/guard-writes.ts';
import { integrityProblems } from '../../storage/sql/sqlite/integrity.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { claimLedger } from './ledger-world.ts';
import type { LocalNetwork, StandIns } from './local-network.ts';
import type { Ledger } from './shared-ledger.ts';

type Base = Omit<Ledger, 'cards' | 'x402'>;

export async function openLedger(config: Config, log: Logger, network: LocalNetwork): Promise<Ledger> {
  const noticeWinc = parseAmount(config.LOW_BALANCE_WINC ?? '0');
  if (noticeWinc === undefined) throw new StartupError('LOW_BALANCE_WINC must be an amount of winc');
  const opened = await openLedgerDatabase(config, log);
  const soundness = new LedgerSoundness();
  try {
    await inspect(config, log, soundness);
    await claimLedger(opened, config.WORLD);
  } catch (error) {
    await opened.close();
    throw error;
  }
  const sql = guardWrites(opened, () => soundness.trouble);
  const credits = createCredits({ sql, noticeWinc });
  const pricing = pricingFromConfig(config, {
    sql,
    arweaveNodes: network.arweaveNodeUrls(),
    hasPaid: credits.hasPaid,
    onOracleFailure: (oracle, error) => log.warn({ oracle, err: error }, 'a price source does not answer'),
  });
  const base: Base = { sql, credits, pricing, soundness, metrics: new Metrics('payment') };
  return {
    ...base,
    cards: cardPayments(config, log, network.used.card, base),
    x402: x402Payments(config, log, network.used.facilitator, base),
  };
}

/** A start waits so long for its file to be read; one that takes longer is read on while the surfaces start. */
const inspectionWaitMs = 5_000;

/** PostgreSQL looks after its files itself: there the check of the books tells. */
async function inspect(config: Config, log: Logger, soundness: LedgerSoundness): Promise<void> {
  if (config.DATABASE_URL !== undefined) return;
  const path = join(config.DATA_DIR, 'ledger.db');
  const inspection = integrityProblems(path)
    .then((problems) => {
      soundness.inspected(problems);
      if (problems.length > 0) {
        log.fatal({ path, problems }, 'the ledger is damaged: nothing is sold; restore it from a backup');
      }
    })
    .catch((error: unknown) =>
      log.error({ err: error, path }, 'the file of the ledger could not be checked'),
    );
  await within(inspectionWaitMs, inspection);
}

/** The configured provider, or the local one, told apart by nothing but address and keys. */
function cardPayments(
  config: Config,
  log: Logger,
  local: StandIns['card'],
  { sql, credits, pricing, metrics }: Base,
): CardPayments | undefined {
  if (!config.CARD_PAYMENTS_ENABLED) return undefined;
  const secretKey = config.STRIPE_SECRET_KEY ?? local?.secretKey;
  if (secretKey === undefined) return undefined;
  const webhookSecret =
    config.STRIPE_SECRET_KEY === undefined ? local?.webhookSecret : config.STRIPE_WEBHOOK_SECRET;
  if (webhookSecret === undefined) {
    throw new StartupError(
      'STRIPE_SECRET_KEY is set and STRIPE_WEBHOOK_SECRET is not: webhooks could not be trusted',
    );
  }
  return createCardPayments(
    {
      ...config,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_URL: config.STRIPE_SECRET_KEY === undefined ? local?.url : config.STRIPE_API_URL,
    },
    {
      ...{ sql, pricing, log, observe: cardMetrics(metrics) },
      returnFailedIn: (tx, id) => failReturn(tx, credits, id, 'the refund failed', Date.now()),
    },
  );
}

function x402Payments(
  config: Config,
  log: Logger,
  local: StandIns['facilitator'],
  { sql, credits, pricing, metrics }: Base,
): X402Payments | undefined {
  if (!config.X402_ENABLED) return undefined;
  const facilitator = config.X402_FACILITATOR_URL ?? local?.url;
  const payTo = config.X402_PAYMENT_ADDRESS ?? local?.payTo;
  if (facilitator === undefined || payTo === undefined) return undefined;
  return createX402Payments(
    {
      ...config,
      X402_RPC_URLS: { ...local?.rpcUrls, ...config.X402_RPC_URLS },
      X402_FACILITATOR_URL: facilitator,
      X402_PAYMENT_ADDRESS: payTo,
    },
    { sql, credits, pricing, log, onSettlement: x402Metrics(metrics) },
  );
}

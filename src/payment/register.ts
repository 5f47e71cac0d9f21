/** All routes of the service, and those that published tools call without the `/v1` prefix. */
import { Type } from 'typebox';
import type { Credits } from '../credits/credits.ts';
import type { App } from '../kernel/http/app.ts';
import { hideFromDocument } from '../kernel/http/app.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Pricing } from '../pricing/pricing.ts';
import { parseToken } from '../pricing/tokens.ts';
import { cacheMinute, sendJsonText } from './answers.ts';
import type { Authenticator } from './auth/request-wallet.ts';
import type { PaymentDoor } from './doors.ts';
import { tokenNotSupported } from './errors.ts';
import type { RedeemableGifts } from './gifts.ts';
import { answerFailures } from './route-failures.ts';
import { accountApprovalsRoutes, approvalsOfPair } from './routes/account-approvals.ts';
import { accountFreeRoute, type FreeBytes } from './routes/account-free.ts';
import { accountPaymentsRoute } from './routes/account-payments.ts';
import { accountBalanceRoutes, balanceRoutes } from './routes/balance.ts';
import { parseByteCount, priceRoutes } from './routes/price.ts';
import { ratesRoutes } from './routes/rates.ts';
import { redeemRoute } from './routes/redeem.ts';
import { infoRoutes, type ServiceInfo, watchRoutes } from './routes/service.ts';

export interface PaymentRoutesDeps {
  readonly credits: Credits;
  readonly pricing: Pricing;
  readonly auth: Authenticator;
  readonly gifts: RedeemableGifts;
  readonly doors: readonly PaymentDoor[];
  readonly countries: readonly string[];
  readonly freeBytes: FreeBytes;
  readonly info: () => ServiceInfo;
  readonly metrics: Metrics;
}

/** Everything under `/v1`. */
export function registerPaymentRoutes(app: App, deps: PaymentRoutesDeps): void {
  answerFailures(app);
  priceRoutes(app, deps);
  ratesRoutes(app, deps);
  balanceRoutes(app, deps);
  accountApprovalsRoutes(app, deps.credits);
  accountPaymentsRoute(app, deps);
  accountFreeRoute(app, deps.freeBytes);
  redeemRoute(app, deps.gifts);
  infoRoutes(app, deps.info);
  watchRoutes(app, deps.metrics);
  for (const door of deps.doors) door.register(app);
}

/** Aliases at the root, kept out of the OpenAPI document. */
export function registerRootRoutes(app: App, deps: PaymentRoutesDeps): void {
  hideFromDocument(app);
  answerFailures(app);
  infoRoutes(app, deps.info);
  watchRoutes(app, deps.metrics);
  accountBalanceRoutes(app, deps);
  approvalsOfPair(app, deps.credits, '/account/approval');
  for (const door of deps.doors.filter(({ name }) => name === 'chain')) door.register(app);
  app.get(
    '/price/:token/:byteCount',
    { schema: { params: Type.Object({ token: Type.String(), byteCount: Type.String() }) } },
    async ({ params }, reply) => {
      if (params.token !== 'bytes' && parseToken(params.token) === undefined) throw tokenNotSupported();
      const quote = await deps.pricing.quoteBytes(parseByteCount(params.byteCount));
      sendJsonText(reply, quote.winc.toString(), cacheMinute);
    },
  );
}

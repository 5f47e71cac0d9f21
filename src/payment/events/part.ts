/** What wallets are told: event streams, webhooks, and below what balance (docs/events.md). */
import type { Config } from '../../config/config.ts';
import type { Credits } from '../../credits/credits.ts';
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { hookRoutes } from '../../events/hooks/routes.ts';
import { createEvents } from '../../events/part.ts';
import type { App } from '../../kernel/http/app.ts';
import { keepBodies } from '../../kernel/http/raw-body.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { actingWallet } from '../auth/acting-wallet.ts';
import { type Authenticator, requireWallet } from '../auth/request-wallet.ts';
import { accountNoticeRoutes } from '../routes/account-notice.ts';
import { eventsRoutes } from '../routes/events.ts';
import { walletSource } from '../wallet-source.ts';

export interface WalletEventsDeps {
  /** The `ledger` database. */
  readonly sql: Sql;
  readonly credits: Credits;
  readonly auth: Authenticator;
  readonly signatures: RequestSignatures;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export function createWalletEvents(config: Config, deps: WalletEventsDeps): readonly Part[] {
  const { sql, credits, auth, signatures, metrics } = deps;
  const log = deps.log.child({ part: 'events' });
  const { parts, streams, hooks } = createEvents({ config, sql, source: walletSource, log, metrics });
  return [
    ...parts,
    {
      name: 'wallet events',
      routes: (scope) =>
        void scope.register(async (app: App) => {
          const bodyOf = keepBodies(app);
          eventsRoutes(app, { auth, sql, streams });
          accountNoticeRoutes(app, { credits, auth, signatures, bodyOf });
          hookRoutes(app, {
            hooks,
            tags: [],
            changing: { acts: true },
            // To look at hooks a wallet signs to read, to change them it signs the very request.
            ownerOf: async (request, reply) =>
              request.routeOptions.config.acts === true
                ? (await actingWallet(request, signatures, bodyOf(request))).address
                : (await requireWallet(auth, request, reply)).address,
          });
        }),
    },
  ];
}

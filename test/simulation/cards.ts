/** The local card provider in the simulated world, and the one address at which a service hears of its payments. */
import './node-http.ts';
import { readConfig } from '../../src/config/config.ts';
import { memberOf, textOf } from '../../src/formats/json.ts';
import { createLocalCardProvider } from '../../src/localnet/card/local-card-provider.ts';
import { migrations } from '../../src/localnet/card/migrations.ts';
import type { SqlReader } from '../../src/storage/sql/sql.ts';
import { SimulatedDatabase } from './database.ts';
import type { Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { Fault, Server } from './scenario.ts';
import { logOf } from './uploads/installation.ts';
import type { World } from './world.ts';

export const cardKeys = {
  secretKey: `sk_test_${'s'.repeat(48)}`,
  publishableKey: `pk_test_${'p'.repeat(48)}`,
  webhookSecret: `whsec_${'w'.repeat(32)}`,
};
const cardPort = 4_900;
export const cardUrl = `http://127.0.0.1:${cardPort}`;
export const balancerUrl = 'http://pay.test';
const webhookPath = '/v1/stripe-webhook';
const minute = 60_000;

/** What a service is configured with to be paid by card. */
export const cardSettings = {
  STRIPE_SECRET_KEY: cardKeys.secretKey,
  STRIPE_WEBHOOK_SECRET: cardKeys.webhookSecret,
  STRIPE_API_URL: cardUrl,
} as const;

export class SimulatedCards {
  readonly database: SimulatedDatabase;
  readonly server: Server;
  /** What the provider tells of payments gets lost, and is answered as if it had been heard. */
  webhooksLost = false;

  constructor(world: World) {
    const database = new SimulatedDatabase(world, 'card provider', migrations);
    this.database = database;
    this.server = {
      process: world.process('card'),
      async program(life) {
        const provider = createLocalCardProvider(
          { ...readConfig({}), LOCAL_NETWORK_HOST: '127.0.0.1', LOCAL_CARD_PORT: cardPort },
          { log: logOf(life), store: { sql: database.open(), keys: cardKeys } },
        );
        await provider.start();
        await provider.deliverTo(`${balancerUrl}${webhookPath}`);
      },
    };
  }

  /** One address for all processes: whoever is there is asked. */
  balance(
    world: World,
    network: Network,
    services: readonly { readonly process: SimulatedProcess; readonly url: string }[],
  ): void {
    const random = world.random('balancer');
    const balancer = world.process('balancer');
    const life = balancer.start(async () => {});
    network.host(balancerUrl, life, async (asked) => {
      if (this.webhooksLost && asked.path.startsWith(webhookPath)) return { status: 200, body: '' };
      const running = services.filter(({ process }) => process.isRunning);
      const { url } = random.pick(running.length > 0 ? running : services);
      return network.ask(life, url, { ...asked, from: balancer.name });
    });
  }

  /** What only the provider's own list of events tells any more. */
  readonly faults: readonly Fault[] = [
    {
      name: 'webhooks lost',
      longest: 30 * minute,
      begin: () => {
        if (this.webhooksLost) return undefined;
        this.webhooksLost = true;
        return {
          what: 'what the card provider tells is lost',
          end: () => {
            this.webhooksLost = false;
          },
        };
      },
    },
  ];

  /** What the service has not dealt with yet, in words: payments, refunds, what it was told. */
  waiting(ledger: SimulatedDatabase, now: number): string[] {
    if (!this.database.isQuiet) return ['a change at the card provider'];
    const some = (what: string, query: string): string[] =>
      ledger.look<{ id: string }>(query).map(({ id }) => `${what} ${id}`);
    const payable = ledger.look<{ id: string }>(
      "SELECT intent_id AS id FROM card_quotes WHERE state IN ('opening', 'quoted') AND intent_id IS NOT NULL",
    );
    return [
      ...some(
        'card quote',
        `SELECT id || ' (' || state || ')' AS id FROM card_quotes
          WHERE state IN ('opening', 'quoted') AND payable_until < ${now}`,
      ),
      ...ledger
        .look<{ id: string }>('SELECT intent_id AS id FROM card_quotes WHERE refund_due = 1')
        .filter(({ id }) => !this.#wasDisputed(id))
        .map(({ id }) => `refund of ${id}`),
      ...payable.filter(({ id }) => this.isPaid(id)).map(({ id }) => `card payment ${id}`),
      ...some('card event', "SELECT id FROM card_events WHERE state = 'waiting'"),
    ];
  }

  /** The provider gives nothing back of a payment that was disputed, also after it was won: that is left to a person. */
  #wasDisputed(intentId: string): boolean {
    return this.database
      .look<{ body: string }>("SELECT body FROM objects WHERE kind = 'dispute'")
      .some(({ body }) => textOf(JSON.parse(body), 'payment_intent') === intentId);
  }

  /** Whether the provider has the money of a payment, now or before it went back. */
  isPaid(intentId: string): boolean {
    return this.database
      .look<{ body: string }>('SELECT body FROM objects WHERE id = ?', intentId)
      .some(({ body }) => textOf(JSON.parse(body), 'status') === 'succeeded');
  }
}

/** A payment that was made, as the provider knows it. */
export interface ProviderPayment {
  readonly id: string;
  readonly quoteId: string;
  readonly amount: number;
  readonly refunded: number;
  /** What of that the service gave back because its holder returned the credits, by return. */
  readonly returns: ReadonlyMap<string, number>;
  /** A dispute has taken the money. */
  readonly isDisputed: boolean;
  /** There was one, maybe won since: then the provider refuses to give the money back. */
  readonly wasDisputed: boolean;
}

/** Of disputes that have taken no money, or given it back. */
const harmless = new Set([
  'won',
  'prevented',
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
]);

export async function paymentsAt(cards: SqlReader): Promise<ProviderPayment[]> {
  const objects = await cards.all<{ kind: string; id: string; body: string }>(
    "SELECT kind, id, body FROM objects WHERE kind IN ('payment_intent', 'charge', 'dispute', 'refund')",
  );
  const parsed = objects.map(({ kind, id, body }) => ({ kind, id, body: JSON.parse(body) as unknown }));
  const charges = new Map(parsed.filter(({ kind }) => kind === 'charge').map(({ id, body }) => [id, body]));
  const disputes = Map.groupBy(
    parsed.filter(({ kind }) => kind === 'dispute').map(({ body }) => body),
    (dispute) => textOf(dispute, 'payment_intent') ?? '',
  );
  const refunds = Map.groupBy(
    parsed.filter(({ kind }) => kind === 'refund').map(({ body }) => body),
    (refund) => textOf(refund, 'payment_intent') ?? '',
  );
  const returnsOf = (id: string): Map<string, number> => {
    const returns = new Map<string, number>();
    for (const refund of refunds.get(id) ?? []) {
      const returnId = textOf(memberOf(refund, 'metadata'), 'returnId');
      if (returnId === undefined || textOf(refund, 'status') === 'failed') continue;
      returns.set(returnId, (returns.get(returnId) ?? 0) + Number(memberOf(refund, 'amount')));
    }
    return returns;
  };
  return parsed
    .filter(({ kind, body }) => kind === 'payment_intent' && textOf(body, 'status') === 'succeeded')
    .map(({ id, body }) => ({
      id,
      quoteId: textOf(memberOf(body, 'metadata'), 'quoteId') ?? '',
      amount: Number(memberOf(body, 'amount')),
      returns: returnsOf(id),
      refunded: Number(memberOf(charges.get(textOf(body, 'latest_charge') ?? ''), 'amount_refunded')),
      wasDisputed: disputes.has(id),
      isDisputed: (disputes.get(id) ?? []).some((dispute) => !harmless.has(textOf(dispute, 'status') ?? '')),
    }));
}

/** What the routes of the surface are handed. */
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { NameHistory } from '../../registry/name-history.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { ActionContext } from '../actions/context.ts';
import type { CardPurchases } from '../cards/purchases.ts';
import { signerMissing } from '../errors.ts';
import type { NamePrices } from '../prices/prices.ts';
import type { NameWhere } from '../where.ts';

export interface NamesContext {
  readonly sql: Sql;
  readonly pricing: Pricing;
  readonly prices: NamePrices;
  readonly signatures: RequestSignatures;
  readonly registry: NameRegistry;
  readonly history: NameHistory;
  readonly where: NameWhere;
  /** Undefined where the service has no key: then names can be priced and looked up, not acted on. */
  readonly actions: ActionContext | undefined;
  /** Where a buyer goes after checkout unless the request says; undefined: back to this service. */
  readonly appUrl: string | undefined;
  /** Undefined where names cannot be bought by card. */
  readonly cards: CardPurchases | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function acting(context: NamesContext): ActionContext {
  if (context.actions === undefined) throw signerMissing();
  return context.actions;
}

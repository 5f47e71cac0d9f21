/** What the steps of an action share. */
import type { Credits } from '../../credits/credits.ts';
import type { TopUpPage } from '../../credits/lack.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NameChain } from '../../registry/chain.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Builders, Planner } from '../chain/plan.ts';
import type { SolanaKey } from '../chain/service-key.ts';
import type { ChangedNames } from '../changes.ts';
import type { Locks } from '../locks.ts';
import type { NamesMetrics } from '../metrics.ts';
import type { NamePrices } from '../prices/prices.ts';

interface ActionSettings {
  /** How long an action may wait for its owner. */
  readonly lifeMs: number;
  readonly maxOpen: number;
  readonly defaultTarget: string;
  /** How long a request waits for the chain to say what became of a transaction. */
  readonly timeoutMs: number;
}

export interface ActionContext {
  readonly sql: Sql;
  readonly credits: Credits;
  /** Told to whom cannot pay. */
  readonly topUpPage?: TopUpPage | undefined;
  readonly prices: NamePrices;
  readonly chain: NameChain;
  readonly registry: NameRegistry;
  readonly key: SolanaKey;
  readonly planner: Planner;
  /** Known once the registry's config was read. */
  readonly builders: () => Promise<Builders>;
  readonly locks: Locks;
  readonly settings: ActionSettings;
  readonly metrics: NamesMetrics;
  readonly log: Logger;
  /** Whoever remembers names is told what was changed; never fails. */
  readonly changed: ChangedNames;
  /** Work nobody waits for; it ends before the surface stops. */
  readonly later: (work: () => Promise<void>) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * The gateways the router knows: those it fetches from and those it asks for hashes and names. A gateway that is
 * in both lists is one object, so that what is learnt about it in one role counts in the other.
 */
import { LRUCache } from 'lru-cache';
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import type { Logger } from '../../kernel/log.ts';
import { type AttemptListener, Gateway, type GatewayLimits } from './gateway.ts';
import type { Health } from './health.ts';
import type { GatewayList } from './sources.ts';
import { cost, createStrategy, type Strategy, type StrategyName } from './strategy.ts';

export interface GatewaySetOptions {
  readonly routing: GatewayList;
  readonly verification: GatewayList;
  readonly strategy: StrategyName;
  readonly limits: GatewayLimits;
  readonly onAttempt: AttemptListener;
  /** Told whom a request goes to first. */
  readonly onFirstPick?: (origin: string) => void;
  readonly log: Logger;
  readonly refreshMs: number;
}

export const maxGateways = 1_000;
const retry: Backoff = { firstMs: 5_000, longestMs: 15 * 60_000 };

export class GatewaySet {
  readonly #options: GatewaySetOptions;
  readonly #known = new Map<string, Gateway>();
  /** Those in no list any more that still answer what they were asked. */
  readonly #retired = new Set<Gateway>();
  /** What is held against those that left in quarantine: to leave a list and come back is no way out of it. */
  readonly #heldAgainst = new LRUCache<string, Health>({ max: maxGateways });
  readonly #strategy: Strategy;
  #routing: readonly Gateway[] = [];
  #verification: readonly Gateway[] = [];
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;
  /** Why the lists are not those of their source; undefined when they are. */
  problem: string | undefined;

  constructor(options: GatewaySetOptions) {
    this.#options = options;
    this.#strategy = createStrategy(options.strategy);
  }

  get routing(): readonly Gateway[] {
    return this.#routing;
  }

  get verification(): readonly Gateway[] {
    return this.#verification;
  }

  get all(): Gateway[] {
    return [...this.#known.values()];
  }

  find(origin: string): Gateway | undefined {
    return this.#known.get(origin);
  }

  /** Reads of the lists in a row that failed. */
  get failedReads(): number {
    return this.#failures;
  }

  async start(): Promise<void> {
    await this.#refresh();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.all, ...this.#retired].map((gateway) => gateway.close()));
  }

  /**
   * The gateway to try next, none of `tried`. When all circuits are open, or all are busy, the two least bad are tried
   * all the same: an answer may come, and nothing that was learnt is thrown away for it. Gateways in quarantine are
   * never asked. `turn` says whether it is whom the request goes to first.
   */
  choose(tried: ReadonlySet<Gateway>, turn: keyof Strategy): Gateway | undefined {
    const chosen = this.#choose(tried, turn);
    if (turn === 'first' && chosen !== undefined) this.#options.onFirstPick?.(chosen.origin);
    return chosen;
  }

  #choose(tried: ReadonlySet<Gateway>, turn: keyof Strategy): Gateway | undefined {
    const untried = this.#routing.filter((gateway) => !tried.has(gateway));
    const usable = untried.filter(({ health }) => health.usable);
    if (usable.length > 0) return this.#strategy[turn](usable);
    if (tried.size >= 2) return undefined;
    return untried.filter(({ health }) => health.isLastResort).sort((a, b) => cost(a) - cost(b))[0];
  }

  counts() {
    const states = this.#routing.map(({ health }) => health.state);
    const healthy = states.filter((state) => state === 'healthy' || state === 'half-open').length;
    return {
      total: states.length,
      healthy,
      unhealthy: states.length - healthy,
      circuitOpen: states.filter((state) => state === 'open' || state === 'quarantined').length,
      maxGateways,
    };
  }

  /** Each list for itself: that one cannot be read is no reason to be without the other. */
  async #refresh(): Promise<void> {
    const { routing, verification, log, refreshMs } = this.#options;
    const [routes, verifiers] = await Promise.all([readList(routing), readList(verification)]);
    if (this.#stopped) return;
    // Whom the operator names as well is where the operator says.
    const named = [routing.foreign ? [] : routes.origins, verification.foreign ? [] : verifiers.origins];
    const trusted = new Set([...named.flat(), ...routing.fallback, ...verification.fallback]);
    const take = ({ origins, error }: ReadList, current: readonly Gateway[]) =>
      error !== undefined && current.length > 0 ? current : this.#gateways(origins, trusted);
    this.#routing = take(routes, this.#routing);
    this.#verification = take(verifiers, this.#verification);
    this.#forget();
    const error = routes.error ?? verifiers.error;
    this.problem = error?.message;
    if (error === undefined) {
      this.#failures = 0;
      if (routing.changes || verification.changes) this.#again(refreshMs);
      return;
    }
    log.warn(
      { err: error, gateways: this.#routing.length },
      'a list of gateways cannot be read: what was known is used',
    );
    this.#failures += 1;
    this.#again(backoffMs(retry, this.#failures));
  }

  #again(milliseconds: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#refresh(), milliseconds).unref();
  }

  #gateways(origins: readonly string[], trusted: ReadonlySet<string>): Gateway[] {
    const { limits, onAttempt } = this.#options;
    return [...new Set(origins)].slice(0, maxGateways).map((origin) => {
      const known = this.#known.get(origin);
      if (known !== undefined) return known;
      const health = this.#heldAgainst.get(origin);
      const gateway = new Gateway(origin, { ...limits, publicOnly: !trusted.has(origin) }, onAttempt, health);
      this.#known.set(origin, gateway);
      return gateway;
    });
  }

  /** Readers of what such a gateway is sending have it to the end. */
  #forget(): void {
    const current = new Set([...this.#routing, ...this.#verification]);
    for (const gateway of this.all) {
      if (current.has(gateway)) continue;
      this.#known.delete(gateway.origin);
      this.#retired.add(gateway);
      if (gateway.health.state === 'quarantined') this.#heldAgainst.set(gateway.origin, gateway.health);
      const gone = () => this.#retired.delete(gateway);
      gateway.retire().then(gone, gone);
    }
  }
}

interface ReadList {
  /** What the list says, or where it says nothing its fallback. */
  readonly origins: readonly string[];
  readonly error: Error | undefined;
}

async function readList(list: GatewayList): Promise<ReadList> {
  try {
    return { origins: await list.read(), error: undefined };
  } catch (error) {
    return { origins: list.fallback, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

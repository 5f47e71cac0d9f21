/**
 * The gateways the router knows: those it fetches from and those it asks for hashes and names. A gateway that is
 * in both lists is one object, so that what is learnt about it in one role counts in the other.
 */
import type { Logger } from '../../kernel/log.ts';
import { type AttemptListener, Gateway, type GatewayLimits } from './gateway.ts';
import type { GatewayList } from './sources.ts';
import { cost, createStrategy, type Strategy, type StrategyName } from './strategy.ts';

export interface GatewaySetOptions {
  readonly routing: GatewayList;
  readonly verification: GatewayList;
  readonly strategy: StrategyName;
  readonly limits: GatewayLimits;
  readonly onAttempt: AttemptListener;
  readonly log: Logger;
  readonly refreshMs: number;
}

export interface GatewayCounts {
  readonly total: number;
  readonly healthy: number;
  readonly unhealthy: number;
  readonly circuitOpen: number;
  readonly maxGateways: number;
}

export const maxGateways = 1_000;
const firstRetryMs = 5_000;
const longestRetryMs = 15 * 60_000;

export class GatewaySet {
  readonly #options: GatewaySetOptions;
  readonly #known = new Map<string, Gateway>();
  readonly #strategy: Strategy;
  #routing: readonly Gateway[] = [];
  #verification: readonly Gateway[] = [];
  #timer: NodeJS.Timeout | undefined;
  #retryMs = firstRetryMs;
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

  async start(): Promise<void> {
    await this.#refresh();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.all.map((gateway) => gateway.close()));
  }

  /**
   * The gateway to try next, none of `tried`. When all circuits are open the two least bad are tried all the
   * same: an answer may come, and nothing that was learnt is thrown away for it. Gateways in quarantine are
   * never asked.
   */
  choose(tried: ReadonlySet<Gateway>): Gateway | undefined {
    const untried = this.#routing.filter((gateway) => !tried.has(gateway));
    const usable = untried.filter(({ health }) => health.usable);
    if (usable.length > 0) return this.#strategy(usable);
    if (tried.size >= 2) return undefined;
    return untried
      .filter(({ health }) => health.state === 'open' || health.state === 'half-open')
      .sort((a, b) => cost(a) - cost(b))[0];
  }

  counts(): GatewayCounts {
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

  async #refresh(): Promise<void> {
    const { routing, verification, log, refreshMs } = this.#options;
    try {
      const [routes, verifiers] = await Promise.all([routing.read(), verification.read()]);
      this.#routing = this.#gateways(routes);
      this.#verification = this.#gateways(verifiers);
      await this.#forget();
      this.problem = undefined;
      this.#retryMs = firstRetryMs;
      if (routing.changes || verification.changes) this.#again(refreshMs);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      if (this.#routing.length === 0) this.#routing = this.#gateways(routing.fallback);
      if (this.#verification.length === 0) this.#verification = this.#gateways(verification.fallback);
      log.warn(
        { err: error, gateways: this.#routing.length },
        'the list of gateways cannot be read: what was known is used',
      );
      this.#again(this.#retryMs);
      this.#retryMs = Math.min(longestRetryMs, this.#retryMs * 2);
    }
  }

  #again(milliseconds: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#refresh(), milliseconds).unref();
  }

  #gateways(origins: readonly string[]): Gateway[] {
    return [...new Set(origins)].slice(0, maxGateways).map((origin) => {
      const gateway =
        this.#known.get(origin) ?? new Gateway(origin, this.#options.limits, this.#options.onAttempt);
      this.#known.set(origin, gateway);
      return gateway;
    });
  }

  async #forget(): Promise<void> {
    const current = new Set([...this.#routing, ...this.#verification]);
    for (const gateway of this.all) {
      if (current.has(gateway) || gateway.inFlight > 0) continue;
      this.#known.delete(gateway.origin);
      await gateway.close();
    }
  }
}

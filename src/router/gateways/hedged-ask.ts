/**
 * One question, put to gateways until one has the answer: the next is asked when one fails or does not have it,
 * and also when it takes longer than answers usually do. Attempts are bounded for the whole request; whoever is
 * not needed any more is let go.
 */
import { HttpError } from '../../kernel/errors.ts';
import { gatewayError, gatewayTimeout, noHealthyGateways } from '../errors.ts';
import { type Ask, discard, type Gateway, type GatewayAnswer, GatewayFailure } from './gateway.ts';
import type { GatewaySet } from './gateway-set.ts';

export interface HedgedOptions {
  readonly attempts: number;
  /** Gateways that were tried before in the same request; those tried now are added. */
  readonly tried: Set<Gateway>;
  /** Whether the answer will do; another is a reason to go on. */
  readonly accepts: (answer: GatewayAnswer) => boolean;
  /** What to answer when every gateway that was asked says that it has nothing. */
  readonly absent: () => HttpError;
  readonly signal: AbortSignal;
  /** Told which gateway is asked first, before it is. */
  readonly first?: (gateway: Gateway) => void;
}

/** The usual time to the first byte, so that what is unusual can be told. */
export class UsualLatency {
  readonly #samples = new Float64Array(256);
  #count = 0;
  #p95 = 500;

  observe(milliseconds: number): void {
    this.#samples[this.#count % this.#samples.length] = milliseconds;
    this.#count += 1;
    if (this.#count % 16 !== 0) return;
    const sorted = this.#samples.slice(0, Math.min(this.#count, this.#samples.length)).sort();
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)] ?? this.#p95;
  }

  /** When to ask a second gateway. */
  get hedgeAfterMs(): number {
    return Math.min(3_000, Math.max(15, this.#p95 * 1.5));
  }
}

type Event =
  | { readonly kind: 'answer'; readonly answer: GatewayAnswer }
  | { readonly kind: 'failure'; readonly error: unknown };

interface Running {
  readonly gateway: Gateway;
  readonly start: number;
}

export class HedgedAsks {
  readonly #gateways: GatewaySet;
  readonly #usual = new UsualLatency();
  readonly #onHedge: (won: boolean) => void;

  constructor(gateways: GatewaySet, onHedge: (won: boolean) => void) {
    this.#gateways = gateways;
    this.#onHedge = onHedge;
  }

  get hedgeAfterMs(): number {
    return this.#usual.hedgeAfterMs;
  }

  async ask(ask: Ask, options: HedgedOptions): Promise<GatewayAnswer> {
    const { tried, attempts, accepts, signal } = options;
    const running = new Set<Running>();
    const events: Event[] = [];
    let wake: (() => void) | undefined;
    let hedges = 0;
    let absent = 0;
    let over = false;
    const failures: unknown[] = [];

    const begin = (): boolean => {
      if (tried.size >= attempts) return false;
      const gateway = this.#gateways.choose(tried);
      if (gateway === undefined) return false;
      tried.add(gateway);
      if (running.size === 0) options.first?.(gateway);
      const one: Running = { gateway, start: performance.now() };
      running.add(one);
      gateway
        .ask(ask)
        .then(
          (answer): Event => ({ kind: 'answer', answer }),
          (error: unknown): Event => ({ kind: 'failure', error }),
        )
        .then((event) => {
          running.delete(one);
          // One that comes too late is let go; to break it off would cost its connection.
          if (over && event.kind === 'answer') discard(event.answer);
          events.push(event);
          wake?.();
        });
      return true;
    };

    try {
      if (!begin()) throw noHealthyGateways();
      for (;;) {
        const event = events.shift();
        if (event === undefined) {
          if (running.size === 0 && !begin()) throw this.#exhausted(options, absent, failures);
          const hedge = hedges === 0 && tried.size < attempts;
          const woken = await wait(hedge ? this.hedgeAfterMs : undefined, (resolve) => {
            wake = resolve;
          });
          if (!woken && begin()) hedges += 1;
          else if (!woken) hedges += 1;
          continue;
        }
        if (event.kind === 'failure') {
          failures.push(event.error);
          continue;
        }
        const { answer } = event;
        if (signal.aborted) {
          discard(answer);
          throw new GatewayFailure(answer.gateway.origin, 'timeout', signal.reason);
        }
        if (accepts(answer)) {
          this.#usual.observe(answer.latencyMs);
          this.#settleHedge(ask, hedges, running);
          return answer;
        }
        discard(answer);
        if (answer.status === 404 || answer.status === 410) absent += 1;
        else failures.push(new Error(`${answer.gateway.origin} answered ${answer.status}`));
      }
    } finally {
      over = true;
      for (const event of events) if (event.kind === 'answer') discard(event.answer);
    }
  }

  /** Whoever was overtaken by more than the usual is noted as stalled, so that it is chosen less. */
  #settleHedge(ask: Ask, hedges: number, running: ReadonlySet<Running>): void {
    if (hedges === 0 || running.size === 0) return;
    this.#onHedge(true);
    const now = performance.now();
    for (const { gateway, start } of running) {
      if (now - start > 2 * this.hedgeAfterMs || now - start > 1_000) gateway.stalled(ask.role, now - start);
    }
  }

  #exhausted(options: HedgedOptions, absent: number, failures: readonly unknown[]): HttpError {
    // That nobody has it is only said when nobody failed to answer.
    if (absent > 0 && failures.length === 0) return options.absent();
    const cause = failures.at(-1);
    if (cause === undefined) return noHealthyGateways();
    const timedOut = failures.every((one) => one instanceof GatewayFailure && one.outcome === 'timeout');
    if (timedOut) return gatewayTimeout(cause);
    return cause instanceof HttpError ? cause : gatewayError('No gateway could serve the content', cause);
  }
}

/** True when woken, false when the time was over first. */
function wait(milliseconds: number | undefined, register: (wake: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const timer =
      milliseconds === undefined ? undefined : setTimeout(() => resolve(false), milliseconds).unref();
    register(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

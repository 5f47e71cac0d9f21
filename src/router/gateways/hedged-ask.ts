/**
 * One question, put to gateways until one has the answer: the next is asked when one fails or does not have it,
 * and also when it takes longer than answers usually do. Attempts are bounded for the whole request; whoever is
 * not needed any more is let go.
 */
import { type Availability, availabilityOf, together } from '../../delivery/availability.ts';
import { HttpError } from '../../kernel/errors.ts';
import { contentRefused, gatewayError, gatewayTimeout, noHealthyGateways } from '../errors.ts';
import {
  type Ask,
  type AskListener,
  discard,
  type Gateway,
  type GatewayAnswer,
  GatewayFailure,
  type PendingAsk,
} from './gateway.ts';
import type { GatewaySet } from './gateway-set.ts';

export interface HedgedOptions {
  readonly attempts: number;
  /** Gateways that were tried before in the same request; those tried now are added. */
  readonly tried: Set<Gateway>;
  /** Whether the same request asked gateways before: then nobody is asked first any more. */
  readonly again?: boolean;
  /** Whether the answer will do; another is a reason to go on. */
  readonly accepts: (answer: GatewayAnswer) => boolean;
  /** What to answer when no gateway that was asked has it: `absent` where all there are were asked and know it. */
  readonly absent: (state: 'absent' | 'not-asked') => HttpError;
  /** Whether nobody waits for the answer any more. */
  readonly gone: () => boolean;
  /** Told which gateway is asked first, before it is. */
  readonly first?: (gateway: Gateway) => void;
}

/** A second gateway was asked because the first was slow; its answer was used; it was not. */
export type HedgeEvent = 'sent' | 'won' | 'lost';

export class HedgedAsks {
  readonly gateways: GatewaySet;
  readonly usual = new UsualLatency();
  readonly hedgeTimer = new SharedTimer();
  readonly onHedge: (event: HedgeEvent) => void;
  /** Whether a gateway is the operator's own, whose word on what is not served is final. */
  readonly isOwn: (origin: string) => boolean;

  constructor(
    gateways: GatewaySet,
    onHedge: (event: HedgeEvent) => void,
    isOwn: (origin: string) => boolean = () => false,
  ) {
    this.gateways = gateways;
    this.onHedge = onHedge;
    this.isOwn = isOwn;
  }

  ask(ask: Ask, options: HedgedOptions): Promise<GatewayAnswer> {
    const round = new Round(this, ask, options);
    round.begin();
    return round.outcome.promise;
  }
}

/** One question and everybody it was put to. */
class Round {
  readonly #asks: HedgedAsks;
  readonly #ask: Ask;
  readonly #options: HedgedOptions;
  readonly outcome = Promise.withResolvers<GatewayAnswer>();
  readonly #running: Attempt[] = [];
  readonly #failures: unknown[] = [];
  readonly #states: Availability[] = [];
  /** Some gateway has it and will not serve it. */
  #refused = false;
  #hedged = false;
  /** The one that was asked because another was slow. */
  #hedge: Attempt | undefined;
  #open = true;

  constructor(asks: HedgedAsks, ask: Ask, options: HedgedOptions) {
    this.#asks = asks;
    this.#ask = ask;
    this.#options = options;
  }

  begin(): void {
    if (this.#askNext(this.#options.again !== true) === undefined) this.#end(noHealthyGateways());
  }

  /** A gateway takes longer than usual: another is asked beside it, once. */
  hedge(): void {
    if (this.#hedged || !this.#open) return;
    this.#hedged = true;
    this.#hedge = this.#askNext();
    if (this.#hedge !== undefined) this.#asks.onHedge('sent');
  }

  answered(attempt: Attempt, answer: GatewayAnswer): void {
    this.#leave(attempt);
    // One that comes too late is let go; to break it off would cost its connection.
    if (!this.#open) {
      discard(answer);
    } else if (this.#options.gone()) {
      discard(answer);
      const cause = new Error('nobody waits for the answer');
      this.#end(new GatewayFailure(answer.gateway.origin, 'timeout', cause));
    } else if (this.#options.accepts(answer)) {
      this.#open = false;
      this.#asks.usual.observe(answer.latencyMs);
      this.#settleHedge(attempt);
      this.outcome.resolve(answer);
    } else {
      discard(answer);
      if (answer.status === 451) {
        this.#refused = true;
        if (this.#asks.isOwn(answer.gateway.origin)) {
          this.#end(contentRefused());
          return;
        }
      } else {
        const state = availabilityOf(answer.status, answer.headers['cache-control']);
        if (state === 'absent' || state === 'not-asked') this.#states.push(state);
        else this.#failures.push(new Error(`${answer.gateway.origin} answered ${answer.status}`));
      }
      this.#goOn();
    }
  }

  failed(attempt: Attempt, error: GatewayFailure): void {
    this.#leave(attempt);
    if (!this.#open) return;
    this.#failures.push(error);
    this.#goOn();
  }

  /** undefined when there is nobody left to ask. */
  #askNext(isFirst = false): Attempt | undefined {
    const { tried, attempts, first } = this.#options;
    if (tried.size >= attempts) return undefined;
    const gateway = this.#asks.gateways.choose(tried, isFirst ? 'first' : 'next');
    if (gateway === undefined) return undefined;
    tried.add(gateway);
    if (this.#running.length === 0) first?.(gateway);
    const attempt = new Attempt(this, gateway);
    this.#running.push(attempt);
    if (!this.#hedged && tried.size < attempts) {
      this.#asks.hedgeTimer.wait(attempt, this.#asks.usual.hedgeAfterMs);
    }
    const pending = gateway.put(this.#ask, attempt);
    if (attempt.waits) attempt.pending = pending;
    return attempt;
  }

  #goOn(): void {
    if (this.#running.length === 0 && this.#askNext() === undefined) this.#end(this.#exhausted());
  }

  #leave(attempt: Attempt): void {
    this.#running.splice(this.#running.indexOf(attempt), 1);
  }

  #end(error: unknown): void {
    this.#open = false;
    this.#settleHedge(undefined);
    this.outcome.reject(error);
  }

  /** Whoever was overtaken by more than the usual is noted as stalled, so that it is chosen less. */
  #settleHedge(answered: Attempt | undefined): void {
    if (this.#hedge === undefined) return;
    this.#asks.onHedge(answered === this.#hedge ? 'won' : 'lost');
    if (answered === undefined) return;
    const { hedgeAfterMs } = this.#asks.usual;
    const now = performance.now();
    for (const { pending, start } of this.#running) {
      const waited = now - start;
      if (waited > 2 * hedgeAfterMs || waited > 1_000) pending?.stalled();
    }
  }

  #exhausted(): HttpError {
    const failures = this.#failures;
    if (this.#refused) return contentRefused();
    // That nobody has it is only said when nobody failed to answer, and everybody was asked: who rests may have it.
    if (this.#states.length > 0 && failures.length === 0) {
      const askedAll = this.#asks.gateways.routing.every((gateway) => this.#options.tried.has(gateway));
      const isAbsent = askedAll && together(this.#states) === 'absent';
      return this.#options.absent(isAbsent ? 'absent' : 'not-asked');
    }
    const cause = failures.at(-1);
    if (cause === undefined) return noHealthyGateways();
    const timedOut = failures.every((one) => one instanceof GatewayFailure && one.outcome === 'timeout');
    if (timedOut) return gatewayTimeout(cause);
    return cause instanceof HttpError ? cause : gatewayError('No gateway could serve the content', cause);
  }
}

class Attempt implements AskListener, Waiter {
  readonly gateway: Gateway;
  readonly start = performance.now();
  pending: PendingAsk | undefined;
  /** Let go when it is over: the queue of those who wait holds an attempt for longer, and must hold no more than it. */
  #round: Round | undefined;

  constructor(round: Round, gateway: Gateway) {
    this.#round = round;
    this.gateway = gateway;
  }

  get waits(): boolean {
    return this.#round !== undefined;
  }

  answered(answer: GatewayAnswer): void {
    this.#leave()?.answered(this, answer);
  }

  failed(error: GatewayFailure): void {
    this.#leave()?.failed(this, error);
  }

  timedOut(): void {
    this.#round?.hedge();
  }

  #leave(): Round | undefined {
    const round = this.#round;
    this.#round = undefined;
    this.pending = undefined;
    return round;
  }
}

/** The usual time to the first byte, so that what is unusual can be told. */
class UsualLatency {
  readonly #samples = new Float64Array(256);
  #count = 0;
  #p95 = 500;

  observe(milliseconds: number): void {
    this.#samples[this.#count % this.#samples.length] = milliseconds;
    this.#count += 1;
    if (this.#count % 64 !== 16) return;
    const sorted = this.#samples.slice(0, Math.min(this.#count, this.#samples.length)).sort();
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)] ?? this.#p95;
  }

  /** When to ask a second gateway. */
  get hedgeAfterMs(): number {
    return Math.min(3_000, Math.max(15, this.#p95 * 1.5));
  }
}

export interface Waiter {
  /** Whether it still waits. */
  readonly waits: boolean;
  timedOut(): void;
}

interface Place {
  readonly waiter: Waiter;
  readonly due: number;
}

/**
 * Calls back those whose time is over, with one timer for all of them. Nearly everybody is done long before and only
 * leaves a mark; a timer of its own for each would be the larger part of what waiting costs.
 */
export class SharedTimer {
  /** By when they came, which is nearly when they are due: at any moment all are given the same time. */
  #queue: Place[] = [];
  #first = 0;
  #timer: NodeJS.Timeout | undefined;

  wait(waiter: Waiter, milliseconds: number): void {
    this.#queue.push({ waiter, due: performance.now() + milliseconds });
    this.#timer ??= setTimeout(() => this.#look(), Math.ceil(milliseconds)).unref();
  }

  #look(): void {
    const now = performance.now();
    this.#timer = undefined;
    for (let place = this.#queue[this.#first]; place !== undefined; place = this.#queue[this.#first]) {
      if (place.waiter.waits) {
        if (place.due > now) {
          this.#timer = setTimeout(() => this.#look(), Math.ceil(place.due - now)).unref();
          break;
        }
        this.#first += 1;
        place.waiter.timedOut();
      } else this.#first += 1;
    }
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }
}

/** The meter where a limit is set: regular tokens first, then paid ones, then the refusal. */
import type { Request } from '../../kernel/http/server.ts';
import type { Asking, Meter } from '../meter.ts';
import type { Buckets } from './buckets.ts';
import type { Clients } from './client.ts';
import { type Refused, tooManyRequests } from './errors.ts';
import type { MeterMetrics } from './metrics.ts';
import type { PaidTokens } from './paid.ts';
import type { EgressBody, EgressPayments } from './payments.ts';
import { costOf } from './prices.ts';

export interface TokenMeterParts {
  readonly clients: Clients;
  readonly byClient: Buckets;
  readonly byResource: Buckets;
  readonly paid: PaidTokens;
  /** undefined: nothing can be paid, and the refusal is 429. */
  readonly payments: EgressPayments | undefined;
  readonly metrics: MeterMetrics;
  /** Requests that are never charged, beside allowed addresses. */
  readonly isExempt: (request: Asking) => boolean;
}

/** The bucket that has too little. */
interface Limit {
  readonly limit: 'ip' | 'resource';
  readonly bucket: string;
}

export class TokenMeter implements Meter {
  readonly enabled = true;
  readonly #parts: TokenMeterParts;

  constructor(parts: TokenMeterParts) {
    this.#parts = parts;
  }

  charge(
    request: Request,
    bytes: number,
    resource: string | undefined,
    contentType: string,
  ): Promise<Readonly<Record<string, string>>> | undefined {
    const taken = this.#take(request, bytes, resource);
    this.#parts.metrics.requests.add();
    if (taken === 'done') return undefined;
    const client = this.#parts.clients.keyOf(request);
    const body = { bytes, contentType };
    if (taken === 'payment') return this.#withPayment(request, client, body);
    return this.#beyond(request, client, body, taken);
  }

  chargeNow(request: Asking, bytes: number, resource: string | undefined): boolean {
    if (this.#take(request, bytes, resource) !== 'done') return false;
    this.#parts.metrics.requests.add();
    return true;
  }

  /** Regular tokens, where they are to be taken and there are enough; else what stands in the way. */
  #take(request: Asking, bytes: number, resource: string | undefined): 'done' | 'payment' | Limit {
    const { clients, byClient, byResource, metrics, payments, isExempt } = this.#parts;
    if (clients.isAllowed(request) || isExempt(request)) return 'done';
    if (payments?.hasPayment(request) === true) return 'payment';
    const client = clients.keyOf(request);
    const cost = costOf(bytes);
    if (!byClient.take(client, cost)) return { limit: 'ip', bucket: client };
    if (resource !== undefined && !byResource.take(resource, cost)) {
      byClient.give(client, cost);
      return { limit: 'resource', bucket: resource };
    }
    metrics.tokens.add(cost);
    return 'done';
  }

  /** What is left of the regular tokens and the rest from paid ones; past the resource's limit, paid ones alone. */
  async #beyond(
    request: Request,
    client: string,
    body: EgressBody,
    { limit, bucket }: Limit,
  ): Promise<Readonly<Record<string, string>>> {
    const { byClient, paid, metrics, payments } = this.#parts;
    const cost = costOf(body.bytes);
    const regular = limit === 'ip' ? byClient.takeSome(client, cost) : 0;
    if (await paid.spend(client, cost - regular)) {
      metrics.tokens.add(regular);
      metrics.paidTokens.add(cost - regular);
      return {};
    }
    if (regular > 0) byClient.give(client, regular);
    metrics.exceeded.inc({ limit_type: limit });
    metrics.blockedBytes.add(body.bytes);
    if (payments !== undefined) throw await payments.required(request, body);
    const buckets = limit === 'ip' ? byClient : this.#parts.byResource;
    throw tooManyRequests(limit, refusedBy(buckets, bucket, cost));
  }

  async #withPayment(
    request: Request,
    client: string,
    body: EgressBody,
  ): Promise<Readonly<Record<string, string>>> {
    const { payments, paid, metrics, byClient } = this.#parts;
    if (payments === undefined) throw new Error('a payment without payments');
    const headers = await payments.take(request, client, body);
    const cost = costOf(body.bytes);
    if (await paid.spend(client, cost)) {
      metrics.paidTokens.add(cost);
      return headers;
    }
    // A payment that was spent already: it buys nothing twice.
    if (byClient.take(client, cost)) return headers;
    throw tooManyRequests('ip', refusedBy(byClient, client, cost), headers);
  }
}

function refusedBy(buckets: Buckets, bucket: string, cost: number): Refused {
  return { cost, capacity: buckets.rules.capacity, seconds: buckets.secondsUntil(bucket, cost) };
}

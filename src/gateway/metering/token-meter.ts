/** The meter where a limit is set: regular tokens first, then paid ones, then the refusal. */
import type { Request } from '../../kernel/http/server.ts';
import type { Meter } from '../meter.ts';
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
  readonly isExempt: (request: Request) => boolean;
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
    const { clients, byClient, byResource, metrics, payments, isExempt } = this.#parts;
    const client = clients.keyOf(request);
    metrics.requests.add();
    if (clients.isAllowed(request) || isExempt(request)) return undefined;
    const cost = costOf(bytes);
    if (payments?.hasPayment(request) === true) {
      return this.#withPayment(request, client, { bytes, contentType });
    }
    if (byClient.take(client, cost)) {
      if (resource === undefined || byResource.take(resource, cost)) {
        metrics.tokens.add(cost);
        return undefined;
      }
      byClient.give(client, cost);
      return this.#beyond(request, client, { bytes, contentType }, { limit: 'resource', bucket: resource });
    }
    return this.#beyond(request, client, { bytes, contentType }, { limit: 'ip', bucket: client });
  }

  /** What is left of the regular tokens and the rest from paid ones; past the resource's limit, paid ones alone. */
  async #beyond(
    request: Request,
    client: string,
    body: EgressBody,
    { limit, bucket }: { readonly limit: 'ip' | 'resource'; readonly bucket: string },
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

/**
 * GET /info: the wallets that chain payments go to; clients read it before they pay.
 * GET /health, /metrics: for whoever watches the service. Probes ask all of them with HEAD too.
 */
import { Type } from 'typebox';
import { type App, originOf, type Request } from '../../kernel/http/app.ts';
import type { Health } from '../../kernel/http/health.ts';
import { type Greeting, greet } from '../../kernel/http/page/greeting.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { cacheMinute, neverCache, sendExact } from '../answers.ts';

export interface ServiceInfo {
  readonly version: string;
  /** Token -> wallet. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly gateway: string;
  readonly gateways: readonly string[];
  readonly freeUploadLimitBytes?: number;
  /** Within how many days of its payment what is left of it can be returned, and what of it is kept; absent: it cannot. */
  readonly returns?: { readonly windowDays: number; readonly feePercent: number };
  /** Whether signatures that act must name this service (`x-service-address`). */
  readonly boundSignatures?: 'optional' | 'required';
}

/** `greeting`: at the root people are greeted with a page. */
export function infoRoutes(
  app: App,
  info: () => ServiceInfo,
  greeting?: (request: Request) => Greeting,
): void {
  for (const path of ['/info', '/']) {
    app.route({
      method: 'GET',
      url: path,
      schema: {
        summary: 'Version, gateway, and the wallets that chain payments go to',
        response: {
          200: Type.Object(
            {
              version: Type.String(),
              addresses: Type.Record(Type.String(), Type.String()),
              gateway: Type.String(),
              gateways: Type.Array(Type.String()),
            },
            { additionalProperties: true },
          ),
        },
      },
      handler: (request, reply) => {
        if (greeting !== undefined && path === '/' && greet(request, reply, greeting)) return;
        sendExact(reply, info(), cacheMinute);
      },
    });
  }
}

/** `isPlayMoney`: nothing here costs anything. */
export function paymentGreeting(request: Request, isPlayMoney: boolean): Greeting {
  const origin = originOf(request);
  return {
    title: 'Payment and names',
    about:
      'Storage credits: what storage costs, paying by card or in tokens, balances and sharing, and names.',
    ...(isPlayMoney && { badge: 'Local network: play money' }),
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/v1/price/bytes/1048576', what: 'what a mebibyte costs' },
      { path: '/v1/rates', what: 'what a gibibyte costs in each currency' },
      { path: '/v1/info', what: 'version, and where tokens are paid to' },
      { path: '/health', what: 'whether it runs' },
    ],
    next: {
      text: 'Put the address of a wallet in, and open the url that this answers to buy credits for ten dollars:',
      command: `curl ${origin}/v1/top-up/checkout-session/{address}/usd/1000`,
    },
  };
}

export function watchRoutes(app: App, metrics: Metrics, health: Health): void {
  app.route({
    method: 'GET',
    url: '/health',
    schema: {
      summary: 'OK while the service runs; with `strict=true`, 503 and why, while it is not well',
      response: { 200: Type.String(), 503: Type.String() },
    },
    handler: async (request, reply) => {
      const trouble = await health.trouble(request);
      // The contract's string: as JSON for those who ask for it, bare for probes that compare the text.
      const text = trouble?.join(' ') ?? 'OK';
      const isJson = request.headers.accept?.includes('application/json') === true;
      if (trouble !== undefined) reply.code(503);
      return reply
        .header('content-type', isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8')
        .header('cache-control', neverCache)
        .send(isJson ? JSON.stringify(text) : text);
    },
  });
  app.route({
    method: 'GET',
    url: '/metrics',
    schema: { summary: 'Metrics in the Prometheus text format', response: { 200: Type.String() } },
    handler: async (_request, reply) => {
      reply.header('content-type', metrics.contentType).header('cache-control', neverCache);
      return metrics.text();
    },
  });
}

/**
 * GET /info: the wallets that chain payments go to; clients read it before they pay.
 * GET /health, /metrics: for whoever watches the service. Probes ask all of them with HEAD too.
 */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { cacheMinute, neverCache, sendExact, sendJsonText } from '../answers.ts';

export interface ServiceInfo {
  readonly version: string;
  /** Token -> wallet. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly gateway: string;
  readonly gateways: readonly string[];
  readonly freeUploadLimitBytes?: number;
  /** Whether signatures that act must name this service (`x-service-address`). */
  readonly boundSignatures?: 'optional' | 'required';
}

export function infoRoutes(app: App, info: () => ServiceInfo): void {
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
      handler: (_request, reply) => sendExact(reply, info(), cacheMinute),
    });
  }
}

export function watchRoutes(app: App, metrics: Metrics): void {
  app.route({
    method: 'GET',
    url: '/health',
    schema: { summary: 'OK while the service runs', response: { 200: Type.String() } },
    handler: ({ headers }, reply) => {
      // The contract's string: as JSON for those who ask for it, bare for probes that compare the text.
      if (headers.accept?.includes('application/json')) return sendJsonText(reply, '"OK"', neverCache);
      reply
        .header('content-type', 'text/plain; charset=utf-8')
        .header('cache-control', neverCache)
        .send('OK');
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

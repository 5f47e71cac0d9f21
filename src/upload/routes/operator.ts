/** `GET /health` and the metrics, for operators and their probes, which ask with HEAD too. */
import type { Health } from '../../kernel/http/health.ts';
import type { App } from '../../kernel/http/server.ts';
import type { Metrics } from '../../kernel/metrics.ts';

export function operatorRoutes(app: App, metrics: Metrics, health: Health): void {
  app.route({
    method: 'GET',
    url: '/health',
    schema: { summary: 'OK while the service runs; with `strict=true`, 503 and why, while it is not well' },
    handler: async (request, reply) => {
      const trouble = await health.trouble(request);
      if (trouble !== undefined) reply.code(503);
      return reply
        .header('content-type', 'text/plain; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(trouble?.join('\n') ?? 'OK');
    },
  });
  for (const path of ['/metrics', '/bundler_metrics']) {
    app.route({
      method: 'GET',
      url: path,
      schema: { summary: 'Prometheus metrics' },
      handler: async (_request, reply) =>
        reply.header('content-type', metrics.contentType).send(await metrics.text()),
    });
  }
}

/** `GET /health` and the metrics, for operators and their probes, which ask with HEAD too. */
import type { App } from '../../kernel/http/server.ts';
import type { Metrics } from '../../kernel/metrics.ts';

export function operatorRoutes(app: App, metrics: Metrics): void {
  app.route({
    method: 'GET',
    url: '/health',
    schema: { summary: 'The process answers' },
    handler: async (_request, reply) => reply.header('content-type', 'text/plain; charset=utf-8').send('OK'),
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

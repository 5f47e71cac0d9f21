/** Whether the process runs, whether it can serve, and the record that guards of gateways expect (interface §4.5). */
import type { App } from '../../kernel/http/server.ts';
import type { RouterParts } from '../parts.ts';

/** `3d 4h 5m`, `4h 5m 6s`, `5m 6s`, `6s`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1_000);
  const [d, h, m, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  if (d > 0) return `${d}d ${h}h ${m}m`;
  if (h > 0) return `${h}h ${m}m ${s}s`;
  return m > 0 ? `${m}m ${s}s` : `${s}s`;
}

export function uptimeOf(parts: RouterParts): { ms: number; human: string } {
  const ms = Math.round(performance.now() - parts.startedAt);
  return { ms, human: humanDuration(ms) };
}

/** What works less well than it should; the router serves all the same. */
export function problemsOf(parts: RouterParts): string[] {
  const found: string[] = [];
  if (parts.gateways.problem !== undefined) found.push(`gateway list: ${parts.gateways.problem}`);
  if (parts.telemetry?.problem !== undefined) found.push(`telemetry: ${parts.telemetry.problem}`);
  if (parts.known.problem !== undefined) found.push(`content index: ${parts.known.problem}`);
  if (parts.blocklist?.problem !== undefined) found.push(`blocklist: ${parts.blocklist.problem}`);
  if (!parts.content.cacheUsable) found.push('content cache: cannot be written');
  return found;
}

export function healthRoutes(app: App, parts: RouterParts): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/health',
    schema: { summary: 'Whether the process runs' },
    handler: (_request, reply) => {
      const problems = problemsOf(parts);
      return reply.header('cache-control', 'no-store').send({
        status: parts.draining() ? 'draining' : 'healthy',
        uptime: uptimeOf(parts),
        version: parts.version,
        ...(problems.length === 0 ? {} : { degraded: true, degradedReason: problems.join('; ') }),
      });
    },
  });

  app.route({
    method: ['GET', 'HEAD'],
    url: '/ready',
    schema: { summary: 'Whether the router can serve' },
    handler: (_request, reply) => {
      const counts = parts.gateways.counts();
      const reason = notReadyReason(parts);
      reply.header('cache-control', 'no-store');
      if (reason === undefined) return reply.send({ status: 'ready', gateways: counts });
      return reply.code(503).send({ status: 'not_ready', reason, gateways: counts });
    },
  });
}

function notReadyReason(parts: RouterParts): string | undefined {
  if (parts.draining()) return 'Server is shutting down';
  const { total, healthy } = parts.gateways.counts();
  if (total === 0) return 'No gateways known';
  if (healthy === 0) return 'No healthy gateways available';
  const verifiers = parts.gateways.verification.filter(({ health }) => health.usable).length;
  return verifiers < parts.settings.consensusThreshold
    ? 'Too few verification gateways available to resolve names'
    : undefined;
}

/** Under `/gw`: the Gateway health record. */
export function guardRoutes(app: App, parts: RouterParts): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/healthcheck',
    schema: { summary: 'Health check in the form that gateways have' },
    handler: (_request, reply) => {
      const draining = parts.draining();
      const reasons = draining ? ['shutting down'] : problemsOf(parts);
      return reply
        .code(draining ? 503 : 200)
        .header('cache-control', 'no-store')
        .send({
          status: draining ? 'unhealthy' : 'ok',
          uptime: Math.round(performance.now() - parts.startedAt) / 1_000,
          date: new Date().toISOString(),
          reasons,
        });
    },
  });
}

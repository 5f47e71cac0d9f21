/** Whether the process runs, whether it can serve, and the record that guards of gateways expect (interface §4.5). */
import type { App, Reply } from '../../kernel/http/server.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';

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

/** What the router says about its own state. */
export interface RouterHealth {
  readonly version: string;
  /** By the clock of `performance.now`. */
  readonly startedAt: number;
  /** True once the router takes no new work. */
  readonly isDraining: () => boolean;
  /** What works less well than it should; the router serves all the same. */
  readonly problems: () => readonly string[];
  readonly gateways: GatewaySet;
  readonly consensusThreshold: number;
}

export function uptimeOf({ startedAt }: RouterHealth): { ms: number; human: string } {
  const ms = Math.round(performance.now() - startedAt);
  return { ms, human: humanDuration(ms) };
}

export function healthRoutes(app: App, health: RouterHealth): void {
  stateRoute(app, '/health', 'Whether the process runs', () => {
    const problems = publicProblems(health);
    return {
      status: health.isDraining() ? 'draining' : 'healthy',
      uptime: uptimeOf(health),
      version: health.version,
      ...(problems.length === 0 ? {} : { degraded: true, degradedReason: problems.join('; ') }),
      ...listTrouble(health.gateways),
    };
  });
  stateRoute(app, '/ready', 'Whether the router can serve', (reply) => {
    const gateways = health.gateways.counts();
    const reason = notReadyReason(health);
    if (reason === undefined) return { status: 'ready', gateways };
    reply.code(503);
    return { status: 'not_ready', reason, gateways };
  });
}

/** In quotes, as the system names files, or from the root, where it is no part of an address. */
const filePath = /'[^']*\/[^']*'|(?<![\w:/])\/[^\s'"]+/g;

/** Anybody may read these: they are told without where files are. */
function publicProblems({ problems }: RouterHealth): string[] {
  return problems().map((problem) => problem.replace(filePath, '…'));
}

/** While a list of gateways cannot be read: what the router goes on with, and why. */
function listTrouble({ problem, failedReads, routing }: GatewaySet) {
  if (problem === undefined) return {};
  return { network: { gatewayCount: routing.length, fetchFailures: failedReads, lastError: problem } };
}

/** What holds at this moment only, and is kept by nobody. */
export function stateRoute(app: App, url: string, summary: string, state: (reply: Reply) => unknown): void {
  app.route({
    method: 'GET',
    url,
    schema: { summary, hide: url === '' },
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').send(await state(reply)),
  });
}

function notReadyReason(health: RouterHealth): string | undefined {
  if (health.isDraining()) return 'Server is shutting down';
  const { total, healthy } = health.gateways.counts();
  if (total === 0) return 'No gateways known';
  if (healthy === 0) return 'No healthy gateways available';
  const verifiers = health.gateways.verification.filter(({ health }) => health.usable).length;
  return verifiers < health.consensusThreshold
    ? 'Too few verification gateways available to resolve names'
    : undefined;
}

/** Under `/gw`: the Gateway health record. */
export function guardRoutes(app: App, health: RouterHealth): void {
  stateRoute(app, '/healthcheck', 'Health check in the form that gateways have', (reply) => {
    const draining = health.isDraining();
    reply.code(draining ? 503 : 200);
    return {
      status: draining ? 'unhealthy' : 'ok',
      uptime: Math.round(performance.now() - health.startedAt) / 1_000,
      date: new Date().toISOString(),
      reasons: draining ? ['shutting down'] : publicProblems(health),
    };
  });
}

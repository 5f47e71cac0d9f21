/** Figures about gateways (interface §4.5). */
import { Type } from 'typebox';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import type { App } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { managementError } from '../errors.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import { detail, type Period, summarize, toCsv, totals } from '../telemetry/summary.ts';
import { cacheOrigin, type Telemetry } from '../telemetry/telemetry.ts';

const Query = Type.Object({
  start: Type.Optional(Type.String({ description: 'ISO 8601; default 24 hours ago' })),
  end: Type.Optional(Type.String({ description: 'ISO 8601; default now' })),
  format: Type.Optional(Type.String({ description: 'json (default) or csv' })),
});
const invalid = { error: 'Invalid time range' };
const dayMs = 86_400_000;
const iso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

export interface StatsDeps {
  readonly telemetry: Telemetry | undefined;
  readonly gateways: GatewaySet;
  readonly log: Logger;
  /** Who exports: told beside the figures. */
  readonly router: {
    readonly routerId: string | undefined;
    readonly version: string;
    readonly baseDomain: string;
  };
}

export function statsRoutes(app: App, deps: StatsDeps): void {
  app.get('/stats/gateways', options('Summary of all gateways'), async (request, reply) => {
    const period = periodOf(request.query);
    const gateways = summarize(await hoursOf(deps, period, 'Failed to retrieve stats'), period.period);
    return reply.send({ period: period.shown, gateways, count: gateways.length });
  });

  app.get('/stats/gateways/list', options('Gateways that are tracked'), async (_request, reply) => {
    const telemetry = telemetryOf(deps);
    const seen = await telemetry.gateways().catch(failed(deps, 'Failed to retrieve stats'));
    const gateways = [...new Set([...seen, ...deps.gateways.all.map(({ origin }) => origin)])].sort();
    return reply.send({ gateways, count: gateways.length });
  });

  app.get(
    '/stats/gateways/:gateway',
    {
      schema: {
        summary: 'One gateway, hour by hour',
        params: Type.Object({ gateway: Type.String({ description: 'Origin, percent-encoded, or a host' }) }),
        querystring: Query,
      },
      config: { invalid },
    },
    async (request, reply) => {
      const telemetry = telemetryOf(deps);
      const period = periodOf(request.query);
      const gateway = trackedOrigin(deps, request.params.gateway);
      const hours = await telemetry
        .hours(period.period.start, period.period.end, gateway)
        .catch(failed(deps, 'Failed to retrieve gateway stats'));
      if (hours.length === 0 && deps.gateways.find(gateway) === undefined) {
        throw managementError(404, 'Gateway not found or no data', { gateway: request.params.gateway });
      }
      return reply.send({ gateway, period: period.shown, ...detail(hours) });
    },
  );

  app.get('/stats/export', options('Figures for keeping elsewhere'), async (request, reply) => {
    const period = periodOf(request.query);
    const gateways = summarize(await hoursOf(deps, period, 'Failed to export data'), period.period);
    const start = period.period.start.toISOString();
    const end = period.period.end.toISOString();
    if (request.query.format === 'csv') {
      const name = `gateway-stats-${start}-${end}.csv`.replaceAll(':', '');
      return reply
        .header('content-type', 'text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(toCsv(gateways));
    }
    return reply.send({
      exportedAt: new Date().toISOString(),
      period: { start, end },
      routerInfo: deps.router,
      gateways,
      totals: totals(gateways),
    });
  });
}

function options(summary: string) {
  return { schema: { summary, querystring: Query }, config: { invalid } };
}

function telemetryOf({ telemetry }: StatsDeps): Telemetry {
  if (telemetry === undefined) throw managementError(503, 'Telemetry not enabled');
  return telemetry;
}

async function hoursOf(deps: StatsDeps, { period }: { period: Period }, failure: string) {
  return await telemetryOf(deps).hours(period.start, period.end).catch(failed(deps, failure));
}

/** Why is for the operator: it may name files. */
function failed({ log }: StatsDeps, message: string) {
  return (error: unknown): never => {
    log.error({ err: error }, 'telemetry cannot be read');
    throw managementError(500, message);
  };
}

/** The window, and how it is shown: literal words where the caller gave no bounds. */
export function periodOf(query: { readonly start?: string; readonly end?: string }) {
  const end = momentOf(query.end) ?? new Date();
  const start = momentOf(query.start) ?? new Date(end.getTime() - dayMs);
  if (start > end) throw managementError(400, 'Invalid time range');
  return {
    period: { start, end },
    shown: { start: query.start ?? 'last 24 hours', end: query.end ?? 'now' },
  };
}

function momentOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  // A time without a zone is in UTC, as the hours are, wherever the router runs.
  const zoned = /T.*(?:Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`;
  const moment = iso.test(text) ? new Date(zoned) : new Date(Number.NaN);
  if (Number.isNaN(moment.getTime())) throw managementError(400, 'Invalid time range');
  return moment;
}

/** The origin that is meant: given whole, or by its host. */
function trackedOrigin({ gateways }: StatsDeps, given: string): string {
  if (given === cacheOrigin || given.includes('://')) return given.replace(/\/+$/, '');
  return gateways.all.find(({ host }) => host === asciiLowerCase(given))?.origin ?? given;
}

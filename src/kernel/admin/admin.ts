/**
 * The operator's side of a surface: what every surface answers there, what its parts add, and the key that all of it wants.
 * Whatever may change something is in the audit log with who asked and what came of it; reads are in the log.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type Actor, AuditLog, fingerprintOf } from '../audit-log.ts';
import type { App, Request } from '../http/app.ts';
import { createErrorMapper } from '../http/error-mapper.ts';
import { mountGuarded } from '../http/guard.ts';
import type { Logger } from '../log.ts';
import { processLogTail } from '../log-tail.ts';
import type { Part } from '../part.ts';
import { adminGuard } from './guard.ts';
import { auditRoute } from './routes/audit.ts';
import { configRoute } from './routes/config.ts';
import { LogReaders } from './routes/logs.ts';
import { type StateDeps, stateRoute } from './routes/state.ts';

export interface AdminOptions extends Omit<StateDeps, 'config' | 'startedAt'> {
  readonly config: Config;
  readonly key: string;
  readonly log: Logger;
  /** What the rooms below throw, as an answer. */
  readonly translate: (error: unknown) => unknown;
  /** Routes that tell the audit log themselves, or are asked too often for it. */
  readonly unaudited?: RegExp;
}

export interface Admin extends Required<Pick<Part, 'routes' | 'drain' | 'stop' | 'problems'>> {
  readonly audit: AuditLog;
  /** Whose call it is, for the audit log. */
  actor(request: Request): Actor;
}

const mapError = createErrorMapper((_status, message) => message);

/** The prefix of its routes is `/admin` in whatever scope they are mounted. */
export function createAdmin(options: AdminOptions): Admin {
  const { config, surface, key, log } = options;
  const audit = new AuditLog(join(config.DATA_DIR, `${surface}-audit.jsonl`), surface, log);
  const guard = adminGuard(key);
  const who = fingerprintOf(key);
  const actor = (request: Request): Actor => ({ who, via: 'api', from: request.ip });
  const logs = new LogReaders(processLogTail);
  const startedAt = Date.now();
  return {
    audit,
    actor,
    routes: (app) =>
      mountGuarded(app, '/admin', guard, async (scope) => {
        scope.setErrorHandler((error, request, reply) => mapError(options.translate(error), request, reply));
        takeEmptyBodies(scope);
        auditCalls(scope, { audit, actor, log, unaudited: options.unaudited });
        stateRoute(scope, { ...options, startedAt });
        configRoute(scope, config);
        logs.route(scope);
        auditRoute(scope, audit);
        for (const part of options.parts()) await part.adminRoutes?.(scope);
      }),
    async drain() {
      logs.end();
      return true;
    },
    async stop() {
      logs.end();
    },
    problems: () => audit.problems(),
  };
}

interface AuditedCalls extends Pick<Admin, 'audit' | 'actor'> {
  readonly log: Logger;
  readonly unaudited: RegExp | undefined;
}

/** Who did what, with what, and what came of it. A read is logged; what may change something is in the audit log. */
function auditCalls(scope: App, { audit, actor, log, unaudited }: AuditedCalls): void {
  scope.addHook('onSend', async (request, reply) => {
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? '';
    const { statusCode: status } = reply;
    // Without the key nothing was done; strangers do not fill the log of what was.
    if (status === 401) return;
    const call = { ...actor(request), action: route.slice(route.lastIndexOf('/admin/') + '/admin/'.length) };
    const isRead = method === 'GET' || method === 'HEAD' || status === 405;
    const isNoRoute = status === 404 && route.endsWith('*');
    if (isRead || isNoRoute || unaudited?.test(route) === true) {
      log.debug({ ...call, method, status }, 'operator call');
    } else await audit.record({ ...call, given: request.body, result: `answered ${status}` });
  });
}

/** No body at all and an empty one are the same: the route says what is missing. */
function takeEmptyBodies(scope: App): void {
  const parse = scope.getDefaultJsonParser('error', 'error');
  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parse(request, body, done);
  });
}

/**
 * `/api/operator`: what operators ask their services, with the key that the session has for each. The page never sees a
 * key, and a service sees no cookie.
 */
import { Type } from 'typebox';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import type { App, Request } from '../../kernel/http/app.ts';
import type { HttpClient } from '../../outside/http.ts';
import type { OperatorService, ServiceHealth, ServiceName } from '../api.ts';
import { notSignedIn, unknownService } from '../errors.ts';
import type { Forward } from '../forward.ts';
import { adminBase, operatorServices, type Reach } from '../reach.ts';
import { askState, textsOf } from '../watch/ask-services.ts';
import type { ChartStore } from '../watch/charts.ts';
import type { Sampler } from '../watch/sampler.ts';
import { forwardedScope, restOf } from './forwarded.ts';
import type { OperatorKey } from './session.ts';

export interface OperatorDeps {
  readonly client: HttpClient;
  readonly reach: Reach;
  readonly forward: Forward;
  readonly keyOf: OperatorKey;
  readonly charts: ChartStore;
  readonly sampler: Sampler;
}

export function operatorRoutes(app: App, deps: OperatorDeps): void {
  const { reach, forward, keyOf } = deps;
  app.get(
    '/operator/charts',
    {
      schema: {
        summary: 'Figures of the last hour',
        querystring: Type.Object({ since: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })) }),
      },
    },
    async (request) => {
      await anyKey(request, keyOf);
      deps.sampler.wake();
      return deps.charts.read(Number(request.query.since ?? 0));
    },
  );
  app.get('/operator/health', { schema: { summary: 'How every service is' } }, async (request) => {
    await anyKey(request, keyOf);
    return await Promise.all(
      (Object.entries(reach.services()) as [ServiceName, string][]).map(([name, url]) =>
        healthOf(deps, request, name, url),
      ),
    );
  });
  forwardedScope(app, (scope) => {
    for (const service of operatorServices) {
      const prefix = `/operator/${service}`;
      scope.route({
        method: ['GET', 'POST', 'PUT', 'DELETE'],
        url: `${prefix}/*`,
        schema: { summary: `What operators ask the ${service}` },
        handler: async (request, reply) => {
          const key = await keyOf(request, service);
          const base = adminBase(reach, service);
          if (base === undefined) throw unknownService(service);
          const headers = { authorization: `Bearer ${key}` };
          return await forward(request, reply, {
            name: service,
            base,
            path: restOf(request, prefix),
            headers,
          });
        },
      });
    }
  });
}

/** Figures are for whoever is an operator of any service. */
async function anyKey(request: Request, keyOf: OperatorKey): Promise<void> {
  for (const service of operatorServices) {
    const key = await keyOf(request, service).catch(() => undefined);
    if (key !== undefined) return;
  }
  throw notSignedIn();
}

/** What everybody may know, and what the service tells its operator besides. */
async function healthOf(
  { client, reach, keyOf }: OperatorDeps,
  request: Request,
  name: ServiceName,
  url: string,
): Promise<ServiceHealth> {
  const state = await askState(client, name, url);
  const told = state.up && (name === 'payment' || name === 'upload') ? await problemsOf(name) : [];
  return { name, url, ...state, problems: [...new Set([...state.problems, ...told])] };

  async function problemsOf(service: OperatorService): Promise<string[]> {
    const [base, key] = [adminBase(reach, service), await keyOf(request, service).catch(() => undefined)];
    if (base === undefined || key === undefined) return [];
    const headers = { authorization: `Bearer ${key}` };
    const answer = await client.call(`${base}/state`, { headers }).catch(() => undefined);
    return answer?.status === 200 ? textsOf(memberOf(tryParseJson(answer.body.toString()), 'problems')) : [];
  }
}

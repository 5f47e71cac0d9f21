/**
 * How each service says whether it is well, over the routes that everybody may ask. An answer that is none of the
 * service's words is an answer all the same: services that speak the contract need not tell more.
 */
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import type { HttpAnswer, HttpClient } from '../../outside/http.ts';
import type { ServiceName, ServiceState } from '../api.ts';

const timeoutMs = 3_000;
const maxBytes = 256 * 1024;
const maxProblems = 20;

export interface AskedState extends ServiceState {
  readonly ready?: boolean | undefined;
}

type Ask = (path: string) => Promise<HttpAnswer>;

const states: Readonly<Record<ServiceName, (ask: Ask) => Promise<AskedState>>> = {
  gateway: async (ask) => {
    const [health, info] = await Promise.all([
      first(ask, '/gw/healthcheck', '/ar-io/healthcheck'),
      gatewayInfo(ask),
    ]);
    const problems = textsOf(memberOf(jsonOf(health), 'reasons'));
    return {
      ...stateOf(health),
      problems,
      ready: health.status === 200,
      version: textOf(info, 'release', 60),
    };
  },
  payment: async (ask) => {
    const answer = await ask('/v1/info');
    return { ...stateOf(answer), version: textOf(jsonOf(answer), 'version', 60) };
  },
  upload: async (ask) => stateOf(await ask('/v1/info')),
  router: async (ask) => {
    const [health, ready] = await Promise.all([ask('/router/health'), ask('/router/ready')]);
    const problem = textOf(jsonOf(health), 'degradedReason', 500);
    const reason = ready.status === 503 ? textOf(jsonOf(ready), 'reason', 500) : undefined;
    return {
      ...stateOf(health),
      problems: [problem, reason].filter((text) => text !== undefined),
      ready: ready.status === 404 ? undefined : ready.status === 200,
      version: textOf(jsonOf(health), 'version', 60),
    };
  },
  arweave: async (ask) => stateOf(await ask('/info')),
  solana: async (ask) => stateOf(await ask('/health')),
  card: async (ask) => stateOf(await ask('/')),
  x402: async (ask) => stateOf(await ask('/supported')),
};

/** Never throws: a service that is away says nothing. */
export async function askState(client: HttpClient, name: ServiceName, base: string): Promise<AskedState> {
  try {
    return await states[name]((path) => client.call(`${base}${path}`, { timeoutMs, maxBytes }));
  } catch {
    return { up: false, problems: [], ready: false };
  }
}

async function gatewayInfo(ask: Ask): Promise<unknown> {
  return jsonOf(await first(ask, '/gw/info', '/ar-io/info'));
}

async function first(ask: Ask, path: string, otherwise: string): Promise<HttpAnswer> {
  const answer = await ask(path);
  return answer.status === 404 ? await ask(otherwise) : answer;
}

const jsonOf = ({ body }: HttpAnswer): unknown => tryParseJson(body.toString());

const stateOf = ({ status }: HttpAnswer): AskedState => ({ up: status < 500, problems: [] });

export function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  const texts = value.map((one) =>
    typeof one === 'string' ? one : isRecord(one) ? textOf(one, 'message') : undefined,
  );
  return texts
    .filter((text) => text !== undefined)
    .slice(0, maxProblems)
    .map((text) => text.slice(0, 500));
}

/** `POST /graphql`, `GET /graphql`, the page to try it, and subscriptions over WebSocket at the same path. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Type } from 'typebox';
import type { ReaderLimits } from '../../events/streams/reader-limits.ts';
import type { ForkedChain } from '../../fork/chain.ts';
import { isRecord, tryParseJson } from '../../formats/json.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { TextAnswers } from '../../kernel/http/text-answers.ts';
import { routeUpgrades, upgradeOf } from '../../kernel/http/upgrades.ts';
import type { Part } from '../../kernel/part.ts';
import { wantsOwnOnly } from '../../outside/fork-header.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { CompletenessReader } from '../chain-index/completeness.ts';
import type { ChainFeed } from '../events/source.ts';
import type { Meter } from '../meter.ts';
import { RequestBudget } from './cost.ts';
import { badRequest, type GraphqlAnswer, GraphqlService, type PreparedQuery } from './execute.ts';
import { ForkedEntries } from './forked.ts';
import { parseOperation } from './operation.ts';
import { graphqlPage, graphqlPagePolicy } from './page.ts';
import type { GraphqlSockets } from './sockets.ts';

const jsonType = 'application/json; charset=utf-8';
const maxBodyBytes = 1024 * 1024;
/** Operations in one request at most. */
const maxBatch = 10;

const Body = Type.Object({
  query: Type.String(),
  variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  operationName: Type.Optional(Type.String()),
});

export interface GraphqlDeps extends Pick<GatewayContext, 'index' | 'log' | 'metrics'> {
  readonly meter: Meter;
  readonly completeness: CompletenessReader;
  /** Whose index is asked for ids that are not in ours. */
  readonly fork?: ForkedChain | undefined;
  /** What subscriptions are told from. */
  readonly events: { readonly feed: ChainFeed; readonly limits: ReaderLimits };
}

export function createGraphqlPart({
  index,
  log,
  metrics,
  meter,
  completeness,
  fork,
  events,
}: GraphqlDeps): Part {
  const { feed, limits } = events;
  const forked = fork && new ForkedEntries(index, fork);
  const service = new GraphqlService(index, log, { completeness, fork: forked, feed });
  /** Loaded with the first handshake: few clients have one. */
  let sockets: Promise<GraphqlSockets> | undefined;
  let opened: GraphqlSockets | undefined;
  let isDraining = false;
  const openSockets = async () => {
    const { GraphqlSockets } = await import('./sockets.ts');
    opened = new GraphqlSockets({ service, limits, log });
    return opened;
  };
  const requests = metrics.plainCounter('graphql_requests_total', 'GraphQL operations');
  metrics.shareGauge(
    'graphql_compiled_bytes',
    'Memory that compiled queries are reckoned to take',
    () => service.compiledBytes,
  );
  metrics.shareGauge('graphql_sockets', 'Open WebSockets for subscriptions', () => opened?.count ?? 0);

  /** At once where nothing is waited for: each wait costs a small answer a good part of its time. */
  function answerAll(body: unknown, request: Request, reply: Reply): GraphqlAnswer | Promise<GraphqlAnswer> {
    const { socket } = request.raw;
    const isGone = () => socket.destroyed;
    const ownOnly = wantsOwnOnly(request.headers);
    if (Array.isArray(body)) return answerBatch(body, request, reply, isGone, ownOnly);
    const operation = prepare(body, new RequestBudget());
    const charged = charge(operation.cost, request, reply);
    if (charged === undefined) return operation.answer(isGone, ownOnly);
    return charged.then(() => operation.answer(isGone, ownOnly));
  }

  async function answerBatch(
    body: readonly unknown[],
    request: Request,
    reply: Reply,
    isGone: () => boolean,
    ownOnly: boolean,
  ): Promise<GraphqlAnswer> {
    if (body.length === 0 || body.length > maxBatch) {
      return badRequest(`A batch has 1 to ${maxBatch} operations`);
    }
    const budget = new RequestBudget();
    const operations: PreparedQuery[] = [];
    for (const one of body) {
      operations.push(prepare(one, budget));
      // Reading a text takes milliseconds: others have their turn between two.
      await nextTurn();
    }
    const cost = operations.reduce((sum, operation) => sum + operation.cost, 0);
    await charge(cost, request, reply);
    const answers: string[] = [];
    for (const operation of operations) answers.push((await operation.answer(isGone, ownOnly)).body);
    return { status: 200, body: `[${answers.join(',')}]` };
  }

  function prepare(body: unknown, budget: RequestBudget): PreparedQuery {
    requests.add();
    const operation = parseOperation(body);
    if (typeof operation !== 'string') return service.prepare(operation, budget);
    return { cost: 0, answer: () => badRequest(operation) };
  }

  /** Before anything runs. All queries are one client's; there is no resource that many would read at once. */
  function charge(cost: number, request: Request, reply: Reply): Promise<void> | undefined {
    const charged = meter.charge(request, cost, undefined, 'application/json');
    return charged?.then((headers) => void reply.headers(headers));
  }

  const answers = new TextAnswers({ 'content-type': jsonType, 'cache-control': 'no-store' });
  const posted = (reply: Reply, answer: GraphqlAnswer): void => {
    if (answer.status === 200) answers.send(reply, answer.body);
    else send(reply, answer, 'no-store');
  };

  return {
    name: 'graphql',
    async drain() {
      isDraining = true;
      opened?.drain();
      return true;
    },
    routes(app) {
      app.register(async (scope: App) => {
        scope.setErrorHandler((error, _request, reply) => {
          // What another part refused, on a host of its own for example, is no matter of GraphQL.
          if (error instanceof HttpError && error.status !== 400) throw error;
          if (error instanceof HttpError) return send(reply, badRequest(String(error.body)), 'no-store');
          const refused = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
          if (typeof refused !== 'number' || refused >= 500 || !(error instanceof Error)) throw error;
          const words = refused === 415 ? 'Send the query as application/json' : error.message;
          return send(reply, { ...badRequest(words), status: refused }, 'no-store');
        });
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
          try {
            done(null, JSON.parse(typeof body === 'string' ? body : body.toString('utf8')));
          } catch {
            done(new HttpError(400, 'Body must be JSON'));
          }
        });
        scope.post(
          '/graphql',
          {
            bodyLimit: maxBodyBytes,
            schema: { summary: 'Query transactions and blocks', tags: ['graphql'], body: Body },
            // Refusals have GraphQL's own shape, so the handler checks the body.
            validatorCompiler: () => () => true,
          },
          (request, reply): unknown => {
            const answer = answerAll(request.body, request, reply);
            if (answer instanceof Promise) return answer.then((one) => posted(reply, one));
            posted(reply, answer);
            return undefined;
          },
        );
        routeUpgrades(app);
        const byUrl = async (request: Request, reply: Reply): Promise<Reply> => {
          const upgrade = upgradeOf(request);
          if (upgrade !== undefined) {
            sockets ??= openSockets();
            const ready = await sockets;
            if (isDraining) throw new HttpError(503, 'The gateway is stopping', { retryAfter: 1 });
            ready.accept(request, reply, upgrade);
            return reply;
          }
          const query = queryParameters(request.query);
          if (query === undefined) {
            if (!/\btext\/(?:html|\*)|\*\/\*/.test(request.headers.accept ?? '*/*')) {
              return send(reply, badRequest('Must provide query string.'), 'no-store');
            }
            return reply
              .header('content-type', 'text/html; charset=utf-8')
              .header('content-security-policy', graphqlPagePolicy)
              .header('cache-control', 'public, max-age=3600')
              .header('vary', 'Accept')
              .send(graphqlPage);
          }
          // What is metered must not be served on by somebody else's cache.
          const caching = `${meter.enabled ? 'private' : 'public'}, max-age=30`;
          return send(reply, await answerAll(query, request, reply), caching);
        };
        scope.get(
          '/graphql',
          {
            schema: {
              summary: 'Query by URL, a page to try queries, or subscriptions over WebSocket',
              tags: ['graphql'],
            },
          },
          byUrl,
        );
        scope.route({
          method: ['PUT', 'PATCH', 'DELETE'],
          url: '/graphql',
          schema: { hide: true },
          // Before a body is read, whatever its type.
          onRequest: async (request, reply) => {
            const allow = scope.methods.allowHeader(request, ['GET', 'HEAD', 'POST']);
            return send(
              reply.header('allow', allow),
              { ...badRequest('Use GET or POST'), status: 405 },
              'no-store',
            );
          },
          handler: async (_request, reply) => reply,
        });
      });
    },
  };
}

function send(reply: Reply, answer: GraphqlAnswer, cacheControl: string): Reply {
  return reply
    .code(answer.status)
    .header('content-type', jsonType)
    .header('cache-control', answer.status === 200 ? cacheControl : 'no-store')
    .send(answer.body);
}

/** The query of a URL as a body would have it; undefined when there is none. */
function queryParameters(query: unknown): unknown {
  if (!isRecord(query) || !('query' in query)) return undefined;
  const { variables, ...rest } = query;
  if (typeof variables !== 'string') return rest;
  const parsed = tryParseJson(variables);
  return { ...rest, variables: parsed === undefined ? variables : parsed };
}

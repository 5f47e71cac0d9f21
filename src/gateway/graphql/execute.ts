/** Operations of GraphQL requests, answered as JSON text in the standard's shape. */
import { type ExecutionArgs, type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql';
import { ForkUnavailable } from '../../fork/upstream.ts';
import type { Logger } from '../../kernel/log.ts';
import { CompletenessReader } from '../chain-index/completeness.ts';
import { HistoryUnavailable } from '../chain-index/history.ts';
import type { Interruption } from '../chain-index/page-request.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { ChainFeed } from '../events/source.ts';
import { RequestBudget, type Variables } from './cost.ts';
import type { ErrorCode } from './errors.ts';
import type { ForkedEntries } from './forked.ts';
import { hasTooManyValues, maxVariableValues } from './limits.ts';
import { maxErrors, Queries, RefusedQuery, type RunnableQuery } from './queries.ts';
import { createResolvers } from './resolvers.ts';
import { createSchema } from './schema.ts';
import { createSubscriptions } from './subscriptions.ts';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly operationName: string | undefined;
}

export interface GraphqlAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** An operation that was looked at and costs so much, answered or refused. */
export interface PreparedQuery {
  /** In bytes, as the meter counts them. */
  readonly cost: number;
  /** `isGone` says that the client has left, which ends the work. `ownOnly`: nothing of the fork is answered. */
  answer(isGone?: () => boolean, ownOnly?: boolean): GraphqlAnswer | Promise<GraphqlAnswer>;
}

export interface GraphqlServiceOptions {
  /** Where it is not given, all items are said to be indexed. */
  readonly completeness?: CompletenessReader;
  readonly fork?: ForkedEntries | undefined;
  /** What subscriptions are told from; there are none without. */
  readonly feed?: ChainFeed;
}

const deadlineMs = 12_000;

export class GraphqlService {
  readonly #schema: GraphQLSchema;
  readonly #queries: Queries;
  readonly #log: Logger;
  readonly #fork: ForkedEntries | undefined;

  constructor(index: SqlGatewayIndex, log: Logger, { completeness, fork, feed }: GraphqlServiceOptions = {}) {
    const told = completeness ?? new CompletenessReader(index.sql, { indexesAllItems: true });
    const resolvers = createResolvers(index, told, fork);
    this.#schema = createSchema<never>({
      ...resolvers,
      ...(feed !== undefined && createSubscriptions(index, feed)),
    });
    this.#queries = new Queries(this.#schema, () => createSchema(resolvers, { wholeRows: true }));
    this.#log = log;
    this.#fork = fork;
  }

  /** Bytes that compiled queries are reckoned to take. */
  get compiledBytes(): number {
    return this.#queries.compiledBytes;
  }

  /** Runs nothing yet. Operations of one request share a budget. */
  prepare(request: GraphqlRequest, budget = new RequestBudget()): PreparedQuery {
    const { query, operationName, variables = {} } = request;
    if (hasTooManyValues(variables)) {
      const refused = badRequest(`Variables have more than ${maxVariableValues} values`);
      return { cost: query.length, answer: () => refused };
    }
    try {
      const runnable = this.#queries.prepare({ query, operationName }, variables, budget);
      return {
        cost: query.length + runnable.cost.bytes,
        answer: (isGone, ownOnly = false) => this.#run(runnable, variables, isGone, ownOnly),
      };
    } catch (error) {
      if (!(error instanceof RefusedQuery)) throw error;
      const refused = refusal(error.errors.map((one) => shown(one, error.code)));
      return { cost: query.length, answer: () => refused };
    }
  }

  /** A subscription that may be run, or why it may not. */
  prepareSubscription({
    query,
    operationName,
    variables = {},
  }: GraphqlRequest): ExecutionArgs | GraphQLError[] {
    const refuse = (errors: readonly GraphQLError[], code: ErrorCode) =>
      errors.map(({ message, nodes = null, positions = null, source = null }) => {
        return new GraphQLError(message, { nodes, positions, source, extensions: { code } });
      });
    if (hasTooManyValues(variables)) {
      return refuse(
        [new GraphQLError(`Variables have more than ${maxVariableValues} values`)],
        'BAD_REQUEST',
      );
    }
    try {
      const document = this.#queries.readSubscription({ query, operationName }, variables);
      return { schema: this.#schema, document, operationName, variableValues: variables };
    } catch (error) {
      if (!(error instanceof RefusedQuery)) throw error;
      return refuse(error.errors, error.code);
    }
  }

  async answer(request: GraphqlRequest, isGone?: () => boolean): Promise<GraphqlAnswer> {
    return this.prepare(request).answer(isGone);
  }

  #run(
    query: RunnableQuery,
    variables: Variables,
    isGone: (() => boolean) | undefined,
    ownOnly: boolean,
  ): GraphqlAnswer | Promise<GraphqlAnswer> {
    const signal = new Deadline(performance.now() + deadlineMs, isGone);
    const forked = ownOnly || this.#fork === undefined ? undefined : new Set<string>();
    const result = query.run({ wants: query.wants, signal, forked }, variables);
    if (!(result instanceof Promise)) return this.#answerOf(query, result, signal, forked);
    return result.then((one) => this.#answerOf(query, one, signal, forked));
  }

  #answerOf(
    query: RunnableQuery,
    result: ExecutionResult,
    signal: Deadline,
    forked: ReadonlySet<string> | undefined,
  ): GraphqlAnswer {
    if (result.errors === undefined) {
      const body = `{"data":${query.stringify(result.data)}}`;
      return { status: 200, body: forked === undefined ? body : this.#marked(body, forked) };
    }
    const errors = result.errors.slice(0, maxErrors).map((error) => this.#shown(error, signal));
    // Variables that do not fit are found before anything runs: there is no data at all.
    if (result.data === undefined) return refusal(errors);
    // What is not known must not be taken for a whole answer, by caches and balancers neither.
    const isUnknown = errors.some(({ extensions }) => extensions.code === 'HISTORY_UNAVAILABLE');
    return {
      status: isUnknown ? 503 : 200,
      body: `{"data":${query.stringify(result.data)},"errors":${JSON.stringify(errors)}}`,
    };
  }

  /** An answer that says which ids of it are another network's. */
  #marked(body: string, forked: ReadonlySet<string>): string {
    if (forked.size === 0) return body;
    const extensions = { fork: { url: this.#fork?.shown, ids: [...forked] } };
    return `${body.slice(0, -1)},"extensions":${JSON.stringify(extensions)}}`;
  }

  /** Our own failures are logged and not shown. */
  #shown(error: GraphQLError, signal: Deadline): ShownError {
    const original: Error | null | undefined = error.originalError;
    // No resolver threw: the variables were refused.
    if (original === undefined || original === null) return shown(error, 'BAD_USER_INPUT');
    if (original instanceof GraphQLError) return shown(error, 'BAD_USER_INPUT');
    if (original instanceof HistoryUnavailable) {
      this.#log.warn({ err: original, path: error.path }, 'the history did not answer a query');
      return shown(error, 'HISTORY_UNAVAILABLE');
    }
    if (original instanceof ForkUnavailable) return shown(error, 'FORK_UNAVAILABLE');
    if (signal.passed) return { ...shown(error, 'INTERNAL_SERVER_ERROR'), message: 'Query took too long' };
    this.#log.error({ err: original, path: error.path }, 'query failed');
    return { ...shown(error, 'INTERNAL_SERVER_ERROR'), message: 'Internal Server Error' };
  }
}

/** An error as the standard has it on the wire. */
interface ShownError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: ErrorCode };
}

function shown(error: GraphQLError, code: ErrorCode): ShownError {
  return {
    message: error.message,
    ...(error.locations !== undefined && { locations: error.locations }),
    ...(error.path !== undefined && { path: error.path }),
    extensions: { code },
  };
}

/** Looked at between steps of a query: timers and listeners per request would cost more than most queries. */
class Deadline implements Interruption {
  readonly #until: number;
  readonly #isGone: (() => boolean) | undefined;

  constructor(until: number, isGone: (() => boolean) | undefined) {
    this.#until = until;
    this.#isGone = isGone;
  }

  get passed(): boolean {
    return performance.now() > this.#until || this.#isGone?.() === true;
  }

  throwIfAborted(): void {
    if (this.passed) throw new Error('the query took too long');
  }
}

function refusal(errors: readonly ShownError[]): GraphqlAnswer {
  return { status: 400, body: JSON.stringify({ errors }) };
}

/** A request that is not even a query. */
export function badRequest(message: string): GraphqlAnswer {
  return refusal([{ message, extensions: { code: 'BAD_REQUEST' } }]);
}

/**
 * Query texts become compiled functions, kept by text: parsing, validating and compiling cost a few
 * milliseconds, running a compiled query a fraction of one. Answers leave as JSON text.
 */
import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  parse,
  validate,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../kernel/log.ts';
import type { Interruption } from '../index/search.ts';
import type { SqlGatewayIndex } from '../index/sql-index.ts';
import type { ErrorCode } from './errors.ts';
import {
  checkLimits,
  hasTooManyValues,
  maxQueryLength,
  maxTokens,
  maxVariableValues,
  selectedFields,
} from './limits.ts';
import type { Wants } from './nodes.ts';
import { createResolvers, type QueryContext, rowBudget } from './resolvers.ts';
import { createSchema } from './schema.ts';

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

interface Compiled {
  readonly run: CompiledQuery['query'];
  readonly stringify: (result: ExecutionResult) => string;
  readonly wants: Wants;
}

/** Bytes of query text that are kept compiled; a compiled query is some fifty times its text. */
const keptText = 2 * 1024 * 1024;
const deadlineMs = 12_000;
/** Errors of one answer. */
const maxErrors = 20;

export class GraphqlService {
  readonly #schema: GraphQLSchema;
  readonly #log: Logger;
  readonly #compiled = new LRUCache<string, Compiled>({
    max: 1_000,
    maxSize: keptText,
    sizeCalculation: (_, key) => key.length + 1,
  });

  constructor(index: SqlGatewayIndex, log: Logger) {
    this.#schema = createSchema<QueryContext>(createResolvers(index));
    this.#log = log;
  }

  /** Answers one request; `isGone` says that the client has left, which ends the work. */
  async answer(request: GraphqlRequest, isGone?: () => boolean): Promise<GraphqlAnswer> {
    if (hasTooManyValues(request.variables)) {
      return badRequest(`Variables have more than ${maxVariableValues} values`);
    }
    let compiled: Compiled;
    try {
      compiled = this.#compile(request);
    } catch (error) {
      if (error instanceof RefusedQuery) return refusal(error.errors);
      throw error;
    }
    const signal = new Deadline(performance.now() + deadlineMs, isGone);
    const context: QueryContext = { wants: compiled.wants, signal, budget: rowBudget };
    const result = await compiled.run({}, context, request.variables ?? {});
    if (result.errors === undefined) return { status: 200, body: compiled.stringify(result) };
    const errors = result.errors.slice(0, maxErrors).map((error) => this.#shown(error, signal));
    // Variables that do not fit are found before anything runs: there is no data at all.
    if (result.data === undefined) return refusal(errors);
    return { status: 200, body: JSON.stringify({ data: result.data, errors }) };
  }

  #compile(request: GraphqlRequest): Compiled {
    const key = `${request.operationName ?? ''}\0${request.query}`;
    const kept = this.#compiled.get(key);
    if (kept !== undefined) return kept;
    const document = this.#shallow(() => this.#checked(request.query));
    const compiled = compileQuery(this.#schema, document, request.operationName, {
      customJSONSerializer: true,
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    if (!isCompiledQuery(compiled)) {
      throw new RefusedQuery(compiled.errors ?? [], 'GRAPHQL_VALIDATION_FAILED');
    }
    const made = { run: compiled.query, stringify: compiled.stringify, wants: selectedFields(document) };
    this.#compiled.set(key, made);
    return made;
  }

  /** The parser calls itself for each level: a text nested beyond the stack is the client's fault, not ours. */
  #shallow(read: () => DocumentNode): DocumentNode {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new RefusedQuery([new GraphQLError('Query is nested too deeply')], 'GRAPHQL_PARSE_FAILED');
    }
  }

  #checked(query: string): DocumentNode {
    if (query.length > maxQueryLength) {
      throw new RefusedQuery([new GraphQLError('Query text is too long')], 'GRAPHQL_PARSE_FAILED');
    }
    let document: DocumentNode;
    try {
      document = parse(query, { maxTokens });
    } catch (error) {
      throw new RefusedQuery([asGraphqlError(error)], 'GRAPHQL_PARSE_FAILED');
    }
    try {
      checkLimits(document);
    } catch (error) {
      throw new RefusedQuery([asGraphqlError(error)], 'GRAPHQL_VALIDATION_FAILED');
    }
    const errors = validate(this.#schema, document, undefined, { maxErrors });
    if (errors.length > 0) throw new RefusedQuery(errors, 'GRAPHQL_VALIDATION_FAILED');
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    if (operations.length === 0) {
      throw new RefusedQuery([new GraphQLError('Must provide an operation.')], 'GRAPHQL_VALIDATION_FAILED');
    }
    return document;
  }

  /** Our own failures are logged and not shown. */
  #shown(error: GraphQLError, signal: Deadline): ShownError {
    const original: Error | null | undefined = error.originalError;
    // No resolver threw: the variables were refused.
    if (original === undefined || original === null) return shown(error, 'BAD_USER_INPUT');
    if (original instanceof GraphQLError) return shown(error, 'BAD_USER_INPUT');
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

class RefusedQuery extends Error {
  readonly errors: readonly ShownError[];

  constructor(errors: readonly GraphQLError[], code: ErrorCode) {
    super('the query is refused');
    this.errors = errors.map((error) => shown(error, code));
  }
}

function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  throw error;
}

function refusal(errors: readonly ShownError[]): GraphqlAnswer {
  return { status: 400, body: JSON.stringify({ errors }) };
}

/** A request that is not even a query. */
export function badRequest(message: string): GraphqlAnswer {
  return refusal([{ message, extensions: { code: 'BAD_REQUEST' } }]);
}

/**
 * Query texts become something that can be run. A compiled query runs several times faster than an interpreted one, but
 * compiling takes milliseconds of everybody's thread and a hundred kilobytes of memory. So a text is compiled when it
 * comes again, or where interpreting it once would take longer than compiling it; one with very many fields never is.
 */
import { createHash } from 'node:crypto';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  validate,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { type Cost, type CostRule, costRule, RequestBudget, type Variables } from './cost.ts';
import { badInput, type ErrorCode } from './errors.ts';
import { checkLimits, maxQueryLength, maxTokens, selectedFields } from './limits.ts';
import type { Wants } from './nodes.ts';
import type { QueryContext } from './resolvers.ts';
import { RowWriters } from './row-writer.ts';

export interface QueryText {
  readonly query: string;
  readonly operationName: string | undefined;
}

/** A query that may be run, with what it costs with the variables it was asked for with. */
export interface RunnableQuery {
  readonly wants: Wants;
  readonly cost: Cost;
  run(context: QueryContext, variables: Variables): ExecutionResult | Promise<ExecutionResult>;
  /** The data of a result as JSON. */
  stringify(data: ExecutionResult['data']): string;
}

/** The text is refused before anything runs. */
export class RefusedQuery extends Error {
  readonly errors: readonly GraphQLError[];
  readonly code: ErrorCode;

  constructor(errors: readonly GraphQLError[], code: ErrorCode) {
    super('the query is refused');
    this.errors = errors;
    this.code = code;
  }
}

interface Compiled {
  readonly run: CompiledQuery['query'];
  readonly stringify: RunnableQuery['stringify'];
  readonly wants: Wants;
  readonly rule: CostRule;
}

interface Read {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly rule: CostRule;
}

/** Where an operation belongs that came the wrong way. */
const elsewhere: Readonly<Record<OperationTypeNode, string>> = {
  query: 'Send queries by POST; over WebSocket there are only subscriptions',
  subscription: 'Subscriptions are made over WebSocket (graphql-transport-ws) at this path',
  mutation: 'There is no mutation here, only queries and subscriptions',
};

/** Memory for compiled queries, and for parsed ones. */
const maxCompiledBytes = 64 * 1024 * 1024;
const maxDocumentBytes = 16 * 1024 * 1024;
/** Texts that came once, by their hash. */
const rememberedTexts = 10_000;
/** Errors of one answer. */
export const maxErrors = 20;
/** About twenty milliseconds of compiling. */
const maxCompiledFields = 200;
/** About thirty milliseconds of interpreting. */
const maxInterpretedValues = 16_000;

export class Queries {
  readonly #schema: GraphQLSchema;
  readonly #rows: RowWriters;
  readonly #makeWholeRows: () => GraphQLSchema;
  #wholeRows: GraphQLSchema | undefined;
  readonly #compiled: LRUCache<string, Compiled>;
  /** Of texts that come again and are too large to be compiled. */
  readonly #documents = new LRUCache<string, Read>({
    maxSize: maxDocumentBytes,
    sizeCalculation: ({ rule }, key) => documentBytes(rule.fields, key.length),
  });
  readonly #seen = new LRUCache<string, true>(atMost(rememberedTexts));

  /** `wholeRows` makes the schema for queries whose rows are written apart, when the first one comes. */
  constructor(schema: GraphQLSchema, wholeRows: () => GraphQLSchema, maxBytes = maxCompiledBytes) {
    this.#schema = schema;
    this.#rows = new RowWriters(schema);
    this.#makeWholeRows = wholeRows;
    this.#compiled = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ rule }, key) => compiledBytes(rule.fields, key.length),
    });
  }

  /** Bytes that compiled queries are reckoned to take. */
  get compiledBytes(): number {
    return this.#compiled.calculatedSize;
  }

  /** Throws `RefusedQuery` for a text that cannot be run, or that asks for more than the budget has left. */
  prepare(text: QueryText, variables: Variables, budget: RequestBudget): RunnableQuery {
    const key = `${text.operationName ?? ''}\0${text.query}`;
    const kept = this.#compiled.get(key);
    if (kept !== undefined) return runnable(kept, spend(kept.rule, variables, budget));
    const read = this.#documents.get(key) ?? this.#read(text);
    const cost = spend(read.rule, variables, budget);
    const { fields } = read.rule;
    const isRepeated = this.#isRepeated(key);
    const isFaster = interpretingMs(cost.values) > compilingMs(fields);
    if (fields <= maxCompiledFields && (isRepeated || isFaster)) {
      const compiled = this.#compile(read, text.operationName);
      this.#compiled.set(key, compiled);
      return runnable(compiled, cost);
    }
    if (cost.values > maxInterpretedValues) {
      throw new RefusedQuery(
        [
          badInput(
            `query of more than ${maxCompiledFields} fields asks for more than ${maxInterpretedValues} values`,
          ),
        ],
        'GRAPHQL_VALIDATION_FAILED',
      );
    }
    if (isRepeated) this.#documents.set(key, read);
    return this.#interpreted(read.document, text.operationName, cost);
  }

  /** Throws as `prepare` does. What a page of its rows would cost, a subscription may cost. */
  readSubscription(text: QueryText, variables: Variables): DocumentNode {
    const { document, rule } = this.#read(text, OperationTypeNode.SUBSCRIPTION);
    spend(rule, variables, new RequestBudget());
    return document;
  }

  #isRepeated(key: string): boolean {
    const hash = createHash('sha256').update(key).digest('base64');
    if (this.#seen.has(hash)) return true;
    this.#seen.set(hash, true);
    return false;
  }

  #compile({ document, operation, rule }: Read, operationName: string | undefined): Compiled {
    const split = this.#rows.split(document, operation);
    if (split !== undefined) this.#wholeRows ??= this.#makeWholeRows();
    const schema = split === undefined ? this.#schema : (this.#wholeRows ?? this.#schema);
    const compiled = compileQuery(schema, split?.document ?? document, operationName, {
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    if (!isCompiledQuery(compiled)) {
      throw new RefusedQuery(compiled.errors ?? [], 'GRAPHQL_VALIDATION_FAILED');
    }
    const stringify = split?.stringify ?? JSON.stringify;
    return { run: compiled.query, stringify, wants: selectedFields(document), rule };
  }

  #interpreted(document: DocumentNode, operationName: string | undefined, cost: Cost): RunnableQuery {
    return {
      wants: selectedFields(document),
      cost,
      run: (contextValue, variableValues) =>
        execute({ schema: this.#schema, document, operationName, contextValue, variableValues }),
      stringify: (data) => JSON.stringify(data),
    };
  }

  #read({ query, operationName }: QueryText, wanted = OperationTypeNode.QUERY): Read {
    const document = shallow(() => this.#checked(query));
    const operation = getOperationAST(document, operationName);
    if (operation === null || operation === undefined) {
      const none = !document.definitions.some(({ kind }) => kind === Kind.OPERATION_DEFINITION);
      const message = none
        ? 'Must provide an operation.'
        : operationName === undefined
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${operationName}".`;
      throw new RefusedQuery([new GraphQLError(message)], 'GRAPHQL_VALIDATION_FAILED');
    }
    if (operation.operation !== wanted) {
      throw new RefusedQuery([new GraphQLError(elsewhere[operation.operation])], 'GRAPHQL_VALIDATION_FAILED');
    }
    return { document, operation, rule: costRule(document, operation) };
  }

  #checked(query: string): DocumentNode {
    if (query.length > maxQueryLength) {
      throw new RefusedQuery([new GraphQLError('Query text is too long')], 'GRAPHQL_PARSE_FAILED');
    }
    const document = refusing('GRAPHQL_PARSE_FAILED', () => parse(query, { maxTokens }));
    refusing('GRAPHQL_VALIDATION_FAILED', () => checkLimits(document));
    const errors = validate(this.#schema, document, undefined, { maxErrors });
    if (errors.length > 0) throw new RefusedQuery(errors, 'GRAPHQL_VALIDATION_FAILED');
    return document;
  }
}

function runnable({ run, stringify, wants }: Compiled, cost: Cost): RunnableQuery {
  return { wants, cost, stringify, run: (context, variables) => run({}, context, variables) };
}

function spend(rule: CostRule, variables: Variables, budget: RequestBudget): Cost {
  const cost = rule.costOf(variables);
  refusing('GRAPHQL_VALIDATION_FAILED', () => budget.take(cost));
  return cost;
}

/** Measured with graphql-jit 0.8 and graphql 16; of a compiled query up to 480 times its text, most of it by fields. */
const compiledBytes = (fields: number, textLength: number): number =>
  16_384 + 6_144 * fields + 8 * textLength;
const documentBytes = (fields: number, textLength: number): number => 1_536 * fields + 8 * textLength;

/** Measured on a machine of 2024, the first run of a compiled query included; what counts is which is longer. */
const compilingMs = (fields: number): number => 3 + 0.12 * fields;
const interpretingMs = (values: number): number => 0.002 * values;

/** The parser calls itself for each level: a text nested beyond the stack is the client's fault, not ours. */
function shallow(read: () => DocumentNode): DocumentNode {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RefusedQuery([new GraphQLError('Query is nested too deeply')], 'GRAPHQL_PARSE_FAILED');
  }
}

function refusing<T>(code: ErrorCode, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof GraphQLError) throw new RefusedQuery([error], code);
    throw error;
  }
}

/** What a request asks for, before it is looked at as GraphQL. */
import { isRecord } from '../../formats/json.ts';
import type { GraphqlRequest } from './execute.ts';

/** The operation, or what is wrong with the request. */
export function parseOperation(body: unknown): GraphqlRequest | string {
  if (!isRecord(body)) return 'Body must be a JSON object';
  const { query, variables, operationName } = body;
  if (typeof query !== 'string' || query === '') return 'Must provide query string.';
  if (!isObjectOrNothing(variables)) return 'Variables must be an object';
  if (typeof operationName !== 'string' && operationName !== undefined && operationName !== null) {
    return 'Operation name must be a string';
  }
  return { query, variables: variables ?? undefined, operationName: operationName ?? undefined };
}

export function isObjectOrNothing(value: unknown): value is Record<string, unknown> | null | undefined {
  return value === undefined || (typeof value === 'object' && !Array.isArray(value));
}

/** Errors of GraphQL requests, in the standard shape with a code that clients know. */
import { GraphQLError } from 'graphql';

export type ErrorCode =
  | 'BAD_REQUEST'
  | 'BAD_USER_INPUT'
  | 'EVENTS_GONE'
  | 'FORK_UNAVAILABLE'
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'HISTORY_UNAVAILABLE'
  | 'INTERNAL_SERVER_ERROR';

/** The question cannot be answered as it is asked. */
export function badInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode } });
}

/**
 * What every route of the service answers when something below it fails. A route that has words of its own
 * for it says so in its `config`.
 */

import { HttpError } from '../kernel/errors.ts';
import type { App } from '../kernel/http/app.ts';
import { OracleUnavailable, PromoCodeRefused } from '../pricing/pricing.ts';
import { DatabaseUnavailable, UnstorableText } from '../storage/sql/sql.ts';
import { neverCache } from './answers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body of the 503 when the database cannot be reached. */
    databaseDown?: string;
    /** The body of the 503 when no oracle has a usable value. */
    oracleDown?: string;
  }
}

interface FailureWords {
  readonly databaseDown?: string;
  readonly oracleDown?: string;
}

const DATABASE_RETRY_SECONDS = 5;

/** Every route that the scope registers answers failures of the rooms below in the contract's words. */
export function answerFailures(scope: App): void {
  scope.setErrorHandler((error, request, reply) => {
    // Caches keep some refusals of their own accord (RFC 9111 §4.2.2), and a wallet that is unknown now may soon not be.
    reply.header('cache-control', neverCache);
    throw translated(error, request.routeOptions.config);
  });
}

export function translated(error: unknown, words: FailureWords): unknown {
  if (error instanceof DatabaseUnavailable) {
    const body = words.databaseDown ?? 'Cloud Database Unavailable';
    return new HttpError(503, body, { retryAfter: DATABASE_RETRY_SECONDS, cause: error });
  }
  if (error instanceof OracleUnavailable) {
    const usual = error.oracle === 'network' ? 'Pricing Oracle Unavailable' : 'Fiat Oracle Unavailable';
    return new HttpError(503, words.oracleDown ?? usual, { retryAfter: error.retryAfter, cause: error });
  }
  if (error instanceof UnstorableText) return new HttpError(400, 'Invalid text');
  if (error instanceof PromoCodeRefused) return new HttpError(400, error.message);
  return error;
}

/** PostgreSQL's failures in the words of `sql.ts`. Codes: PostgreSQL manual, appendix A. */
import { DatabaseError } from 'pg';
import { DatabaseUnavailable, UniqueViolation, UnstorableText } from '../sql.ts';

const uniqueViolation = '23505';
/** A NUL, which no text has here. */
const notInRepertoire = '22021';
/** Rolled back for others' sake: the same work may well succeed now. */
const retryable = new Set(['40001', '40P01']);
/**
 * Classes 08 connection (but not a protocol violation, which is a bug), 53 resources, 57 operator intervention
 * (shutdown, cancelled by time-out), 58 system; a read-only server is a standby; 25P03 is our own time-out for a
 * transaction that idles.
 */
const unavailable = /^(?:08(?!P01)|53|57|58)|^25006$|^25P03$/;

/** A lock was not to be had in the time that the transaction gave itself. */
const lockNotAvailable = '55P03';

export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === lockNotAvailable;
}

export function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== undefined && retryable.has(error.code);
}

/** The server is gone, or is there and takes no writes: the primary may be another host by now. */
export function isNotPrimary(error: unknown): boolean {
  if (!(error instanceof DatabaseUnavailable)) return false;
  const { cause } = error;
  // A statement that took too long, or a server without room, is still the one to ask.
  if (!(cause instanceof DatabaseError)) return true;
  return cause.severity === 'FATAL' || /^(?:08|57P|58|25006)/.test(cause.code ?? '');
}

/** The server is there but refuses our login, or has no such database. */
export function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^(?:28|3D)/.test(error.code ?? '');
}

/** Of an error that the client library threw; a work's own errors do not come here. */
export function translated(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  if (error instanceof DatabaseError) {
    const code = error.code ?? '';
    if (code === uniqueViolation) return new UniqueViolation(error.message, { cause: error });
    if (code === notInRepertoire) return new UnstorableText(error.message, { cause: error });
    // What is fatal ends the connection; poolers tell so of a server that they lost, under a code of their own.
    const isEnd = error.severity === 'FATAL' && !isRefusal(error);
    if (isEnd || unavailable.test(code)) return new DatabaseUnavailable(error.message, { cause: error });
    return error;
  }
  if (error instanceof Error && isNetworkFailure(error)) {
    return new DatabaseUnavailable(`PostgreSQL cannot be reached: ${error.message}`, { cause: error });
  }
  return error;
}

/** System errors carry a code such as ECONNREFUSED; those of the client library have only their words. */
function isNetworkFailure(error: Error): boolean {
  if ('code' in error && typeof error.code === 'string')
    return /^(?:E[A-Z0-9]+|CERT_\w+|ERR_TLS\w*)$/.test(error.code);
  return /connection|timeout|not queryable|calling end on the pool/i.test(error.message);
}

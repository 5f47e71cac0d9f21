/**
 * The errors of the card API, in its own shape: `{error: {type, code, message, param, …}}`.
 * https://docs.stripe.com/api/errors
 */
import { HttpError } from '../../kernel/errors.ts';

export type ErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';

export interface ErrorDetail {
  readonly type: ErrorType;
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  readonly decline_code?: string;
  readonly charge?: string;
  readonly payment_intent?: unknown;
}

export interface ErrorBody {
  readonly error: ErrorDetail;
}

export class CardApiError extends HttpError {
  override readonly name = 'CardApiError';

  constructor(status: number, error: ErrorDetail, headers: Readonly<Record<string, string>> = {}) {
    super(status, { error } satisfies ErrorBody, { headers });
  }
}

export const invalidRequest = (message: string, detail: { code?: string; param?: string } = {}) =>
  new CardApiError(400, { type: 'invalid_request_error', message, ...detail });

export const missingParameter = (param: string) =>
  invalidRequest(`Missing required param: ${param}.`, { code: 'parameter_missing', param });

export const unknownParameter = (param: string) =>
  invalidRequest(`Received unknown parameter: ${param}`, { code: 'parameter_unknown', param });

export const noSuch = (kind: string, id: string, param = 'id') =>
  new CardApiError(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${kind}: '${id}'`,
    param,
  });

export const unauthorized = () =>
  new CardApiError(
    401,
    { type: 'invalid_request_error', message: 'Invalid API Key provided' },
    { 'www-authenticate': 'Basic realm="card provider"' },
  );

export const secretKeyRequired = () =>
  new CardApiError(403, {
    type: 'invalid_request_error',
    code: 'secret_key_required',
    message: 'This API call cannot be made with a publishable API key.',
  });

export const noSuchRoute = (method: string, path: string) =>
  new CardApiError(404, {
    type: 'invalid_request_error',
    message: `Unrecognized request URL (${method}: ${path}).`,
  });

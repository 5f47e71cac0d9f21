/** How operators' routes are asked: through the console's server, which adds the key of the session. */
import type { OperatorService } from '../../../console/api.ts';
import { askConsole, ServiceError } from '../console.ts';
import { sessionEnded } from './session.ts';

/** Asks one surface; a path has no slash at its start. */
export type Ask = <T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<T>;

const asking =
  (surface: OperatorService): Ask =>
  (method, path, body) =>
    askOperator(method, `${surface}/${path}`, body);

export async function askOperator<T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> {
  try {
    return await askConsole<T>(method, `/api/operator/${path}`, body);
  } catch (error) {
    // The services' own refusals of a key come as 401 too: either way the person has to sign in again.
    if (error instanceof ServiceError && error.status === 401) sessionEnded();
    throw error;
  }
}

export const askGateway = asking('gateway');
export const askPayment = asking('payment');
export const askUpload = asking('upload');
export const askRouter = asking('router');

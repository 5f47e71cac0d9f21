/** What the meter refuses. */
import { HttpError } from '../../kernel/errors.ts';

const names = { ip: 'IP', resource: 'Resource' } as const;

/** 429 with the time after which trying again makes sense; without one where it never will. */
export function tooManyRequests(
  limit: keyof typeof names,
  seconds: number | undefined,
  headers: Readonly<Record<string, string>> = {},
): HttpError {
  return new HttpError(
    429,
    { error: 'Too Many Requests', message: `${names[limit]} rate limit exceeded` },
    {
      headers: { 'cache-control': 'no-store', ...headers },
      ...(seconds !== undefined && { retryAfter: Math.max(1, seconds) }),
    },
  );
}

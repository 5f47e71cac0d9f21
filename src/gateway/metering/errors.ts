/** What the meter refuses. */
import { HttpError } from '../../kernel/errors.ts';

const names = { ip: 'IP', resource: 'Resource' } as const;

export interface Refused {
  /** In tokens, as is the capacity of the bucket. */
  readonly cost: number;
  readonly capacity: number;
  /** Until there are enough; undefined where there never will be. */
  readonly seconds: number | undefined;
}

/** 429 with the time after which trying again makes sense; without one, and with the reason, where it never will. */
export function tooManyRequests(
  limit: keyof typeof names,
  { cost, capacity, seconds }: Refused,
  headers: Readonly<Record<string, string>> = {},
): HttpError {
  const exceeded = `${names[limit]} rate limit exceeded`;
  const message =
    cost > capacity
      ? `${exceeded}: it takes ${Math.ceil(cost)} tokens of 1 KiB and the limit holds ${capacity}, so it will never fit`
      : exceeded;
  return new HttpError(
    429,
    { error: 'Too Many Requests', message },
    {
      headers: { 'cache-control': 'no-store', ...headers },
      ...(seconds !== undefined && { retryAfter: Math.max(1, seconds) }),
    },
  );
}

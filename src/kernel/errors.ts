/**
 * Errors that are answers. A surface lists its own in one `errors.ts` as subclasses or constants of these;
 * the HTTP server's one mapper (kernel/http) turns them into responses. Anything else is a failure of ours:
 * it answers 500 "Internal Server Error", is logged with the request id, and leaks nothing.
 */

export interface AnswerOptions {
  /** Seconds for `Retry-After`, where trying again later may work. */
  readonly retryAfter?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly status: number;
  /** Sent as JSON: a string on payment, names, upload and admin routes (interface §7), else an object. */
  readonly body: unknown;
  readonly retryAfter: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: unknown, options: AnswerOptions = {}) {
    super(typeof body === 'string' ? body : `HTTP ${status}`, { cause: options.cause });
    this.status = status;
    this.body = body;
    this.retryAfter = options.retryAfter;
    this.headers = options.headers ?? {};
  }
}

/** The program cannot go on, for a reason a person can fix; printed as it is, without a stack. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** What went wrong, in words. Anything can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the system failed with one of these codes, such as ENOENT. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

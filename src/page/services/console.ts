/** How the page asks its own server. The header is what no page of another origin can send. */

/** An answer that is no success; the message is for people. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** 0: there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function askConsole<T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> {
  const answer = await fetch(path, {
    method,
    headers: {
      'x-turnpike-console': '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
  });
  const text = await answer.text();
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(text));
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Refusals are JSON strings, objects with `error` or `message`, or plain text. */
export function messageIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null) {
      const { message, error } = value as { message?: unknown; error?: unknown };
      if (typeof message === 'string') return message;
      if (typeof error === 'string') return error;
    }
  } catch {
    // Plain text.
  }
  return text.slice(0, 500);
}

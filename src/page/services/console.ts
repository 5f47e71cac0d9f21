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

/** One event of a stream, as its server named it. */
export interface StreamEvent {
  readonly event: string;
  /** As JSON says it, else the text. */
  readonly data: unknown;
}

/**
 * Reads a stream of events of the console's server (WHATWG HTML §9.2.6) until it ends or `signal` aborts; throws
 * `ServiceError` where it is refused. The browser's own `EventSource` could not send the header.
 */
export async function streamConsole(
  path: string,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
  onOpen?: () => void,
): Promise<void> {
  const answer = await fetch(path, { headers: { 'x-turnpike-console': '1' }, signal });
  if (!answer.ok || answer.body === null)
    throw new ServiceError(answer.status, messageIn(await answer.text()));
  onOpen?.();
  const events = new EventReader(onEvent);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    events.read(value);
  }
}

/** Cuts the text of a stream into its events. */
export class EventReader {
  readonly #onEvent: (event: StreamEvent) => void;
  #rest = '';
  #event = 'message';
  #data: string[] = [];

  constructor(onEvent: (event: StreamEvent) => void) {
    this.#onEvent = onEvent;
  }

  read(piece: string): void {
    const lines = `${this.#rest}${piece}`.split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    if (line === '') {
      if (this.#data.length > 0) this.#onEvent({ event: this.#event, data: parsed(this.#data.join('\n')) });
      this.#event = 'message';
      this.#data = [];
      return;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
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

/**
 * Where messages go: an address that a stranger wrote. It must not lead into our own network, redirects are not followed,
 * and of the answer only the status counts; what else an answer or a failure says is not passed on.
 */
import { isPublicHost, publicLookup } from '../../kernel/http/public-addresses.ts';
import { HttpClient, OutsideUnavailable } from '../../outside/http.ts';
import { invalidHook } from './errors.ts';
import { type Message, signatureHeaders } from './signature.ts';

const maxUrlLength = 2_048;
/** More of an answer is not read. */
const maxAnswerBytes = 64 * 1024;
/** The longest pause that a receiver may ask for. */
const maxRetryAfterMs = 3_600_000;

export interface Outcome {
  readonly taken: boolean;
  /** null: no answer. */
  readonly status: number | null;
  /** null where it was taken. */
  readonly error: string | null;
  /** The receiver asked to be left alone for so long. */
  readonly retryAfterMs?: number;
}

export interface TargetOptions {
  readonly timeoutMs: number;
  /** Own networks may be called, and plain http. */
  readonly allowPrivate: boolean;
  readonly now: () => number;
}

export class Targets {
  readonly #options: TargetOptions;
  readonly #http: HttpClient;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#http = new HttpClient({
      timeoutMs: options.timeoutMs,
      maxBytes: maxAnswerBytes,
      connections: 2,
      ...(!options.allowPrivate && { lookup: publicLookup }),
    });
  }

  /** The address as it is stored; throws where messages may not go there. */
  parse(text: string): string {
    if (text.length > maxUrlLength) throw invalidHook(`url has more than ${maxUrlLength} characters`);
    if (!URL.canParse(text)) throw invalidHook('url is none');
    const url = new URL(text);
    const { allowPrivate } = this.#options;
    if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
      throw invalidHook('url must begin with https://');
    }
    if (url.username !== '' || url.password !== '') throw invalidHook('url must not have a user or password');
    if (!this.#mayCall(url)) throw invalidHook('url must have a public address');
    url.hash = '';
    return url.href;
  }

  async send(url: string, message: Message, secrets: readonly string[]): Promise<Outcome> {
    const { timeoutMs, now } = this.#options;
    // A name is looked at when its address is looked up, an address here: settings change.
    if (!this.#mayCall(new URL(url))) return failure(null, 'its address is not public');
    try {
      const answer = await this.#http.open(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Turnpike-Webhooks',
          ...signatureHeaders(message, secrets, now()),
        },
        body: message.body,
        timeoutMs,
        idleTimeoutMs: timeoutMs,
        signal: AbortSignal.timeout(timeoutMs),
      });
      await skip(answer.body)
        .catch(() => {})
        .finally(() => answer.discard());
      const { status, headers } = answer;
      if (status >= 200 && status <= 299) return { taken: true, status, error: null };
      const retryAfterMs = readRetryAfter(headers['retry-after']);
      return {
        ...failure(status, `it answered ${status}`),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      };
    } catch (error) {
      return failure(null, whyNone(error));
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #mayCall({ hostname }: URL): boolean {
    return this.#options.allowPrivate || isPublicHost(hostname);
  }
}

const failure = (status: number | null, error: string): Outcome => ({ taken: false, status, error });

/** An answer that was read whole leaves its connection for the next message. */
async function skip(body: AsyncIterable<Buffer>): Promise<void> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > maxAnswerBytes) return;
  }
}

function whyNone(error: unknown): string {
  const isTimeout =
    (error instanceof OutsideUnavailable && error.isTimeout) ||
    (error instanceof DOMException && error.name === 'TimeoutError');
  return isTimeout ? 'it did not answer in time' : 'it could not be reached';
}

function readRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !/^[0-9]{1,7}$/.test(header)) return undefined;
  return Math.min(maxRetryAfterMs, Number(header) * 1_000);
}

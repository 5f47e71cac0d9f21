/** How commands ask a service: its answer whole, or one line that says why there is none. */
import { StartupError } from '../kernel/errors.ts';
import { type HttpCall, HttpClient, OutsideUnavailable, readLimited } from '../outside/http.ts';

const maxAnswerBytes = 64 * 1024 * 1024;
const idleTimeoutMs = 60_000;

export interface ServiceAnswer {
  readonly status: number;
  readonly text: string;
}

export class ServiceClient {
  readonly url: string;
  readonly #what: string;
  readonly #timeoutMs: number;
  readonly #http = new HttpClient({ timeoutMs: idleTimeoutMs, maxBytes: maxAnswerBytes });

  /** `what` is for people: "gateway". `timeoutMs` is until an answer begins, 0 = as long as it takes. */
  constructor(what: string, url: string, timeoutMs: number) {
    this.#what = what;
    this.url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** `json` is sent as the body. Throws `StartupError` where nobody answers. */
  call(path: string, call: HttpCall = {}, json?: object): Promise<ServiceAnswer> {
    const headers = { 'content-type': 'application/json', ...call.headers };
    const sent = json === undefined ? call : { ...call, headers, body: JSON.stringify(json) };
    return this.ask(path, sent).catch((error: unknown) => {
      throw new StartupError(`no ${this.#what} answers at ${this.url} (${reasonOf(error)}): is it started?`);
    });
  }

  /** Throws `OutsideUnavailable` where nobody answers. */
  async ask(path: string, call: HttpCall): Promise<ServiceAnswer> {
    const answer = await this.#http.open(`${this.url}${path}`, {
      ...call,
      timeoutMs: this.#timeoutMs,
      idleTimeoutMs,
    });
    return { status: answer.status, text: String(await readLimited(answer.body, maxAnswerBytes)) };
  }
}

/** Why nobody answered: the system's code, or a sentence. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof OutsideUnavailable ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

/** One address of the fork. */
import { redactUrl } from '../config/redact.ts';
import { ownAnswerOnly } from '../outside/fork-header.ts';
import type { HttpAnswer, HttpCall, HttpClient, OpenAnswer } from '../outside/http.ts';

/** Below the ten seconds that those who wait for us have. */
const timeoutMs = 8_000;
const idleTimeoutMs = 30_000;
/** An address that did not answer is left alone so long, for others not to wait for it too. */
const restMs = 2_000;

/** The fork did not answer, or not in its protocol: what it was asked about may be there or not. */
export class ForkUnavailable extends Error {
  override readonly name: string = 'ForkUnavailable';
}

/** It answered that it does not answer such a question, and will not tomorrow. */
export class ForkRefusal extends ForkUnavailable {
  override readonly name = 'ForkRefusal';
}

/** Statuses that say that something is not there; nodes and gateways have not all the same routes. */
const absences: ReadonlySet<number> = new Set([202, 400, 404, 405, 410]);

export class ForkUpstream {
  /** Without what may be a key in it. */
  readonly shown: string;
  /** Whole: what was read from one address is not taken for another's. */
  readonly address: string;
  readonly #variable: string;
  readonly #http: HttpClient;
  #restUntil = 0;

  constructor(variable: string, url: string, http: HttpClient) {
    this.#variable = variable;
    this.address = url;
    this.#http = http;
    this.shown = redactUrl(url);
  }

  /** Whatever it said below 500. `path` is put behind the address. */
  async call(path: string, call: HttpCall = {}): Promise<HttpAnswer> {
    const answer = await this.#ask(() =>
      this.#http.call(this.address + path, {
        timeoutMs,
        ...call,
        headers: { ...ownAnswerOnly, ...call.headers },
      }),
    );
    return this.#judged(answer);
  }

  /** The head, and the body as it comes; breaking off is an `OutsideUnavailable`. */
  async open(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<OpenAnswer> {
    const answer = await this.#ask(() =>
      this.#http.open(this.address + path, {
        headers: { ...ownAnswerOnly, ...headers },
        signal,
        timeoutMs,
        idleTimeoutMs,
      }),
    );
    try {
      return this.#judged(answer);
    } catch (error) {
      answer.discard();
      throw error;
    }
  }

  /** Whether a status is that of an answer; throws where it is neither that nor of an absence. */
  isFound(status: number): boolean {
    if (status === 200) return true;
    if (absences.has(status)) return false;
    throw this.misspoke(`answered ${status}`);
  }

  /** It will not say. */
  refused(what: string): ForkRefusal {
    return new ForkRefusal(`${this.#variable} ${this.shown} ${what}`);
  }

  /** It answered, and not what the question can be answered with. */
  misspoke(what: string): ForkUnavailable {
    return new ForkUnavailable(`${this.#variable} ${this.shown} ${what}: what it has is not known`);
  }

  async #ask<T>(ask: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#restUntil) throw this.#silent(undefined);
    try {
      return await ask();
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
      this.#restUntil = performance.now() + restMs;
      throw this.#silent(cause);
    }
  }

  #silent(cause: unknown): ForkUnavailable {
    return new ForkUnavailable(
      `${this.#variable} ${this.shown} does not answer, and this was not read from it before`,
      { cause },
    );
  }

  #judged<A extends { readonly status: number }>(answer: A): A {
    const { status } = answer;
    if (status >= 500 || status === 429) throw this.misspoke(`answered ${status}`);
    if (status === 401 || status === 403) throw this.refused(`answered ${status}`);
    return answer;
  }
}

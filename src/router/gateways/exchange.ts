/** One question on its way to a gateway and the answer on its way back, as the HTTP client hands it over. */
import type { Dispatcher } from 'undici';
import { countStreamedBytes } from '../../kernel/minor-gc.ts';
import { AnswerBody } from './answer-body.ts';

export type AnswerHeaders = Record<string, string | string[] | undefined>;

/** Told exactly once how it went: the head of an answer, or why there is none. */
export interface ExchangeListener {
  began(status: number, headers: AnswerHeaders, body: AnswerBody): void;
  broke(error: Error): void;
}

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener;
  #body: AnswerBody | undefined;

  constructor(listener: ExchangeListener) {
    this.#listener = listener;
  }

  /** Its being there is what tells undici that this is a handler of the present kind. */
  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // Something preliminary: the answer comes later (RFC 9110 §15.2).
    if (status < 200) return;
    this.#body = new AnswerBody(controller);
    this.#listener.began(status, headers, this.#body);
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#body?.push(piece);
    countStreamedBytes(piece.length);
  }

  onResponseEnd(): void {
    this.#body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#body === undefined) this.#listener.broke(error);
    else this.#body.fail(error);
  }
}

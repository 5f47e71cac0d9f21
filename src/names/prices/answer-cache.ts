/**
 * What the chain said of names and what was answered about their prices, kept for a moment. Strangers choose the
 * questions, so everything is bounded: by number, by bytes, and by age, also when nobody asks any more.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import type { NameState } from '../../registry/name-registry.ts';

interface AnswerCacheOptions {
  /** How long a reading of the chain, and the answers made of it, may be used. */
  readonly lifeMs: number;
  readonly maxNames?: number;
  readonly maxAnswers?: number;
  readonly maxAnswerBytes?: number;
}

interface Reading {
  readonly state: Promise<NameState>;
  /** Once it is known. */
  seen?: NameState;
}

interface Kept {
  readonly answer: string;
  /** What the answer was made of. */
  readonly state: NameState;
}

export class AnswerCache {
  readonly #lifeMs: number;
  readonly #readings: LRUCache<string, Reading>;
  readonly #answers: LRUCache<string, Kept>;
  #purge: NodeJS.Timeout | undefined;

  constructor(options: AnswerCacheOptions) {
    const { lifeMs, maxNames = 10_000, maxAnswers = 10_000, maxAnswerBytes = 4 * 1024 * 1024 } = options;
    this.#lifeMs = lifeMs;
    this.#readings = new LRUCache({ ...atMost(maxNames), ttl: lifeMs });
    this.#answers = new LRUCache({
      max: maxAnswers,
      ttl: lifeMs,
      maxSize: maxAnswerBytes,
      // A character of a text may take two bytes.
      sizeCalculation: ({ answer }, question) => 2 * (question.length + answer.length),
    });
  }

  /** What is in it now. */
  get size(): { readonly names: number; readonly answers: number; readonly answerBytes: number } {
    return {
      names: this.#readings.size,
      answers: this.#answers.size,
      answerBytes: this.#answers.calculatedSize,
    };
  }

  /** What the chain said of a name a moment ago, or says now. */
  state(name: string, read: () => Promise<NameState>): Promise<NameState> {
    const known = this.#readings.get(name);
    if (known !== undefined) return known.state;
    const reading: Reading = { state: read() };
    this.#readings.set(name, reading);
    this.#purgeLater();
    reading.state.then(
      (seen) => {
        reading.seen = seen;
      },
      () => {
        if (this.#readings.peek(name) === reading) this.#readings.delete(name);
      },
    );
    return reading.state;
  }

  /** An answer that stands: made of what is still known of the name. */
  answer(name: string, question: string): string | undefined {
    const kept = this.#answers.get(question);
    if (kept === undefined || kept.state !== this.#readings.get(name)?.seen) return undefined;
    return kept.answer;
  }

  /** `state`: what the answer was made of. */
  keep(question: string, answer: string, state: NameState): void {
    this.#answers.set(question, { answer, state });
    this.#purgeLater();
  }

  /** The answers made of it go with it. */
  forget(name: string): void {
    this.#readings.delete(name);
  }

  #purgeLater(): void {
    this.#purge ??= setTimeout(() => {
      this.#purge = undefined;
      this.#readings.purgeStale();
      this.#answers.purgeStale();
      if (this.#readings.size + this.#answers.size > 0) this.#purgeLater();
    }, this.#lifeMs).unref();
  }
}

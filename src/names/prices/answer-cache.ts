/**
 * What was seen of names and told of their prices, for a moment. Strangers choose the questions, so everything is
 * bounded: by number, by bytes, and by age, also when nobody asks any more.
 */
import { LRUCache } from 'lru-cache';
import type { NameState } from '../../registry/name-registry.ts';

export interface AnswerCacheOptions {
  /** How long a look at the chain, and what was told of it, is good. */
  readonly lifeMs: number;
  readonly maxNames?: number;
  readonly maxAnswers?: number;
  readonly maxAnswerBytes?: number;
}

interface Look {
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
  readonly #looks: LRUCache<string, Look>;
  readonly #answers: LRUCache<string, Kept>;
  #purge: NodeJS.Timeout | undefined;

  constructor(options: AnswerCacheOptions) {
    const { lifeMs, maxNames = 10_000, maxAnswers = 10_000, maxAnswerBytes = 4 * 1024 * 1024 } = options;
    this.#lifeMs = lifeMs;
    this.#looks = new LRUCache({ max: maxNames, ttl: lifeMs });
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
      names: this.#looks.size,
      answers: this.#answers.size,
      answerBytes: this.#answers.calculatedSize,
    };
  }

  /** What the chain said of a name a moment ago, or says now. */
  state(name: string, read: () => Promise<NameState>): Promise<NameState> {
    const known = this.#looks.get(name);
    if (known !== undefined) return known.state;
    const look: Look = { state: read() };
    this.#looks.set(name, look);
    this.#purgeLater();
    look.state.then(
      (seen) => {
        look.seen = seen;
      },
      () => {
        if (this.#looks.peek(name) === look) this.#looks.delete(name);
      },
    );
    return look.state;
  }

  /** An answer that stands: made of what is still known of the name. */
  answer(name: string, question: string): string | undefined {
    const kept = this.#answers.get(question);
    if (kept === undefined || kept.state !== this.#looks.get(name)?.seen) return undefined;
    return kept.answer;
  }

  /** `state`: what the answer was made of. */
  keep(question: string, answer: string, state: NameState): void {
    this.#answers.set(question, { answer, state });
    this.#purgeLater();
  }

  /** The answers made of it go with it. */
  forget(name: string): void {
    this.#looks.delete(name);
  }

  #purgeLater(): void {
    this.#purge ??= setTimeout(() => {
      this.#purge = undefined;
      this.#looks.purgeStale();
      this.#answers.purgeStale();
      if (this.#looks.size + this.#answers.size > 0) this.#purgeLater();
    }, this.#lifeMs).unref();
  }
}

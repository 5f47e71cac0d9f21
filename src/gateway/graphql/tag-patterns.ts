/**
 * Tag filters that look into names and values (WILDCARD, FUZZY). They are resolved to tag pairs first and then
 * answered like exact ones; a pattern that would touch too much is refused, never answered in part.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Interruption } from '../chain-index/page-request.ts';
import type { Terms } from '../chain-index/terms.ts';
import { badInput } from './errors.ts';

export type TagMatch = 'EXACT' | 'WILDCARD' | 'FUZZY_AND' | 'FUZZY_OR';

/** Pairs that one pattern may stand for: each becomes a branch of the walk. */
export const maxPatternTerms = 256;
const maxScannedPairs = 200_000;
const maxScannedNames = 10_000;
const maxPatternLength = 256;
const pairsPerStep = 2_000;
/** A query compares for so long at a time. */
const turnMs = 10;

type Test = (text: string) => boolean;

function valueTests(match: Exclude<TagMatch, 'EXACT'>, name: string, values: readonly string[]): Test[] {
  if ([name, ...values].some((pattern) => pattern.length > maxPatternLength)) {
    throw badInput('Tag pattern is too long');
  }
  return values.map((value) => (match === 'WILDCARD' ? wildcard(value) : fuzzy(value, match)));
}

/** Does a tag match, judged by itself? As `matchingTerms` finds those that there are. */
export function tagTest(
  match: TagMatch,
  name: string,
  values: readonly string[],
): (name: string, value: string) => boolean {
  if (match === 'EXACT') {
    const wanted = new Set(values);
    return (tagName, value) => tagName === name && wanted.has(value);
  }
  const tests = valueTests(match, name, values);
  const isName = match === 'WILDCARD' ? wildcard(name) : (tagName: string) => tagName === name;
  return (tagName, value) => isName(tagName) && tests.some((test) => test(value));
}

/** The terms of all tag pairs that match. */
export async function matchingTerms(
  terms: Terms,
  match: Exclude<TagMatch, 'EXACT'>,
  name: string,
  values: readonly string[],
  signal: Interruption | undefined,
): Promise<number[]> {
  const tests = valueTests(match, name, values);
  const found: number[] = [];
  const turns = new Turns(signal);
  let scanned = 0;
  for await (const tagName of matchingNames(terms, match === 'WILDCARD' ? name : undefined, name, signal)) {
    for (let after = 0; ; ) {
      signal?.throwIfAborted();
      const pairs = await terms.pairsOf(tagName, after, pairsPerStep);
      for (const pair of pairs) {
        const text = pair.value.toString('utf8');
        for (const test of tests) {
          const turn = turns.take();
          if (turn !== undefined) await turn;
          if (!test(text)) continue;
          found.push(pair.term);
          break;
        }
      }
      scanned += pairs.length;
      if (found.length > maxPatternTerms) throw badInput('Tag pattern matches too many values');
      if (scanned > maxScannedPairs) throw badInput('Tag pattern covers too many values');
      const last = pairs.at(-1);
      if (last === undefined || pairs.length < pairsPerStep) break;
      after = last.term;
      await nextTurn();
    }
  }
  return found;
}

/**
 * Long values and many patterns make milliseconds of a single comparison: others have their turn by the clock, not by
 * the number of pairs, and a query that took too long ends.
 */
class Turns {
  readonly #signal: Interruption | undefined;
  #until = performance.now() + turnMs;

  constructor(signal: Interruption | undefined) {
    this.#signal = signal;
  }

  /** Nothing to wait for, most of the time. */
  take(): Promise<void> | undefined {
    return performance.now() < this.#until ? undefined : this.#next();
  }

  async #next(): Promise<void> {
    this.#signal?.throwIfAborted();
    await nextTurn();
    this.#until = performance.now() + turnMs;
  }
}

/** The literal name, or every name that the pattern stands for. */
async function* matchingNames(
  terms: Terms,
  pattern: string | undefined,
  name: string,
  signal: Interruption | undefined,
): AsyncGenerator<Buffer> {
  if (pattern === undefined || !/[*?]/.test(pattern)) {
    yield Buffer.from(name);
    return;
  }
  const test = wildcard(pattern);
  let after: Buffer = Buffer.alloc(0);
  for (let count = 0; ; count += 1) {
    signal?.throwIfAborted();
    if (count > maxScannedNames) throw badInput('Tag pattern covers too many names');
    const next = await terms.nextName(after);
    if (next === undefined) return;
    if (test(next.toString('utf8'))) yield next;
    after = next;
  }
}

/** `*` any run of characters, `?` one; greedy with one step back, so that no pattern is slow. */
export function wildcard(pattern: string): (text: string) => boolean {
  const wanted = [...pattern];
  return (text) => {
    const given = [...text];
    let at = 0;
    let star = -1;
    let starAt = 0;
    for (let position = 0; position < given.length; ) {
      if (wanted[at] === '*') {
        star = at;
        starAt = position;
        at += 1;
      } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[position])) {
        at += 1;
        position += 1;
      } else if (star >= 0) {
        at = star + 1;
        starAt += 1;
        position = starAt;
      } else {
        return false;
      }
    }
    while (wanted[at] === '*') at += 1;
    return at === wanted.length;
  };
}

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Whole words in any case: all of them, or at least one. */
export function fuzzy(query: string, match: 'FUZZY_AND' | 'FUZZY_OR'): (text: string) => boolean {
  const wanted = words(query);
  return (text) => {
    if (wanted.length === 0) return false;
    const given = new Set(words(text));
    return match === 'FUZZY_AND'
      ? wanted.every((word) => given.has(word))
      : wanted.some((word) => given.has(word));
  };
}

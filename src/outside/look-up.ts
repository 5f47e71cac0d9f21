/**
 * What a look-up outside can answer. Money is only returned, dropped or failed on `absent`:
 * a node that is away, behind or overloaded says nothing about what the others know.
 */
export type LookUp<T> =
  /** At least one has it. `at` is the height or slot the answer was made at. */
  | { readonly state: 'found'; readonly value: T; readonly at: number }
  /** All that could know were asked and said no, none of them at a lower height or slot than `at`. */
  | { readonly state: 'absent'; readonly at: number }
  /** At least one that could know did not answer, or not in its protocol. */
  | { readonly state: 'not-known'; readonly cause: unknown };

export const found = <T>(value: T, at: number): LookUp<T> => ({ state: 'found', value, at });
export const absent = (at: number): LookUp<never> => ({ state: 'absent', at });
export const notKnown = (cause: unknown): LookUp<never> => ({ state: 'not-known', cause });

/** The answers of several to the same question: one that has it decides, else all must say no. */
export function combineLookUps<T>(answers: readonly LookUp<T>[]): LookUp<T> {
  let lowest = Number.POSITIVE_INFINITY;
  let failure: LookUp<T> | undefined;
  for (const answer of answers) {
    if (answer.state === 'found') return answer;
    if (answer.state === 'absent') lowest = Math.min(lowest, answer.at);
    else failure ??= answer;
  }
  if (failure !== undefined) return failure;
  return answers.length === 0 ? notKnown(new Error('nobody could be asked')) : absent(lowest);
}

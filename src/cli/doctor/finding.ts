/** What a look at one thing found: one line for a person, with what to do about it. */

export type FindingState = 'ok' | 'warning' | 'wrong' | 'skipped';

export interface Finding {
  readonly state: FindingState;
  /** What was looked at, and how it is. */
  readonly what: string;
  /** What to do; undefined where there is nothing to do. */
  readonly remedy?: string;
}

export interface NamedFinding extends Finding {
  /** Which of the checks found it, such as `certificate`. */
  readonly check: string;
}

export const ok = (what: string): Finding => ({ state: 'ok', what });
export const skipped = (what: string): Finding => ({ state: 'skipped', what });
export const warning = (what: string, remedy: string): Finding => ({ state: 'warning', what, remedy });
export const wrong = (what: string, remedy: string): Finding => ({ state: 'wrong', what, remedy });

export const isWrong = ({ state }: Finding): boolean => state === 'wrong';

/** Whether a surface is well, for probes: the contract's word while it serves, and on request what is wrong. */
import type { Config } from '../../config/config.ts';
import { fatalProblems, type Part, problemsOf } from '../part.ts';
import type { Request } from './app.ts';

/** Probes may come many times a second; they are answered with what was found a moment ago. */
const freshMs = 2_000;

export interface Health {
  /** What is wrong, where the probe or the operator wants that to count; undefined: all is well. */
  trouble(request: Request): Promise<readonly string[] | undefined>;
}

export function createHealth(
  { HEALTHCHECK_STRICT }: Pick<Config, 'HEALTHCHECK_STRICT'>,
  parts: () => readonly Part[],
): Health {
  let found: Promise<readonly string[]> | undefined;
  let foundAt = 0;
  return {
    async trouble({ query }) {
      const isStrict = HEALTHCHECK_STRICT || Object(query).strict === 'true';
      if (!isStrict && fatalProblems(parts()).length === 0) return undefined;
      if (found === undefined || performance.now() - foundAt > freshMs) {
        foundAt = performance.now();
        found = problemsOf(parts()).catch(() => ['What is wrong cannot be found out.']);
      }
      const problems = await found;
      return problems.length === 0 ? undefined : problems;
    },
  };
}

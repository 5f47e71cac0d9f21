/**
 * Whether the ledger can be trusted. One whose file is damaged, or that could not be read to its end when it was checked,
 * may say anything: it is not written any more, so that nothing is sold on it, and it is not healthy. Reads go on.
 */
import { messageOf } from '../../kernel/errors.ts';
import { isCorruption } from '../../storage/sql/corruption.ts';

/** A database can be away for a moment when it is checked. */
const mostFailures = 3;

export class LedgerSoundness {
  #damage: string | undefined;
  #failure: string | undefined;
  #failures = 0;

  /** Why nothing may be written; undefined: it may. */
  get trouble(): string | undefined {
    if (this.#damage !== undefined) return `the ledger is damaged: ${this.#damage}`;
    return this.#failures >= mostFailures ? `the ledger could not be checked: ${this.#failure}` : undefined;
  }

  /** Why it is not known whether the ledger adds up; undefined: the last check ended. */
  get unchecked(): string | undefined {
    return this.#damage ?? this.#failure;
  }

  /** Its file was read from end to end. */
  inspected(problems: readonly string[]): void {
    this.#damage = problems[0];
  }

  /** All of it was read, and added up or did not. */
  checked(): void {
    this.#failures = 0;
    this.#failure = undefined;
  }

  checkFailed(error: unknown): void {
    this.#failures += 1;
    this.#failure = messageOf(error);
    if (isCorruption(error)) this.#damage ??= this.#failure;
  }
}

/** Why it is not healthy, for probes and operators: a ledger that is not written is no use to anybody. */
export const ledgerHealth = (soundness: LedgerSoundness | undefined) => {
  const told = (): readonly string[] =>
    soundness?.unchecked === undefined ? [] : [`Ledger unchecked: ${soundness.unchecked}.`];
  return {
    fatal: () => (soundness?.trouble === undefined ? [] : told()),
    problems: () => (soundness?.trouble === undefined ? told() : []),
  };
};

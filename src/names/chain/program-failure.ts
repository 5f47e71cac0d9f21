/** What a refused transaction says to a person: the program's error in words, its name and its number. */
import { memberOf } from '../../formats/json.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { parseMessage } from '../../formats/solana/message.ts';
import { programError } from '../../formats/solana/program-errors.ts';
import { isAntProgram, type NamePrograms } from '../../formats/solana/programs.ts';
import { parseTransaction } from '../../formats/solana/transaction.ts';

export function describeFailure(
  { err, logs }: { readonly err: unknown; readonly logs: readonly string[] },
  wire: Buffer,
  programs: NamePrograms,
): string {
  const pair = memberOf(err, 'InstructionError');
  if (!Array.isArray(pair) || typeof pair[0] !== 'number') return nameOf(err);
  const code = memberOf(pair[1], 'Custom');
  if (typeof code !== 'number') return nameOf(pair[1]);
  if (code === accountInUse)
    return 'What it would make is there already: something else for the same wallet was quicker (AccountAlreadyInUse, 0)';
  const { keys, instructions } = parseMessage(parseTransaction(wire).messageBytes);
  const program = keys[instructions[pair[0]]?.programIndex ?? -1];
  const which = program === undefined ? undefined : whichOf(programs, program);
  const known = which && programError(which, code);
  if (known !== undefined) return `${known.message} (${known.name}, ${code})`;
  const logged = logs
    .map((line) => /Error Code: (\w+)\. Error Number: (\d+)/.exec(line))
    .find((match) => match !== null);
  return `The chain refused the transaction (${logged?.[1] ?? 'Custom'}, ${code})`;
}

/** Of the system program, by which the name programs make accounts: their own codes are far from it. */
const accountInUse = 0;

/** Whether it failed because somebody else has made an account since it was planned: planned again, it does without. */
export function isMadeMeanwhile(err: unknown): boolean {
  const pair = memberOf(err, 'InstructionError');
  return Array.isArray(pair) && memberOf(pair[1], 'Custom') === accountInUse;
}

const whichOf = (programs: NamePrograms, program: SolanaAddress) =>
  program === programs.arns ? 'arns' : isAntProgram(programs, program) ? 'ant' : undefined;

function nameOf(err: unknown): string {
  if (typeof err === 'string') return err;
  if (typeof err === 'object' && err !== null) return Object.keys(err)[0] ?? 'unknown';
  return String(err);
}

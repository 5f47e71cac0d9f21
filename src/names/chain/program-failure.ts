/** What a refused transaction says to a person: the program's error in words, its name and its number. */
import { memberOf } from '../../formats/json.ts';
import { parseMessage } from '../../formats/solana/message.ts';
import { programError } from '../../formats/solana/program-errors.ts';
import type { NamePrograms } from '../../formats/solana/programs.ts';
import { parseTransaction } from '../../formats/solana/transaction.ts';

interface ProgramFailure {
  readonly message: string;
  /** The program's code; undefined for an error of the chain itself. */
  readonly code: number | undefined;
  readonly name: string;
}

export function describeFailure(
  err: unknown,
  logs: readonly string[],
  wire: Buffer,
  programs: NamePrograms,
): ProgramFailure {
  const instruction = instructionError(err);
  if (instruction === undefined) return { message: nameOf(err), code: undefined, name: nameOf(err) };
  const { index, cause } = instruction;
  const code = customCode(cause);
  if (code === undefined) return { message: nameOf(cause), code: undefined, name: nameOf(cause) };
  const { keys, instructions } = parseMessage(parseTransaction(wire).messageBytes);
  const program = keys[instructions[index]?.programIndex ?? -1];
  const known =
    program === programs.arns
      ? programError('arns', code)
      : program === programs.ant
        ? programError('ant', code)
        : undefined;
  if (known !== undefined) return { ...known, message: `${known.message} (${known.name}, ${code})` };
  const logged = logs
    .map((line) => /Error Code: (\w+)\. Error Number: (\d+)/.exec(line))
    .find((match) => match !== null);
  const name = logged?.[1] ?? 'Custom';
  return { message: `The chain refused the transaction (${name}, ${code})`, code, name };
}

function instructionError(err: unknown): { index: number; cause: unknown } | undefined {
  const pair = memberOf(err, 'InstructionError');
  if (!Array.isArray(pair) || typeof pair[0] !== 'number') return undefined;
  return { index: pair[0], cause: pair[1] };
}

function customCode(cause: unknown): number | undefined {
  const code = memberOf(cause, 'Custom');
  return typeof code === 'number' ? code : undefined;
}

function nameOf(err: unknown): string {
  if (typeof err === 'string') return err;
  if (typeof err === 'object' && err !== null) return Object.keys(err)[0] ?? 'unknown';
  return String(err);
}

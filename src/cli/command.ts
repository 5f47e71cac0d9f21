/** What a command of the CLI is, and how it reads its arguments. One file per command in commands/, listed in main.ts. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

export interface Command {
  /** Shown by `turnpike <name> --help` and with a usage error. */
  readonly usage: string;
  /** Answers the exit code. Throws `UsageError` for wrong arguments, `StartupError` for what a person can fix. */
  run(args: string[]): Promise<number>;
}

/** The arguments make no sense; the command's usage is printed below the message. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** For machines: exact, an amount as its decimal text. */
export function printJson(value: unknown): void {
  const exact = (_name: string, member: unknown) => (typeof member === 'bigint' ? member.toString() : member);
  console.log(JSON.stringify(value, exact, 2));
}

/** One result: as text for people, or exactly for machines. */
export function printResult(json: boolean | undefined, value: unknown, text: string): void {
  if (json === true) printJson(value);
  else console.log(text);
}

/** What looks like an option and is none: one in 64 of the ids, 32 bytes in base64url, and a number below zero. */
const dashedValue = /^-(?:[A-Za-z0-9_-]{42}|[0-9]+(?:\.[0-9]+)?)$/;
/** What no argument of a process contains. */
const mark = '\0';

const unmarked = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(mark) ? value.slice(mark.length) : value;

/** Arguments and options as `parseArgs` reads them, among which ids, addresses and numbers may begin with a dash. */
export function readArguments<T extends ParseArgsConfig>(
  config: T & { readonly args: readonly string[] },
): ReturnType<typeof parseArgs<T>> {
  const parsed = parseArgs<T>({
    ...config,
    args: config.args.map((argument) => (dashedValue.test(argument) ? mark + argument : argument)),
  });
  for (const found of [parsed.values, parsed.positionals]) unmarkAll(found);
  return parsed;
}

function unmarkAll(found: object): void {
  for (const [name, value] of Object.entries(found)) {
    if (Array.isArray(value)) unmarkAll(value);
    else Reflect.set(found, name, unmarked(value));
  }
}

/** The value of `--tag`. */
export function parseTag(text: string): { name: string; value: string } {
  const split = text.indexOf('=');
  if (split < 1) throw new UsageError(`a tag is name=value, not ${JSON.stringify(text)}`);
  return { name: text.slice(0, split), value: text.slice(split + 1) };
}

/** What a command of the CLI is. One file per command in commands/, listed in main.ts. */
export interface Command {
  readonly name: string;
  /** One line for `turnpike help`. */
  readonly summary: string;
  /** Shown by `turnpike <name> --help` and with a usage error. */
  readonly usage: string;
  /** Answers the exit code. Throws `UsageError` for wrong arguments, `StartupError` for what a person can fix. */
  run(args: string[]): Promise<number>;
}

/** The arguments make no sense; the command's usage is printed below the message. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

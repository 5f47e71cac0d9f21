/** What a command of the CLI is. One file per command in commands/, listed with its name in main.ts. */
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

/**
 * Structured logging: one JSON object per line, or lines for people (`pretty`). Whatever is handed to a
 * logger goes through `redactSecrets` first, so a careless `log.error({ request })` leaks nothing.
 */
import { pino, stdSerializers } from 'pino';
import { prettyLine } from './log-pretty.ts';
import { redactSecrets, redactText } from './log-redact.ts';

export type Logger = pino.Logger;

export interface LoggerOptions {
  /** Which part of the program speaks, for example `payment`. */
  readonly name: string;
  readonly level: pino.LevelWithSilent;
  readonly format: 'json' | 'pretty';
  /** Where whole lines go; standard error unless given, so that standard output stays the command's. */
  readonly write?: (line: string) => void;
  /** Takes out of a line what only this process knows to be a secret. */
  readonly redact?: (line: string) => string;
}

export function createLogger(options: LoggerOptions): Logger {
  const out = options.write ?? standardError();
  const colour = options.write === undefined && process.stderr.isTTY === true;
  const { redact = (line) => line } = options;
  const write =
    options.format === 'pretty'
      ? (line: string) => out(prettyLine(redactText(redact(line)), colour))
      : (line: string) => out(redactText(redact(line)));
  const log = pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: redactSecrets,
      },
      serializers: {
        err: (error: Error) => redactSecrets({ ...stdSerializers.err(error) }),
      },
    },
    { write },
  );
  // What a child is bound to bypasses the formatters; children inherit this through their prototype.
  log.child = new Proxy(log.child, {
    apply: (child, self, [bindings, ...rest]) =>
      Reflect.apply(child, self, [redactSecrets(bindings), ...rest]),
  });
  return log;
}

/** Written at once and in order: a line logged just before the process dies is still seen. */
function standardError(): (line: string) => void {
  const destination = pino.destination({ fd: 2, sync: true });
  return (line) => {
    destination.write(line);
  };
}

/**
 * Structured logging: one JSON object per line, or lines for people (`pretty`). Whatever is handed to a
 * logger goes through `redactSecrets` first, so a careless `log.error({ request })` leaks nothing.
 */
import { isMainThread } from 'node:worker_threads';
import { pino, stdSerializers } from 'pino';
import { isRecord, tryParseJson } from '../formats/json.ts';
import { redactSecrets, redactText } from './log-redact.ts';
import { processLogTail } from './log-tail.ts';

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
  const write = (line: string): void => {
    const safe = redactText(redact(line));
    processLogTail.push(safe);
    out(options.format === 'pretty' ? prettyLine(safe, colour) : safe);
  };
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
  // The descriptor is the whole process's; what a thread writes belongs to who started the thread.
  if (!isMainThread) return (line) => void process.stderr.write(line);
  const destination = pino.destination({ fd: 2, sync: true });
  return (line) => {
    destination.write(line);
  };
}

const colours: Record<string, string> = {
  trace: '\u001b[90m',
  debug: '\u001b[36m',
  info: '\u001b[32m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
  fatal: '\u001b[41m',
};
const dim = '\u001b[2m';
const plain = '\u001b[0m';

/** A JSON log line as a person reads it: `12:30:01.250 INFO  payment  listening  url=http://…`. */
export function prettyLine(line: string, colour = false): string {
  const parsed = tryParseJson(line);
  if (!isRecord(parsed)) return line;
  const { level, time, name, msg, err, ...rest } = parsed;
  const paint = (code: string, text: string) => (colour && text !== '' ? `${code}${text}${plain}` : text);
  const clock = typeof time === 'string' ? time.slice(11, 23) : '';
  const fields = Object.entries(rest).map(([key, value]) => `${paint(dim, `${key}=`)}${show(value)}`);
  const head = [
    paint(dim, clock),
    paint(
      colours[String(level)] ?? '',
      String(level ?? '')
        .toUpperCase()
        .padEnd(5),
    ),
    String(name ?? ''),
  ].join(' ');
  const text = [head, String(msg ?? ''), ...fields].filter((piece) => piece !== '').join('  ');
  return `${text}${errorText(err)}\n`;
}

function show(value: unknown): string {
  if (typeof value === 'string') return /^[\x21-\x7e]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const stack = 'stack' in error ? error.stack : 'message' in error ? error.message : undefined;
  return stack === undefined ? '' : `\n    ${String(stack).replaceAll('\n', '\n    ')}`;
}

/** A JSON log line as a person reads it: `12:30:01.250 INFO  payment  listening  url=http://…`. */
import { isRecord, tryParseJson } from '../formats/json.ts';

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

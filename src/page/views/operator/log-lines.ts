/** Log lines as they come: parsed, bounded, filtered. */

export const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof levels)[number];

export interface LogLine {
  readonly key: number;
  readonly level: Level;
  /** Unix milliseconds; undefined where the line has none. */
  readonly time: number | undefined;
  /** Who wrote it. */
  readonly name: string;
  readonly message: string;
  /** Whatever else is in the line, as JSON on one line; empty where there is nothing. */
  readonly rest: string;
  /** The line as it came. */
  readonly text: string;
}

/** Older ones leave. */
const mostLines = 5_000;
const mostRepeated = 1_000;
let lastKey = 0;

/** A line that is not the log's own JSON is shown as it is. */
export function readLine(data: unknown): LogLine {
  lastKey += 1;
  if (!isRecord(data)) {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    return { key: lastKey, level: 'info', time: undefined, name: '', message: text, rest: '', text };
  }
  const { level, time, name, service, part, msg, ...others } = data;
  const at = typeof time === 'string' || typeof time === 'number' ? new Date(time).getTime() : Number.NaN;
  const writer = [service, part, name].find((each) => typeof each === 'string');
  return {
    key: lastKey,
    level: levels.find((each) => each === level) ?? 'info',
    time: Number.isNaN(at) ? undefined : at,
    name: typeof writer === 'string' ? writer : '',
    message: typeof msg === 'string' ? msg : '',
    rest: Object.keys(others).length === 0 ? '' : JSON.stringify(others),
    text: JSON.stringify(data),
  };
}

/** After a stream was opened again it tells its last lines once more: what is there already is not added. */
export function addLines(lines: readonly LogLine[], more: readonly LogLine[]): readonly LogLine[] {
  const known = new Set(lines.slice(-mostRepeated).map(({ text }) => text));
  return [...lines, ...more.filter(({ text }) => !known.has(text))].slice(-mostLines);
}

export interface LogFilter {
  readonly level: Level;
  /** Of the writer; empty: any. */
  readonly name: string;
  /** Anywhere in the line, whatever the case; empty: any. */
  readonly words: string;
}

export function filterLines(
  lines: readonly LogLine[],
  { level, name, words }: LogFilter,
): readonly LogLine[] {
  const least = levels.indexOf(level);
  const sought = words.trim().toLowerCase();
  return lines.filter(
    (line) =>
      levels.indexOf(line.level) >= least &&
      (name === '' || line.name === name) &&
      (sought === '' || line.text.toLowerCase().includes(sought)),
  );
}

/** Who wrote lines, in the order of the alphabet. */
export const namesIn = (lines: readonly LogLine[]): readonly string[] =>
  [...new Set(lines.map(({ name }) => name))].filter((name) => name !== '').sort();

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

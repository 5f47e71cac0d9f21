/**
 * The last lines of this process's log, for operators who watch. Lines come as they are written, with secrets taken
 * out. What is kept is bounded in number and in bytes; a reader that does not keep up is told how many lines it lost.
 */

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type TailLevel = (typeof levels)[number];

export const isTailLevel = (text: string): text is TailLevel => levels.some((level) => level === text);

interface Bounds {
  readonly lines: number;
  /** Of all lines together, in characters. */
  readonly size: number;
  /** Of one. */
  readonly lineSize: number;
}

interface Kept {
  readonly rank: number;
  readonly text: string;
}

/** `beat`: nothing was logged for a while; whoever waits is still there. */
export type TailEvent =
  | { readonly kind: 'line'; readonly sequence: number; readonly text: string }
  | { readonly kind: 'lost'; readonly count: number }
  | { readonly kind: 'beat' };

export interface TailQuery {
  readonly level: TailLevel;
  /** How many of the lines that are kept come first. */
  readonly limit: number;
  /** In place of `limit`: all that came after this one. */
  readonly after?: number | undefined;
  readonly beatMs: number;
  readonly signal: AbortSignal;
}

const defaultBounds: Bounds = { lines: 2_000, size: 4 * 1024 * 1024, lineSize: 32 * 1024 };

export class LogTail {
  readonly #bounds: Bounds;
  /** By the number of the line, over and over. */
  readonly #kept: (Kept | undefined)[] = [];
  readonly #waiting = new Set<() => void>();
  #first = 1;
  #next = 1;
  #size = 0;

  constructor(bounds: Bounds = defaultBounds) {
    this.#bounds = bounds;
  }

  /** A whole line of JSON, as the logger writes it. */
  push(line: string): void {
    const { lines, size, lineSize } = this.#bounds;
    const text = line.length <= lineSize ? line.trimEnd() : shortened(line);
    this.#kept[this.#next % lines] = { rank: rankOf(text), text };
    this.#next += 1;
    this.#size += text.length;
    while (this.#next - this.#first > lines || this.#size > size) {
      this.#size -= this.#at(this.#first)?.text.length ?? 0;
      if (this.#next - this.#first <= lines) this.#kept[this.#first % lines] = undefined;
      this.#first += 1;
    }
    for (const wake of this.#waiting) wake();
  }

  /** What is kept, then what comes, at the pace of whoever reads. Ends when it is aborted. */
  async *follow({ level, limit, after, beatMs, signal }: TailQuery): AsyncGenerator<TailEvent> {
    const least = levels.indexOf(level);
    // A number from another process, or of a time before this one started, means nothing here.
    let next = after === undefined || after >= this.#next ? this.#newest(least, limit) : after + 1;
    while (!signal.aborted) {
      if (next < this.#first) {
        yield { kind: 'lost', count: this.#first - next };
        next = this.#first;
        continue;
      }
      const kept = next < this.#next ? this.#at(next) : undefined;
      if (kept === undefined) {
        if (!(await this.#newLine(beatMs, signal))) yield { kind: 'beat' };
        continue;
      }
      const sequence = next;
      next += 1;
      if (kept.rank >= least) yield { kind: 'line', sequence, text: kept.text };
    }
  }

  #at(sequence: number): Kept | undefined {
    return this.#kept[sequence % this.#bounds.lines];
  }

  /** Where so many lines of at least this level begin. */
  #newest(least: number, limit: number): number {
    let begin = this.#next;
    for (let found = 0; begin > this.#first && found < limit; begin -= 1) {
      if ((this.#at(begin - 1)?.rank ?? 0) >= least) found += 1;
    }
    return begin;
  }

  /** False when nothing came in time. */
  #newLine(beatMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (came: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve(came);
      };
      const wake = (): void => settle(true);
      const timer = setTimeout(() => settle(false), beatMs).unref();
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}

/** `{"level":"info","time":"…`: the logger writes these first. */
const opening = /^\{"level":"([a-z]+)","time":"([^"]{1,40})"/;

function rankOf(line: string): number {
  const level = opening.exec(line)?.[1] ?? '';
  return levels.indexOf(isTailLevel(level) ? level : 'info');
}

/** Cut in the middle it would be no JSON any more. */
function shortened(line: string): string {
  const [, level = 'info', time = ''] = opening.exec(line) ?? [];
  const msg = `a line of ${line.length} characters is left out here`;
  return JSON.stringify({ level, time, msg, begin: line.slice(0, 1_000) });
}

/** Every logger of the process writes here. */
export const processLogTail = new LogTail();

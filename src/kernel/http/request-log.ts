/**
 * The logger of one request, made only when the request has something to say. Most requests log nothing, and a
 * real child logger for each would cost more than their routing.
 */
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from '../log.ts';

export class RequestLog implements FastifyBaseLogger {
  readonly #parent: Logger;
  readonly #requestId: string;
  #made: Logger | undefined;

  constructor(parent: Logger, requestId: string) {
    this.#parent = parent;
    this.#requestId = requestId;
  }

  get level(): FastifyBaseLogger['level'] {
    return this.#parent.level;
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line);
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line);
  }

  info(...line: unknown[]): void {
    this.#write('info', line);
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line);
  }

  error(...line: unknown[]): void {
    this.#write('error', line);
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line);
  }

  silent(): void {}

  child(...given: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#log().child(...given);
  }

  #write(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', line: unknown[]): void {
    if (!this.#parent.isLevelEnabled(level)) return;
    const log = this.#log();
    Reflect.apply(log[level], log, line);
  }

  #log(): Logger {
    this.#made ??= this.#parent.child({ requestId: this.#requestId });
    return this.#made;
  }
}

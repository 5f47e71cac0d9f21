/**
 * ClickHouse over its HTTP interface: statements and rows as `RowBinary`. Every statement is bounded in time and memory on
 * both sides. Only what servers from 18.16 on understand is sent; an unknown setting is an error there, so newer ones go
 * to newer servers alone.
 */
import { HttpClient, OutsideUnavailable } from '../../outside/http.ts';
import { HistoryUnavailable } from '../chain-index/history.ts';

export interface ClickHouseOptions {
  /** `http://user@host:8123/database`. */
  readonly url: string;
  readonly password: string | undefined;
  readonly timeoutMs: number;
}

/** A statement was refused. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Too many rows, too long, too much memory: the question, not the server, is the trouble. */
const tooMuch = new Set([158, 159, 160, 191, 241, 307, 396]);
export const isTooMuch = (error: unknown): boolean =>
  error instanceof HistoryUnavailable &&
  error.cause instanceof ClickHouseError &&
  tooMuch.has(error.cause.code);

const maxAnswerBytes = 256 * 1024 * 1024;
const maxMemoryBytes = 2 * 1024 ** 3;
const maxQueryBytes = 1024 * 1024;
/** Longer than a read may take: a batch is written and read back at once. */
const writeTimeoutMs = 120_000;

export class ClickHouse {
  readonly #http: HttpClient;
  readonly #address: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  #version: number | undefined;

  constructor({ url, password, timeoutMs }: ClickHouseOptions) {
    const { origin, pathname, username, password: inUrl } = new URL(url);
    const database = decodeURIComponent(pathname.slice(1)) || 'default';
    this.#http = new HttpClient({ timeoutMs, maxBytes: maxAnswerBytes });
    this.#address = `${origin}/?database=${encodeURIComponent(database)}`;
    const key = password ?? decodeURIComponent(inUrl);
    this.#headers = {
      ...(username !== '' && { 'x-clickhouse-user': decodeURIComponent(username) }),
      ...(key !== '' && { 'x-clickhouse-key': key }),
    };
    this.#timeoutMs = timeoutMs;
  }

  /** Of the server, as one number: 18.16 is 18016. */
  async version(): Promise<number> {
    if (this.#version === undefined) {
      const text = (await this.#call('SELECT version() FORMAT TabSeparated', {})).toString('utf8');
      const [major = 0, minor = 0] = text.split('.').map(Number);
      this.#version = major * 1_000 + minor;
    }
    return this.#version;
  }

  /** The rows of a SELECT, as `RowBinary`. */
  select(statement: string): Promise<Buffer> {
    const seconds = Math.max(1, Math.floor(this.#timeoutMs / 1_000));
    return this.#call(`${statement} FORMAT RowBinary`, {
      max_execution_time: seconds,
      max_memory_usage: maxMemoryBytes,
    });
  }

  /** The same for the mover, which may take its time. */
  selectSlowly(statement: string): Promise<Buffer> {
    return this.#call(`${statement} FORMAT RowBinary`, {}, undefined, writeTimeoutMs);
  }

  /** A statement without rows. */
  async run(statement: string): Promise<void> {
    await this.#call(statement, {}, undefined, writeTimeoutMs);
  }

  async insert(table: string, columns: readonly string[], rows: Buffer): Promise<void> {
    const version = await this.version();
    const settings = {
      // Acknowledged means written, on servers that would otherwise collect inserts first.
      ...(version >= 21_011 && { async_insert: 0 }),
      insert_distributed_sync: 1,
    };
    await this.#call(
      `INSERT INTO ${table} (${columns.join(', ')}) FORMAT RowBinary`,
      settings,
      rows,
      writeTimeoutMs,
    );
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #call(
    statement: string,
    settings: Readonly<Record<string, string | number>>,
    rows?: Buffer,
    timeoutMs = this.#timeoutMs,
  ): Promise<Buffer> {
    const given = Object.entries(settings).map(([name, value]) => `&${name}=${value}`);
    // The whole answer is made before its status is sent: a failure never looks like a short answer.
    const common = `${this.#address}&wait_end_of_query=1&max_query_size=${maxQueryBytes}${given.join('')}`;
    const url = rows === undefined ? common : `${common}&query=${encodeURIComponent(statement)}`;
    const call = { method: 'POST', headers: this.#headers, body: rows ?? statement, timeoutMs } as const;
    try {
      const answer = await this.#http.call(url, call).catch((error: unknown) => {
        // The server closes connections that idle, perhaps just now. Everything sent here may be sent twice.
        if (error instanceof OutsideUnavailable && !error.isTimeout) return this.#http.call(url, call);
        throw error;
      });
      if (answer.status === 200) return answer.body;
      throw errorOf(answer.status, answer.body.toString('utf8', 0, 2_000));
    } catch (cause) {
      if (!(cause instanceof OutsideUnavailable) && !(cause instanceof ClickHouseError)) throw cause;
      throw new HistoryUnavailable('The history of the index does not answer.', { cause });
    }
  }
}

function errorOf(status: number, text: string): ClickHouseError {
  const code = Number(/Code: (\d+)/.exec(text)?.[1] ?? 0);
  return new ClickHouseError(code, `ClickHouse answered ${status}: ${text.split('\n', 1)[0]?.slice(0, 500)}`);
}

/**
 * Asks the controls of a local network over HTTP. By the system's own client and with timers that no test framework has
 * replaced: tests like to fake `fetch` and the clock of the program under test.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const longestAnswer = 16 * 1024 * 1024;
/** A change of the whole state restarts the services; all the others are quicker. */
const timeoutMs = 120_000;

export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ControlClient {
  readonly #context: () => string;

  /** `context` is put below an error: how the program ended, and its last words. */
  constructor(context: () => string) {
    this.#context = context;
  }

  /** The answer as JSON; undefined where it is empty. */
  async json(url: string, ask: Ask = {}): Promise<unknown> {
    const text = ask.body === undefined ? undefined : JSON.stringify(ask.body);
    const headers = {
      accept: 'application/json',
      ...ask.headers,
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    };
    const method = ask.method ?? (text === undefined ? 'GET' : 'POST');
    const answer = await this.#send(url, method, headers, text);
    const body = await this.#insist(method, url, answer);
    if (body === '') return undefined;
    try {
      return JSON.parse(body);
    } catch {
      return body;
    }
  }

  /** The answer as a file, which is there only when it is whole. */
  async download(url: string, path: string): Promise<void> {
    const answer = await this.#send(url, 'GET', {}, undefined);
    if ((answer.statusCode ?? 0) >= 300) await this.#insist('GET', url, answer);
    const half = `${path}.${process.pid}.part`;
    try {
      await pipeline(answer, createWriteStream(half, { mode: 0o600 }));
      await rename(half, path);
    } catch (error) {
      await rm(half, { force: true });
      throw error;
    }
  }

  async sendFile(url: string, path: string): Promise<unknown> {
    const { size } = await stat(path);
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(size) };
    const answer = await this.#send(url, 'PUT', headers, createReadStream(path));
    const body = await this.#insist('PUT', url, answer);
    return body === '' ? undefined : JSON.parse(body);
  }

  #send(
    url: string,
    method: string,
    headers: Readonly<Record<string, string>>,
    body: string | Readable | undefined,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => reject(this.#failure(method, url, error));
      // No kept connection: one that the program closes when it stops could not be told from a failure.
      const sent = request(url, { method, headers, agent: false, timeout: timeoutMs }, resolve);
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)));
      sent.on('error', failed);
      if (typeof body === 'object') {
        pipeline(body, sent).catch(failed);
      } else {
        sent.end(body);
      }
    });
  }

  /** The body of a good answer. */
  async #insist(method: string, url: string, answer: IncomingMessage): Promise<string> {
    const body = await textOf(answer).catch((error: unknown) => {
      throw this.#failure(method, url, error);
    });
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return body;
    throw new Error(`${method} ${url} answered ${status}: ${body.slice(0, 1_000)}`);
  }

  #failure(method: string, url: string, cause: unknown): Error {
    const message = cause instanceof Error ? cause.message : String(cause);
    return new Error(`${method} ${url} failed: ${message}${this.#context()}`, { cause });
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer) {
    const bytes = Buffer.from(part);
    length += bytes.length;
    if (length > longestAnswer) throw new Error(`an answer of more than ${longestAnswer} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}

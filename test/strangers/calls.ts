/** Requests as they go over the wire: the path is sent as it is written, headers may come twice. */
import { Client } from 'undici';

export interface Call {
  /** Base address of the server. */
  readonly base: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | string;
  /** The address of this machine that it comes from; another one is another network to the service. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body read as JSON; undefined when it is none. */
  readonly json: unknown;
}

/** A request that the client itself refuses to write was never sent. */
export const notSent: Answer = { status: 0, headers: {}, text: '', json: undefined };

const mostBytes = 4 * 1024 * 1024;

export class Wire {
  readonly #clients = new Map<string, Client>();

  async send(call: Call): Promise<Answer> {
    const headers = Object.entries(call.headers ?? {}).flatMap(([name, value]) =>
      [value].flat().flatMap((one) => [name, one]),
    );
    try {
      const answer = await this.#client(call.base, call.from).request({
        // Methods beyond those of the type are sent as well.
        method: methodOf(call.method),
        path: call.path,
        headers,
        ...(call.body === undefined ? {} : { body: call.body }),
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer()).subarray(0, mostBytes);
      const text = bytes.toString('utf8');
      return { status: answer.statusCode, headers: answer.headers, text, json: parsed(text) };
    } catch (error) {
      if (isRefusedByClient(error)) return notSent;
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.destroy()));
  }

  #client(base: string, from = '127.0.0.1'): Client {
    const name = `${from} ${base}`;
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = new Client(base, {
      keepAliveTimeout: 60_000,
      bodyTimeout: 60_000,
      headersTimeout: 60_000,
      connect: { localAddress: from },
    });
    this.#clients.set(name, client);
    return client;
  }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'] as const;

function methodOf(text: string): (typeof methods)[number] {
  return methods.find((method) => method === text) ?? 'GET';
}

/** Also a connection that the server closed in the face of what cannot be parsed. */
function isRefusedByClient(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET';
}

function parsed(text: string): unknown {
  if (!/^[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A member of an answer, by path; undefined where it is not there. */
export function member(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** The same where it must be text; fails with what was answered. */
export function textOf(answer: Answer, ...path: readonly (string | number)[]): string {
  const found = member(answer.json, ...path);
  if (typeof found !== 'string') {
    throw new Error(`no text at ${path.join('.')} of ${answer.status} ${answer.text.slice(0, 400)}`);
  }
  return found;
}

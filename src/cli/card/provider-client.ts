/** The local card provider as its merchant asks it: with the secret key, in forms, answers as JSON. */
import { join } from 'node:path';
import { memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import { readKey } from '../../kernel/keys.ts';
import { ServiceClient } from '../service-client.ts';

export type FormValue =
  | boolean
  | number
  | string
  | readonly FormValue[]
  | { readonly [name: string]: FormValue };
export type Form = { readonly [name: string]: FormValue };

export interface CardAnswer {
  readonly status: number;
  readonly body: unknown;
}

const timeoutMs = 15_000;

export class CardProviderClient {
  readonly #service: ServiceClient;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#service = new ServiceClient('local card provider', url, timeoutMs);
    this.#key = key;
  }

  static async open(url: string, dataDir: string): Promise<CardProviderClient> {
    return new CardProviderClient(url, await cardKey(dataDir, 'secret-key'));
  }

  /** Throws a `StartupError` with the provider's own words where it refuses. */
  async get(path: string): Promise<unknown> {
    return accepted(await this.#ask('GET', path));
  }

  async post(path: string, form: Form = {}): Promise<unknown> {
    return accepted(await this.try(path, form));
  }

  async delete(path: string): Promise<unknown> {
    return accepted(await this.#ask('DELETE', path));
  }

  /** As `post`; a refusal is an answer like any other. */
  try(path: string, form: Form = {}): Promise<CardAnswer> {
    return this.#ask('POST', path, encodeForm(form));
  }

  async #ask(method: 'DELETE' | 'GET' | 'POST', path: string, body?: string): Promise<CardAnswer> {
    const { status, text } = await this.#service.call(path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return { status, body: tryParseJson(text) };
  }
}

/** One of the secrets that the provider made at its first start. */
export async function cardKey(dataDir: string, name: 'secret-key' | 'webhook-secret'): Promise<string> {
  const path = join(dataDir, 'keys', `local-card-${name}`);
  const key = await readKey(path);
  if (key !== undefined) return key;
  throw new StartupError(`there is no ${path}: the local card provider makes it when it first starts`);
}

function accepted({ status, body }: CardAnswer): unknown {
  if (status >= 200 && status < 300) return body;
  const why = textOf(memberOf(body, 'error'), 'message') ?? `it answers ${status}`;
  throw new StartupError(`the card provider refuses: ${why}`);
}

/** `{a: {b: 1}, c: [2]}` as `a[b]=1&c[0]=2`. */
export function encodeForm(form: Form): string {
  const pairs = new URLSearchParams();
  const place = (name: string, value: FormValue): void => {
    if (typeof value !== 'object') pairs.append(name, String(value));
    else for (const [key, member] of Object.entries(value)) place(`${name}[${key}]`, member);
  };
  for (const [name, value] of Object.entries(form)) place(name, value);
  return pairs.toString();
}

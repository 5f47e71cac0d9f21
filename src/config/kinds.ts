/**
 * The kinds of value an environment variable can have. Each knows how to read its text strictly: a wrong
 * value is a sentence about what it should be, never a guess.
 */

import {
  membersOfJson,
  redacted,
  redactUrl,
  redactUrlList,
  redactUrlsInJson,
  redactUrlsInText,
} from './redact.ts';
import { checkEscapes } from './url-escapes.ts';

/** Which money and which chains the process deals with. */
export const worldNames = ['local', 'testnet', 'public'] as const;
export type WorldName = (typeof worldNames)[number];

export interface Variable<T> {
  readonly meaning: string;
  /** How the value is written, for people: `port`, `url`, `integer ≥ 1` … */
  readonly kind: string;
  /** Text form of the default, or undefined when there is none. */
  readonly defaultText: string | undefined;
  readonly secret: boolean;
  /** Whether it may hold a key, and so may be given as a file. */
  readonly mayBeInFile: boolean;
  /** A value as it may be shown: without keys. */
  readonly show: (text: string) => string;
  /** What of a value must appear nowhere, neither shown nor logged. */
  readonly secretsIn: (text: string) => readonly string[];
  /** The default in worlds that have one of their own. */
  readonly inWorlds: Readonly<Partial<Record<WorldName, T>>>;
  /** Text forms of those. */
  readonly textInWorlds: Readonly<Record<string, string>>;
  /** Answers the value or throws `Error` with the rest of the sentence "NAME …". */
  readonly parse: (text: string) => T;
  readonly fallback: T;
  /** A value as it would be set. */
  write(value: T): string;
}

interface Options<D> {
  readonly meaning: string;
  readonly default: D;
  /** In place of the default, in these worlds. */
  readonly inWorlds?: Readonly<Partial<Record<WorldName, D>>>;
}

function variable<T>(
  kind: string,
  options: Options<T>,
  parse: (text: string) => T,
  write: (value: T) => string = String,
  show: (text: string) => string = redactUrlsInText,
): Variable<T> {
  const value = options.default;
  const defaultText = value === undefined ? undefined : write(value);
  const { meaning } = options;
  const inWorlds: Partial<Record<WorldName, T>> = options.inWorlds ?? {};
  const textInWorlds = Object.fromEntries(
    worldNames.flatMap((world) => {
      const other = inWorlds[world];
      return other === undefined ? [] : [[world, write(other)]];
    }),
  );
  return {
    meaning,
    kind,
    defaultText,
    secret: false,
    mayBeInFile: false,
    show,
    secretsIn: () => [],
    inWorlds,
    textInWorlds,
    parse,
    fallback: value,
    write,
  };
}

export const text = <D extends string | undefined>(options: Options<D>): Variable<string | D> =>
  variable<string | D>('text', options, (value) => value);

/** A secret has no default, is never printed, and is never logged. */
export const secret = (options: { meaning: string }): Variable<string | undefined> => ({
  ...variable<string | undefined>('secret', { ...options, default: undefined }, (value) => value),
  secret: true,
  mayBeInFile: true,
  show: () => redacted,
  secretsIn: (text) => [text],
});

export function integer<D extends number | undefined>(
  options: Options<D> & { min?: number; max?: number },
): Variable<number | D> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
  const range = max === Number.MAX_SAFE_INTEGER ? `integer ≥ ${min}` : `integer ${min}–${max}`;
  return variable<number | D>(range, options, (value) => {
    const number = /^-?[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!Number.isSafeInteger(number) || number < min || number > max) throw new Error(`must be an ${range}`);
    return number;
  });
}

/** What a timer can wait at most; it takes anything longer for no wait at all. */
const longestTimerMs = 2 ** 31 - 1;

/** A time that something waits; not an age, which may be longer. */
export const milliseconds = (options: Options<number> & { min?: number; max?: number }): Variable<number> =>
  integer({ max: longestTimerMs, ...options });

export const port = (options: Options<number>): Variable<number> => ({
  ...integer({ ...options, max: 65535 }),
  kind: 'port (0 = any free one)',
});

export const fraction = (options: Options<number> & { max?: number }): Variable<number> =>
  variable(`number 0–${options.max ?? 1}`, options, (value) => {
    const number = /^[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= 0 && number <= (options.max ?? 1)))
      throw new Error(`must be a number 0–${options.max ?? 1}`);
    return number;
  });

export const boolean = (options: Options<boolean>): Variable<boolean> =>
  variable('true or false', options, (value) => {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw new Error('must be true or false');
  });

export function oneOf<const C extends readonly string[]>(
  choices: C,
  options: Options<C[number]>,
): Variable<C[number]> {
  const kind = choices.join(' | ');
  return variable<C[number]>(kind, options, (value) => {
    if (!choices.includes(value)) throw new Error(`must be one of ${choices.join(', ')}`);
    return value;
  });
}

function parseUrl(value: string, protocols: readonly string[]): string {
  const protocol = URL.canParse(value) ? new URL(value).protocol.slice(0, -1) : undefined;
  if (protocol === undefined || !protocols.includes(protocol)) {
    throw new Error(`must be a URL that begins with ${protocols.map((name) => `${name}://`).join(' or ')}`);
  }
  checkEscapes(value);
  return value.replace(/\/+$/, '');
}

/** Providers put keys into addresses. */
export const url = <D extends string | undefined>(
  options: Options<D> & { protocols?: readonly string[] },
): Variable<string | D> => ({
  ...variable<string | D>(
    'url',
    options,
    (value) => parseUrl(value, options.protocols ?? ['http', 'https']),
    String,
    redactUrl,
  ),
  mayBeInFile: true,
});

export const list = (options: Options<readonly string[]>): Variable<readonly string[]> =>
  variable('comma-separated list', options, splitList, (value) => value.join(','));

export const urls = (options: Options<readonly string[]>): Variable<readonly string[]> => ({
  ...variable(
    'comma-separated urls',
    options,
    (value) => splitList(value).map((item) => parseUrl(item, ['http', 'https'])),
    (value) => value.join(','),
    redactUrlList,
  ),
  mayBeInFile: true,
});

/** `secrets`: names of members that are never shown. */
export const json = <T>(
  options: Options<T> & { check?: (value: unknown) => T; secrets?: readonly string[] },
): Variable<T> => {
  const { check, secrets = [] } = options;
  const kind = variable(
    'json',
    options,
    (value) => {
      let parsed: unknown;
      try {
        parsed = JSON.parse(value);
      } catch {
        throw new Error('must be JSON');
      }
      return check === undefined ? (parsed as T) : check(parsed);
    },
    (value) => JSON.stringify(value),
    (text) => redactUrlsInJson(text, secrets),
  );
  return { ...kind, mayBeInFile: true, secretsIn: (text) => membersOfJson(text, secrets) };
};

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

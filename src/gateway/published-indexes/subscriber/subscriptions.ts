/** Whose indexes are used: publishers by wallet, with the key that must sign and the address to ask. */
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { StartupError } from '../../../kernel/errors.ts';
import { isIndexName } from '../names.ts';

export interface Subscription {
  /** base58 wallet of the publishing gateway. */
  readonly publisher: string;
  /** base58 observer key that must have signed. */
  readonly key: string;
  readonly url: string;
  /** Only these indexes; all without it. */
  readonly names: readonly string[] | undefined;
}

/** Reads `INDEX_SUBSCRIBE`; throws `StartupError` for anything that is not exactly a list of subscriptions. */
export function readSubscriptions(value: unknown): Subscription[] {
  if (!Array.isArray(value)) throw wrong('must be a list');
  const list = value.map(readOne);
  if (new Set(list.map(({ publisher }) => publisher)).size !== list.length)
    throw wrong('names a publisher twice');
  return list;
}

function readOne(value: unknown): Subscription {
  if (typeof value !== 'object' || value === null) throw wrong('must be a list of objects');
  const members: Readonly<Record<string, unknown>> = Object.assign(Object.create(null), value);
  const { publisher, url, key = publisher, names } = members;
  if (!isKey(publisher) || !isKey(key)) throw wrong('publisher and key must be base58 of 32 bytes');
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw wrong('url must be the address of a gateway');
  if (names !== undefined && !isNames(names)) throw wrong('names must be a list of index names');
  return { publisher, key, url: url.replace(/\/+$/, ''), names };
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && tryDecodeBase58(value)?.length === 32;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && isIndexName(name));
}

const wrong = (what: string) => new StartupError(`INDEX_SUBSCRIBE ${what}`);

/**
 * Random requests to any route: parameters by their names, with values that mean something mixed in, so that a route
 * that is added is tried without a word about it here.
 */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Knowledge } from './knowledge.ts';
import type { KnownRoute } from './routes.ts';

/** What the stranger has of its own. */
export interface Pool {
  readonly addresses: readonly string[];
  readonly names: readonly string[];
  readonly antIds: readonly string[];
  /** Uploads in parts that it began. */
  readonly sessions: readonly string[];
  /** Of its own transactions and items. */
  readonly ids: readonly string[];
}

const actions = [
  'buy-name',
  'extend-lease',
  'upgrade-name',
  'increase-undername-limit',
  'set-record',
  'remove-record',
  'set-record-metadata',
  'remove-record-metadata',
  'transfer-record',
  'add-controller',
  'remove-controller',
  'transfer',
];
const intents = ['buy-record', 'buy-name', 'upgrade-name', 'extend-lease', 'increase-undername-limit'];
const tokens = [
  'arweave',
  'ethereum',
  'solana',
  'matic',
  'base-eth',
  'base-usdc',
  'kyve',
  'ed25519',
  'bytes',
  'usd',
];
const someId = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';

export class Generator {
  readonly #random: SeededRandom;
  readonly #knowledge: Knowledge;
  readonly #pool: Pool;
  readonly #values: Readonly<Record<string, () => unknown>>;

  constructor(random: SeededRandom, knowledge: Knowledge, pool: Pool) {
    this.#random = random;
    this.#knowledge = knowledge;
    this.#pool = pool;
    this.#values = this.#byName();
  }

  /** A value for a parameter of this name. */
  value(name: string): unknown {
    if (this.#random.below(25) === 0) return this.#nonsense();
    const known = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return known === undefined ? this.#nonsense() : known();
  }

  text(name: string): string {
    const value = this.value(name);
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /** The path of a route with its parameters and query filled in. */
  path(route: KnownRoute): string {
    const path = route.url
      .replace(/:([A-Za-z][A-Za-z0-9]*)/g, (_whole, name: string) => encodeURIComponent(this.text(name)))
      .replace('*', () => encodeURIComponent(this.text('name')));
    const pairs = namesIn(route.schema.querystring)
      .filter(() => this.#random.below(3) > 0)
      .map((name) => `${name}=${encodeURIComponent(this.text(name))}`);
    // What a route does not speak of may be looked at all the same.
    if (this.#random.below(4) === 0) {
      const name = this.#random.pick(['address', 'paidBy', 'ownerAddress', 'name', 'userAddress', 'token']);
      pairs.push(`${name}=${encodeURIComponent(this.text(name))}`);
    }
    if (pairs.length > 1 && this.#random.below(6) === 0) pairs.push(this.#random.pick(pairs));
    return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
  }

  /** A JSON body: the members that the schema names, or some that any route might know. */
  body(route: KnownRoute): string {
    const named = namesIn(route.schema.body);
    const names =
      named.length > 0 ? named : Object.keys(this.#values).filter(() => this.#random.below(4) === 0);
    const body: Record<string, unknown> = {};
    for (const name of names) if (this.#random.below(8) > 0) body[name] = this.value(name);
    return JSON.stringify(this.#random.below(20) === 0 ? [body] : body);
  }

  #byName(): Record<string, () => unknown> {
    const random = this.#random;
    const knowledge = this.#knowledge;
    const pool = this.#pool;
    const oneOf = <T>(...lists: readonly (readonly T[])[]) => {
      const filled = lists.filter((list) => list.length > 0);
      return filled.length === 0 ? undefined : random.pick(random.pick(filled));
    };
    const address = () => oneOf(knowledge.addresses.all, pool.addresses) ?? someId;
    const number =
      (...numbers: readonly number[]) =>
      () =>
        String(random.pick(numbers));
    const name = () =>
      oneOf(
        knowledge.tokens.all.map((token) => token.name),
        pool.names,
        ['fresh-name'],
      ) ?? 'x';
    const antId = () =>
      oneOf(
        knowledge.tokens.all.map((token) => token.antId),
        pool.antIds,
      ) ?? someId;
    const nonce = () => oneOf(knowledge.nonces.all) ?? '0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f';
    const id = () =>
      oneOf(
        knowledge.items.all.map((item) => item.id),
        pool.ids,
        pool.sessions,
        [someId, '-1'],
      ) ?? someId;
    const transaction = () =>
      oneOf(
        knowledge.chainPayments.all.map((payment) => payment.id),
        pool.ids,
      ) ?? someId;
    const pick =
      (...texts: readonly string[]) =>
      () =>
        random.pick(texts);
    const hex = (bytes: number) => () => random.bytes(bytes).toString('hex');
    return {
      address,
      userAddress: address,
      payingAddress: address,
      approvedAddress: address,
      destinationAddress: address,
      ownerAddress: () =>
        oneOf(
          knowledge.tokens.all.map((token) => token.owner),
          pool.addresses,
        ) ?? someId,
      target: address,
      paidBy: () => (random.below(2) === 0 ? [address(), address()] : `${address()},${address()}`),
      owner: address,
      currency: pick('usd', 'eur', 'jpy', 'gbp', 'xyz'),
      amount: number(0, 1, 500, 1_000, 5_000, 1_000_000, 10 ** 12),
      method: pick('payment-intent', 'checkout-session'),
      type: pick('lease', 'permabuy', 'credits', 'bytes', 'arns', 'txid', ...tokens),
      token: pick(...tokens),
      destinationAddressType: pick('arweave', 'ethereum', 'solana', 'email'),
      intent: pick(...intents),
      action: () => (random.below(3) === 0 ? nonce() : random.pick(actions)),
      name,
      antId,
      processId: antId,
      nonce,
      id,
      txId: id,
      tx_id: transaction,
      transactionId: () => random.pick([someId, `${'s'.repeat(42)}A`]),
      transaction: () => random.bytes(200).toString('base64'),
      undername: pick('@', 'a', 'ab', 'docs'),
      ttlSeconds: () => random.pick([60, 360, 600, 3_600, '3600']),
      years: () => random.pick([1, 2, 5, '1', '2']),
      increaseQty: () => random.pick([1, 5, '1']),
      qty: number(1, 2, 1_000, 100_000),
      displayName: () => random.pick(['x', null]),
      recordLogo: () => random.pick([someId, null]),
      recordDescription: () => random.pick(['x', null]),
      recordKeywords: () => random.pick([['x'], null]),
      promoCode: pick('SPRING', 'NONE', 'A,B'),
      uiMode: pick('hosted', 'embedded'),
      giftMessage: pick('hello'),
      email: pick('ada@example.com', 'eve@example.com', 'sol@example.com'),
      byteCount: number(0, 1, 1_000, 10 ** 6, 10 ** 9),
      size: number(0, 1_000, 10 ** 6),
      height: number(0, 1, 10),
      offset: number(-1, 0, 1, 100, 5_242_880),
      chunkSize: number(5_242_880, 25_000_000),
      totalBytes: number(1, 1_000, 40_000),
      limit: number(1, 50, 100),
      cursor: () => Buffer.from(`e${random.below(100) + 1}`).toString('base64url'),
      hash: hex(24),
      sha256: hex(32),
      infohash: hex(20),
      torrentName: hex(8),
      torrent: () => `${random.bytes(20).toString('hex')}.torrent`,
      file: pick('a.cdb', '00.cdb'),
      band: pick('0', 'a'),
      field: pick('owner', 'data', 'data.html', 'signature'),
      value: () => random.pick([id(), name()]),
      reason: pick('because'),
      gateway: pick('http://127.0.0.1:1', '127.0.0.1'),
      query: pick('{ transactions(first: 1) { edges { node { id } } } }'),
      indexedAtThreshold: number(1, 10 ** 9),
      startHeight: () => 0,
      endHeight: () => 1,
      maxFileRows: () => 1,
      outputDir: pick('x'),
      notes: pick('x'),
      source: pick('x'),
      range: pick('1h', '24h'),
      format: pick('json', 'csv'),
      signatureType: number(1, 3, 4),
    };
  }

  #nonsense(): string {
    const random = this.#random;
    return random.pick([
      '',
      '0',
      '-1',
      '1e3',
      'null',
      '../x',
      'a b',
      '%00',
      'é',
      '[]',
      "';--",
      'x'.repeat(300),
    ]);
  }
}

/** Names of the members of a JSON schema of an object. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const properties: unknown = Reflect.get(schema, 'properties');
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

/** The same path, written otherwise. */
export function respell(random: SeededRandom, path: string): string {
  const [, bare = path, query = ''] = /^([^?]*)(\?.*)?$/.exec(path) ?? [];
  const letters = [...bare];
  const places = letters.flatMap((letter, index) => (/[A-Za-z0-9]/.test(letter) ? [index] : []));
  const percent = (letter: string) => `%${Buffer.from(letter).toString('hex')}`;
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2: {
      const at = places.length === 0 ? 0 : random.pick(places);
      return `${letters.map((letter, index) => (index === at ? percent(letter) : letter)).join('')}${query}`;
    }
    case 3:
      return `${letters.map((letter) => (letter === '/' || random.below(2) === 0 ? letter : percent(letter))).join('')}${query}`;
    case 4:
      return `/${bare}${query}`;
    case 5:
      return `${bare}/${query}`;
    case 6:
      return `${bare.toUpperCase()}${query}`;
    case 7:
      return `/.${bare}${query}`;
    case 8:
      return `${bare}${random.pick([';x', '%00', '%20', '#x', '%2f', '//'])}${query}`;
    default:
      return `http://127.0.0.1${bare}${query}`;
  }
}

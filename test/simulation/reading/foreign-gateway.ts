/** A gateway of somebody else's: it has what is published, and at times is slow, breaks off, knows nothing, or lies. */
import type { ItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { parseRange } from '../../../src/kernel/http/byte-ranges.ts';
import { strongETag } from '../../../src/kernel/http/conditional.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Answered, Asked, Flow, Network } from '../network.ts';
import type { SimulatedProcess } from '../process.ts';
import { digestOf, type Entry, type Library } from './library.ts';
import type { Registry, Target } from './registry.ts';

/** What is wrong with its answers about content. */
export type Lie =
  /** Other bytes, with a hash that fits them. */
  | 'bytes'
  /** The right bytes, with another hash. */
  | 'digest'
  | 'type'
  /** A byte less, or one more. */
  | 'shorter'
  | 'longer'
  /** It says that it is busy, with status 200. */
  | 'page'
  /** Signed fields that nobody signed. */
  | 'fields'
  /** Items lie elsewhere in their bundles. */
  | 'places'
  /** It does not have what it has. */
  | 'absent'
  | 'errors'
  | 'stall'
  | 'break'
  | 'slow'
  /** The end is missing, and it does not say how long it should be. */
  | 'cut';

export interface ForeignOptions {
  readonly process: SimulatedProcess;
  readonly network: Network;
  readonly library: Library;
  readonly registry: Registry;
  readonly number: number;
}

export class ForeignGateway {
  readonly process: SimulatedProcess;
  readonly url: string;
  readonly lies = new Set<Lie>();
  /** When it last answered while something was wrong with its answers. */
  liedAt = Number.NEGATIVE_INFINITY;
  /** Names point elsewhere, it says. */
  liesAboutNames = false;
  readonly #options: ForeignOptions;
  readonly #random: SeededRandom;
  /** Roots of what it has. */
  readonly #known = new Set<string>();
  readonly #names = new Map<string, { readonly target: Target | undefined; readonly until: number }>();

  constructor(options: ForeignOptions) {
    const { process } = options;
    this.#options = options;
    this.process = process;
    this.url = `http://${process.name}.test`;
    this.#random = process.world.random(process.name);
    this.up();
  }

  up(): void {
    const life = this.process.start(async () => {});
    this.#options.network.host(this.url, life, (asked) => this.#answer(asked));
  }

  #answer({ method, path, headers, body }: Asked): Answered {
    if (this.lies.size > 0) this.liedAt = this.process.world.time;
    if (this.lies.has('errors') && this.#random.below(3) > 0) return this.#error();
    const [, first = '', second = ''] = path.split('/');
    const label = headers.host?.split('.', 1)[0] ?? '';
    if (path === '/' && this.#options.registry.labels.includes(label)) return this.#name(label);
    if (first === 'raw') return this.#raw(second, method, headers.range);
    if (first === 'tx') return this.#transaction(second);
    if (first === 'graphql') return this.#graphql(body.toString());
    if (path === '/ar-io/info') return json({ release: 'foreign' });
    return absent;
  }

  #error(): Answered {
    const status = this.#random.pick([500, 502, 503, 429]);
    return { status, headers: status === 429 ? { 'retry-after': '30' } : {}, body: 'not now' };
  }

  #entry(id: string): Entry | undefined {
    const { library } = this.#options;
    const entry = this.lies.has('absent') ? undefined : library.entries.get(id);
    if (entry === undefined) return undefined;
    if (!this.#known.has(entry.root) && library.isOnChain(entry)) this.#known.add(entry.root);
    return this.#known.has(entry.root) ? entry : undefined;
  }

  #raw(id: string, method: string, range: string | undefined): Answered {
    const entry = this.#entry(id);
    if (entry === undefined) return absent;
    if (this.lies.has('page')) return busy;
    const bytes = this.#bytes(entry.bytes);
    const wanted = parseRange(range, bytes.length);
    if (wanted.kind === 'unsatisfiable')
      return { status: 416, headers: { 'content-range': `bytes */${bytes.length}` } };
    const [span] = wanted.kind === 'ranges' ? wanted.spans : [{ start: 0, end: bytes.length }];
    const body = bytes.subarray(span.start, span.end);
    const flow = method === 'GET' ? this.#flow(body.length) : undefined;
    const headers = {
      ...this.#headers(entry, bytes),
      ...(wanted.kind === 'ranges' && {
        'content-range': `bytes ${span.start}-${span.end - 1}/${bytes.length}`,
      }),
    };
    return {
      status: wanted.kind === 'ranges' ? 206 : 200,
      headers,
      body,
      ...(flow !== undefined && { flow }),
    };
  }

  #bytes(right: Buffer): Buffer {
    if (this.lies.has('shorter')) return right.subarray(0, Math.max(0, right.length - 1));
    if (this.lies.has('longer')) return Buffer.concat([right, Buffer.alloc(1)]);
    if (!this.lies.has('bytes')) return right;
    const wrong = Buffer.from(right);
    // Each of them lies in its own way: together they prove nothing.
    if (wrong.length > 0) wrong[wrong.length >> 1] = (wrong[wrong.length >> 1] ?? 0) ^ this.#options.number;
    return wrong;
  }

  #headers(entry: Entry, bytes: Buffer): Record<string, string> {
    const { contentType = 'application/octet-stream', place, header, root, digest } = entry;
    const said = this.lies.has('digest')
      ? digestOf(Buffer.from(`${entry.id} ${this.url}`))
      : this.lies.has('bytes')
        ? digestOf(bytes)
        : digest;
    const aside = this.lies.has('places') ? 7 : 0;
    return {
      'content-type': this.lies.has('type') ? 'text/html' : contentType,
      'x-ar-io-digest': said,
      'x-ar-io-stable': 'true',
      etag: strongETag(said),
      ...(place !== undefined && {
        'x-ar-io-root-transaction-id': root,
        'x-ar-io-root-item-offset': String(place.start + aside),
        'x-ar-io-root-data-item-offset': String(place.start + aside),
        'x-ar-io-root-data-offset': String(place.dataStart + aside),
        'x-ar-io-root-item-size': String(place.end - place.start),
      }),
      ...(header !== undefined && { 'x-arweave-signature-type': String(header.signatureType) }),
    };
  }

  #flow(length: number): Flow | undefined {
    const until = Math.floor(length * this.#random.fraction());
    if (this.lies.has('stall')) return { until, ending: 'stall' };
    if (this.lies.has('break')) return { until, ending: 'break' };
    if (this.lies.has('cut')) return { until, isUnsized: true };
    if (this.lies.has('slow')) return { pace: { bytes: 1 + (length >> 3), everyMs: 4_000 } };
    return undefined;
  }

  #transaction(id: string): Answered {
    const entry = this.#entry(id);
    if (entry?.json === undefined) return absent;
    return { status: 200, headers: { 'content-type': 'application/json' }, body: entry.json };
  }

  #graphql(text: string): Answered {
    const id = textOf(memberOf(tryParseJson(text), 'variables'), 'id') ?? '';
    const header = this.#entry(id)?.header;
    return json({ data: { transaction: header === undefined ? null : this.#node(header) } });
  }

  #node({ id, anchor, signature, target, owner, tags, signatureType }: ItemHeader): object {
    const forged = { name: 'Content-Type', value: 'text/html' };
    const others = tags.filter(({ name }) => name !== 'Content-Type');
    return {
      ...{ id, signatureType },
      anchor: anchor.toString('base64url'),
      signature: signature.toString('base64url'),
      recipient: target.toString('base64url'),
      owner: { key: owner.toString('base64url') },
      tags: this.lies.has('fields') ? [...others, forged] : tags,
    };
  }

  /** It keeps what it was told for as long as the record says. */
  #name(label: string): Answered {
    const { registry, library } = this.#options;
    const { time } = this.process.world;
    let kept = this.#names.get(label);
    if (kept === undefined || kept.until <= time) {
      const target = registry.now(label);
      kept = { target, until: time + (target?.ttlSeconds ?? 30) * 1_000 };
      this.#names.set(label, kept);
    }
    const { target } = kept;
    if (target === undefined) return absent;
    const others = [...library.entries.keys()];
    const id = this.liesAboutNames ? (others[this.#random.below(others.length)] ?? target.id) : target.id;
    return {
      status: 200,
      headers: { 'x-arns-resolved-id': id, 'x-arns-ttl-seconds': String(target.ttlSeconds) },
    };
  }
}

const absent: Answered = {
  status: 404,
  headers: { 'content-type': 'text/plain', 'cache-control': 'public, max-age=60' },
  body: 'Not Found',
};

const busy: Answered = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<html><body>We are very busy. Please come back later.</body></html>',
};

const json = (value: unknown): Answered => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

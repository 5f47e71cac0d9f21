/**
 * Whether the router may serve something: asked by name, by id, by what the bytes are, and by where they lie, since the
 * bytes of a blocked item are also a part of its bundle.
 */
import { LRUCache } from 'lru-cache';
import type { Blocklist } from '../../delivery/moderation/blocklist.ts';
import type { TxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import { contentBlocked } from '../errors.ts';
import type { AccessPath, Headers } from './headers.ts';
import type { Placements } from './placements.ts';

export interface RefusalOptions {
  readonly list: Blocklist;
  readonly placements: Placements;
  readonly onBlocked: (type: 'arns' | 'txid') => void;
}

/** Bytes of content in the data of the chain transaction `root`. */
interface Region extends Span {
  readonly root: string;
}

export class Refusals {
  readonly #options: RefusalOptions;

  constructor(options: RefusalOptions) {
    this.#options = options;
  }

  get list(): Blocklist {
    return this.#options.list;
  }

  name(label: string): void {
    if (this.list.blocksName(label)) this.#refuse('arns');
  }

  id(id: string): void {
    if (this.list.blocksId(id)) this.#refuse('txid');
  }

  /** Everything on the way to content: the name and the manifest too. */
  path({ name, manifestId, id }: AccessPath): void {
    if (name !== undefined) this.name(name.label);
    if (manifestId !== undefined) this.id(manifestId);
    this.id(id);
  }

  /** By the SHA-256 of the bytes, in hex. */
  digest(hex: string | undefined): void {
    if (hex === undefined || !this.list.wantsHashes) return;
    if (this.list.blocksHash(base64urlOf(hex))) this.#refuse('txid');
  }

  /** The parts of content that would leave; undefined for the whole. `region` as `regionOf` found it. */
  parts(id: string, region: Region, spans: readonly Span[] | undefined): void {
    const { root, start, end } = region;
    for (const span of spans ?? [{ start: 0, end: end - start }]) {
      const asked = { start: start + span.start, end: start + span.end };
      if (this.list.blockedPart(root, region, asked, id) !== undefined) this.#refuse('txid');
    }
  }

  /** Where content lies; undefined where no bundle has to be looked at. `told` is what came with the content. */
  async regionOf(id: TxId, told: Readonly<Headers> | undefined): Promise<Region | undefined> {
    if (!this.list.hasPlaces) return undefined;
    const { placements } = this.#options;
    return readRegion(told ?? (await placements.find(id))) ?? wholeOf(id);
  }

  /** The same without asking anybody; undefined also where that does not do. */
  knownRegion(id: TxId): Region | undefined {
    return readRegion(this.#options.placements.at(id));
  }

  #refuse(type: 'arns' | 'txid'): never {
    this.#options.onBlocked(type);
    throw contentBlocked();
  }
}

/** Of a chain transaction all of its data, which lies nowhere else. */
function wholeOf(id: string): Region {
  return { root: id, start: 0, end: Number.MAX_SAFE_INTEGER };
}

function readRegion(placement: Readonly<Headers> | undefined): Region | undefined {
  const root = placement?.['x-ar-io-root-transaction-id'];
  const start = Number(placement?.['x-ar-io-root-data-offset']);
  const item = placement?.['x-ar-io-root-item-offset'] ?? placement?.['x-ar-io-root-data-item-offset'];
  const size = placement?.['x-ar-io-root-item-size'] ?? placement?.['x-ar-io-data-item-size'];
  const end = Number(item) + Number(size);
  return root !== undefined && end > start ? { root, start, end } : undefined;
}

/** The same few digests are asked about again and again. */
const forms = new LRUCache<string, string>(atMost(10_000));

function base64urlOf(hex: string): string {
  const known = forms.get(hex);
  if (known !== undefined) return known;
  const made = Buffer.from(hex, 'hex').toString('base64url');
  forms.set(hex, made);
  return made;
}

/** What was ever published, byte for byte: what every answer about content is held against. */
import { createHash } from 'node:crypto';
import { bundleTags, encodeBundleHeader } from '../../../src/formats/ans104/bundle-header.ts';
import { type ItemHeader, parseItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { type DataTree, dataTreeOf } from '../../../src/formats/arweave/data-root.ts';
import { newTransaction } from '../../../src/formats/arweave/transaction.ts';
import { transactionToJson } from '../../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../../src/formats/arweave/transaction-signature.ts';
import { decodeBase64url } from '../../../src/formats/base64url.ts';
import {
  buildManifest,
  type Manifest,
  manifestContentType,
  resolveManifestPath,
} from '../../../src/formats/manifest/manifest.ts';
import { parseManifest } from '../../../src/formats/manifest/reader.ts';
import { storageFee } from '../../../src/localnet/arweave/rules.ts';
import {
  arweaveSigner,
  ed25519Signer,
  signItem,
  solanaSigner,
} from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { ArweaveNetwork } from '../arweave.ts';

/** Content with an id of its own. */
export interface Entry {
  readonly id: string;
  readonly bytes: Buffer;
  /** Base64url SHA-256. */
  readonly digest: string;
  /** As it was signed; undefined where nobody said. */
  readonly contentType: string | undefined;
  readonly manifest: Manifest | undefined;
  /** The chain transaction whose data it is, or is in. */
  readonly root: string;
  /** Of items: where they lie in the data of the root. */
  readonly place: Place | undefined;
  readonly header: ItemHeader | undefined;
  /** Of transactions: as a node tells it. */
  readonly json: string | undefined;
  /** Ids of what lies in it. */
  readonly within: readonly string[];
}

export interface Place {
  readonly start: number;
  readonly dataStart: number;
  readonly end: number;
}

/** A chain transaction with everything in it. */
export interface Publication {
  readonly id: string;
  readonly data: Buffer;
  readonly tree: DataTree;
  readonly json: string;
  readonly dataRoot: string;
  readonly anchor: string;
  readonly entries: readonly Entry[];
  /** It never came to the chain, and no longer can. */
  isGivenUp: boolean;
}

/** An item that is not in a bundle yet. */
interface Made {
  readonly bytes: Buffer;
  readonly header: ItemHeader;
  readonly contentType: string | undefined;
  readonly inner: readonly Made[];
}

const types = ['text/plain', 'text/html', 'image/png', 'application/json', 'text/css', undefined];
const signers = [
  arweaveSigner(testArweaveKey),
  ed25519Signer(ed25519TestKey('publisher')),
  solanaSigner(ed25519TestKey('publisher')),
];

export class Library {
  readonly publications: Publication[] = [];
  readonly entries = new Map<string, Entry>();
  readonly #arweave: ArweaveNetwork;
  readonly #random: SeededRandom;
  /** Roots of which the nodes have every byte: one of them keeps it. */
  readonly #whole = new Set<string>();
  #count = 0;

  constructor(arweave: ArweaveNetwork, random: SeededRandom) {
    this.#arweave = arweave;
    this.#random = random;
    arweave.funds.set(testArweaveKey.address, 10n ** 15n);
  }

  /** Whether the chain that the nodes follow has it, and some node each of its bytes. */
  isOnChain({ root }: Pick<Entry, 'root'>): boolean {
    const mined = this.#arweave.best.mined.get(root);
    if (mined === undefined) return false;
    if (!this.#whole.has(root) && this.#arweave.dataOf(mined) !== undefined) this.#whole.add(root);
    return this.#whole.has(root);
  }

  heightOf({ root }: Pick<Entry, 'root'>): number | undefined {
    return this.#arweave.best.mined.get(root)?.height;
  }

  /** Those that are on the chain. */
  published(): Entry[] {
    const there = this.publications.filter(({ id }) => this.isOnChain({ root: id }));
    return there.flatMap(({ entries }) => entries);
  }

  /** What a path below an id leads to, and everything on the way there. */
  resolve(id: string, path: string): { readonly entry: Entry | undefined; readonly way: readonly Entry[] } {
    const entry = this.entries.get(id);
    if (entry?.manifest === undefined)
      return { entry: path === '' ? entry : undefined, way: entry ? [entry] : [] };
    const hit = resolveManifestPath(entry.manifest, path);
    const target = hit && this.entries.get(hit.id);
    return { entry: target, way: target === undefined ? [entry] : [entry, target] };
  }

  /** A transaction with data, or with a bundle of items, some of which are bundles or manifests. */
  async make(anchor: string): Promise<Publication> {
    const random = this.#random;
    this.#count += 1;
    const isBundle = random.below(4) > 0;
    const items = isBundle ? await this.#items(random.between(1, 6), 0) : [];
    const contentType = isBundle ? undefined : random.pick(types);
    const data = isBundle ? bundleOf(items) : random.bytes(1 + sizeOf(random));
    const tree = dataTreeOf(data);
    const signed = await signTransactionAsync(
      newTransaction({
        owner: testArweaveKey.modulus,
        lastTx: decodeBase64url(anchor),
        reward: storageFee(BigInt(data.length), false) + BigInt(this.#count),
        tags: isBundle ? bundleTags : tagsOf(contentType),
        dataSize: data.length,
        dataRoot: tree.root,
      }),
      testArweaveKey.privateKey,
    );
    const id = signed.id.toString('base64url');
    const json = JSON.stringify(transactionToJson(signed, 'header'));
    const entries = items.length === 0 ? [] : entriesOf(items, id, 0);
    const whole = {
      id,
      root: id,
      place: undefined,
      header: undefined,
      json,
      manifest: undefined,
      contentType,
    };
    const within = entries.map((entry) => entry.id);
    const publication = {
      ...{ id, data, tree, json, anchor, isGivenUp: false },
      dataRoot: tree.root.toString('base64url'),
      entries: [{ ...whole, bytes: data, digest: digestOf(data), within }, ...entries],
    };
    this.publications.push(publication);
    for (const entry of publication.entries) this.entries.set(entry.id, entry);
    return publication;
  }

  async #items(count: number, depth: number): Promise<Made[]> {
    const random = this.#random;
    const made: Made[] = [];
    for (let index = 0; index < count; index += 1) {
      const kind = random.below(10);
      if (kind === 0 && depth < 2) made.push(await this.#bundle(depth + 1));
      else if (kind <= 2 && made.length > 0) made.push(await this.#manifest(made));
      else made.push(await this.#item(this.#payload(made), random.pick(types)));
    }
    return made;
  }

  /** Some are nothing, and some are the same as others. */
  #payload(made: readonly Made[]): Buffer {
    const random = this.#random;
    const kind = random.below(20);
    if (kind === 0) return Buffer.alloc(0);
    const other = kind < 3 ? made.find(({ inner }) => inner.length === 0) : undefined;
    return other === undefined ? random.bytes(sizeOf(random)) : dataOf(other);
  }

  async #bundle(depth: number): Promise<Made> {
    const inner = await this.#items(this.#random.between(1, 3), depth);
    return { ...(await this.#item(bundleOf(inner), undefined, bundleTags)), inner };
  }

  async #manifest(made: readonly Made[]): Promise<Made> {
    const random = this.#random;
    const older = [...this.entries.keys()];
    const ids: string[] = made.map(({ header }) => header.id);
    if (older.length > 0) ids.push(random.pick(older));
    const paths = new Map(ids.map((id, index) => [index === 0 ? 'index.html' : `part/${index}.bin`, id]));
    const bytes = buildManifest({
      paths,
      indexPath: 'index.html',
      ...(random.below(2) === 0 && { fallbackId: random.pick(ids) }),
    });
    return this.#item(bytes, manifestContentType);
  }

  async #item(
    data: Buffer,
    contentType: string | undefined,
    tags: readonly { readonly name: string; readonly value: string }[] = tagsOf(contentType),
  ): Promise<Made> {
    this.#count += 1;
    const anchor = Buffer.from(String(this.#count).padStart(32, '0'));
    const bytes = await signItem({ data, tags, anchor }, this.#random.pick(signers));
    return { bytes, header: headerOf(bytes), contentType, inner: [] };
  }
}

const tagsOf = (contentType: string | undefined) =>
  contentType === undefined ? [] : [{ name: 'Content-Type', value: contentType }];

const dataOf = ({ bytes, header }: Made): Buffer => bytes.subarray(header.length);

export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url');

function headerOf(bytes: Buffer): ItemHeader {
  const header = parseItemHeader(bytes);
  if (typeof header === 'string') throw new Error(header);
  return header;
}

function bundleOf(items: readonly Made[]): Buffer {
  const header = encodeBundleHeader(
    items.map(({ header: { id }, bytes }) => ({ id: decodeBase64url(id), size: bytes.length })),
  );
  return Buffer.concat([header, ...items.map(({ bytes }) => bytes)]);
}

/** `at`: where the bundle begins in the data of the root. */
function entriesOf(items: readonly Made[], root: string, at: number): Entry[] {
  const entries: Entry[] = [];
  let start = at + 32 + 64 * items.length;
  for (const item of items) {
    const { header, contentType } = item;
    const bytes = dataOf(item);
    const place = { start, dataStart: start + header.length, end: start + item.bytes.length };
    const inner = item.inner.length === 0 ? [] : entriesOf(item.inner, root, place.dataStart);
    const isManifest = contentType === manifestContentType;
    entries.push(
      {
        ...{ id: header.id, bytes, digest: digestOf(bytes), contentType, root, place, header },
        json: undefined,
        manifest: isManifest ? parseManifest(bytes) : undefined,
        within: inner.map(({ id }) => id),
      },
      ...inner,
    );
    start = place.end;
  }
  return entries;
}

/** Most are small; some are of several chunks, and too large for a router to hold back whole. */
function sizeOf(random: SeededRandom): number {
  const kind = random.below(12);
  if (kind < 8) return random.between(1, 3_000);
  if (kind < 11) return random.between(9_000, 30_000);
  return random.between(100_000, 500_000);
}

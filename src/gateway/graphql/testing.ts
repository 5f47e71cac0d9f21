/** Random records and random questions, with what a plain list would answer. */
import assert from 'node:assert/strict';
import { DATA_ITEM, TRANSACTION } from '../chain-index/order.ts';
import type { Entry, Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../chain-index/testing.ts';
import type { GraphqlService } from './execute.ts';

interface Model {
  readonly id: string;
  readonly isItem: boolean;
  height: number | null;
  blockIndex: number | null;
  readonly indexedAt: number;
  readonly owner: string;
  readonly recipient: string | undefined;
  readonly bundle: string | undefined;
  readonly tags: readonly (readonly [string, string])[];
}

interface Question {
  readonly ids?: string[];
  readonly owners?: string[];
  readonly recipients?: string[];
  readonly bundledIn?: string[] | null;
  readonly block?: { min?: number; max?: number };
  readonly ingested_at?: { min?: number; max?: number };
  readonly tags?: { name: string; values: string[]; op?: 'EQ' | 'NEQ' }[];
  readonly sort: string;
}

const b64 = (name: string) => digest(name).toString('base64url');
const query = `query($ids: [ID!], $owners: [String!], $recipients: [String!], $tags: [TagFilter!], $bundledIn: [ID!],
  $block: BlockFilter, $ingested_at: RangeFilter, $sort: SortOrder, $first: Int, $after: String) {
  transactions(ids: $ids, owners: $owners, recipients: $recipients, tags: $tags, bundledIn: $bundledIn, block: $block,
    ingested_at: $ingested_at, sort: $sort, first: $first, after: $after) {
    pageInfo { hasNextPage } count
    edges { cursor node { id signature recipient ingested_at tags { name value } bundledIn { id } owner { address } } } } }`;

function expected(models: readonly Model[], question: Question): string[] {
  const inRange = (value: number | null, range?: { min?: number; max?: number }) =>
    range === undefined ||
    (value !== null && value >= (range.min ?? -Infinity) && value <= (range.max ?? Infinity));
  const key = (model: Model): (number | string)[] => {
    // Of ids that begin with the same 48 bits the one that was there first comes first.
    const tie = Buffer.from(model.id, 'base64url').toString('hex', 0, 6);
    const id = `${tie} ${String(models.indexOf(model)).padStart(6)}`;
    if (question.sort.startsWith('INGESTED')) return [model.indexedAt, id];
    if (model.height === null) return [Infinity, model.indexedAt, 0, id];
    return [model.height, model.blockIndex ?? 0, model.isItem ? 1 : 0, id];
  };
  const compare = (a: Model, b: Model) => {
    const [left, right] = [key(a), key(b)];
    for (let at = 0; at < left.length; at += 1) {
      if (left[at] !== right[at]) return (left[at] ?? 0) < (right[at] ?? 0) ? -1 : 1;
    }
    return 0;
  };
  const has = (model: Model, name: string, values: string[]) =>
    model.tags.some(([tagName, value]) => tagName === name && values.includes(value));
  const found = models
    .filter(
      (model) =>
        (question.ids === undefined || question.ids.includes(model.id)) &&
        (question.owners === undefined || question.owners.includes(model.owner)) &&
        (question.recipients === undefined || question.recipients.includes(model.recipient ?? '')) &&
        (question.bundledIn === undefined ||
          (question.bundledIn === null ? !model.isItem : question.bundledIn.includes(model.bundle ?? ''))) &&
        inRange(model.height, question.block) &&
        inRange(model.indexedAt, question.ingested_at) &&
        (question.tags ?? []).every(({ name, values, op }) => has(model, name, values) !== (op === 'NEQ')),
    )
    .sort(compare)
    .map((model) => model.id);
  return question.sort.endsWith('ASC') ? found : found.reverse();
}

const owners = ['ann', 'bob', 'eve'];
const heights = 12;

interface Bundle {
  readonly id: string;
  readonly record: number;
  readonly height: number;
  readonly blockIndex: number;
}

export class RandomWorld {
  now = 1_000;
  /** Lengths of pages that are asked for. */
  pages: readonly number[] = [1, 3, 7, 50, 1000];
  afterWrite: () => Promise<unknown> = async () => {};
  readonly models: Model[] = [];
  readonly bundles: Bundle[] = [];
  readonly #index: SqlGatewayIndex;
  readonly #service: GraphqlService;
  readonly #next: () => number;

  /** The index takes its time from what is given; `next` is a random fraction. */
  constructor(
    index: (now: () => number) => { index: SqlGatewayIndex; service: GraphqlService },
    next: () => number,
  ) {
    const made = index(() => this.now);
    this.#index = made.index;
    this.#service = made.service;
    this.#next = next;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#next() * list.length)] as T;
  }

  #some<T>(list: readonly T[]): T[] {
    return list.filter(() => this.#next() < 0.4);
  }

  /** Blocks with transactions and bundles, and what is not mined. */
  async fill(): Promise<void> {
    for (let height = 0; height < heights; height += 1) {
      for (let blockIndex = 0; blockIndex < 4; blockIndex += 1) {
        this.now += Math.floor(this.#next() * 3);
        const id = `tx ${height}/${blockIndex}`;
        const [root] = await this.write([this.#make(id, false, { height, blockIndex })]);
        const bundle = { id, height, blockIndex, record: root?.record ?? 0 };
        this.bundles.push(bundle);
        await this.addItems(bundle, Math.floor(this.#next() * 5), id);
      }
    }
    for (let pending = 0; pending < 10; pending += 1) {
      this.now += Math.floor(this.#next() * 2);
      await this.write([this.#make(`pending ${pending}`, this.#next() < 0.5, undefined)]);
    }
    this.now += 5;
  }

  /** Items of a bundle, perhaps long after it was mined. */
  async addItems(bundle: Bundle, count: number, name: string): Promise<void> {
    const items = Array.from({ length: count }, (_, item) =>
      this.#make(`${name}/${item}`, true, bundle, bundle),
    );
    if (items.length > 0) await this.write(items);
  }

  /** Another item beside one that is there, whose id begins with the same 48 bits. */
  async addTie(bundle: Bundle, beside: string): Promise<void> {
    const id = Buffer.from(beside, 'base64url');
    id[31] = (id[31] ?? 0) ^ 1;
    await this.write([this.#make(`tie of ${beside}`, true, bundle, bundle, { id })]);
  }

  /** An item that is there is found again, in another bundle; nothing changes. */
  async repeat(id: string, bundle: Bundle): Promise<void> {
    const before = this.models.length;
    const again = this.#make('again', true, bundle, bundle, { id: Buffer.from(id, 'base64url') });
    this.models.length = before;
    await this.write([again]);
  }

  async write(entries: Entry[]) {
    const prepared = await this.#index.writer.prepare(entries);
    const written = await this.#index.sql.transaction((tx) => this.#index.writer.put(tx, prepared));
    await this.afterWrite();
    return written;
  }

  #make(
    name: string,
    isItem: boolean,
    mined: { height: number; blockIndex: number } | undefined,
    bundle?: Bundle,
    fields: Partial<Header> = {},
  ): Entry {
    const tags = this.#some(['App', 'Type', 'Kind', 'App']).map(
      (tag) => [tag, this.pick(['1', '2', '3'])] as const,
    );
    const recipient = this.#next() < 0.3 ? this.pick(owners) : undefined;
    const owner = this.pick(owners);
    this.models.push({
      id: (fields.id ?? digest(name)).toString('base64url'),
      isItem,
      height: mined?.height ?? null,
      blockIndex: mined?.blockIndex ?? null,
      indexedAt: this.now,
      owner: b64(owner),
      recipient: recipient && b64(recipient),
      bundle: bundle && b64(bundle.id),
      tags,
    });
    return entry(
      header(name, {
        kind: isItem ? DATA_ITEM : TRANSACTION,
        ownerKey: Buffer.from(owner),
        target: recipient === undefined ? null : digest(recipient),
        tags: rawTags(tags),
        ...fields,
      }),
      mined && { height: mined.height, blockIndex: mined.blockIndex },
      bundle && {
        bundle: digest(bundle.id),
        placed: {
          root: bundle.record,
          parent: bundle.record,
          parentOffset: 0,
          itemOffset: 0,
          dataOffset: 0,
          itemSize: 0,
        },
      },
    );
  }

  /** Takes everything above a height out of the chain. */
  async fork(height: number): Promise<void> {
    while (await this.#index.writer.unmine(this.#index.sql, height));
    for (const model of this.models) {
      if (model.height !== null && model.height > height) {
        model.height = null;
        model.blockIndex = null;
      }
    }
  }

  ask(): Question {
    const next = this.#next;
    const ids = this.models.map((model) => model.id);
    return {
      ...(next() < 0.15 && { ids: this.#some(ids) }),
      ...(next() < 0.3 && { owners: this.#some(owners).map(b64) }),
      ...(next() < 0.2 && { recipients: this.#some(owners).map(b64) }),
      ...(next() < 0.2 && { bundledIn: next() < 0.3 ? null : this.#some(ids) }),
      ...(next() < 0.3 && {
        block: { min: Math.floor(next() * 12), ...(next() < 0.6 && { max: Math.floor(next() * 14) - 1 }) },
      }),
      ...(next() < 0.2 && {
        ingested_at: {
          min: 1_000 + Math.floor(next() * 60),
          ...(next() < 0.5 && { max: 1_030 + Math.floor(next() * 60) }),
        },
      }),
      ...(next() < 0.7 && {
        tags: Array.from({ length: 1 + Math.floor(next() * 2) }, () => ({
          name: this.pick(['App', 'Type', 'Kind', 'None']),
          values: [this.pick(['1', '2', '3']), this.pick(['1', '2', '9'])],
          op: next() < 0.2 ? ('NEQ' as const) : ('EQ' as const),
        })),
      }),
      sort: this.pick(['HEIGHT_DESC', 'HEIGHT_ASC', 'INGESTED_AT_DESC', 'INGESTED_AT_ASC']),
    };
  }

  /** Asks page by page, and compares with the list. */
  async check(question: Question): Promise<void> {
    const wanted = expected(this.models, withoutEmptyLists(question));
    const first = this.pick(this.pages);
    const seen: string[] = [];
    for (let after = '', more = true; more; ) {
      const { body } = await this.#service.answer({
        query,
        variables: { ...question, first, after },
        operationName: undefined,
      });
      const { data, errors } = JSON.parse(body);
      assert.equal(errors, undefined, body);
      const { edges, pageInfo, count } = data.transactions;
      assert.equal(count, String(wanted.length), JSON.stringify(question));
      for (const { node } of edges) this.#checkNode(node);
      seen.push(...edges.map((edge: { node: { id: string } }) => edge.node.id));
      assert.equal(pageInfo.hasNextPage, seen.length < wanted.length, JSON.stringify(question));
      more = pageInfo.hasNextPage;
      after = edges.at(-1)?.cursor ?? '';
    }
    assert.deepEqual(seen, wanted, JSON.stringify(question));
  }

  #checkNode(node: ShownNode): void {
    const model = this.models.find(({ id }) => id === node.id);
    assert.ok(model);
    assert.equal(node.owner.address, model.owner);
    assert.equal(node.recipient, model.recipient ?? '');
    assert.equal(node.bundledIn?.id, model.bundle);
    assert.equal(node.ingested_at, model.indexedAt);
    assert.deepEqual(
      node.tags.map(({ name, value }) => [name, value]),
      model.tags,
    );
    assert.notEqual(node.signature, '<not-found>');
  }
}

interface ShownNode {
  readonly id: string;
  readonly owner: { readonly address: string };
  readonly recipient: string;
  readonly bundledIn: { readonly id: string } | null;
  readonly ingested_at: number;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly signature: string;
}

/** An empty list is no filter. */
function withoutEmptyLists(question: Question): Question {
  const entries = Object.entries(question).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return { ...Object.fromEntries(entries), sort: question.sort };
}

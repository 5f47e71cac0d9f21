/** Random records and random questions: the index must answer exactly what a plain list would. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from '../chain-index/migrations.ts';
import { DATA_ITEM, TRANSACTION } from '../chain-index/order.ts';
import type { Entry } from '../chain-index/records.ts';
import { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../chain-index/testing.ts';
import { GraphqlService } from './execute.ts';

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

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const b64 = (name: string) => digest(name).toString('base64url');
const query = `query($ids: [ID!], $owners: [String!], $recipients: [String!], $tags: [TagFilter!], $bundledIn: [ID!],
  $block: BlockFilter, $ingested_at: RangeFilter, $sort: SortOrder, $first: Int, $after: String) {
  transactions(ids: $ids, owners: $owners, recipients: $recipients, tags: $tags, bundledIn: $bundledIn, block: $block,
    ingested_at: $ingested_at, sort: $sort, first: $first, after: $after) {
    pageInfo { hasNextPage } edges { cursor node { id bundledIn { id } owner { address } } } count } }`;

function expected(models: readonly Model[], question: Question): string[] {
  const inRange = (value: number | null, range?: { min?: number; max?: number }) =>
    range === undefined ||
    (value !== null && value >= (range.min ?? -Infinity) && value <= (range.max ?? Infinity));
  const key = (model: Model): (number | string)[] => {
    const id = Buffer.from(model.id, 'base64url').toString('hex');
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

forEachEngine((_engine, open) => {
  it('answers random questions as a plain list would, page by page, also after a fork', async () => {
    const next = seededRandom(20_240_607).fraction;
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
    const some = <T>(list: readonly T[]): T[] => list.filter(() => next() < 0.4);
    let now = 1_000;
    const index = new SqlGatewayIndex(await open(migrations), () => now);
    const service = new GraphqlService(index, log);
    const owners = ['ann', 'bob', 'eve'];
    const models: Model[] = [];

    const write = async (entries: Entry[]) => {
      const prepared = await index.writer.prepare(entries);
      return index.sql.transaction((tx) => index.writer.put(tx, prepared));
    };
    const make = (
      name: string,
      isItem: boolean,
      mined: { height: number; blockIndex: number } | undefined,
      bundle?: { id: string; record: number },
    ) => {
      const tags = some(['App', 'Type', 'Kind', 'App']).map((tag) => [tag, pick(['1', '2', '3'])] as const);
      const recipient = next() < 0.3 ? pick(owners) : undefined;
      const owner = pick(owners);
      models.push({
        id: b64(name),
        isItem,
        height: mined?.height ?? null,
        blockIndex: mined?.blockIndex ?? null,
        indexedAt: now,
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
        }),
        mined,
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
    };
    for (let height = 0; height < 12; height += 1) {
      for (let blockIndex = 0; blockIndex < 4; blockIndex += 1) {
        now += Math.floor(next() * 3);
        const name = `tx ${height}/${blockIndex}`;
        const [root] = await write([make(name, false, { height, blockIndex })]);
        const items = Array.from({ length: Math.floor(next() * 5) }, (_, item) =>
          make(`${name}/${item}`, true, { height, blockIndex }, { id: name, record: root?.record ?? 0 }),
        );
        if (items.length > 0) await write(items);
      }
    }
    for (let pending = 0; pending < 10; pending += 1) {
      now += Math.floor(next() * 2);
      await write([make(`pending ${pending}`, next() < 0.5, undefined)]);
    }
    now += 5;

    const ask = (): Question => ({
      ...(next() < 0.15 && { ids: some(models.map((model) => model.id)) }),
      ...(next() < 0.3 && { owners: some(owners).map(b64) }),
      ...(next() < 0.2 && { recipients: some(owners).map(b64) }),
      ...(next() < 0.2 && { bundledIn: next() < 0.3 ? null : some(models.map((model) => model.id)) }),
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
          name: pick(['App', 'Type', 'Kind', 'None']),
          values: [pick(['1', '2', '3']), pick(['1', '2', '9'])],
          op: next() < 0.2 ? ('NEQ' as const) : ('EQ' as const),
        })),
      }),
      sort: pick(['HEIGHT_DESC', 'HEIGHT_ASC', 'INGESTED_AT_DESC', 'INGESTED_AT_ASC']),
    });

    const check = async (question: Question) => {
      const wanted = expected(models, withoutEmptyLists(question));
      const first = pick([1, 3, 7, 50, 1000]);
      const seen: string[] = [];
      for (let after = '', more = true; more; ) {
        const { body } = await service.answer({
          query,
          variables: { ...question, first, after },
          operationName: undefined,
        });
        const { data, errors } = JSON.parse(body);
        assert.equal(errors, undefined, body);
        const { edges, pageInfo, count } = data.transactions;
        assert.equal(count, String(wanted.length), JSON.stringify(question));
        seen.push(...edges.map((edge: { node: { id: string } }) => edge.node.id));
        assert.equal(pageInfo.hasNextPage, seen.length < wanted.length, JSON.stringify(question));
        more = pageInfo.hasNextPage;
        after = edges.at(-1)?.cursor ?? '';
      }
      assert.deepEqual(seen, wanted, JSON.stringify(question));
    };
    for (let round = 0; round < 60; round += 1) await check(ask());

    while (await index.writer.unmine(index.sql, 8));
    for (const model of models) {
      if (model.height !== null && model.height > 8) {
        model.height = null;
        model.blockIndex = null;
      }
    }
    for (let round = 0; round < 25; round += 1) await check(ask());
  });
});

/** An empty list is no filter. */
function withoutEmptyLists(question: Question): Question {
  const entries = Object.entries(question).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return { ...Object.fromEntries(entries), sort: question.sort };
}

/** Questions to a gateway, and what operators and other gateways give it. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GraphQLError } from 'graphql';
import { listedPlaces } from '../../../src/delivery/moderation/bundle-list.ts';
import { readBlockDocument } from '../../../src/delivery/moderation/follower.ts';
import { BadQuery, cursorText, parseCursor } from '../../../src/events/feed.ts';
import { encodeBundleHeader } from '../../../src/formats/ans104/bundle-header.ts';
import { encodeItem } from '../../../src/formats/ans104/item.ts';
import { tryParseJson } from '../../../src/formats/json.ts';
import { migrations } from '../../../src/gateway/chain-index/migrations.ts';
import { packPlaces, placesIn, unpackPlaces } from '../../../src/gateway/chain-index/place-block.ts';
import { SqlGatewayIndex } from '../../../src/gateway/chain-index/sql-index.ts';
import { packTags, unpackRawTags } from '../../../src/gateway/chain-index/tags.ts';
import { digest, entry, header, rawTags } from '../../../src/gateway/chain-index/testing.ts';
import { parseChainQuery } from '../../../src/gateway/events/query.ts';
import { parseManifest as parseDatasetManifest } from '../../../src/gateway/export/manifest.ts';
import {
  canonicalFilter,
  FilterError,
  parseFilter,
  parseFilterText,
} from '../../../src/gateway/filters/filter.ts';
import { compileFilter } from '../../../src/gateway/filters/match.ts';
import {
  blockCursor,
  parseBlockCursor,
  parseTransactionCursor,
} from '../../../src/gateway/graphql/cursor.ts';
import { GraphqlService } from '../../../src/gateway/graphql/execute.ts';
import { parseOperation } from '../../../src/gateway/graphql/operation.ts';
import { fuzzy, wildcard } from '../../../src/gateway/graphql/tag-patterns.ts';
import { readSubscriptions } from '../../../src/gateway/published-indexes/subscriber/subscriptions.ts';
import { readItems } from '../../../src/gateway/unbundle/tasks.ts';
import { StartupError } from '../../../src/kernel/errors.ts';
import { silentLog } from '../../../src/kernel/testing.ts';
import { openSqlite } from '../../../src/storage/sql/sqlite/open.ts';
import { optionsOf, readOrRefused, type Target, textsOf } from '../target.ts';

const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';

/** An index of three records, made when the first question comes. */
let made: Promise<GraphqlService> | undefined;
const service = () => (made ??= makeService());

async function makeService(): Promise<GraphqlService> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-fuzz-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const index = new SqlGatewayIndex(openSqlite(join(folder, 'index.db'), migrations), () => 1_700_000_000);
  const prepared = await index.writer.prepare(
    ['a', 'b', 'c'].map((name, blockIndex) =>
      entry(
        header(name, {
          tags: rawTags({ App: name, 'Content-Type': 'text/plain' }),
          target: digest('someone'),
        }),
        { height: 0, blockIndex },
      ),
    ),
  );
  await index.sql.transaction((tx) => index.writer.put(tx, prepared));
  return new GraphqlService(index, silentLog);
}

const questions = [
  {
    query:
      '{ transactions(first: 2, tags: [{name: "App", values: ["a"]}]) { edges { cursor node { id tags { name value } } } } }',
  },
  {
    query:
      'query Q($a: ID!) { transaction(id: $a) { id ...F } } fragment F on Transaction { owner { address } }',
    variables: { a: id },
  },
  { query: '{ blocks(height: {min: 0}) { edges { node { id height } } } }', operationName: null },
  { query: '{ __schema { types { name } } __typename }' },
  {
    query:
      'query A { a: transactions(ids: ["x"], sort: HEIGHT_ASC) { pageInfo { hasNextPage } } } query B { __typename }',
    operationName: 'B',
  },
  {
    query:
      '{ transactions(tags: [{name: "A*", values: ["?"], match: WILDCARD}], owners: ["x"], bundledIn: null) @skip(if: false) { count } }',
  },
];

const item = encodeItem({
  signatureType: 2,
  signature: Buffer.alloc(64, 7),
  owner: Buffer.alloc(32, 9),
  tags: [{ name: 'a', value: 'b' }],
  data: Buffer.from('payload'),
});

function bundleOf(items: readonly Buffer[]): Buffer {
  const entries = items.map((bytes, index) => ({ id: Buffer.alloc(32, index + 1), size: bytes.length }));
  return Buffer.concat([encodeBundleHeader(entries), ...items]);
}
const nested = encodeItem({
  signatureType: 2,
  signature: Buffer.alloc(64, 7),
  owner: Buffer.alloc(32, 9),
  tags: [
    { name: 'Bundle-Format', value: 'binary' },
    { name: 'Bundle-Version', value: '2.0.0' },
  ],
  data: bundleOf([item]),
});

const dataset = {
  schemaVersion: 1,
  version: 'v',
  folder: 'f',
  writtenAt: '2026-01-01T00:00:00.000Z',
  firstHeight: 0,
  heightPartitionSize: 10,
  heights: [{ from: 0, to: 9 }],
  complete: true,
  rows: { blocks: 1, transactions: 1, tags: 0 },
  partitions: [],
};

export const targets: readonly Target[] = [
  {
    name: 'graphql',
    longest: 2_000,
    seeds: () => [
      ...questions.map((question) => JSON.stringify(question)),
      JSON.stringify({ query: '{a'.repeat(400) }),
    ],
    async run(input) {
      const body = tryParseJson(input.toString('utf8'));
      const request = parseOperation(body);
      if (typeof request === 'string') return;
      const asked = await service();
      // The first time the question is interpreted by graphql-js, the second time compiled: both say the same.
      const [first, second] = [await asked.answer(request), await asked.answer(request)];
      assert.ok(
        first.status === 200 || first.status === 400,
        `status ${first.status}: ${first.body.slice(0, 300)}`,
      );
      assert.ok(!first.body.includes('"code":"INTERNAL_SERVER_ERROR"'), first.body.slice(0, 300));
      assert.equal(second.status, first.status);
      const [one, two]: { data?: unknown; errors?: unknown[] }[] = [
        JSON.parse(first.body),
        JSON.parse(second.body),
      ];
      assert.deepEqual(two?.data, one?.data);
      assert.equal(two?.errors?.length, one?.errors?.length);
      const subscription = asked.prepareSubscription(request);
      assert.ok(Array.isArray(subscription) || subscription.document !== undefined);
    },
  },
  {
    name: 'cursor',
    seeds: () => [
      blockCursor(5),
      Buffer.from(JSON.stringify([3, 1, true, id, 1_700_000_000])).toString('base64url'),
      '17-3',
    ],
    run(input) {
      const text = input.toString('utf8');
      for (const cursor of [text, input.toString('base64url')]) {
        const height = readOrRefused([GraphQLError], () => parseBlockCursor(cursor));
        if (height !== undefined) assert.ok(Number.isSafeInteger(height));
        const place = readOrRefused([GraphQLError], () => parseTransactionCursor(cursor));
        if (place !== undefined) assert.ok(place.id.length === 32 && Number.isSafeInteger(place.pos));
      }
      const feed = parseCursor(text);
      if (feed !== undefined) assert.equal(cursorText(feed), text);
    },
  },
  {
    name: 'tag-pattern',
    longest: 600,
    seeds: () => ['a*b?c\0axxbyc', 'two words\0words two and more'],
    run(input) {
      const text = textsOf(input);
      const pattern = text(0).slice(0, 256);
      const matches = wildcard(pattern);
      matches(text(1));
      if (!/[*?]/.test(text(1))) assert.ok(wildcard(text(1))(text(1)));
      for (const mode of ['FUZZY_AND', 'FUZZY_OR'] as const) fuzzy(pattern, mode)(text(1));
    },
  },
  {
    name: 'filter',
    seeds: () => [
      '{"and":[{"tags":[{"name":"App","value":"x"},{"name":"a","valueStartsWith":"b"}]},{"not":{"always":true}}]}',
      '{"or":[{"attributes":{"owner_address":"x"}},{"isNestedBundle":true},{"never":true}]}',
      '{"hashPartition":{"partitionCount":3,"partitionKey":"owner_address","targetPartitions":[0,2]}}',
      '{"filter":{"always":true},"types":["item.*","*.final"]}',
    ],
    run(input) {
      const text = input.toString('utf8');
      const filter = readOrRefused([FilterError], () => parseFilterText(text));
      if (filter !== undefined) {
        const subject = {
          tags: rawTags({ App: 'x' }),
          attribute: (name: string) => (name === 'format' ? 2 : 'x'),
        };
        assert.equal(typeof compileFilter(filter)(subject), 'boolean');
        assert.deepEqual(parseFilter(JSON.parse(canonicalFilter(filter))), filter);
      }
      const json = tryParseJson(text);
      const query = readOrRefused([BadQuery], () => parseChainQuery(json));
      if (query !== undefined) assert.equal(typeof query.key, 'string');
    },
  },
  {
    name: 'gateway-documents',
    seeds: () => [
      JSON.stringify({ ids: [id], hashes: [id], names: ['a'], places: [{ id, root: id, start: 0, end: 5 }] }),
      JSON.stringify([
        {
          publisher: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
          url: 'https://x.example/',
          names: ['root-tx'],
        },
      ]),
      JSON.stringify(dataset),
    ],
    run(input) {
      const text = input.toString('utf8');
      readBlockDocument(text);
      parseDatasetManifest(text);
      const json = tryParseJson(text);
      readOrRefused([StartupError], () => readSubscriptions(json));
    },
  },
  {
    name: 'packed-places',
    seeds: () => [
      packPlaces(
        ['a', 'b'].map((name) => ({
          id: digest(name),
          parent: 3,
          itemOffset: 1_000,
          headerSize: 200,
          dataSize: 70_000,
          type: 1,
        })),
      ),
      packTags(rawTags({ App: 'x', 'Content-Type': 'text/plain' })),
    ],
    run(input) {
      // Of our own storage: damaged, they are an error and nothing else.
      const places = readOrRefused([RangeError], () => unpackPlaces(input));
      if (places !== undefined) {
        for (const { id: name } of places.slice(0, 4))
          readOrRefused([RangeError], () => placesIn(input, name));
      }
      const tags = readOrRefused([RangeError], () => unpackRawTags(input));
      if (tags !== undefined) assert.deepEqual(unpackRawTags(packTags(tags)), tags);
    },
  },
  {
    name: 'nested-bundles',
    longest: 2_000,
    seeds: () => [bundleOf([item, nested]), bundleOf([nested])],
    async run(input) {
      const wanted = Buffer.alloc(32, 1).toString('base64url');
      const region = { root: id, start: 0, size: input.length };
      let reads = 0;
      const read = async ({ start, end }: { start: number; end: number }) => {
        reads += 1;
        assert.ok(start >= 0 && end <= input.length && start <= end, 'reads within the bundle');
        return input.subarray(start, end);
      };
      const places = await listedPlaces(region, read, (name) => name === wanted);
      assert.ok(reads <= 512);
      for (const { start, end } of places) assert.ok(start >= 0 && start < end && end <= input.length);
    },
  },
  {
    name: 'item-batch',
    seeds: () => [Buffer.concat([Buffer.from([0]), item]), Buffer.concat([Buffer.from([1]), nested])],
    run(input) {
      const { bits, rest } = optionsOf(input);
      const bytes = new Uint8Array(rest).buffer;
      const half = rest.length >> (bits & 3);
      const stated = hash('sha256', rest.subarray(2, 66), 'buffer');
      const { value } = readItems({
        bytes,
        offsets: Float64Array.of(0, half),
        sizes: Float64Array.of(half, rest.length - half),
        ids: new Uint8Array(Buffer.concat([stated, stated])),
      });
      assert.deepEqual(
        [...value.verdicts].map((verdict) => verdict > 0),
        [true, true],
        'nobody signed these',
      );
    },
  },
];

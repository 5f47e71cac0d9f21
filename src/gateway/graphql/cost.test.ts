import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getIntrospectionQuery, getOperationAST, parse } from 'graphql';
import { type Cost, costRule, maxCost, maxRows, RequestBudget, type Variables } from './cost.ts';
import { checkLimits } from './limits.ts';

const id = 'x'.repeat(43);
const everyField = `id anchor signature signatureType recipient owner { address key } fee { winston ar }
  quantity { winston ar } data { size type } tags { name value } block { id timestamp height previous }
  parent { id } bundledIn { id } ingested_at`;

function rule(text: string) {
  const document = parse(text);
  const operation = getOperationAST(document);
  assert.ok(operation);
  return costRule(document, operation);
}
const cost = (text: string, variables: Variables = {}): Cost => rule(text).costOf(variables);
const page = (first: string, node: string) =>
  `{ transactions(first: ${first}) { edges { node { ${node} } } } }`;

test('queries of published clients are far within the bounds', () => {
  const queries: [string, string, Variables][] = [
    [
      'turbo-sdk',
      `query { transactions(ids: ["${id}"]) { edges { node { recipient owner { address } quantity { winston } } } } }`,
      {},
    ],
    [
      'a page of 100 with every field, as ardb asks for it',
      `query { transactions(tags: [{ name: "App-Name", values: ["x"] }], first: 100, after: "", sort: HEIGHT_DESC) {
        pageInfo { hasNextPage } edges { cursor node { ${everyField} } } } }`,
      {},
    ],
    [
      'a file browser',
      `query ($owner: String!, $drive: String!, $after: String) { transactions(first: 100, after: $after, owners: [$owner],
        tags: [{ name: "Drive-Id", values: [$drive] }, { name: "Entity-Type", values: ["file", "folder"] }]) {
        pageInfo { hasNextPage } edges { cursor node { id owner { address } block { height timestamp } tags { name value } } } } }`,
      { owner: id, drive: 'd' },
    ],
    [
      'wayfinder',
      `query { transaction(id: "${id}") { id owner { key } signature anchor tags { name value } } }`,
      {},
    ],
    ['a bundler', `query { blocks(first: 1) { edges { node { id height } } } }`, {}],
    [
      'an explorer',
      `{ transactions(first: 50, sort: INGESTED_AT_DESC) { count edges { node { id ingested_at } } } }`,
      {},
    ],
    ['a page that shows the schema', getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }), {}],
  ];
  for (const [name, text, variables] of queries) {
    checkLimits(parse(text));
    const { rows, bytes } = cost(text, variables);
    assert.ok(bytes < maxCost / 10, `${name}: ${bytes}`);
    assert.ok(rows <= maxRows / 10, `${name}: ${rows} rows`);
  }
});

test('the largest pages with every field once are allowed', () => {
  const pages = `{ a: transactions(first: 1000) { edges { cursor node { ${everyField} } } }
    b: transactions(first: 1000) { edges { cursor node { ${everyField} } } } }`;
  new RequestBudget().take(cost(pages));
});

test('rows, aliases and lists within rows multiply', () => {
  const bytes = (text: string, variables?: Variables) => cost(text, variables).bytes;
  const one = bytes(page('1', 'id'));
  const perRow = bytes(page('2', 'id')) - one;
  assert.equal(bytes(page('101', 'id')) - one, 100 * perRow);
  assert.equal(
    bytes(page('1000', 'id')),
    bytes(page('100000', 'id')),
    'no page has more than a thousand rows',
  );
  const added = (more: string) => bytes(page('100', `id ${more}`)) - bytes(page('100', 'id'));
  assert.equal(added('a: id b: id'), 2 * added('a: id'));
  assert.equal(added('a: signature'), 100 * 700);
  assert.ok(added('tags { name value }') > 7 * added('a: id b: id'));
  assert.equal(added('a: tags { name } b: tags { name }'), 2 * added('tags { name }'));
  assert.equal(
    bytes(`{ transactions(first: 100) { ...p } } fragment p on TransactionConnection { edges { ...e ...e } }
      fragment e on TransactionEdge { node { id } }`),
    bytes('{ transactions(first: 100) { edges { node { id } node { id } } } }'),
    'fragments cost what they stand for',
  );
});

test('the length of a page is the text, a variable, its default, or ten', () => {
  const rows = (text: string, variables?: Variables) => cost(text, variables).rows;
  assert.equal(rows('{ blocks { edges { cursor } } }'), 10);
  assert.equal(rows('{ blocks(first: 7) { edges { cursor } } }'), 7);
  const asked = 'query ($n: Int = 30) { blocks(first: $n) { edges { cursor } } }';
  assert.equal(rows(asked), 30);
  assert.equal(rows(asked, { n: 40 }), 40);
  assert.equal(rows(asked, { n: 5_000_000 }), 1_000);
  assert.equal(rows(asked, { n: null }), 10);
  assert.equal(rows('query ($n: Int) { blocks(first: $n) { edges { cursor } } }'), 10);
  assert.equal(rows('{ a: transaction(id: "x") { id } block { id } }'), 2);
  assert.equal(rows('{ transactions(first: 5) { count } }'), 105);
});

test('patterns and counts cost a walk each, however they are written', () => {
  const plain = cost(
    '{ transactions(tags: [{ name: "a", values: ["b"], match: EXACT }]) { edges { cursor } } }',
  ).bytes;
  const walk = 256 * 1024;
  const within = 'edges { cursor }';
  const ways: [string, Variables][] = [
    [`{ transactions(tags: [{ name: "a", values: ["b"], match: WILDCARD }]) { ${within} } }`, {}],
    [`{ transactions(tags: { name: "a", values: ["b"], match: FUZZY_OR }) { ${within} } }`, {}],
    [
      `query ($t: [TagFilter!]) { transactions(tags: $t) { ${within} } }`,
      {
        t: [
          { name: 'a', values: ['b'], match: 'WILDCARD' },
          { name: 'a', values: [] },
        ],
      },
    ],
    [
      `query ($t: [TagFilter!] = [{ name: "a", values: ["b"], match: FUZZY_AND }]) { transactions(tags: $t) { ${within} } }`,
      {},
    ],
    [
      `query ($m: TagMatch = WILDCARD) { transactions(tags: [{ name: "a", values: ["b"], match: $m }]) { ${within} } }`,
      {},
    ],
  ];
  for (const [text, variables] of ways) assert.equal(cost(text, variables).bytes, plain + walk, text);
  assert.ok(cost('{ transactions { count } }').bytes > walk);
});

test('a request has one budget for all its operations, and says what is too much', () => {
  const budget = new RequestBudget();
  const large = cost(page('1000', everyField));
  budget.take(large);
  budget.take(large);
  assert.throws(() => budget.take(large), /a request may ask for 2000 rows in all/);
  const aliases = Array.from({ length: 240 }, (_, index) => `a${index}: signature`).join(' ');
  assert.throws(
    () => new RequestBudget().take(cost(page('1000', aliases))),
    /query costs [0-9]+, and a request may cost 6144 in all: ask for fewer rows or fields/,
  );
  budget.take(cost('{ __typename }'));
});

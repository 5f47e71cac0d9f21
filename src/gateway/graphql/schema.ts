/**
 * The public query schema with its extensions (`count`, `ingested_at`, `NEQ`, wildcard and fuzzy matching).
 * `name` and `values` of a tag filter are required, as in the standard form.
 */
import { buildSchema, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql';

const sdl = /* GraphQL */ `
type Query {
  "A transaction or data item by id."
  transaction(id: ID!): Transaction
  "Transactions and data items that match every given filter, a page at a time."
  transactions(
    "Any of these ids."
    ids: [ID!]
    "Any of these owner addresses or public keys."
    owners: [String!]
    "Any of these recipient addresses."
    recipients: [String!]
    "All of these tag filters."
    tags: [TagFilter!]
    "In any of these bundles; null for chain transactions only."
    bundledIn: [ID!]
    parent: [ID!] @deprecated(reason: "Use bundledIn")
    "Inclusive range of block heights; excludes what is not mined yet."
    block: BlockFilter
    "Inclusive range of the time of indexing, Unix seconds."
    ingested_at: RangeFilter
    "Size of the page, at most 1000."
    first: Int = 10
    "Cursor of the last edge of the page before."
    after: String
    sort: SortOrder = HEIGHT_DESC
  ): TransactionConnection!
  block(id: String): Block
  blocks(ids: [ID!], height: BlockFilter, first: Int = 10, after: String, sort: SortOrder = HEIGHT_DESC): BlockConnection!
  "Which heights are indexed without gaps; up to the newest imported block where no other end is given."
  completeness(block: BlockFilter): Completeness!
}

type Subscription {
  "Transactions and data items that match every given filter, each time that something happens to one."
  transactions(
    ids: [ID!]
    owners: [String!]
    recipients: [String!]
    tags: [TagFilter!]
    bundledIn: [ID!]
    parent: [ID!] @deprecated(reason: "Use bundledIn")
    block: BlockFilter
    ingested_at: RangeFilter
    "Only when they come to one of these states; all of them unless given."
    states: [TransactionState!]
    "Cursor of the last event that was seen: goes on from there. Without it, what happens from now on."
    after: String
  ): TransactionEvent!
  "Blocks, each time that something happens to one."
  blocks(ids: [ID!], height: BlockFilter, states: [BlockState!], after: String): BlockEvent!
}

enum TransactionState {
  "Known, and in no block yet."
  NEW
  "In a block of the chain."
  MINED
  "Taken out of the chain again by a fork."
  REVERTED
  "So deep in the chain that no fork reaches it."
  FINAL
}

enum BlockState {
  NEW
  "Replaced by a fork."
  REVERTED
  FINAL
}

type TransactionEvent {
  cursor: String!
  state: TransactionState!
  "As the index has it when the event is told."
  node: Transaction!
}

type BlockEvent {
  cursor: String!
  state: BlockState!
  node: Block!
}

input TagFilter {
  name: String!
  "Any of these values."
  values: [String!]!
  "NEQ: no tag of that name has any of the values."
  op: TagOperator = EQ
  match: TagMatch = EXACT
}

input BlockFilter {
  min: Int
  max: Int
}

input RangeFilter {
  min: Int
  max: Int
}

enum TagOperator {
  EQ
  NEQ
}

enum TagMatch {
  EXACT
  "* stands for any run of characters, ? for one."
  WILDCARD
  "All words, in any case."
  FUZZY_AND
  "Any word, in any case."
  FUZZY_OR
}

enum SortOrder {
  HEIGHT_DESC
  HEIGHT_ASC
  INGESTED_AT_DESC
  INGESTED_AT_ASC
}

type TransactionConnection {
  pageInfo: PageInfo!
  edges: [TransactionEdge!]!
  "How many match in all; null when there are too many to count."
  count: String
  "Of the heights that this page covers; null where nothing of it is mined."
  completeness: Completeness
}

"Lists have at most 100 entries, lowest heights first."
type Completeness {
  "The heights that were looked at, both included."
  min: Int!
  max: Int!
  "Nothing is lacking that the gateway's filters let through."
  complete: Boolean!
  "Nothing is left out by its filters or was pruned either."
  everything: Boolean!
  "Stretches of complete heights."
  ranges: [HeightRange!]!
  "From where the stretches go on; null where all are told."
  next: Int
  "Heights whose block is not imported."
  missingBlocks: [HeightRange!]!
  "In their block, and no node gave them yet."
  missingTransactions: [MissingTransaction!]!
  "Bundles whose items are not all indexed yet."
  unreadBundles: [IncompleteBundle!]!
  "Bundles that the filter did not let through, and those with pruned items."
  leftOutBundles: [IncompleteBundle!]!
}

type HeightRange {
  min: Int!
  max: Int!
}

type MissingTransaction {
  id: ID!
  height: Int!
}

type IncompleteBundle {
  id: ID!
  height: Int!
  state: IncompleteBundleState!
  "What the last try to read it came to."
  error: String
}

enum IncompleteBundleState {
  "Waits to be read, or is being read."
  QUEUED
  "Could not be read so often that an operator has to ask for it."
  FAILED
  "The unbundle filter did not let it through."
  SKIPPED
  "Was read; items of it were pruned since."
  PRUNED
}

type TransactionEdge {
  cursor: String!
  node: Transaction!
}

type BlockConnection {
  pageInfo: PageInfo!
  edges: [BlockEdge!]!
}

type BlockEdge {
  cursor: String!
  node: Block!
}

type PageInfo {
  hasNextPage: Boolean!
}

type Transaction {
  id: ID!
  anchor: String!
  signature: String!
  signatureType: Int
  recipient: String!
  owner: Owner!
  fee: Amount!
  quantity: Amount!
  data: MetaData!
  tags: [Tag!]!
  "null while not mined."
  block: Block
  parent: Parent @deprecated(reason: "Use bundledIn")
  "The bundle that directly holds the data item; null for chain transactions."
  bundledIn: Bundle
  "Unix seconds of the time of indexing."
  ingested_at: Int
}

type Owner {
  address: String!
  key: String!
}

type Amount {
  winston: String!
  ar: String!
}

type MetaData {
  size: String!
  type: String
}

type Tag {
  name: String!
  value: String!
}

type Bundle {
  id: ID!
}

type Parent {
  id: ID!
}

type Block {
  id: ID!
  timestamp: Int!
  height: Int!
  previous: ID!
}
`;

export type Resolver<Context> = GraphQLFieldResolver<unknown, Context>;

/** Rows as values that nothing is selected of: `row-writer.ts` writes them. */
const wholeRowsSdl = `scalar Row\n${sdl
  .replace('transaction(id: ID!): Transaction\n', 'transaction(id: ID!): Row\n')
  .replace('edges: [TransactionEdge!]!', 'edges: Row!')}`;

/**
 * The schema with resolvers, named `Type.field`. Fields without one are read from their parent object. Those of
 * `Subscription` answer what is to be iterated over.
 */
export function createSchema<Context>(
  resolvers: Readonly<Record<string, Resolver<Context>>>,
  { wholeRows = false }: { readonly wholeRows?: boolean } = {},
): GraphQLSchema {
  const schema = buildSchema(wholeRows ? wholeRowsSdl : sdl);
  for (const [path, resolve] of Object.entries(resolvers)) {
    const [typeName = '', fieldName = ''] = path.split('.');
    const type = schema.getType(typeName);
    const field = type !== undefined && 'getFields' in type ? type.getFields()[fieldName] : undefined;
    if (field === undefined || !('args' in field)) throw new Error(`the schema has no ${path}`);
    if (typeName === 'Subscription') field.subscribe = resolve;
    else field.resolve = resolve;
  }
  return schema;
}

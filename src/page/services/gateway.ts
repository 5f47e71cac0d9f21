/** How the page reads the gateway: its index by GraphQL, blocks and transactions as nodes tell them, names, content. */
import type { QueryBlock, QueryNode } from '../../formats/arweave/query-node.ts';
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { messageIn, ServiceError } from './console.ts';
import { serviceUrl } from './settings.ts';

const timeoutMs = 20_000;
/** Of an answer that is JSON or text. */
const maxAnswerBytes = 16 * 1024 * 1024;

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks a service, for so long and no longer. Whatever its status is, an answer is an answer. */
export async function ask(url: string, options: AskOptions = {}): Promise<Response> {
  const { signal, ...rest } = options;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  const stop = () => limit.abort(signal?.reason);
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await fetch(url, {
      // What is shown here changes while somebody looks.
      cache: 'no-store',
      ...rest,
      signal: limit.signal,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ServiceError(
      0,
      limit.signal.aborted ? `${hostOf(url)} takes too long` : `${hostOf(url)} does not answer`,
    );
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** JSON of an answer; undefined where there is no such thing (404, 202). */
export async function askJson(url: string, options: AskOptions = {}): Promise<unknown> {
  const answer = await ask(url, options);
  if (answer.status === 404 || answer.status === 202) return undefined;
  const text = new TextDecoder().decode((await readAtMost(answer, maxAnswerBytes)).bytes);
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(text));
  return tryParseJson(text);
}

export interface ReadBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether there was more. */
  readonly isCut: boolean;
}

/** The first bytes of a body; the rest is not read. */
export async function readAtMost(answer: Response, limit: number): Promise<ReadBytes> {
  const reader = answer.body?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > limit) {
      isCut = true;
      await reader.cancel();
      break;
    }
  }
  const bytes = new Uint8Array(Math.min(size, limit));
  let at = 0;
  for (const piece of pieces) {
    const part = piece.subarray(0, bytes.length - at);
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes, isCut };
}

/** Throws where this console knows no gateway. */
export function gatewayUrl(): string {
  const url = serviceUrl('gateway');
  if (url === undefined)
    throw new ServiceError(0, 'This console knows no gateway: set GATEWAY_URL and start it again.');
  return url;
}

export interface GraphqlAnswer {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string }[];
}

/** Whatever the gateway answers, also where it refuses. */
export async function askGraphql(
  query: string,
  variables: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<GraphqlAnswer> {
  const answer = await ask(`${gatewayUrl()}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    ...(signal !== undefined && { signal }),
  });
  const { bytes } = await readAtMost(answer, maxAnswerBytes);
  const text = new TextDecoder().decode(bytes);
  const value = tryParseJson(text);
  if (!isRecord(value)) throw new ServiceError(answer.status, messageIn(text));
  return value;
}

async function query<T>(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<T> {
  const { data, errors } = await askGraphql(text, variables, signal);
  const [problem] = errors ?? [];
  if (problem !== undefined) throw new ServiceError(400, problem.message);
  return data as T;
}

export const nodeFields =
  'id anchor signature signatureType recipient owner { address key } fee { winston ar } quantity { winston ar } data { size type } tags { name value } block { id timestamp height previous } bundledIn { id }';

/** A transaction or data item as the index has it; null where it has none. */
export async function findNode(id: string, signal?: AbortSignal): Promise<QueryNode | null> {
  const { transaction } = await query<{ transaction: QueryNode | null }>(
    `query ($id: ID!) { transaction(id: $id) { ${nodeFields} } }`,
    { id },
    signal,
  );
  return transaction;
}

/** What lists show of an entry: without tags and signatures, so that a hundred thousand fit. */
export type ListedNode = Pick<QueryNode, 'id' | 'recipient' | 'data' | 'bundledIn'> & {
  readonly owner: { readonly address: string };
  readonly block: Pick<QueryBlock, 'height' | 'timestamp'> | null;
};

export interface ListedPage {
  readonly rows: readonly ListedNode[];
  /** For the page after it; undefined where it is the last. */
  readonly next: string | undefined;
}

interface Connection<T> {
  readonly pageInfo: { readonly hasNextPage: boolean };
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
}

/** A page of what a query named `transactions` finds. */
export async function readPage(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<ListedPage> {
  const { transactions } = await query<{ transactions: Connection<ListedNode> }>(text, variables, signal);
  const { edges, pageInfo } = transactions;
  return {
    rows: edges.map(({ node }) => node),
    next: pageInfo.hasNextPage ? edges.at(-1)?.cursor : undefined,
  };
}

/** How many there are in all; undefined where the gateway does not count. */
export async function readCount(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const { data } = await askGraphql(text, variables, signal);
  const count = textOf(memberOf(data, 'transactions'), 'count');
  return count !== undefined && /^[0-9]{1,15}$/.test(count) ? Number(count) : undefined;
}

export async function newestBlocks(first: number, signal?: AbortSignal): Promise<readonly QueryBlock[]> {
  const { blocks } = await query<{ blocks: Connection<QueryBlock> }>(
    'query ($first: Int!) { blocks(first: $first) { pageInfo { hasNextPage } edges { cursor node { id timestamp height previous } } } }',
    { first },
    signal,
  );
  return blocks.edges.map(({ node }) => node);
}

/** A block as nodes tell it. */
export interface ChainBlock {
  readonly height: number;
  readonly hash: string;
  readonly previous: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly transactions: readonly string[];
  readonly blockSize: string;
  readonly weaveSize: string;
  readonly rewardAddress: string;
  /** The whole of it. */
  readonly raw: unknown;
}

/** By its height or its independent hash. */
export async function readBlock(what: string, signal?: AbortSignal): Promise<ChainBlock | undefined> {
  const path = /^[0-9]+$/.test(what) ? `height/${what}` : `hash/${encodeURIComponent(what)}`;
  const raw = await askJson(`${gatewayUrl()}/block/${path}`, signal && { signal });
  const height = memberOf(raw, 'height');
  if (typeof height !== 'number') return undefined;
  const timestamp = memberOf(raw, 'timestamp');
  const transactions = memberOf(raw, 'txs');
  return {
    height,
    hash: textOf(raw, 'indep_hash') ?? '',
    previous: textOf(raw, 'previous_block') ?? '',
    timestamp: typeof timestamp === 'number' ? timestamp : 0,
    transactions: Array.isArray(transactions) ? transactions.filter((id) => typeof id === 'string') : [],
    blockSize: digitsOf(raw, 'block_size'),
    weaveSize: digitsOf(raw, 'weave_size'),
    rewardAddress: textOf(raw, 'reward_addr') ?? '',
    raw,
  };
}

function digitsOf(value: unknown, name: string): string {
  const text = String(memberOf(value, name) ?? '');
  return /^[0-9]+$/.test(text) ? text : '0';
}

/** A transaction, or an item in the same form, as a node tells it; undefined while it is not there or not mined. */
export async function readTransaction(
  id: string,
  signal?: AbortSignal,
): Promise<Record<string, unknown> | undefined> {
  const raw = await askJson(`${gatewayUrl()}/tx/${id}`, signal && { signal });
  return isRecord(raw) ? raw : undefined;
}

export interface ChainStatus {
  readonly height: number;
  readonly confirmations: number;
}

/** Where it was mined; undefined while it is not. */
export async function readStatus(id: string, signal?: AbortSignal): Promise<ChainStatus | undefined> {
  const raw = await askJson(`${gatewayUrl()}/tx/${id}/status`, signal && { signal });
  const height = memberOf(raw, 'block_height');
  const confirmations = memberOf(raw, 'number_of_confirmations');
  return typeof height === 'number' && typeof confirmations === 'number'
    ? { height, confirmations }
    : undefined;
}

interface HeightRange {
  readonly min: number;
  readonly max: number;
}

/** Which heights are indexed without gaps; lists have at most 100 entries. */
export interface Completeness extends HeightRange {
  readonly complete: boolean;
  readonly everything: boolean;
  readonly ranges: readonly HeightRange[];
  readonly missingBlocks: readonly HeightRange[];
  readonly missingTransactions: readonly unknown[];
  readonly unreadBundles: readonly unknown[];
  readonly leftOutBundles: readonly unknown[];
}

export async function readCompleteness(signal?: AbortSignal): Promise<Completeness> {
  const raw = await askJson(`${gatewayUrl()}/gw/completeness`, signal && { signal });
  if (!Array.isArray(memberOf(raw, 'ranges')))
    throw new ServiceError(0, 'The gateway does not tell which heights are complete.');
  return raw as Completeness;
}

export async function readHeight(signal?: AbortSignal): Promise<number> {
  const raw = await askJson(`${gatewayUrl()}/info`, signal && { signal });
  const height = memberOf(raw, 'height');
  if (typeof height !== 'number')
    throw new ServiceError(0, 'The gateway does not tell the height of its chain.');
  return height;
}

/** Winston of an Arweave wallet. */
export async function readBalance(address: string, signal?: AbortSignal): Promise<bigint> {
  const raw = await askJson(`${gatewayUrl()}/wallet/${address}/balance`, signal && { signal });
  return /^[0-9]+$/.test(String(raw)) ? BigInt(String(raw)) : 0n;
}

/** What a gateway or router says about content beside its bytes. */
export interface ContentState {
  readonly size: number | undefined;
  readonly contentType: string;
  /** The gateway's: deep enough in the chain not to change. */
  readonly isStable: boolean;
  /** The gateway compared the bytes that it keeps with a signature or a data root. */
  readonly isVerified: boolean;
  readonly digest: string | undefined;
  readonly root: RootPlace | undefined;
}

/** Where an item lies in the transaction that holds it. */
export interface RootPlace {
  readonly id: string;
  readonly offset: number;
  readonly size: number;
}

/** `blocked`: the gateway's operator does not let it be served (RFC 7725). undefined: the gateway has no bytes of it. */
export async function readContentState(
  id: string,
  signal?: AbortSignal,
): Promise<ContentState | 'blocked' | undefined> {
  const answer = await ask(`${gatewayUrl()}/raw/${id}`, { method: 'HEAD', ...(signal && { signal }) });
  if (answer.status === 451) return 'blocked';
  if (!answer.ok) return undefined;
  const { headers } = answer;
  const rootId = headers.get('x-ar-io-root-transaction-id');
  const offset =
    numberIn(headers, 'x-ar-io-root-item-offset') ?? numberIn(headers, 'x-ar-io-root-data-item-offset');
  const itemSize = numberIn(headers, 'x-ar-io-root-item-size') ?? numberIn(headers, 'x-ar-io-data-item-size');
  return {
    size: numberIn(headers, 'content-length'),
    contentType: headers.get('content-type') ?? '',
    isStable: headers.get('x-ar-io-stable') === 'true',
    isVerified: headers.get('x-ar-io-verified') === 'true',
    digest: headers.get('x-ar-io-digest') ?? undefined,
    root:
      rootId === null || offset === undefined || itemSize === undefined
        ? undefined
        : { id: rootId, offset, size: itemSize },
  };
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text !== null && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/** What the router proved about content. */
export interface RouterProof {
  readonly isVerified: boolean;
  readonly method: string | undefined;
  /** The gateways that the proof came from. */
  readonly by: string | undefined;
}

/** Up to this the router is asked for the bytes, and so proves them; beyond it only whether it has. */
const maxRouterBytes = 4 * 1024 * 1024;

/** undefined where there is no router, or the router does not have it. */
export async function readRouterProof(
  id: string,
  size: number,
  signal?: AbortSignal,
): Promise<RouterProof | undefined> {
  const url = serviceUrl('router');
  if (url === undefined) return undefined;
  const method = size <= maxRouterBytes ? 'GET' : 'HEAD';
  const answer = await ask(`${url}/raw/${id}`, { method, ...(signal && { signal }) });
  // The proof is in the head, the bytes are not needed.
  await answer.body?.cancel();
  if (!answer.ok) return undefined;
  return {
    isVerified: answer.headers.get('x-router-verified') === 'true',
    method: answer.headers.get('x-router-verification-method') ?? undefined,
    by: answer.headers.get('x-router-verified-by') ?? undefined,
  };
}

/** The first bytes of content, as it was stored. */
export async function readContent(id: string, limit: number, signal?: AbortSignal): Promise<ReadBytes> {
  const answer = await ask(`${gatewayUrl()}/raw/${id}`, {
    headers: { range: `bytes=0-${limit}` },
    ...(signal && { signal }),
  });
  // Content without a byte has no range.
  if (answer.status === 416) return { bytes: new Uint8Array(0), isCut: false };
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(await answer.text()));
  return await readAtMost(answer, limit);
}

/** Bytes of a transaction's data. */
export async function readSpan(
  id: string,
  { offset, size }: { readonly offset: number; readonly size: number },
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await ask(`${gatewayUrl()}/raw/${id}`, {
    headers: { range: `bytes=${offset}-${offset + size - 1}` },
    ...(signal && { signal }),
  });
  if (answer.status !== 206) throw new ServiceError(answer.status, messageIn(await answer.text()));
  return (await readAtMost(answer, size)).bytes;
}

const hostOf = (url: string): string => new URL(url).host;

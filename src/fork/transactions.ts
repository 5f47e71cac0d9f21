/** Transactions and data items of the fork by id: their headers, where they were mined, and what its index says. */
import { createHash } from 'node:crypto';
import { itemAsTransaction } from '../formats/arweave/item-json.ts';
import type { QueryAmount, QueryBlock, QueryNode } from '../formats/arweave/query-node.ts';
import { isTxId, tryDecodeBase64url } from '../formats/base64url.ts';
import { isCount, isRecord, memberOf, textOf, tryParseJson } from '../formats/json.ts';
import type { Logger } from '../kernel/log.ts';
import type { ForkCache } from './cache.ts';
import type { ForkUnavailable, ForkUpstream } from './upstream.ts';

/** Version 1 carries up to 12 MiB of data in its JSON, as base64url. */
const maxHeaderBytes = 20 * 1024 * 1024;
const maxGraphqlBytes = 8 * 1024 * 1024;
/** Ids in one question to an index. */
const idsAtOnce = 100;
/** How long it is believed that there is no index. */
const withoutIndexMs = 60_000;

/** A header in the JSON of a node, of a data item too: its signature is the one that the id is the hash of. */
export type ForkedHeader = Readonly<Record<string, unknown>>;

export interface ForkedStatus {
  readonly block_height: number;
  readonly block_indep_hash: string;
  readonly number_of_confirmations: number;
}

export interface ForkedTransactionsOptions {
  readonly gateway: ForkUpstream;
  readonly graphql: ForkUpstream;
  readonly cache: ForkCache;
  /** What was mined above it is not shown. */
  readonly height: number | undefined;
  readonly log: Logger;
}

export class ForkedTransactions {
  readonly #options: ForkedTransactionsOptions;
  /** Not every schema has `signatureType`. */
  #fields: readonly string[] = [`${nodeFields} signatureType`, nodeFields];
  /** Not every fork has an index. */
  #withoutIndexUntil = 0;

  constructor(options: ForkedTransactionsOptions) {
    this.#options = options;
  }

  /** undefined: the fork does not have it, or it is not shown. Fails with `ForkUnavailable`, like the others. */
  async header(id: string): Promise<ForkedHeader | undefined> {
    const { gateway, cache } = this.#options;
    if (!(await this.isShown(id))) return undefined;
    return await cache.once(gateway.address, `header ${id}`, async () => {
      const { status, body } = await gateway.call(`/tx/${id}`, { maxBytes: maxHeaderBytes });
      // Not every gateway gives data items so; its index has what they were signed with. What is pending there has no
      // place yet that others could rely on.
      if (!gateway.isFound(status)) return (await this.nodes([id])).map(itemHeader)[0];
      const json = tryParseJson(body.toString('utf8'));
      if (!isRecord(json) || !isSignatureOf(json.signature, id)) {
        throw gateway.misspoke(`gave something else for transaction ${id}`);
      }
      return json;
    });
  }

  async status(id: string): Promise<ForkedStatus | undefined> {
    const { gateway, cache, height } = this.#options;
    const status = await cache.latest(gateway.address, `status ${id}`, async () => {
      const { status, body } = await gateway.call(`/tx/${id}/status`, { maxBytes: 64 * 1024 });
      return gateway.isFound(status) ? readStatus(tryParseJson(body.toString('utf8'))) : undefined;
    });
    if (status === undefined || height === undefined) return status;
    // The chain ends there.
    const number_of_confirmations = height - status.block_height + 1;
    return number_of_confirmations > 0 ? { ...status, number_of_confirmations } : undefined;
  }

  /** Those that the fork's index has, in any order. */
  async nodes(ids: readonly string[]): Promise<QueryNode[]> {
    const { height } = this.#options;
    const found = await this.#indexed(ids.filter(isTxId));
    if (height === undefined) return found;
    return found.filter(({ block }) => block !== null && block.height <= height);
  }

  /** Whether it was mined early enough to be a part of what is forked. */
  async isShown(id: string): Promise<boolean> {
    const { height } = this.#options;
    if (height === undefined) return true;
    if ((await this.nodes([id])).length > 0) return true;
    return (await this.status(id)) !== undefined;
  }

  async #indexed(ids: readonly string[]): Promise<QueryNode[]> {
    const { graphql, cache } = this.#options;
    const found: QueryNode[] = [];
    const asked: string[] = [];
    for (const id of new Set(ids)) {
      const kept = readNode(await cache.note(graphql.address, `node ${id}`));
      if (kept === undefined) asked.push(id);
      else found.push(kept);
    }
    for (let at = 0; at < asked.length; at += idsAtOnce) {
      for (const node of await this.#ask(asked.slice(at, at + idsAtOnce))) {
        found.push(node);
        // What waits for its block changes when that comes.
        if (node.block !== null) await cache.keep(graphql.address, `node ${node.id}`, node);
      }
    }
    return found;
  }

  async #ask(ids: readonly string[]): Promise<QueryNode[]> {
    const { graphql, log } = this.#options;
    if (performance.now() < this.#withoutIndexUntil) return [];
    let failure: ForkUnavailable | undefined;
    for (const fields of this.#fields) {
      const query = `query ($ids: [ID!]!) { transactions(ids: $ids, first: ${idsAtOnce}) { edges { node { ${fields} } } } }`;
      const { status, body } = await graphql.call('', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables: { ids } }),
        maxBytes: maxGraphqlBytes,
      });
      const document = tryParseJson(body.toString('utf8'));
      const edges = edgesOf(document);
      if (edges !== undefined) {
        this.#fields = [fields];
        return edges
          .flatMap((edge) => readNode(memberOf(edge, 'node')) ?? [])
          .filter(({ id }) => ids.includes(id));
      }
      const isRefused = memberOf(document, 'errors') !== undefined || graphql.isFound(status);
      failure = isRefused ? graphql.misspoke('did not answer GraphQL with data') : undefined;
    }
    if (failure !== undefined) throw failure;
    this.#withoutIndexUntil = performance.now() + withoutIndexMs;
    log.warn(`${graphql.shown} answers no GraphQL: entries of the fork are not found there`);
    return [];
  }
}

const nodeFields =
  'id anchor signature recipient owner { address key } fee { winston ar } quantity { winston ar } data { size type } tags { name value } block { id timestamp height previous } bundledIn { id }';

function edgesOf(document: unknown): readonly unknown[] | undefined {
  const edges = memberOf(memberOf(memberOf(document, 'data'), 'transactions'), 'edges');
  return Array.isArray(edges) ? edges : undefined;
}

function readStatus(json: unknown): ForkedStatus | undefined {
  const height = memberOf(json, 'block_height');
  const confirmations = memberOf(json, 'number_of_confirmations');
  const hash = textOf(json, 'block_indep_hash', 64);
  if (!isCount(height) || !isCount(confirmations) || hash === undefined) return undefined;
  return { block_height: height, block_indep_hash: hash, number_of_confirmations: confirmations };
}

function readNode(value: unknown): QueryNode | undefined {
  const id = textOf(value, 'id') ?? '';
  if (!isTxId(id)) return undefined;
  const signatureType = memberOf(value, 'signatureType');
  const owner = memberOf(value, 'owner');
  const data = memberOf(value, 'data');
  const tags = memberOf(value, 'tags');
  const bundle = textOf(memberOf(value, 'bundledIn'), 'id') ?? '';
  return {
    id,
    anchor: textOf(value, 'anchor') ?? '',
    signature: textOf(value, 'signature') ?? '',
    signatureType: isCount(signatureType) ? signatureType : null,
    recipient: textOf(value, 'recipient') ?? '',
    owner: { address: textOf(owner, 'address') ?? '', key: textOf(owner, 'key') ?? '' },
    fee: readAmount(memberOf(value, 'fee')),
    quantity: readAmount(memberOf(value, 'quantity')),
    data: { size: textOf(data, 'size') ?? '0', type: textOf(data, 'type') ?? null },
    tags: (Array.isArray(tags) ? tags : []).map((tag: unknown) => ({
      name: textOf(tag, 'name') ?? '',
      value: textOf(tag, 'value', 65_536) ?? '',
    })),
    block: readBlock(memberOf(value, 'block')),
    bundledIn: isTxId(bundle) ? { id: bundle } : null,
  };
}

function readAmount(value: unknown): QueryAmount {
  return { winston: textOf(value, 'winston') ?? '0', ar: textOf(value, 'ar') ?? '0.000000000000' };
}

function readBlock(value: unknown): QueryBlock | null {
  const height = memberOf(value, 'height');
  const timestamp = memberOf(value, 'timestamp');
  if (!isCount(height) || !isCount(timestamp)) return null;
  return { id: textOf(value, 'id') ?? '', timestamp, height, previous: textOf(value, 'previous') ?? '' };
}

/** A data item in the JSON of a node; undefined for a transaction, and where its signature or its type is not told. */
function itemHeader(node: QueryNode): ForkedHeader | undefined {
  const { signature, owner, bundledIn } = node;
  const type = node.signatureType ?? typeByLength[signature.length];
  if (bundledIn === null || type === undefined || !isSignatureOf(signature, node.id)) return undefined;
  return itemAsTransaction({
    id: node.id,
    anchor: node.anchor,
    owner: owner.key,
    signature,
    tags: node.tags,
    target: node.recipient,
    size: node.data.size,
    ownerAddress: owner.address,
    signatureType: type,
    parent: bundledIn.id,
    contentType: node.data.type ?? undefined,
  });
}

/** Of signatures in base64url that only one type has: Arweave and Ethereum. */
const typeByLength: Readonly<Record<number, number>> = { 683: 1, 87: 3 };

function isSignatureOf(signature: unknown, id: string): boolean {
  const bytes = typeof signature === 'string' ? tryDecodeBase64url(signature) : undefined;
  return bytes !== undefined && createHash('sha256').update(bytes).digest('base64url') === id;
}

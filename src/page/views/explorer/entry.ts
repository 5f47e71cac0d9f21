/** Everything the page knows of one transaction or data item, gathered from gateway and upload service. */
import type { QueryNode } from '../../../formats/arweave/query-node.ts';
import {
  type ChainStatus,
  type ContentState,
  findNode,
  readContentState,
  readStatus,
} from '../../services/gateway.ts';
import { findItemStatus } from '../../services/item-state.ts';
import type { ItemStatus } from '../../services/upload.ts';

export interface Entry {
  readonly id: string;
  /** As the index has it. */
  readonly node: QueryNode | undefined;
  readonly upload: ItemStatus | undefined;
  /** undefined where the gateway has no bytes of it. */
  readonly content: ContentState | undefined;
  /** The gateway has it, and its operator does not let it be served. */
  readonly isBlocked: boolean;
  readonly status: ChainStatus | undefined;
  /** From the bundle that holds it up to the transaction on the chain. */
  readonly parents: readonly string[];
}

/** Bundles in bundles, looked at. */
const maxParents = 8;

/** undefined where nobody knows the id. */
export async function readEntry(id: string, signal: AbortSignal): Promise<Entry | undefined> {
  const node = (await findNode(id, signal)) ?? undefined;
  const hasData = node === undefined || node.data.size !== '0';
  const [told, parents] = await Promise.all([
    hasData ? readContentState(id, signal) : undefined,
    parentsOf(node, signal),
  ]);
  const isBlocked = told === 'blocked';
  const content = isBlocked ? undefined : told;
  // Transactions of the chain itself are nobody's uploads.
  const isOfChain = node !== undefined && node.bundledIn === null && node.block !== null;
  const upload = isOfChain ? undefined : await findItemStatus(id, signal);
  if (node === undefined && told === undefined && upload === undefined) return undefined;
  const status = node?.block == null ? undefined : await readStatus(parents.at(-1) ?? id, signal);
  return { id, node, upload, content, isBlocked, status, parents };
}

async function parentsOf(node: QueryNode | undefined, signal: AbortSignal): Promise<readonly string[]> {
  const parents: string[] = [];
  for (let at = node?.bundledIn?.id; at !== undefined && parents.length < maxParents; ) {
    if (parents.includes(at)) break;
    parents.push(at);
    at = (await findNode(at, signal))?.bundledIn?.id;
  }
  return parents;
}

const tagOf = (node: QueryNode, name: string): string | undefined =>
  node.tags.find((tag) => tag.name.toLowerCase() === name)?.value;

/** ANS-104. */
export const isBundle = (node: QueryNode): boolean =>
  tagOf(node, 'bundle-format') === 'binary' && tagOf(node, 'bundle-version') !== undefined;

/** The name of the file that it was, where its uploader said so. */
export function fileNameOf(node: QueryNode): string | undefined {
  const name = tagOf(node, 'file-name') ?? tagOf(node, 'title') ?? tagOf(node, 'name');
  return name?.slice(0, 200);
}

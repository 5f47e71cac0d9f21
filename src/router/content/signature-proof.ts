/**
 * Proof without trust: an id is the hash of a signature, and the signature covers owner, tags and data. Whatever
 * gateway hands over those fields, they are checked against the id first and the bytes against them afterwards.
 *
 * Three ways to the fields, in this order: the header of the data item inside its bundle (by offsets that the
 * gateway tells), the chain's transaction, and GraphQL for items that are in no mined bundle yet.
 */
import { createHash } from 'node:crypto';
import { encodeItemHeader, type ItemHeader, parseItemHeader } from '../../formats/ans104/item-header.ts';
import { type SignatureType, signatureLayout } from '../../formats/ans104/signature-types.ts';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { parseTransactionJson } from '../../formats/arweave/transaction-json.ts';
import { verifyTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { isTxId, type TxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { isRecord, memberOf } from '../../formats/json.ts';
import { headerOf } from '../../outside/answer-head.ts';
import { discard, type Gateway, type GatewayAnswer, readBody } from '../gateways/gateway.ts';
import { dataRootCheck, digestCheck, type NewBodyCheck } from './body-check.ts';

export interface SignatureProof {
  /**
   * An item's header names its id, but only the bytes show whether its other fields are those that were signed;
   * a transaction has shown it already, and says what its bytes must be.
   */
  readonly of: { readonly item: ItemHeader } | { readonly check: NewBodyCheck; readonly size: number };
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly by: string;
  /** False where the signature is good but would be as good with other fields: whoever handed them over chose them. */
  readonly binds: boolean;
}

const timeoutMs = 10_000;
const maxItemHeader = 256 * 1024;
const maxTransaction = 16 * 1024 * 1024;

/**
 * The proof of an id with the help of one gateway; undefined where that gateway cannot help. An answer of the
 * gateway's about the content, where there is one already, saves a question.
 */
export async function signatureProof(
  gateway: Gateway,
  id: TxId,
  served?: GatewayAnswer,
): Promise<SignatureProof | undefined> {
  const head = served ?? (await askHead(gateway, id));
  const root = headerOf(head.headers, 'x-ar-io-root-transaction-id');
  if (head.status === 200 && root !== undefined && root !== id) {
    const proof = await itemProof(gateway, id, root, head);
    if (proof !== undefined) return proof;
  }
  const proof = await transactionProof(gateway, id);
  return proof ?? (await indexedProof(gateway, id, head));
}

async function askHead(gateway: Gateway, id: TxId): Promise<GatewayAnswer> {
  const head = await gateway.ask({ role: 'proof', method: 'HEAD', path: `/raw/${id}`, timeoutMs });
  discard(head);
  return head;
}

/** The bytes between an item's start and its data, read from its bundle. */
async function itemProof(
  gateway: Gateway,
  id: TxId,
  root: string,
  head: GatewayAnswer,
): Promise<SignatureProof | undefined> {
  const start = integer(
    headerOf(head.headers, 'x-ar-io-root-data-item-offset') ??
      headerOf(head.headers, 'x-ar-io-root-item-offset'),
  );
  const end = integer(headerOf(head.headers, 'x-ar-io-root-data-offset'));
  if (!isTxId(root) || start === undefined || end === undefined) return undefined;
  if (end <= start || end - start > maxItemHeader) return undefined;
  const headers = { range: `bytes=${start}-${end - 1}` };
  const answer = await gateway.ask({ role: 'proof', path: `/raw/${root}`, headers, timeoutMs });
  if (answer.status !== 206) {
    discard(answer);
    return undefined;
  }
  const header = parseItemHeader(await readBody(answer, maxItemHeader), { lenient: true });
  if (typeof header === 'string' || header.id !== id) return undefined;
  return proofOfItem(header, gateway.origin);
}

async function transactionProof(gateway: Gateway, id: TxId): Promise<SignatureProof | undefined> {
  let answer = await gateway.ask({ role: 'proof', path: `/tx/${id}`, timeoutMs });
  if (answer.status === 202) {
    // It waits for its block, and is signed already.
    discard(answer);
    answer = await gateway.ask({ role: 'proof', path: `/unconfirmed_tx/${id}`, timeoutMs });
  }
  if (answer.status !== 200) {
    discard(answer);
    return undefined;
  }
  const body = await readBody(answer, maxTransaction);
  try {
    const transaction = parseTransactionJson(JSON.parse(body.toString('utf8')));
    const isIt = transaction.id.toString('base64url') === id;
    if (!isIt || !(await verifyTransactionAsync(transaction))) return undefined;
    const { tags } = transaction;
    const tag = (name: string) =>
      tags.find((one) => one.name.toString('latin1').toLowerCase() === name)?.value.toString('utf8');
    return {
      of: checkOf(transaction),
      binds: bindsItsFields(transaction),
      contentType: tag('content-type'),
      contentEncoding: tag('content-encoding'),
      by: gateway.origin,
    };
  } catch {
    return undefined;
  }
}

/**
 * Whether the id, which is the hash of the signature, leaves no choice of the fields. Version 1 signs its fields in
 * one string without bounds: bytes can be moved from one to the next. An ECDSA signature without an owner fits any
 * fields, each with a key of its own. What such transactions hold is for other gateways to say, where there are any.
 */
function bindsItsFields({ format, owner }: Transaction): boolean {
  return format === 2 && owner.length > 0;
}

/** Version 1 carries its data, and signs that in place of a root. */
function checkOf({ format, data, dataRoot, dataSize }: Transaction) {
  if (format === 2 && dataSize > 0) return { check: dataRootCheck(dataRoot, dataSize), size: dataSize };
  const bytes = format === 1 ? data : Buffer.alloc(0);
  return { check: digestCheck(createHash('sha256').update(bytes).digest('hex')), size: bytes.length };
}

const fields = 'id anchor signature recipient owner { key } tags { name value }';
/** Several types have signatures and keys of one length; not every gateway's schema tells which one it is. */
const queries = [`${fields} signatureType`, fields].map(
  (selected) => `query ($id: ID!) { transaction(id: $id) { ${selected} } }`,
);

/** An item's header put together again from what an index knows; it proves itself or is of no use. */
async function indexedProof(
  gateway: Gateway,
  id: TxId,
  head: GatewayAnswer,
): Promise<SignatureProof | undefined> {
  const node = await indexedItem(gateway, id);
  const signature = bytesOf(node, 'signature');
  const owner = bytesOf(memberOf(node, 'owner'), 'key');
  const tags = memberOf(node, 'tags');
  if (signature === undefined || owner === undefined || !Array.isArray(tags)) return undefined;
  const indexedType = memberOf(node, 'signatureType');
  const knownType =
    integer(headerOf(head.headers, 'x-arweave-signature-type')) ??
    (typeof indexedType === 'number' ? indexedType : undefined);
  for (const type of knownType === undefined ? [1, 2, 3, 4, 5, 6, 7] : [knownType]) {
    const layout = signatureLayout(type);
    if (layout?.signatureBytes !== signature.length || layout.ownerBytes !== owner.length) continue;
    const header = rebuild(layout.type, signature, owner, node, tags);
    if (header?.id === id) return proofOfItem(header, gateway.origin);
  }
  return undefined;
}

async function indexedItem(gateway: Gateway, id: TxId): Promise<unknown> {
  for (const query of queries) {
    const answer = await gateway.ask({
      role: 'proof',
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ query, variables: { id } })),
      timeoutMs,
    });
    if (answer.status === 200) {
      const document: unknown = JSON.parse((await readBody(answer, maxItemHeader)).toString('utf8'));
      const data = memberOf(document, 'data');
      if (isRecord(data)) return memberOf(data, 'transaction');
    } else {
      discard(answer);
      if (answer.status !== 400) return undefined;
    }
  }
  return undefined;
}

function rebuild(
  signatureType: SignatureType,
  signature: Buffer,
  owner: Buffer,
  node: unknown,
  tags: readonly unknown[],
): ItemHeader | undefined {
  try {
    const bytes = encodeItemHeader({
      signatureType,
      signature,
      owner,
      target: bytesOf(node, 'recipient') ?? Buffer.alloc(0),
      anchor: bytesOf(node, 'anchor') ?? Buffer.alloc(0),
      tags: tags.map((tag) => ({
        name: String(memberOf(tag, 'name')),
        value: String(memberOf(tag, 'value')),
      })),
    });
    const header = parseItemHeader(bytes);
    return typeof header === 'string' ? undefined : header;
  } catch {
    return undefined;
  }
}

function proofOfItem(header: ItemHeader, by: string): SignatureProof {
  const tag = (name: string) => header.tags.find((one) => one.name.toLowerCase() === name)?.value;
  return {
    of: { item: header },
    binds: true,
    contentType: tag('content-type'),
    contentEncoding: tag('content-encoding'),
    by,
  };
}

function bytesOf(value: unknown, name: string): Buffer | undefined {
  const text = memberOf(value, name);
  return typeof text === 'string' ? tryDecodeBase64url(text) : undefined;
}

function integer(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

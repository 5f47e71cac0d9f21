/**
 * `/tx/{id}` and below. Mined transactions and data items are answered from the index; what it does not have is
 * asked of nodes, so that "not found" is said only when nobody has it.
 */
import { ForkUnavailable } from '../../fork/upstream.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { NodeAnswer } from '../../outside/arweave/node.ts';
import { forkHeader, wantsOwnOnly } from '../../outside/fork-header.ts';
import { readLimited } from '../../outside/http.ts';
import { bundledItemJson } from '../chain/bundled-header.ts';
import type { ChainTransaction, Located } from '../chain-index/gateway-index.ts';
import { itemJson } from '../chain-index/item-json.ts';
import { forkUnavailable, nodeError, Unavailable, UpstreamError } from '../errors.ts';
import { largeAnswers } from '../held-bytes.ts';
import { param } from '../paths.ts';
import {
  addGet,
  type ChainReadsDeps,
  cacheBy,
  cacheFor,
  cacheForever,
  pendingAnswer,
  refuseBlockedBytes,
  relay,
  relayedType,
  requireId,
} from './answers.ts';
import { sendJsonText, sendText } from './text-errors.ts';

/** No transaction's JSON is longer without its data: owner, signature and 2 KiB of tags. */
const maxHeaderBytes = 8 * 1024;
/** More of it is not sent as text, by nodes neither. */
const maxDataBytes = 12 * 1024 * 1024;
/** Ids that the index lists while no node can. */
const maxPending = 1_000;

export function transactionRoutes(app: App, deps: ChainReadsDeps): void {
  const { index, nodes, meter, fork } = deps;

  /** Data is metered on whatever route it leaves; headers are free. */
  async function charge(
    request: Request,
    reply: Reply,
    id: string,
    { bytes, contentType }: { readonly bytes: number; readonly contentType: string },
  ): Promise<void> {
    largeAnswers.hold(reply.raw, bytes);
    const charged = meter.charge(request, request.method === 'HEAD' ? 0 : bytes, `data:${id}`, contentType);
    if (charged !== undefined) reply.headers(await charged);
  }

  addGet(app, '/tx/pending', 'Ids of pending transactions', async (_request, reply) => {
    try {
      return relay(reply, await nodes.get('/tx/pending', { retryOn: [] }), 5);
    } catch (error) {
      const known = error instanceof UpstreamError ? await index.pendingTransactions(maxPending) : [];
      // Nothing known here is not to say that nothing is pending.
      if (known.length === 0) throw error;
      return sendJsonText(cacheFor(reply, 5), JSON.stringify(known));
    }
  });

  addGet(app, '/tx/:id', 'A transaction or data item', async (request, reply) => {
    const id = requireId(param(request, 'id'), 'Invalid hash.');
    const located = await index.locate(id);
    const json = located && (await recordJson(deps, located));
    if (located !== undefined && json !== undefined) {
      return sendJsonText(cacheBy(reply, located.stable), JSON.stringify(json));
    }
    // A node's JSON may carry the data itself.
    await refuseBlockedBytes(deps, id);
    return relayOr(request, reply, id, '', located);
  });

  addGet(app, '/unconfirmed_tx/:id', 'A transaction, mined or pending', async (request, reply) => {
    const id = requireId(param(request, 'id'), 'Invalid hash.');
    await refuseBlockedBytes(deps, id);
    const answer = await nodes.get(`/unconfirmed_tx/${id}`);
    const forked = answer.status === 404 ? await sendForked(request, reply, id, '') : undefined;
    if (forked !== undefined) return forked;
    if (answer.body.length > maxHeaderBytes) await charge(request, reply, id, relayed(answer));
    return relay(reply, answer, 20);
  });

  addGet(app, '/tx/:id/status', 'Where a transaction was mined', async (request, reply) => {
    const id = requireId(param(request, 'id'), 'Invalid address.');
    const found = await index.statusInBlock(id);
    if (found !== undefined) {
      const status = {
        block_height: found.height,
        block_indep_hash: found.blockId,
        number_of_confirmations: Math.max(index.height, found.height) - found.height + 1,
      };
      return sendJsonText(cacheFor(reply, 30), JSON.stringify(status));
    }
    return relayOr(request, reply, id, '/status', await index.locate(id));
  });

  addGet(app, '/tx/:id/offset', 'Where its data lies in the weave', async (request, reply) => {
    const id = requireId(param(request, 'id'), { error: 'invalid_address' });
    const located = await index.locate(id);
    if (located?.kind === 'transaction' && located.stable && located.rootEndOffset !== undefined) {
      const offset = { offset: String(located.rootEndOffset), size: String(located.size) };
      return sendJsonText(cacheForever(reply), JSON.stringify(offset));
    }
    return relay(reply, await nodes.get(`/tx/${id}/offset`), 30);
  });

  addGet(app, '/tx/:id/:field', 'One field of a transaction', async (request, reply) => {
    const id = requireId(param(request, 'id'), 'Invalid hash.');
    const field = param(request, 'field');
    if (!/^[a-z_]{1,20}(\.[a-z0-9]{1,10})?$/.test(field)) throw nodeError(400, { error: 'invalid_field' });
    const isData = field === 'data' || field.startsWith('data.');
    if (isData) await refuseBlockedBytes(deps, id);
    const located = await index.locate(id);
    // Nodes know transactions only.
    if (field === 'data' && located?.kind === 'item') return await sendItemData(request, reply, located);
    const json = isData ? undefined : located && (await recordJson(deps, located));
    if (located === undefined || json === undefined) {
      return relayOr(request, reply, id, `/${field}`, located);
    }
    const value = Object.hasOwn(json, field) ? json[field] : undefined;
    if (value === undefined) throw nodeError(400, { error: 'invalid_field' });
    cacheBy(reply, located.stable);
    return typeof value === 'object'
      ? sendJsonText(reply, JSON.stringify(value))
      : sendText(reply, String(value));
  });

  /** An item's data as a node sends that of a transaction. */
  async function sendItemData(request: Request, reply: Reply, located: Located): Promise<Reply> {
    const { id, size, stable } = located;
    if (size > maxDataBytes) throw nodeError(400, { error: 'tx_data_too_big' });
    await charge(request, reply, id, { bytes: Math.ceil((size * 4) / 3), contentType: 'text/plain' });
    const opened = await deps.bytes.stream(id);
    if (opened === undefined) throw new Unavailable('unreadable');
    const data = await readLimited(opened.stream, maxDataBytes);
    return sendText(cacheBy(reply, stable), data.toString('base64url'));
  }

  /** From the network that is forked; undefined where that does not have it either. */
  async function sendForked(
    request: Request,
    reply: Reply,
    id: string,
    field: string,
  ): Promise<Reply | undefined> {
    if (fork === undefined || wantsOwnOnly(request.headers)) return undefined;
    const answer = await fork.answers.answer(id, field).catch((error: unknown) => {
      throw error instanceof ForkUnavailable ? forkUnavailable(error) : error;
    });
    if (answer === undefined) return undefined;
    await charge(request, reply, id, { bytes: answer.body.length, contentType: answer.contentType });
    return relay(reply.header(forkHeader, fork.shown), { ...answer, url: fork.shown }, 30);
  }

  /** What nodes say; while none answers, a record that we know of is pending. */
  async function relayOr(
    request: Request,
    reply: Reply,
    id: string,
    below: string,
    located: Located | undefined,
  ): Promise<Reply> {
    const isOurs = located !== undefined && located.height === undefined;
    try {
      const answer = await nodes.get(`/tx/${id}${below}`);
      // Data items and what was just posted here are not the node's to deny.
      if (answer.status === 404 && isOurs) return pendingAnswer(reply);
      const isAbsent = answer.status === 404 && located === undefined;
      const forked = isAbsent ? await sendForked(request, reply, id, below.slice(1)) : undefined;
      if (forked !== undefined) return forked;
      const isData = answer.status === 200 && /^\/data(\.|$)/.test(below);
      if (isData || answer.body.length > maxHeaderBytes) await charge(request, reply, id, relayed(answer));
      return relay(reply, answer, 30);
    } catch (error) {
      if (error instanceof UpstreamError && isOurs) return pendingAnswer(reply);
      throw error;
    }
  }
}

function relayed(answer: NodeAnswer): { bytes: number; contentType: string } {
  return { bytes: answer.body.length, contentType: relayedType(answer) };
}

/** The record as a node's transaction JSON; undefined where the index cannot give it whole. */
async function recordJson(
  { index, bytes }: ChainReadsDeps,
  located: Located,
): Promise<Record<string, unknown> | undefined> {
  if (located.height === undefined && located.kind === 'transaction') return undefined;
  if (located.kind === 'transaction') {
    const header: ChainTransaction | undefined = await index.chainTransaction(located.id);
    // The data of version 1 is a part of its JSON, which only a node has.
    if (header === undefined || (header.format === 1 && located.size > 0)) return undefined;
    return { ...header, data: '', data_tree: [] };
  }
  if (located.isPruned === true) return bundledItemJson(bytes, located);
  const proof = await index.proof(located.id);
  // Where the history does not answer any more, the item itself has its signature.
  if (proof === undefined) return located.isMoved === true ? bundledItemJson(bytes, located) : undefined;
  return itemJson(located, proof);
}

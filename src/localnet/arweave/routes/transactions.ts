/** Reading and posting transactions: `/tx/…`, `/unconfirmed_tx/{id}`, and their data. */
import type { TransactionJson } from '../../../formats/arweave/transaction-json.ts';
import { decodeBase64url } from '../../../formats/base64url.ts';
import type { App, Reply } from '../../../kernel/http/server.ts';
import { readData } from '../chain/chunks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { parseHeader, pendingIds } from '../chain/transactions.ts';
import {
  badRequest,
  invalidAddress,
  invalidHash,
  invalidJson,
  NodeError,
  notFound,
  unknownRequest,
} from '../errors.ts';
import { type ChainReaders, headOf } from '../readers.ts';
import { MAX_SERVED_DATA_BYTES, MAX_TX_BODY_BYTES } from '../rules.ts';
import { addGet, param, parseBody, requireId, sendJson, sendJsonText, sendText } from './answers.ts';

export function transactionRoutes(app: App, node: LocalNode): void {
  /** Not on the chain, and not pending. */
  const absent = (id: string): never => {
    const refused = node.refusalOf(id);
    throw refused === undefined ? notFound() : new NodeError(410, refused.join(' '));
  };
  const pending = (reply: Reply): Reply => sendText(reply, 'Pending', 202);

  addGet(app, '/tx/pending', 'Ids that wait to be mined', async (_request, reply) =>
    sendJson(reply, await pendingIds(node.sql)),
  );

  addGet(app, '/tx/:id', 'A transaction that was mined', async (request, reply) => {
    const id = requireId(param(request, 'id'), invalidHash);
    const { height, header } = (await node.transaction(id)) ?? absent(id);
    return height === null ? pending(reply) : sendJsonText(reply, header);
  });

  addGet(app, '/unconfirmed_tx/:id', 'A transaction, mined or pending', async (request, reply) => {
    const id = requireId(param(request, 'id'), invalidHash);
    const { header } = (await node.transaction(id)) ?? absent(id);
    return sendJsonText(reply, header);
  });

  addGet(app, '/tx/:id/status', 'Where a transaction was mined', async (request, reply) => {
    const mined = await node.place(requireId(param(request, 'id'), invalidAddress));
    if (mined === undefined) throw notFound();
    const { height, block_hash } = mined;
    if (height === null) return pending(reply);
    const status = {
      block_height: height,
      block_indep_hash: block_hash,
      number_of_confirmations: node.head.height - height + 1,
    };
    return sendJson(reply, status);
  });

  addGet(app, '/tx/:id/offset', 'Where its data lies in the weave', async (request, reply) => {
    const id = requireId(param(request, 'id'), () => badRequest('invalid_address'));
    const place = await node.place(id);
    if (place === undefined || place.weave_end === null) throw new NodeError(404, '');
    return sendJsonText(reply, `{"offset":"${place.weave_end}","size":"${place.data_size}"}`);
  });

  addGet(app, '/tx/:id/:field', 'One field, or the data as base64url or as it is', async (request, reply) => {
    const id = requireId(param(request, 'id'), invalidHash);
    const field = param(request, 'field');
    const transaction = (await node.transaction(id)) ?? absent(id);
    if (transaction.height === null) return pending(reply);
    const header = parseHeader(transaction.header);
    if (field === 'data') return sendText(reply, (await dataOf(id)).toString('base64url'));
    if (field.startsWith('data.')) return sendData(reply, header, await dataOf(id));
    return sendField(reply, header, field);
  });

  addGet(app, '/:id', 'The data of a transaction, as it is', async (request, reply) => {
    const match = /^([A-Za-z0-9_-]{43})(?:\.[A-Za-z0-9]{1,16})?$/.exec(param(request, 'id'));
    if (match === null) throw unknownRequest();
    const id = requireId(match[1] ?? '', invalidHash);
    const transaction = (await node.transaction(id)) ?? absent(id);
    if (transaction.height === null) return pending(reply);
    return sendData(reply, parseHeader(transaction.header), await dataOf(id));
  });

  async function dataOf(id: string): Promise<Buffer> {
    const place = await node.place(id);
    if (place === undefined) throw notFound();
    if (place.data_size > MAX_SERVED_DATA_BYTES) throw badRequest('tx_data_too_big');
    const data = await readData(node.sql, place.data_root, place.data_size);
    if (data === undefined) throw notFound();
    return data;
  }
}

function sendField(reply: Reply, header: TransactionJson, field: string): Reply {
  if (!Object.hasOwn(header, field)) throw badRequest('invalid_field');
  const value: unknown = Reflect.get(header, field);
  if (typeof value === 'string' || typeof value === 'number') return sendText(reply, String(value));
  return sendJson(reply, value);
}

/** What the sender calls its data; a type that cannot stand in a header is not repeated. */
function sendData(reply: Reply, header: TransactionJson, data: Buffer): Reply {
  const tag = header.tags.find(
    ({ name }) => decodeBase64url(name).toString('utf8').toLowerCase() === 'content-type',
  );
  const type = tag === undefined ? '' : decodeBase64url(tag.value).toString('utf8');
  const safe = /^[\w!#$%&'*+.^`|~/-]{1,127}(?:; ?[\w.=" -]{1,127})?$/.test(type) ? type : undefined;
  return reply.header('content-type', safe ?? 'application/octet-stream').send(data);
}

export function postTxRoute(app: App, node: LocalNode, readers: ChainReaders): void {
  app.post(
    '/tx',
    { bodyLimit: MAX_TX_BODY_BYTES, schema: { summary: 'Post a signed transaction, as JSON' } },
    async (request, reply) => {
      const json = parseBody(request.body);
      if (json === undefined) throw invalidJson();
      const outcome = await node.post(json);
      if (outcome === 'accepted') await readers.accepted(json);
      // It is in a block already.
      if (node.mining.mode === 'transaction') await readers.mined(headOf(node));
      return outcome === 'accepted'
        ? sendText(reply, 'OK')
        : sendText(reply, 'Transaction already processed.', 208);
    },
  );
}

/** `/block/…`, `/current_block`, `/hash_list`. */
import { isBlockHash } from '../../../formats/base64url.ts';
import type { App } from '../../../kernel/http/server.ts';
import { blockJsonAt, blockJsonByHash, hashList } from '../chain/blocks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { badRequest, blockNotFound, invalidHeight } from '../errors.ts';
import { addGet, type Handler, param, parseDigits, sendJson, sendJsonText } from './answers.ts';

/** Hashes that one answer may hold. */
const MAX_HASHES = 10_000;

export function blockRoutes(app: App, node: LocalNode): void {
  const current: Handler = async (_request, reply) => sendJson(reply, node.head);
  addGet(app, '/block/current', 'The newest block', current);
  addGet(app, '/current_block', 'The newest block', current);

  addGet(app, '/block/height/:height', 'A block of the current chain', async (request, reply) => {
    const height = parseDigits(param(request, 'height'));
    if (height === undefined) throw invalidHeight();
    const json = await blockJsonAt(node.sql, height);
    if (json === undefined) throw blockNotFound();
    return sendJsonText(reply, json);
  });

  addGet(
    app,
    '/block/hash/:hash',
    'A block by its hash, also one that a fork replaced',
    async (request, reply) => {
      const hash = param(request, 'hash');
      const json = isBlockHash(hash) ? await blockJsonByHash(node.sql, hash) : undefined;
      if (json === undefined) throw blockNotFound();
      return sendJsonText(reply, json);
    },
  );

  addGet(app, '/hash_list', 'Block hashes, newest first', async (_request, reply) => {
    const { height } = node.head;
    return sendJson(reply, await hashList(node.sql, height - MAX_HASHES + 1, height));
  });

  addGet(
    app,
    '/hash_list/:from/:to',
    'Block hashes of a range of heights, newest first',
    async (request, reply) => {
      const from = parseDigits(param(request, 'from'));
      const to = parseDigits(param(request, 'to'));
      if (from === undefined || to === undefined) throw badRequest('invalid_range');
      if (from > to) throw badRequest('start_bigger_than_end');
      if (to - from >= MAX_HASHES) throw badRequest('range_too_big');
      if (from > node.head.height) throw badRequest('start_too_big');
      return sendJson(reply, await hashList(node.sql, from, to));
    },
  );
}

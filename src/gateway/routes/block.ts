/** `/block/…` and `/current_block`: from the index where the block is imported, else from nodes. */
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { nodeError, UpstreamError } from '../errors.ts';
import { param } from '../paths.ts';
import { addGet, type ChainReadsDeps, cacheBy, cacheFor, parseDigits, relay } from './answers.ts';
import { sendJsonText } from './text-errors.ts';

export function blockRoutes(app: App, { index, nodes }: ChainReadsDeps): void {
  async function current(_request: Request, reply: Reply): Promise<Reply> {
    const imported = async () => (index.height < 0 ? undefined : await index.blockJson(index.height));
    // What is imported answers when it is as new as what the nodes say.
    let json = index.height >= nodes.height ? await imported() : undefined;
    if (json === undefined) {
      try {
        return relay(reply, await nodes.get('/block/current'), 30);
      } catch (error) {
        json = error instanceof UpstreamError ? await imported() : undefined;
        if (json === undefined) throw error;
      }
    }
    return sendJsonText(cacheFor(reply, 30), json);
  }
  addGet(app, '/block/current', 'The newest block', current);
  addGet(app, '/current_block', 'The newest block', current);

  addGet(app, '/block/height/:height', 'A block by height', async (request, reply) => {
    const text = param(request, 'height');
    if (!/^[0-9]+$/.test(text)) throw nodeError(400, 'Invalid height.');
    const height = parseDigits(text);
    if (height === undefined) throw nodeError(404, 'Block not found.');
    const json = await index.blockJson(height);
    if (json !== undefined) {
      return sendJsonText(cacheBy(reply, height <= index.stableHeight), json);
    }
    return relay(reply, await nodes.get(`/block/height/${height}`), 30);
  });

  addGet(app, '/block/hash/:hash', 'A block by its independent hash', async (request, reply) => {
    const hash = param(request, 'hash');
    if (!/^[A-Za-z0-9_-]{64}$/.test(hash) && !/^[A-Za-z0-9_-]{43}$/.test(hash)) {
      throw nodeError(400, 'Invalid hash.');
    }
    const block = await index.blockById(hash);
    const json = block === undefined ? undefined : await index.blockJson(block.height);
    if (block !== undefined && json !== undefined) {
      return sendJsonText(cacheBy(reply, block.height <= index.stableHeight), json);
    }
    return relay(reply, await nodes.get(`/block/hash/${hash}`), 30);
  });
}

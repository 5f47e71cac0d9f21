/**
 * `/info`, `/height`, `/peers`, `/tx_anchor`, `/price/…`, `/wallet/…`: what only a node knows for certain. When no
 * node can be asked, what the index knows answers for height and anchor.
 */
import { hasAddressForm, isArweaveAddress } from '../../formats/base64url.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { NodeAnswer } from '../../outside/arweave/node.ts';
import { nodeError, UpstreamError } from '../errors.ts';
import { param } from '../paths.ts';
import { addGet, type ChainReadsDeps, cacheFor, relay } from './answers.ts';
import { sendText } from './text-errors.ts';

/** Nothing of more bytes can be: the weave's own size is a number of 256 bits. */
const maxSizeDigits = 78;

/** Anchors are the sixth newest block. */
const anchorDepth = 5;

export function nodeInfoRoutes(app: App, { index, nodes }: ChainReadsDeps): void {
  /** The node's answer, or where no node answers, what `fallback` says. */
  async function ask(
    path: string,
    fallback: () => Promise<string | undefined>,
  ): Promise<NodeAnswer | string> {
    try {
      return await nodes.get(path, { retryOn: [] });
    } catch (error) {
      const text = error instanceof UpstreamError ? await fallback() : undefined;
      if (text === undefined) throw error;
      return text;
    }
  }
  const send = (reply: Reply, answer: NodeAnswer | string, seconds: number): Reply =>
    typeof answer === 'string' ? sendText(cacheFor(reply, seconds), answer) : relay(reply, answer, seconds);

  addGet(app, '/info', 'About the node and its chain', async (_request, reply) =>
    relay(reply, await nodes.get('/info', { retryOn: [] }), 30),
  );

  addGet(app, '/height', 'Height of the newest block', async (_request, reply) => {
    if (index.height >= 0 && index.height >= nodes.height) {
      return sendText(cacheFor(reply, 20), String(index.height));
    }
    return send(reply, await ask('/height', async () => known(index.height)), 20);
  });

  addGet(app, '/peers', 'Addresses of nodes', async (_request, reply) =>
    relay(reply, await nodes.get('/peers', { retryOn: [] }), 30),
  );

  addGet(app, '/tx_anchor', 'The anchor for a new transaction', async (_request, reply) => {
    const fallback = async () => (await index.blockAt(Math.max(0, index.height - anchorDepth)))?.id;
    // Where blocks come quickly, as on a local network, one that is kept is soon too old to be mined.
    return send(reply, await ask('/tx_anchor', fallback), 0);
  });

  async function price(request: Request, reply: Reply, target = ''): Promise<Reply> {
    const size = param(request, 'size');
    if (!/^[0-9]+$/.test(size)) throw nodeError(400, { error: 'size_must_be_an_integer' });
    if (size.length > maxSizeDigits) throw nodeError(400, { error: 'size_is_too_large' });
    if (target === '') return relay(reply, await nodes.get(`/price/${size}`, { retryOn: [] }), 30);
    if (target !== 'target' && !hasAddressForm(target)) throw nodeError(400, 'Invalid address.');
    // The bare word stands for a wallet that the chain has not seen, as does an address that no key has.
    const address = isArweaveAddress(target) ? target : 'A'.repeat(43);
    return relay(reply, await nodes.get(`/price/${size}/${address}`, { retryOn: [] }), 30);
  }
  addGet(app, '/price/:size', 'Winston to store so many bytes', (request, reply) => price(request, reply));
  addGet(app, '/price/:size/target', 'Winston to store bytes and pay a new wallet', (request, reply) =>
    price(request, reply, 'target'),
  );
  addGet(app, '/price/:size/:target', 'Winston to store bytes and pay a wallet', (request, reply) =>
    price(request, reply, param(request, 'target')),
  );

  for (const [field, ofNobody] of [
    ['balance', '0'],
    ['last_tx', ''],
  ] as const) {
    addGet(app, `/wallet/:address/${field}`, `A wallet's ${field}`, async (request, reply) => {
      const address = param(request, 'address');
      if (!hasAddressForm(address)) throw nodeError(400, 'Invalid address.');
      if (!isArweaveAddress(address)) return sendText(cacheFor(reply, 30), ofNobody);
      return relay(reply, await nodes.get(`/wallet/${address}/${field}`, { retryOn: [] }), 30);
    });
  }
}

function known(height: number): string | undefined {
  return height < 0 ? undefined : String(height);
}

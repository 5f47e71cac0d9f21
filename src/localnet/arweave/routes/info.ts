/** The node about itself: `/info`, `/`, `/height`, `/peers`, `/time`, `/tx_anchor`, `/total_supply`, `/metrics`; `/price`, `/wallet`. */

import { hasAddressForm } from '../../../formats/base64url.ts';
import { originOf } from '../../../kernel/http/app.ts';
import { type Greeting, greet } from '../../../kernel/http/page/greeting.ts';
import type { App, Request } from '../../../kernel/http/server.ts';
import type { Metrics } from '../../../kernel/metrics.ts';
import { hashAt } from '../chain/blocks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { readWallet, totalSupply } from '../chain/wallets.ts';
import { badRequest, blockNotFound, invalidAddress } from '../errors.ts';
import type { Faults } from '../faults.ts';
import { ANCHOR_AGE, MAX_SIZE_DIGITS, NETWORK, PROTOCOL_VERSION, RELEASE, storageFee } from '../rules.ts';
import { addGet, type Handler, param, sendJson, sendJsonText, sendText } from './answers.ts';

/** The node and the head of its chain, as `/info` tells them. */
export const nodeInfo = (node: LocalNode, height = node.head.height) => ({
  network: NETWORK,
  version: PROTOCOL_VERSION,
  release: RELEASE,
  height,
  current: node.head.indep_hash,
  blocks: height + 1,
  peers: 0,
  queue_length: node.pending,
  node_state_latency: 0,
});

export function infoRoutes(app: App, node: LocalNode, faults: Faults, metrics: Metrics): void {
  const height = (request: Request) => node.head.height + (faults.of(request)?.wrongHeight ?? 0);
  const info: Handler = (request, reply) => sendJson(reply, nodeInfo(node, height(request)));

  addGet(app, '/info', 'The node and the head of its chain', info);
  addGet(app, '/', 'The same as /info; a page for people', (request, reply) =>
    greet(request, reply, greeting) ? reply : info(request, reply),
  );
  addGet(app, '/height', 'Height of the newest block', (request, reply) =>
    sendText(reply, String(height(request))),
  );
  addGet(app, '/peers', 'Other nodes: a local network has none', (_request, reply) =>
    sendJsonText(reply, '[]'),
  );
  addGet(app, '/time', 'Seconds since 1970', (_request, reply) =>
    sendText(reply, String(Math.floor(Date.now() / 1_000))),
  );
  addGet(app, '/tx_anchor', 'A block hash to use as last_tx', async (_request, reply) => {
    const hash = await hashAt(node.sql, Math.max(0, node.head.height - ANCHOR_AGE));
    if (hash === undefined) throw blockNotFound();
    return sendText(reply, hash);
  });
  addGet(app, '/total_supply', 'Winston in all wallets', async (_request, reply) =>
    sendText(reply, String(await totalSupply(node.sql))),
  );
  addGet(app, '/metrics', 'Prometheus metrics', async (_request, reply) =>
    reply.header('content-type', metrics.contentType).send(await metrics.text()),
  );
}

function greeting(request: Request): Greeting {
  const origin = originOf(request);
  return {
    title: 'Local Arweave node',
    about: 'A whole Arweave network on this machine: the routes of a node, and controls for tests.',
    badge: 'Local network: play money',
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/info', what: 'the node and the head of its chain' },
      { path: '/block/current', what: 'the newest block' },
      { path: '/tx/pending', what: 'what waits to be mined' },
    ],
    next: {
      text: 'Give one AR to a wallet, and make a block:',
      command: `curl ${origin}/mint/{address}/1000000000000\ncurl ${origin}/mine`,
    },
  };
}

export function priceAndWalletRoutes(app: App, node: LocalNode): void {
  const size = (text: string): bigint => {
    if (!/^[0-9]+$/.test(text)) throw badRequest('size_must_be_an_integer');
    if (text.length > MAX_SIZE_DIGITS) throw badRequest('size_is_too_large');
    return BigInt(text);
  };
  const address = (text: string): string => {
    if (!hasAddressForm(text)) throw invalidAddress();
    return text;
  };

  addGet(app, '/price/:size', 'Winston to store so many bytes', (request, reply) =>
    sendText(reply, String(storageFee(size(param(request, 'size')), false))),
  );

  addGet(app, '/price/:size/:target', 'The same, with a transfer to the target', async (request, reply) => {
    const bytes = size(param(request, 'size'));
    const target = param(request, 'target');
    // The contract's path ends with the word itself: the price for a recipient that has no wallet yet.
    const opensAccount = target === 'target' || (await readWallet(node.sql, address(target))) === undefined;
    return sendText(reply, String(storageFee(bytes, opensAccount)));
  });

  addGet(app, '/wallet/:address/balance', 'Winston in a wallet', async (request, reply) => {
    const wallet = await readWallet(node.sql, address(param(request, 'address')));
    return sendText(reply, String(wallet?.balance ?? 0n));
  });

  addGet(app, '/wallet/:address/last_tx', 'Id of the last transaction it sent', async (request, reply) => {
    const wallet = await readWallet(node.sql, address(param(request, 'address')));
    return sendText(reply, wallet?.lastTx ?? '');
  });
}

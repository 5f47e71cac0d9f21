/** `/info`, `/`, `/height`, `/peers`, `/time`, `/tx_anchor`, `/total_supply`, `/metrics`: the node about itself. */
import type { App, Request } from '../../../kernel/http/server.ts';
import type { Metrics } from '../../../kernel/metrics.ts';
import { hashAt } from '../chain/blocks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { totalSupply } from '../chain/wallets.ts';
import { blockNotFound } from '../errors.ts';
import type { Faults } from '../faults.ts';
import { ANCHOR_AGE, NETWORK, PROTOCOL_VERSION, RELEASE } from '../rules.ts';
import { addGet, type Handler, sendJsonText, sendText } from './answers.ts';

export function infoRoutes(app: App, node: LocalNode, faults: Faults, metrics: Metrics): void {
  const height = (request: Request) => node.head.height + (faults.of(request)?.wrongHeight ?? 0);

  const info: Handler = (request, reply) => {
    const answer = {
      network: NETWORK,
      version: PROTOCOL_VERSION,
      release: RELEASE,
      height: height(request),
      current: node.head.indep_hash,
      blocks: height(request) + 1,
      peers: 0,
      queue_length: node.pending,
      node_state_latency: 0,
    };
    return sendJsonText(reply, JSON.stringify(answer));
  };

  addGet(app, '/info', 'The node and the head of its chain', info);
  addGet(app, '/', 'The same as /info', info);
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

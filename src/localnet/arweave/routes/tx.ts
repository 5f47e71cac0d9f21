/** `POST /tx`: a signed transaction enters the mempool. */
import type { App } from '../../../kernel/http/server.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { invalidJson } from '../errors.ts';
import { MAX_TX_BODY_BYTES } from '../rules.ts';
import { parseBody, sendText } from './answers.ts';

export function postTxRoute(app: App, node: LocalNode): void {
  app.post(
    '/tx',
    { bodyLimit: MAX_TX_BODY_BYTES, schema: { summary: 'Post a signed transaction, as JSON' } },
    async (request, reply) => {
      const json = parseBody(request.body);
      if (json === undefined) throw invalidJson();
      const outcome = await node.post(json);
      return outcome === 'accepted'
        ? sendText(reply, 'OK')
        : sendText(reply, 'Transaction already processed.', 208);
    },
  );
}

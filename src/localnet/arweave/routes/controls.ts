/** What only a local network has: `/mine`, `/mint`, `/fork`, `/faults`. */
import { type Static, Type } from 'typebox';
import { isArweaveAddress } from '../../../formats/base64url.ts';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { badRequest, invalidAddress } from '../errors.ts';
import { FaultSettings, type Faults } from '../faults.ts';
import { MAX_FORK_DEPTH, MAX_MINED_AT_ONCE, MAX_MINT, NETWORK } from '../rules.ts';
import { param, parseBody, parseDigits, sendJson, sendJsonText, sendText } from './answers.ts';

const ForkBody = Type.Object(
  {
    depth: Type.Integer({ minimum: 1, maximum: MAX_FORK_DEPTH, description: 'Blocks to replace' }),
    blocks: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2 * MAX_FORK_DEPTH,
        description: 'Empty blocks of the new branch; one more than are replaced, unless said otherwise',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Bodies arrive as bytes on this server; these routes want them parsed before they are checked. */
async function parseJsonBody(request: Request): Promise<void> {
  request.body = parseBody(request.body);
}

const acts = { config: { actsOnGet: true } };

export function controlRoutes(app: App, node: LocalNode, faults: Faults): void {
  const sendHead = (reply: Reply): Reply =>
    sendJson(reply, { network: NETWORK, height: node.head.height, current: node.head.indep_hash });

  app.get('/mine', { ...acts, schema: { summary: 'Mine one block' } }, async (_request, reply) => {
    await node.mine(1);
    return sendHead(reply);
  });

  app.get('/mine/:count', { ...acts, schema: { summary: 'Mine so many blocks' } }, async (request, reply) => {
    const count = parseDigits(param(request, 'count'));
    if (count === undefined || count < 1 || count > MAX_MINED_AT_ONCE) {
      throw badRequest(`count must be an integer 1–${MAX_MINED_AT_ONCE}`);
    }
    await node.mine(count);
    return sendHead(reply);
  });

  app.get(
    '/mint/:address/:winston',
    { ...acts, schema: { summary: 'Give a wallet so many winston; answers its balance' } },
    async (request, reply) => {
      const address = param(request, 'address');
      if (!isArweaveAddress(address)) throw invalidAddress();
      const digits = param(request, 'winston');
      const amount = /^[0-9]{1,22}$/.test(digits) ? BigInt(digits) : 0n;
      if (amount < 1n || amount > MAX_MINT) throw badRequest(`winston must be an integer 1–${MAX_MINT}`);
      return sendText(reply, String(await node.mint(address, amount)));
    },
  );

  app.post<{ Body: Static<typeof ForkBody> }>(
    '/fork',
    {
      schema: { summary: 'Replace the newest blocks; their transactions wait again', body: ForkBody },
      preValidation: parseJsonBody,
    },
    async (request, reply) => {
      const { depth, blocks = depth + 1 } = request.body;
      if (depth > node.head.height) throw badRequest('depth must leave the first block');
      const rollback = await node.fork(depth, blocks);
      const { height, indep_hash } = node.head;
      return sendJson(reply, { height, current: indep_hash, ...rollback });
    },
  );

  app.get('/faults', { schema: { summary: 'The switches that are on' } }, (_request, reply) =>
    sendJson(reply, faults.settings),
  );
  app.post<{ Body: FaultSettings }>(
    '/faults',
    {
      schema: { summary: 'Make the node misbehave', body: FaultSettings },
      preValidation: parseJsonBody,
    },
    async (request, reply) => {
      faults.set(request.body);
      return sendJson(reply, faults.settings);
    },
  );
  app.delete('/faults', { schema: { summary: 'Behave again' } }, async (_request, reply) => {
    faults.clear();
    return sendJsonText(reply, '{}');
  });
}

/**
 * What only a local network has: `/mine`, `/mint`, `/fork`, `/faults`, and as ArLocal has them `/mineWithFails`,
 * `POST /wallet`, `PATCH /wallet/{address}/balance`, `DELETE /tx/{id}`, `/logs`; and `DELETE /chunk/{offset}`.
 */
import { randomBytes } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { isArweaveAddress, isTxId } from '../../../formats/base64url.ts';
import { isForeignPage } from '../../../kernel/http/foreign-page.ts';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import { forgetChunk } from '../chain/chunks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { arlocalRefusal, badRequest, foreignPage, invalidAddress } from '../errors.ts';
import { FaultSettings, type Faults } from '../faults.ts';
import { type ChainReaders, headOf } from '../readers.ts';
import type { RequestLog } from '../request-log.ts';
import { MAX_FORK_DEPTH, MAX_MINED_AT_ONCE, MAX_MINT } from '../rules.ts';
import { param, parseBody, parseDigits, sendJson, sendJsonText, sendText } from './answers.ts';
import { nodeInfo } from './info.ts';

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

/** ArLocal's clients send numbers and texts. */
const Balance = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,22}$' })]);
const WalletBody = Type.Object({ address: Type.Optional(Type.String()), balance: Type.Optional(Balance) });
const BalanceBody = Type.Object({ balance: Type.Optional(Balance) });

function winstonOf(balance: string | number): bigint {
  const winston = BigInt(balance);
  if (winston > MAX_MINT) throw badRequest(`balance must be an integer 0–${MAX_MINT}`);
  return winston;
}

/** Bodies arrive as bytes on this server; these routes want them parsed before they are checked. */
async function parseJsonBody(request: Request): Promise<void> {
  request.body = parseBody(request.body);
}

const acts = { config: { actsOnGet: true } };

export interface ControlDeps {
  readonly node: LocalNode;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly readers: ChainReaders;
}

export function controlRoutes(app: App, { node, faults, log, readers }: ControlDeps): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(isForeignPage(request.headers) ? foreignPage() : undefined);
  });

  /** Answers when those who read along have read it, so that nobody has to poll. */
  const mine = async (reply: Reply, count: number, fails?: (id: string) => boolean): Promise<Reply> => {
    await node.mine(count, fails);
    await readers.mined(headOf(node));
    return sendJson(reply, nodeInfo(node));
  };
  const countOf = (request: Request): number => {
    const count = parseDigits(param(request, 'count') || '1');
    if (count === undefined || count < 1 || count > MAX_MINED_AT_ONCE) {
      throw badRequest(`count must be an integer 1–${MAX_MINED_AT_ONCE}`);
    }
    return count;
  };
  for (const [url, summary] of [
    ['/mine', 'Mine one block'],
    ['/mine/:count', 'Mine so many blocks'],
  ] as const) {
    app.get(url, { ...acts, schema: { summary } }, (request, reply) => mine(reply, countOf(request)));
  }
  for (const url of ['/mineWithFails', '/mineWithFails/:count']) {
    app.get(
      url,
      {
        ...acts,
        schema: {
          summary: 'Mine, and drop so many in a hundred of what is pending',
          querystring: Type.Object({
            fails: Type.Optional(Type.String({ pattern: '^(?:[0-9]{1,2}|100)$' })),
          }),
        },
      },
      (request, reply) => {
        const share = Number(request.query.fails ?? '0') / 100;
        return mine(reply, countOf(request), () => Math.random() < share);
      },
    );
  }

  app.post<{ Body: Static<typeof WalletBody> }>(
    '/wallet',
    {
      schema: {
        summary: 'A wallet with so many winston, of a new address unless one is given',
        body: WalletBody,
      },
      preValidation: parseJsonBody,
    },
    async (request, reply) => {
      const { address = randomBytes(32).toString('base64url'), balance = 0 } = request.body;
      if (!isArweaveAddress(address)) throw arlocalRefusal(422, 'Address badly formatted');
      await node.setBalance(address, winstonOf(balance));
      return sendJson(reply, { ...request.body, address, balance });
    },
  );
  app.patch<{ Body: Static<typeof BalanceBody> }>(
    '/wallet/:address/balance',
    {
      schema: { summary: 'Give a wallet exactly so many winston', body: BalanceBody },
      preValidation: parseJsonBody,
    },
    async (request, reply) => {
      const address = param(request, 'address');
      const { balance } = request.body;
      if (!isArweaveAddress(address)) throw arlocalRefusal(422, 'Address badly formatted');
      if (balance === undefined) throw arlocalRefusal(422, 'Balance is required !');
      await node.setBalance(address, winstonOf(balance));
      return sendJson(reply, request.body);
    },
  );

  app.delete(
    '/tx/:id',
    { schema: { summary: 'Forget a transaction that is pending' } },
    async (request, reply) => {
      const id = param(request, 'id');
      const outcome = isTxId(id) ? await node.discard(id) : 'unknown';
      if (outcome === 'unknown') throw arlocalRefusal(404, 'Not found');
      if (outcome === 'mined') throw arlocalRefusal(409, 'It is in a block: take that back with POST /fork');
      return sendText(reply, 'OK');
    },
  );

  app.delete(
    '/chunk/:offset',
    { schema: { summary: 'Forget the chunk at a weave offset, as a node does whose disk failed' } },
    async (request, reply) => {
      const offset = parseDigits(param(request, 'offset'));
      if (offset === undefined || !(await forgetChunk(node.sql, offset)))
        throw arlocalRefusal(404, 'Not found');
      return sendText(reply, 'OK');
    },
  );

  app.get('/logs', { schema: { summary: 'The newest requests, a line each' } }, (_request, reply) =>
    sendText(reply, log.text()),
  );

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

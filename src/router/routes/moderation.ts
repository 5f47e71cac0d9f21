/** The blocklist over HTTP (interface §4.5). Everything but `check` needs the moderation token (interface §5). */
import { Type } from 'typebox';
import { isRecord, memberOf } from '../../formats/json.ts';
import { type Actor, fingerprintOf, readAuditQuery } from '../../kernel/audit-log.ts';
import { messageOf } from '../../kernel/errors.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import { type App, type Guard, mountGuarded, type Request } from '../../kernel/http/server.ts';
import { managementError, notFound, pathOf } from '../errors.ts';
import { blockContent, type Moderation } from '../moderation/block-content.ts';
import {
  type BlockType,
  canonicalValue,
  isBlockType,
  maxActorLength,
  maxReasonLength,
} from '../moderation/entries.ts';
import { createBearerGuard } from '../request/bearer.ts';

const bodyLimit = 16 * 1024;
const security = [{ bearer: [] }];
const Params = Type.Object({ type: Type.String(), value: Type.String() });
const wrongType = "Invalid type. Must be 'arns' or 'txid'";
const wrongId = 'Invalid transaction ID format (must be 43 base64url chars)';

export function moderationRoutes(app: App, moderation: Moderation | undefined, proxyCount: number): void {
  if (moderation === undefined) {
    disabledRoutes(app);
    return;
  }
  const { blocklist, all, token } = moderation;
  const bearer = createBearerGuard('moderation token', () => token);
  const addressOf = (request: Request): string => clientAddress(request, proxyCount);
  const who = fingerprintOf(token);
  const actor = (request: Request): Actor => ({ who, via: 'api', from: addressOf(request) });

  // For everybody, so it stands outside the guard.
  app.get(
    '/moderation/check/:type/:value',
    {
      schema: { summary: 'Whether a name or an id is blocked', params: Params },
      onRequest: async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      },
    },
    async (request, reply) => {
      const { type, value, canonical } = readTarget(request.params.type, request.params.value);
      const blocked = type === 'arns' ? all.blocksName(canonical) : all.blocksId(canonical);
      // Why and by whom is for those who may read the list.
      const isOperator = await bearer.holds(request, addressOf(request));
      const entry = isOperator ? blocklist.find(type, canonical) : undefined;
      return reply.send({ type, value, blocked, ...(entry === undefined ? {} : { entry }) });
    },
  );

  const guard: Guard = {
    async check(request, reply) {
      reply.header('cache-control', 'no-store');
      await bearer.require(request, addressOf(request));
    },
    noSuchRoute: (request) => notFound(pathOf(request.url)),
  };
  mountGuarded(app, '/moderation', guard, (scope) => guardedRoutes(scope, moderation, actor));
}

/** What only the holder of the moderation token may do. */
function guardedRoutes(app: App, moderation: Moderation, actor: (request: Request) => Actor): void {
  const { blocklist, all, audit } = moderation;
  app.post(
    '/block',
    {
      schema: {
        summary: 'Block a name or an id',
        security,
        body: Type.Unknown({ description: '{type: "arns" | "txid", value, reason, blockedBy?}' }),
      },
      bodyLimit,
    },
    async (request, reply) => {
      const { type, value, canonical, reason, blockedBy } = readBlock(request.body);
      const asked = { type, value: canonical, reason, blockedBy };
      const blocked = await blockContent(moderation, asked, actor(request)).catch(failed('block content'));
      return reply.send({ success: true, blocked: { type, value, ...blocked } });
    },
  );

  app.get(
    '/blocklist',
    {
      schema: {
        summary: 'Everything that is blocked',
        security,
        querystring: Type.Object({ type: Type.Optional(Type.String()) }),
      },
    },
    (request, reply) => {
      const { type } = request.query;
      if (type !== undefined && !isBlockType(type)) throw managementError(400, wrongType);
      const entries = blocklist.entries(type);
      return reply.send({ entries, total: entries.length });
    },
  );

  app.get('/stats', { schema: { summary: 'Moderation figures', security } }, (_request, reply) =>
    reply.send(blocklist.stats()),
  );

  app.get(
    '/audit',
    {
      schema: {
        summary: 'What was changed by operators, newest first',
        security,
        querystring: Type.Object({
          since: Type.Optional(Type.String({ maxLength: 64, description: 'ISO 8601' })),
          limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$' })),
        }),
      },
      config: { invalid: { error: 'Invalid since or limit' } },
    },
    async (request, reply) => {
      const query = readAuditQuery(request.query);
      if (query === undefined) throw managementError(400, 'Invalid since or limit');
      return reply.send({ lines: await audit.read(query) });
    },
  );

  // These two have no body. Clients that always name a type send one without bytes, or of a type of their own.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, _body, done) => done(null));
    scope.delete(
      '/block/:type/:value',
      { schema: { summary: 'Unblock a name or an id', security, params: Params } },
      async (request, reply) => {
        const { type, value, canonical } = readTarget(request.params.type, request.params.value);
        const removed = await blocklist
          .unblock(type, canonical, actor(request))
          .catch(failed('unblock content'));
        if (removed === undefined) {
          if (type === 'txid' && blocklist.blocksId(canonical)) {
            throw managementError(409, 'Blocked by name entry', { value });
          }
          if (type === 'arns' ? all.blocksName(canonical) : all.blocksId(canonical)) {
            throw managementError(409, 'Blocked by the gateway that is followed', { value });
          }
          throw managementError(404, 'Content not found in blocklist');
        }
        return reply.send({ success: true, unblocked: { type, value } });
      },
    );

    scope.post(
      '/reload',
      { schema: { summary: 'Read the blocklist from disk again', security }, bodyLimit },
      async (request, reply) => {
        await blocklist.reload(actor(request)).catch(failed('reload blocklist'));
        return reply.send({ success: true, message: 'Blocklist reloaded', stats: blocklist.stats() });
      },
    );
  });
}

/** The contract's routes, which are not there while moderation is off. */
function disabledRoutes(app: App): void {
  for (const [method, url] of [
    ['POST', '/moderation/block'],
    ['GET', '/moderation/blocklist'],
    ['GET', '/moderation/check/:type/:value'],
    ['GET', '/moderation/stats'],
    ['GET', '/moderation/audit'],
    ['DELETE', '/moderation/block/:type/:value'],
    ['POST', '/moderation/reload'],
  ] as const) {
    app.route({
      method,
      url,
      schema: { summary: 'Needs MODERATION_ENABLED' },
      onRequest: async (request) => {
        throw notFound(pathOf(request.url));
      },
      handler: (_request, reply) => reply,
    });
  }
}

/** The words of the first thing that is wrong with a request to block. */
export function readBlock(body: unknown) {
  if (!isRecord(body)) throw managementError(400, 'Invalid JSON body');
  const type = memberOf(body, 'type');
  if (!isBlockType(type)) throw managementError(400, wrongType);
  const given = memberOf(body, 'value');
  const { value, canonical } = readTarget(type, typeof given === 'string' ? given : '');
  const reason = memberOf(body, 'reason');
  if (typeof reason !== 'string' || reason.trim() === '') throw managementError(400, 'Reason is required');
  if (reason.length > maxReasonLength) throw managementError(400, `Reason is longer than ${maxReasonLength}`);
  const blockedBy = memberOf(body, 'blockedBy') ?? 'api';
  if (typeof blockedBy !== 'string' || blockedBy === '' || blockedBy.length > maxActorLength) {
    throw managementError(400, `blockedBy must be text of at most ${maxActorLength}`);
  }
  return { type, value, canonical, reason, blockedBy };
}

export function readTarget(
  type: string,
  value: string,
): { type: BlockType; value: string; canonical: string } {
  if (!isBlockType(type)) throw managementError(400, wrongType);
  if (value === '') throw managementError(400, 'Value is required');
  const canonical = canonicalValue(type, value);
  if (canonical === undefined) throw managementError(400, type === 'txid' ? wrongId : 'Invalid ArNS name');
  return { type, value, canonical };
}

const failed = (what: string) => (error: unknown) => {
  throw managementError(500, `Failed to ${what}`, { message: messageOf(error) });
};

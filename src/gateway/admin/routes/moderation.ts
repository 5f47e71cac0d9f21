/** `block-data`, `unblock-data`, `block-name`, `unblock-name`, and the list of what is blocked (interface §4.4). */
import { Type } from 'typebox';
import { canBeName } from '../../../delivery/moderation/block-set.ts';
import { asciiLowerCase } from '../../../formats/ascii-case.ts';
import { isTxId, tryDecodeBase64url } from '../../../formats/base64url.ts';
import type { Actor } from '../../../kernel/audit-log.ts';
import type { App, Request } from '../../../kernel/http/server.ts';
import { splitLabel } from '../../content/names/host.ts';
import { badRequest } from '../errors.ts';
import type { BlockStore, BlockTarget } from '../moderation/block-store.ts';
import type { Followers } from '../moderation/followers.ts';
import type { LiveBlocklist } from '../moderation/live-blocklist.ts';
import type { RequestedTransactions } from '../requested-transactions.ts';

const needsIdOrHash = "Must provide 'id' or 'hash'";
const needsTexts = "'id' and 'hash' must be strings";
const needsName = "'name' must be a non-empty string";
const nameTooLong = "'name' exceeds maximum length";
const noName = "'name' can be no name";
const reasonTexts = "'source' and 'notes' must be strings";

const reason = {
  source: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'Who asked for it; documentation only' }),
  ),
  notes: Type.Optional(Type.String({ maxLength: 16_384, description: 'Documentation only' })),
};
const what = {
  id: Type.Optional(Type.String({ description: 'Transaction or data item' })),
  hash: Type.Optional(
    Type.String({ description: 'SHA-256 of the content: 43 characters of base64url or 64 of hex' }),
  ),
};
const isReason = (field: string): boolean => field === 'source' || field === 'notes';

export interface ModerationRoutesOptions {
  readonly blocklist: LiveBlocklist;
  readonly followers: Followers;
  readonly store: BlockStore;
  readonly requested: RequestedTransactions;
  /** Whether the index knows an id. */
  isKnown(id: string): Promise<boolean>;
  actor(request: Request): Actor;
}

const followerNames = '^[a-z]{1,16}( [a-z]{1,16}){0,4}$';

export function moderationRoutes(app: App, options: ModerationRoutesOptions): void {
  const { blocklist, followers, store, requested, actor } = options;
  const done = (message: string) => ({ message, obeyedBy: followers.list() });

  app.put(
    '/block-data',
    {
      schema: {
        summary: 'Stop serving a transaction, a data item, or every copy of some content',
        tags: ['admin'],
        body: Type.Object({ ...what, ...reason }),
      },
      config: { invalid: (_part, field) => (isReason(field) ? reasonTexts : needsIdOrHash) },
    },
    async (request) => {
      const targets = targetsOf(request.body);
      await blocklist.block(targets, request.body, actor(request));
      // Its chunks are recognised by its header, or by that of the transaction it lies in.
      const { id } = request.body;
      const roots = [...blocklist.places].filter((place) => place.id === id).map(({ root }) => root);
      for (const one of roots.length > 0 || id === undefined ? roots : [id]) {
        if (!(await options.isKnown(one))) await requested.add(one);
      }
      return done('Content blocked');
    },
  );

  app.put(
    '/unblock-data',
    {
      schema: { summary: 'Serve it again', tags: ['admin'], body: Type.Object(what) },
      config: { invalid: (_part, field) => (field === '' ? needsIdOrHash : needsTexts) },
    },
    async (request) => {
      await blocklist.unblock(targetsOf(request.body), actor(request));
      return done('Content unblocked');
    },
  );

  app.put(
    '/block-name',
    {
      schema: {
        summary: 'Stop serving a name; a base name covers its undernames',
        tags: ['admin'],
        body: Type.Object({ name: Type.String(), ...reason }),
      },
      config: { invalid: (_part, field) => (isReason(field) ? reasonTexts : needsName) },
    },
    async (request) => {
      const name = nameOf(request.body.name);
      if (!canBeName(name)) throw badRequest(noName);
      await blocklist.block([['name', name]], request.body, actor(request));
      return done('Name blocked');
    },
  );

  app.put(
    '/unblock-name',
    {
      schema: {
        summary: 'Serve a name again',
        tags: ['admin'],
        body: Type.Object({ name: Type.String() }),
      },
      config: { invalid: needsName },
    },
    async (request) => {
      await blocklist.unblock([['name', nameOf(request.body.name)]], actor(request));
      return done('Name unblocked');
    },
  );

  app.get('/blocks', { schema: { summary: 'Everything that is blocked', tags: ['admin'] } }, () =>
    store.load(),
  );

  app.get(
    '/blocklist',
    {
      schema: {
        summary: 'What is blocked, and where it lies in bundles, for those who obey it too',
        tags: ['admin'],
        querystring: Type.Object({
          follower: Type.Optional(Type.String({ pattern: followerNames, description: 'Who obeys it' })),
          everyMs: Type.Optional(Type.String({ pattern: '^[0-9]{1,7}$', description: 'How often it asks' })),
        }),
      },
      config: { invalid: "Invalid 'follower' or 'everyMs'" },
    },
    async (request, reply) => {
      const { follower, everyMs } = request.query;
      if (follower !== undefined && everyMs !== undefined) followers.seen(follower, Number(everyMs));
      const { text, etag } = blocklist.document();
      reply.header('etag', etag);
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return reply.header('content-type', 'application/json; charset=utf-8').send(text);
    },
  );
}

function targetsOf(body: { readonly id?: string; readonly hash?: string }): BlockTarget[] {
  const targets: BlockTarget[] = [];
  if (body.id !== undefined) {
    if (!isTxId(body.id)) throw badRequest(needsIdOrHash);
    targets.push(['id', body.id]);
  }
  if (body.hash !== undefined) targets.push(['hash', hashOf(body.hash)]);
  if (targets.length === 0) throw badRequest(needsIdOrHash);
  return targets;
}

/** Base64url, whichever way it came: the two lengths cannot be mistaken for each other. */
function hashOf(text: string): string {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex').toString('base64url');
  if (tryDecodeBase64url(text)?.length === 32) return text;
  throw badRequest(needsIdOrHash);
}

/** Lower case, as hosts are compared. Names have at most 51 characters, undernames 61 (interface §8). */
function nameOf(text: string): string {
  const label = asciiLowerCase(text.trim());
  if (label === '') throw badRequest(needsName);
  const { name, undername } = splitLabel(label);
  if (name.length > 51 || undername.length > 61) throw badRequest(nameTooLong);
  return label;
}

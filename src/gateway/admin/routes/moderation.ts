/** `block-data`, `unblock-data`, `block-name`, `unblock-name`, and the list of what is blocked (interface §4.4). */

import { Type } from 'typebox';
import { asciiLowerCase } from '../../../formats/ascii-case.ts';
import { isTxId, tryDecodeBase64url } from '../../../formats/base64url.ts';
import type { App } from '../../../kernel/http/server.ts';
import { splitLabel } from '../../content/names/host.ts';
import { badRequest } from '../errors.ts';
import type { BlockKind, BlockStore } from '../moderation/block-store.ts';
import type { LiveBlocklist } from '../moderation/live-blocklist.ts';
import type { RequestedTransactions } from '../requested-transactions.ts';

const needsIdOrHash = "Must provide 'id' or 'hash'";
const needsTexts = "'id' and 'hash' must be strings";
const needsName = "'name' must be a non-empty string";
const nameTooLong = "'name' exceeds maximum length";
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
  readonly store: BlockStore;
  readonly requested: RequestedTransactions;
  /** Whether the index knows an id. */
  isKnown(id: string): Promise<boolean>;
}

export function moderationRoutes(app: App, options: ModerationRoutesOptions): void {
  const { blocklist, store, requested } = options;

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
      await blocklist.block(targets, request.body);
      // Its chunks are recognised by its header.
      const { id } = request.body;
      if (id !== undefined && !(await options.isKnown(id))) await requested.add(id);
      return { message: 'Content blocked' };
    },
  );

  app.put(
    '/unblock-data',
    {
      schema: { summary: 'Serve it again', tags: ['admin'], body: Type.Object(what) },
      config: { invalid: (_part, field) => (field === '' ? needsIdOrHash : needsTexts) },
    },
    async (request) => {
      await blocklist.unblock(targetsOf(request.body));
      return { message: 'Content unblocked' };
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
      await blocklist.block([['name', nameOf(request.body.name)]], request.body);
      return { message: 'Name blocked' };
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
      await blocklist.unblock([['name', nameOf(request.body.name)]]);
      return { message: 'Name unblocked' };
    },
  );

  app.get('/blocks', { schema: { summary: 'Everything that is blocked', tags: ['admin'] } }, () =>
    store.load(),
  );
}

function targetsOf(body: { readonly id?: string; readonly hash?: string }): [BlockKind, string][] {
  const targets: [BlockKind, string][] = [];
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

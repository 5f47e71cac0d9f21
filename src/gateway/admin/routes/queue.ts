/** `queue-tx`, `queue-bundle`, `queue-data-item`, `bundle-status` (interface §4.4), and `bundles`. */
import { Type } from 'typebox';
import { isTxId } from '../../../formats/base64url.ts';
import type { App } from '../../../kernel/http/server.ts';
import { DatabaseUnavailable } from '../../../storage/sql/sql.ts';
import type { Header } from '../../chain-index/records.ts';
import type { SqlGatewayIndex } from '../../chain-index/sql-index.ts';
import type { OnDemandImport } from '../../import/on-demand.ts';
import { indexAnnounced, parseAnnounced } from '../../unbundle/optimistic.ts';
import type { BundleQueue } from '../../unbundle/queue.ts';
import { bundleStatus, listBundles } from '../../unbundle/status.ts';
import {
  badRequest,
  bundleNotFound,
  bundleNotQueued,
  bundleQueueFull,
  indexerBusy,
  needsBundleId,
  needsHeaders,
  needsId,
  tooManyItems,
} from '../errors.ts';
import type { RequestedTransactions } from '../requested-transactions.ts';

export const IdText = Type.String({ pattern: '^[0-9a-zA-Z_-]{43}$' });
const Text = Type.String();

const ItemHeader = Type.Object(
  {
    id: IdText,
    owner: Text,
    owner_address: Text,
    signature: Text,
    data_size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    target: Type.Optional(Text),
    anchor: Type.Optional(Text),
    content_type: Type.Optional(Text),
    signature_type: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
    tags: Type.Optional(Type.Array(Type.Object({ name: Text, value: Text }), { maxItems: 2_048 })),
  },
  { description: 'Header of a data item; binary fields, tag names and tag values are base64url' },
);

const itemBodyLimit = 10 * 1024 * 1024;
const maxBatch = 5_000;
/** Announced items that may wait for the database at the same time. */
const maxPendingItems = 20_000;
const maxListed = 200;

export interface QueueRoutesOptions {
  readonly index: SqlGatewayIndex;
  readonly queue: BundleQueue;
  readonly onDemand: OnDemandImport;
  readonly requested: RequestedTransactions;
  /** Bundles that may wait before an operator is told to come again later. */
  readonly maxBundles: number;
}

export function queueRoutes(app: App, options: QueueRoutesOptions): void {
  const { index, queue, onDemand, requested, maxBundles } = options;
  let pendingItems = 0;

  app.post(
    '/queue-tx',
    {
      schema: {
        summary: 'Import a transaction now, and unbundle it where the filter lets it through',
        tags: ['admin'],
        body: Type.Object({ id: IdText }),
      },
      config: { invalid: needsId },
    },
    async (request) => {
      if (!isTxId(request.body.id)) throw badRequest(needsId);
      await requested.add(request.body.id);
      return { message: 'TX queued' };
    },
  );

  app.post(
    '/queue-bundle',
    {
      schema: {
        summary: 'Unbundle a bundle, past the unbundle filter unless asked otherwise',
        tags: ['admin'],
        body: Type.Object({ id: IdText, bypassFilter: Type.Optional(Type.Boolean()) }),
      },
      config: {
        invalid: (_part, field) => (field === 'bypassFilter' ? "'bypassFilter' must be a boolean" : needsId),
      },
    },
    async (request) => {
      const { id, bypassFilter = true } = request.body;
      if (!isTxId(id)) throw badRequest(needsId);
      if (!bypassFilter) await requested.add(id);
      else {
        if ((await queue.waiting()) >= maxBundles) throw bundleQueueFull();
        try {
          await onDemand.queueBundle(id);
        } catch (error) {
          throw error instanceof DatabaseUnavailable ? bundleNotQueued(error) : error;
        }
      }
      return { message: 'TX queued' };
    },
  );

  app.post(
    '/queue-data-item',
    {
      bodyLimit: itemBodyLimit,
      schema: {
        summary: 'Make data items searchable before their bundle is mined',
        tags: ['admin'],
        body: Type.Array(ItemHeader),
      },
      config: { invalid: needsHeaders },
    },
    async (request) => {
      const items = request.body;
      if (items.length > maxBatch) throw tooManyItems(maxBatch);
      const headers: Header[] = [];
      for (const item of items) {
        const header = parseAnnounced(item);
        if (header === undefined) throw badRequest(needsHeaders);
        headers.push(header);
      }
      if (pendingItems + headers.length > maxPendingItems) throw indexerBusy();
      pendingItems += headers.length;
      try {
        await indexAnnounced(index, headers);
      } finally {
        pendingItems -= headers.length;
      }
      return { message: 'Data item(s) queued' };
    },
  );

  app.get(
    '/bundle-status/:id',
    {
      schema: {
        summary: 'What became of a bundle',
        tags: ['admin'],
        params: Type.Object({ id: IdText }),
      },
      config: { invalid: needsBundleId },
    },
    async (request) => {
      const { id } = request.params;
      if (!isTxId(id)) throw badRequest(needsBundleId);
      const found = await bundleStatus(index.sql, id);
      if (found === undefined) throw bundleNotFound();
      return found;
    },
  );

  const states = Type.Union([Type.Literal('failed'), Type.Literal('queued'), Type.Literal('running')]);
  app.get(
    '/bundles',
    {
      schema: {
        summary: 'Bundles that wait, are being read, or could not be read, and why',
        tags: ['admin'],
        querystring: Type.Object({ state: states }),
      },
      config: { invalid: "Invalid 'state' - must be failed, queued or running" },
    },
    async (request) => ({ bundles: await listBundles(index.sql, request.query.state, maxListed) }),
  );
}

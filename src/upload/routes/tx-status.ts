/** `GET /tx/:id/status` and `GET /tx/:id/offsets`: how far an item is on its way to the chain. */
import { Type } from 'typebox';
import { isTxId } from '../../formats/base64url.ts';
import type { App } from '../../kernel/http/server.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { postedBundle } from '../bundler/bundle-rows.ts';
import { translateError, uploadErrors } from '../errors.ts';
import type { Places } from '../intake/receipts.ts';
import { findItem, type ItemState, type StoredItem } from '../items/item-rows.ts';

const words: Record<ItemState, { status: string; info: string }> = {
  new: { status: 'CONFIRMED', info: 'new' },
  planned: { status: 'CONFIRMED', info: 'pending' },
  permanent: { status: 'FINALIZED', info: 'permanent' },
  failed: { status: 'FAILED', info: 'failed' },
};

const params = Type.Object({ id: Type.String({ description: 'Data item id' }) });

/** `placesOf`: the gateways that have an item. */
export function txStatusRoutes(app: App, sql: Sql, placesOf: (item: StoredItem) => Places): void {
  app.get('/tx/:id/status', { schema: { summary: 'How far an item is', params } }, async (request, reply) => {
    const item = await itemOf(sql, request.params.id);
    const bundle = await postedBundle(sql, item.bundle);
    const age = item.state === 'permanent' ? 86_400 : 15;
    return reply.header('cache-control', `public, max-age=${age}`).send({
      ...words[item.state],
      ...(bundle === undefined ? {} : { bundleId: bundle.txId, ...placeOf(item) }),
      ...sizesOf(item),
      winc: item.winc.toString(),
      ...(item.state === 'failed' ? {} : placesOf(item)),
      ...(item.failedReason === null ? {} : { reason: item.failedReason }),
    });
  });
  app.get(
    '/tx/:id/offsets',
    { schema: { summary: 'Where an item is in its bundle', params } },
    async (request, reply) => {
      const item = await itemOf(sql, request.params.id);
      const bundle = await postedBundle(sql, item.bundle);
      return reply.header('cache-control', 'public, max-age=60').send({
        dataItemId: item.id,
        ...(bundle === undefined ? {} : { rootBundleId: bundle.txId, ...placeOf(item) }),
        ...sizesOf(item),
      });
    },
  );
}

async function itemOf(sql: Sql, id: string): Promise<StoredItem> {
  if (!isTxId(id)) throw uploadErrors.invalidId();
  const item = await findItem(sql, id).catch((error: unknown) => {
    throw translateError(error, id);
  });
  if (item === undefined) throw uploadErrors.unknownItem();
  return item;
}

function placeOf(item: StoredItem) {
  return item.bundleOffset === null ? {} : { startOffsetInRootBundle: item.bundleOffset };
}

function sizesOf(item: StoredItem) {
  return {
    rawContentLength: item.size,
    payloadContentType: item.contentType,
    payloadDataStart: item.payloadStart,
    payloadContentLength: item.size - item.payloadStart,
  };
}

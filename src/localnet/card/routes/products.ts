/** `/v1/products` and `/v1/prices`: what a checkout may sell by name. */
import type { App } from '../../../kernel/http/server.ts';
import { type Provider, post, remove } from '../api.ts';
import { compare, memberPath } from '../conditions.ts';
import { invalidRequest, missingParameter } from '../errors.ts';
import type { Price, Product } from '../objects.ts';
import type { Params } from '../params.ts';
import { checkAmount } from '../payments.ts';
import { announce, type Change, getObject, listObjects, newId, putObject } from '../store.ts';
import { readable } from './lists.ts';

export function productRoutes(app: App, provider: Provider): void {
  readable(app, provider, {
    path: '/products',
    kind: 'product',
    filters: { active: { type: 'flag' }, url: {} },
    search: { active: 'flag', created: 'number', description: 'text', name: 'text', url: 'text' },
  });

  post(app, provider, '/products', async (change, { params }) => {
    const defaultPrice = params.object('default_price_data');
    const product: Product = {
      id: newId.product(),
      object: 'product',
      active: !params.has('active') || params.flag('active'),
      created: change.now,
      default_price: null,
      description: params.optionalText('description') ?? null,
      images: params.texts('images') ?? [],
      livemode: false,
      metadata: params.metadata(),
      name: params.text('name', 250),
      updated: change.now,
      url: params.url('url') ?? null,
    };
    params.done();
    const price = defaultPrice === undefined ? undefined : readPrice(change, defaultPrice, product.id);
    defaultPrice?.done();
    const sold: Product = { ...product, default_price: price?.id ?? null };
    await putObject(change, sold);
    await announce(change, 'product.created', sold);
    if (price !== undefined) await keepPrice(change, price, 'created');
    return { object: sold };
  });

  post(app, provider, '/products/:id', async (change, { id, params }) => {
    const product = await getObject(change.tx, 'product', id);
    const changed: Product = {
      ...product,
      active: params.has('active') ? params.flag('active') : product.active,
      default_price: params.optionalText('default_price') ?? product.default_price,
      description: params.optionalText('description') ?? product.description,
      images: params.texts('images') ?? product.images,
      metadata: params.metadata(product.metadata),
      name: params.optionalText('name', 250) ?? product.name,
      updated: change.now,
      url: params.url('url') ?? product.url,
    };
    params.done();
    if (changed.default_price !== null) await getObject(change.tx, 'price', changed.default_price);
    await putObject(change, changed);
    await announce(change, 'product.updated', changed);
    return { object: changed };
  });

  remove(app, provider, '/products/:id', async (change, { id }) => {
    const product = await getObject(change.tx, 'product', id);
    const one = { limit: 1, startingAfter: undefined };
    const prices = await listObjects(change.tx, 'price', [compare(memberPath('product'), '=', id)], one);
    if (prices.length > 0) {
      throw invalidRequest('This product cannot be deleted because it has one or more user-created prices.');
    }
    const deleted = { id, object: 'product', deleted: true } as const;
    await putObject(change, deleted);
    await announce(change, 'product.deleted', product);
    return { object: deleted };
  });

  readable(app, provider, {
    path: '/prices',
    kind: 'price',
    filters: { active: { type: 'flag' }, currency: {}, product: {}, type: {} },
    search: {
      active: 'flag',
      created: 'number',
      currency: 'text',
      lookup_key: 'text',
      product: 'text',
      type: 'text',
    },
  });

  post(app, provider, '/prices', async (change, { params }) => {
    const product = await getObject(change.tx, 'product', params.text('product'));
    const price = readPrice(change, params, product.id);
    params.done();
    await keepPrice(change, price, 'created');
    return { object: price };
  });

  post(app, provider, '/prices/:id', async (change, { id, params }) => {
    const price = await getObject(change.tx, 'price', id);
    const changed: Price = {
      ...price,
      active: params.has('active') ? params.flag('active') : price.active,
      lookup_key: params.optionalText('lookup_key', 200) ?? price.lookup_key,
      metadata: params.metadata(price.metadata),
      nickname: params.optionalText('nickname') ?? price.nickname,
    };
    params.done();
    await keepPrice(change, changed, 'updated');
    return { object: changed };
  });
}

async function keepPrice(change: Change, price: Price, what: 'created' | 'updated'): Promise<void> {
  await putObject(change, price);
  await announce(change, `price.${what}`, price);
}

/** Paid once: nothing here is a subscription. */
function readPrice(change: Change, params: Params, product: string): Price {
  const amount = params.optionalInteger('unit_amount');
  if (amount === undefined) throw missingParameter('unit_amount');
  const currency = params.text('currency').toLowerCase();
  checkAmount(amount, currency);
  return {
    id: newId.price(),
    object: 'price',
    active: !params.has('active') || params.flag('active'),
    billing_scheme: 'per_unit',
    created: change.now,
    currency,
    livemode: false,
    lookup_key: params.optionalText('lookup_key', 200) ?? null,
    metadata: params.metadata(),
    nickname: params.optionalText('nickname') ?? null,
    product,
    recurring: null,
    tax_behavior: params.choice('tax_behavior', ['exclusive', 'inclusive', 'unspecified']) ?? 'unspecified',
    type: 'one_time',
    unit_amount: amount,
    unit_amount_decimal: String(amount),
  };
}

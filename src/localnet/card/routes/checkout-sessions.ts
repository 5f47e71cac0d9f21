/** `/v1/checkout/sessions`: create, retrieve, update, list, expire, and what the session sells. */
import type { App } from '../../../kernel/http/server.ts';
import { get, lineItemsOf, type Provider, pageOf, post } from '../api.ts';
import { createSession, expireSession, readOrder } from '../sessions.ts';
import { getObject } from '../store.ts';
import { changeableMetadata, readable } from './lists.ts';

export function checkoutSessionRoutes(app: App, provider: Provider): void {
  readable(app, provider, {
    path: '/checkout/sessions',
    kind: 'checkout.session',
    filters: { customer: {}, payment_intent: {}, status: {} },
  });

  post(app, provider, '/checkout/sessions', async (change, call) => {
    const order = await readOrder(change.tx, call.params);
    call.params.done();
    return { object: await createSession(change, order) };
  });

  changeableMetadata(app, provider, { path: '/checkout/sessions', kind: 'checkout.session' });

  get(app, provider, '/checkout/sessions/:id/line_items', async (tx, call) => {
    await getObject(tx, 'checkout.session', call.id);
    return lineItemsOf(tx, call.id, pageOf(call.params));
  });

  post(app, provider, '/checkout/sessions/:id/expire', async (change, call) => {
    const session = await getObject(change.tx, 'checkout.session', call.id);
    call.params.done();
    return { object: await expireSession(change, session) };
  });
}

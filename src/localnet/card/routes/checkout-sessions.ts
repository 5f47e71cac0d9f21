/** `/v1/checkout/sessions`: create, retrieve, expire, and what the session sells. */
import type { App } from '../../../kernel/http/server.ts';
import { get, listOf, type Provider, pageOf, post } from '../api.ts';
import { createSession, expireSession, getCheckout, readOrder } from '../sessions.ts';
import { getObject } from '../store.ts';

export function checkoutSessionRoutes(app: App, provider: Provider): void {
  post(app, provider, '/checkout/sessions', async (change, call) => {
    const order = readOrder(call.params);
    call.params.done();
    return { object: await createSession(change, order, provider.url()) };
  });

  get(app, provider, '/checkout/sessions/:id', async (tx, call) => {
    return getObject(tx, 'checkout.session', call.id);
  });

  get(app, provider, '/checkout/sessions/:id/line_items', async (tx, call) => {
    await getObject(tx, 'checkout.session', call.id);
    const { items } = await getCheckout(tx, call.id);
    return listOf(`/v1/checkout/sessions/${call.id}/line_items`, pageOf(call.params), items);
  });

  post(app, provider, '/checkout/sessions/:id/expire', async (change, call) => {
    const session = await getObject(change.tx, 'checkout.session', call.id);
    call.params.done();
    return { object: await expireSession(change, session) };
  });
}

/** `/c/pay/{session}`: the hosted page, `/c/embedded/{client secret}`: the same inside another page, and receipts. */
import type { App, Reply } from '../../../kernel/http/server.ts';
import { sameSecret } from '../../../kernel/same-secret.ts';
import { changeByVisitor, type Provider, unixSeconds } from '../api.ts';
import type { CheckoutSession } from '../objects.ts';
import { checkTyped, emptyForm, readTyped } from '../page/checkout-form.ts';
import {
  type CheckoutView,
  checkoutPage,
  messagePage,
  money,
  securityPolicy,
} from '../page/checkout-page.ts';
import { getCheckout, paySession } from '../sessions.ts';
import { findObject } from '../store.ts';

export function checkoutPageRoutes(app: App, provider: Provider): void {
  for (const path of ['/c/pay/:id', '/c/embedded/:id']) {
    app.get<{ Params: { id: string } }>(path, { schema: { hide: true } }, (request, reply) =>
      show(provider, reply, request.params.id, request.url),
    );
    app.post<{ Params: { id: string } }>(path, { schema: { hide: true } }, (request, reply) =>
      pay(provider, reply, request.params.id, request.url, request.body),
    );
  }
  app.get<{ Params: { id: string } }>('/receipts/:id', { schema: { hide: true } }, (request, reply) =>
    receipt(provider, reply, request.params.id),
  );
}

/** Whoever knows a charge's id may see what was paid, as with the provider's receipts. */
async function receipt(provider: Provider, reply: Reply, id: string): Promise<Reply> {
  const charge = await findObject(provider.sql, 'charge', id);
  if (charge === undefined || !charge.paid) return unknown(reply);
  const { brand, last4 } = charge.payment_method_details.card;
  const day = new Date(charge.created * 1000).toISOString().slice(0, 10);
  const back =
    charge.amount_refunded === 0 ? '' : ` ${money(charge.amount_refunded, charge.currency)} went back.`;
  const text = `Paid on ${day} with ${brand} ending in ${last4}. No real card was charged.${back}`;
  const title = `Receipt for ${money(charge.amount, charge.currency)}`;
  return sendPage(reply, 200, messagePage(title, text), undefined);
}

/** A hosted session by its id, an embedded one by its client secret; neither opens the other. */
async function sessionFor(provider: Provider, capability: string): Promise<CheckoutSession | undefined> {
  const [id = ''] = capability.split('_secret_', 1);
  const session = await findObject(provider.sql, 'checkout.session', id);
  if (session === undefined) return undefined;
  return sameSecret(capability, session.client_secret ?? session.id) ? session : undefined;
}

async function show(provider: Provider, reply: Reply, capability: string, action: string): Promise<Reply> {
  const session = await sessionFor(provider, capability);
  if (session === undefined) return unknown(reply);
  if (session.status !== 'open' || session.expires_at <= unixSeconds(provider)) return closed(reply, session);
  const { items } = await getCheckout(provider.sql, session.id);
  return page(reply, 200, { session, items, action, typed: emptyForm, wrong: {}, declined: undefined });
}

async function pay(
  provider: Provider,
  reply: Reply,
  capability: string,
  action: string,
  body: unknown,
): Promise<Reply> {
  const session = await sessionFor(provider, capability);
  if (session === undefined) return unknown(reply);
  const { items } = await getCheckout(provider.sql, session.id);
  const typed = readTyped(typeof body === 'string' ? body : '');
  const checked = checkTyped(typed, new Date(provider.now()));
  if ('wrong' in checked) {
    if (session.status !== 'open') return closed(reply, session);
    return page(reply, 422, { session, items, action, typed, wrong: checked.wrong, declined: undefined });
  }
  const email = typed.email === '' ? null : typed.email;
  const outcome = await provider.sql.transaction((tx) =>
    paySession(changeByVisitor(provider, tx), session.id, checked.card, email),
  );
  provider.deliveries.wake();
  if (outcome.kind === 'closed') return closed(reply, outcome.session);
  if (outcome.kind === 'declined') {
    return page(reply, 402, { session, items, action, typed, wrong: {}, declined: outcome.message });
  }
  const next = nextUrl(outcome.session);
  return next === undefined ? closed(reply, outcome.session) : reply.redirect(next, 303);
}

/** Where the payer goes after paying. */
function nextUrl({ id, success_url, return_url }: CheckoutSession): string | undefined {
  return (success_url ?? return_url)?.replaceAll('{CHECKOUT_SESSION_ID}', id);
}

function page(reply: Reply, status: number, view: CheckoutView): Reply {
  return sendPage(reply, status, checkoutPage(view), view.session);
}

function closed(reply: Reply, session: CheckoutSession): Reply {
  if (session.status === 'complete') {
    const href = nextUrl(session);
    const link = href === undefined ? undefined : { href, label: 'Continue' };
    const paid = messagePage('Payment received', 'This checkout is paid. Thank you.', link);
    return sendPage(reply, 200, paid, session);
  }
  const link = session.cancel_url === null ? undefined : { href: session.cancel_url, label: 'Go back' };
  const text = 'This checkout is no longer open and no card was charged. Start again where you came from.';
  return sendPage(reply, 410, messagePage('This checkout has expired', text, link), session);
}

function unknown(reply: Reply): Reply {
  const text = 'There is no checkout at this address. It may have been copied incompletely.';
  return sendPage(reply, 404, messagePage('Checkout not found', text), undefined);
}

function sendPage(reply: Reply, status: number, text: string, session: CheckoutSession | undefined): Reply {
  return reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': securityPolicy(session),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .send(text);
}

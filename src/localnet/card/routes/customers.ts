/** `/v1/customers` and `/v1/payment_methods`: who pays, and with which of the test cards. */
import type { App } from '../../../kernel/http/server.ts';
import { get, listOf, type Provider, pageOf, post, remove } from '../api.ts';
import { compare, memberPath } from '../conditions.ts';
import { invalidRequest, missingParameter } from '../errors.ts';
import type { Customer, PaymentMethod } from '../objects.ts';
import type { Params } from '../params.ts';
import { cardForToken, createMethod, methodFor, requireMethod } from '../payment-methods.ts';
import { announce, type Change, findAnyObject, getObject, listObjects, newId, putObject } from '../store.ts';
import { cardByNumber, type TestCard } from '../test-cards.ts';
import { listed } from './lists.ts';

export function customerRoutes(app: App, provider: Provider): void {
  post(app, provider, '/customers', async (change, { params }) => {
    const customer: Customer = {
      ...readContact(params),
      id: newId.customer(),
      object: 'customer',
      balance: 0,
      created: change.now,
      delinquent: false,
      livemode: false,
      metadata: params.metadata(),
    };
    params.done();
    await putObject(change, customer);
    await announce(change, 'customer.created', customer);
    return { object: customer };
  });

  // One that was deleted is still told to be.
  get(app, provider, '/customers/:id', async (tx, { id }) => {
    const found = await findAnyObject(tx, id);
    return found?.object === 'customer' ? found : getObject(tx, 'customer', id);
  });
  listed(app, provider, {
    path: '/customers',
    kind: 'customer',
    filters: { email: {} },
    search: { created: 'number', email: 'text', name: 'text', phone: 'text' },
  });

  post(app, provider, '/customers/:id', async (change, { id, params }) => {
    const customer = await getObject(change.tx, 'customer', id);
    const changed: Customer = {
      ...customer,
      ...readContact(params, customer),
      metadata: params.metadata(customer.metadata),
    };
    params.done();
    await putObject(change, changed);
    await announce(change, 'customer.updated', changed);
    return { object: changed };
  });

  remove(app, provider, '/customers/:id', async (change, { id }) => {
    const customer = await getObject(change.tx, 'customer', id);
    for (const method of await methodsOf(change, id)) await putObject(change, { ...method, customer: null });
    const deleted = { id, object: 'customer', deleted: true } as const;
    await putObject(change, deleted);
    await announce(change, 'customer.deleted', customer);
    return { object: deleted };
  });

  get(app, provider, '/customers/:id/payment_methods', async (tx, { id, params }) => {
    await getObject(tx, 'customer', id);
    params.choice('type', ['card']);
    const page = pageOf(params);
    params.done();
    const owned = [compare(memberPath('customer'), '=', id)];
    const methods = await listObjects(tx, 'payment_method', owned, page);
    return listOf(`/v1/customers/${id}/payment_methods`, page, methods);
  });
}

export function paymentMethodRoutes(app: App, provider: Provider): void {
  post(
    app,
    provider,
    '/payment_methods',
    async (change, { params }) => {
      if (params.choice('type', ['card']) === undefined) throw missingParameter('type');
      const { card, expiry } = readCard(params.object('card'));
      const billing = params.object('billing_details');
      const details = {
        email: billing?.optionalText('email', 320) ?? null,
        name: billing?.optionalText('name') ?? null,
        phone: billing?.optionalText('phone') ?? null,
        metadata: params.metadata(),
        ...(expiry === undefined ? {} : { expiry }),
      };
      billing?.done();
      params.done();
      return { object: await createMethod(change, card, details) };
    },
    'merchant or browser',
  );

  get(app, provider, '/payment_methods/:id', (tx, { id }) => requireMethod(tx, id));
  listed(app, provider, {
    path: '/payment_methods',
    kind: 'payment_method',
    filters: { customer: {}, type: {} },
  });

  post(app, provider, '/payment_methods/:id', async (change, { id, params }) => {
    const method = await requireMethod(change.tx, id);
    const changed = { ...method, metadata: params.metadata(method.metadata ?? {}) };
    params.done();
    await putObject(change, changed);
    await announce(change, 'payment_method.updated', changed);
    return { object: changed };
  });

  post(app, provider, '/payment_methods/:id/attach', async (change, { id, params }) => {
    const customer = await getObject(change.tx, 'customer', params.text('customer'));
    params.done();
    const method = await methodFor(change, id);
    if (method.customer !== null) {
      throw invalidRequest('The payment method you provided has already been attached to a customer.');
    }
    return { object: await owned(change, method, customer.id, 'attached') };
  });

  post(app, provider, '/payment_methods/:id/detach', async (change, { id, params }) => {
    params.done();
    const method = await requireMethod(change.tx, id);
    if (method.customer === null) {
      throw invalidRequest('The payment method you provided is not attached to a customer.');
    }
    return { object: await owned(change, method, null, 'detached') };
  });
}

async function owned(
  change: Change,
  method: PaymentMethod,
  customer: string | null,
  what: 'attached' | 'detached',
): Promise<PaymentMethod> {
  const changed = { ...method, customer };
  await putObject(change, changed);
  await announce(change, `payment_method.${what}`, changed);
  return changed;
}

const methodsOf = (change: Change, customer: string): Promise<PaymentMethod[]> =>
  listObjects(change.tx, 'payment_method', [compare(memberPath('customer'), '=', customer)], {
    limit: 1_000,
    startingAfter: undefined,
  });

type Contact = Pick<Customer, 'description' | 'email' | 'name' | 'phone'>;
const noContact: Contact = { description: null, email: null, name: null, phone: null };

function readContact(params: Params, before: Contact = noContact): Contact {
  return {
    description: params.optionalText('description', 350) ?? before.description,
    email: params.optionalText('email', 512) ?? before.email,
    name: params.optionalText('name', 256) ?? before.name ?? null,
    phone: params.optionalText('phone', 20) ?? before.phone ?? null,
  };
}

/** A test token, or the number of a test card, as the provider's test mode takes it. */
function readCard(params: Params | undefined): {
  card: TestCard;
  expiry?: { month: number; year: number };
} {
  if (params === undefined) throw missingParameter('card');
  const token = params.optionalText('token');
  if (token !== undefined) {
    params.done();
    return { card: cardForToken(token) };
  }
  const number = params.text('number', 19);
  const expiry = { month: params.integer('exp_month'), year: params.integer('exp_year') };
  params.optionalText('cvc', 4);
  params.done();
  const card = cardByNumber(number);
  if (card === undefined || expiry.month < 1 || expiry.month > 12) {
    throw invalidRequest('Your card number or date is incorrect; only test cards are taken here.', {
      code: 'incorrect_number',
      param: 'card[number]',
    });
  }
  return { card, expiry };
}

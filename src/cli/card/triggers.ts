/**
 * Makes an event happen: each trigger does what causes it through the provider's own API, so that the objects exist and
 * the webhooks follow. Names are the provider's; short ones for what people look for.
 */
import { requireText } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import { UsageError } from '../command.ts';
import type { CardProviderClient, Form, FormValue } from './provider-client.ts';

/** Changes of what is created, by the kind of object: `{payment_intent: {amount: '5000'}}`. */
export type Changes = Readonly<Record<string, Form>>;

export interface TriggerContext {
  readonly provider: CardProviderClient;
  readonly changes: Changes;
  /** Of the payment service, for the wallet whose credits are paid for; undefined for a payment that buys nothing. */
  readonly order: { intent(): Promise<string>; checkoutUrl(): Promise<string> } | undefined;
  /** Sends the form of a checkout page. */
  readonly payOnPage: (url: string, form: Form) => Promise<void>;
  readonly amount: number;
  readonly currency: string;
}

const description = '(made by turnpike card trigger)';

const create = async (
  { provider, changes }: TriggerContext,
  kind: string,
  path: string,
  form: Form,
): Promise<string> => requireText(await provider.post(path, merged(form, changes[kind] ?? {})), 'id');

function merged(form: Form, changes: Form): Form {
  const result: Record<string, FormValue> = { ...form };
  for (const [name, value] of Object.entries(changes)) {
    const before = result[name];
    result[name] = isForm(before) && isForm(value) ? merged(before, value) : value;
  }
  return result;
}

const isForm = (value: FormValue | undefined): value is Form =>
  typeof value === 'object' && !Array.isArray(value);

async function intent(context: TriggerContext): Promise<string> {
  if (context.order !== undefined) return context.order.intent();
  const { amount, currency } = context;
  return create(context, 'payment_intent', '/v1/payment_intents', { amount, currency, description });
}

async function pay(context: TriggerContext, method = 'pm_card_visa'): Promise<string> {
  const id = await intent(context);
  const { status } = await context.provider.try(`/v1/payment_intents/${id}/confirm`, {
    payment_method: method,
  });
  // A declined card is answered 402, and is what some triggers are for.
  if (status !== 200 && status !== 402)
    throw new StartupError(`the card provider answers ${status} to a payment`);
  return id;
}

async function refund(context: TriggerContext, method?: string): Promise<void> {
  await create(context, 'refund', '/v1/refunds', { payment_intent: await pay(context, method) });
}

async function dispute(context: TriggerContext): Promise<string> {
  const id = await pay(context, 'pm_card_createDispute');
  const disputes = await context.provider.get(`/v1/disputes?payment_intent=${id}`);
  const [first] = (disputes as { data?: readonly unknown[] }).data ?? [];
  return requireText(first, 'id');
}

const evidence = async (context: TriggerContext, text: string): Promise<void> => {
  await context.provider.post(`/v1/disputes/${await dispute(context)}`, {
    evidence: { uncategorized_text: text },
  });
};

async function checkout(context: TriggerContext): Promise<{ id: string; url: string }> {
  const { amount, currency, provider } = context;
  const form = {
    mode: 'payment',
    success_url: 'http://localhost/',
    line_items: [
      { price_data: { currency, unit_amount: amount, product_data: { name: description } }, quantity: 1 },
    ],
  };
  const session = await provider.post(
    '/v1/checkout/sessions',
    merged(form, context.changes['checkout.session'] ?? context.changes.checkout_session ?? {}),
  );
  return { id: requireText(session, 'id'), url: requireText(session, 'url') };
}

const visa: Form = { number: '4242424242424242', expiry: '12/40', cvc: '123', name: 'Test Payer', email: '' };

async function completeCheckout(context: TriggerContext): Promise<void> {
  const url = context.order === undefined ? (await checkout(context)).url : await context.order.checkoutUrl();
  await context.payOnPage(url, visa);
}

const customer = (context: TriggerContext): Promise<string> =>
  create(context, 'customer', '/v1/customers', { description });

async function attached(context: TriggerContext): Promise<string> {
  const owner = await customer(context);
  return requireText(
    await context.provider.post('/v1/payment_methods/pm_card_visa/attach', { customer: owner }),
    'id',
  );
}

const product = (context: TriggerContext): Promise<string> =>
  create(context, 'product', '/v1/products', { name: description });

const price = async (context: TriggerContext): Promise<string> =>
  create(context, 'price', '/v1/prices', {
    product: await product(context),
    currency: context.currency,
    unit_amount: context.amount,
  });

type Trigger = (context: TriggerContext) => Promise<unknown>;

const triggers: Readonly<Record<string, Trigger>> = {
  'payment_intent.created': intent,
  'payment_intent.succeeded': (context) => pay(context),
  'payment_intent.payment_failed': (context) => pay(context, 'pm_card_visa_chargeDeclined'),
  'payment_intent.canceled': async (context) =>
    context.provider.post(`/v1/payment_intents/${await intent(context)}/cancel`),
  'charge.succeeded': (context) => pay(context),
  'charge.failed': (context) => pay(context, 'pm_card_visa_chargeDeclined'),
  'charge.refunded': (context) => refund(context),
  'charge.dispute.created': dispute,
  'charge.dispute.updated': (context) => evidence(context, 'it is being looked into'),
  'charge.dispute.funds_withdrawn': dispute,
  'charge.dispute.funds_reinstated': (context) => evidence(context, 'winning_evidence'),
  'charge.dispute.closed': async (context) =>
    context.provider.post(`/v1/disputes/${await dispute(context)}/close`),
  'refund.created': (context) => refund(context),
  'refund.failed': (context) => refund(context, 'pm_card_refundFail'),
  'checkout.session.completed': completeCheckout,
  'checkout.session.expired': async (context) =>
    context.provider.post(`/v1/checkout/sessions/${(await checkout(context)).id}/expire`),
  'customer.created': customer,
  'customer.updated': async (context) =>
    context.provider.post(`/v1/customers/${await customer(context)}`, { name: 'Somebody else' }),
  'customer.deleted': async (context) => context.provider.delete(`/v1/customers/${await customer(context)}`),
  'payment_method.attached': attached,
  'payment_method.detached': async (context) =>
    context.provider.post(`/v1/payment_methods/${await attached(context)}/detach`),
  'product.created': product,
  'product.updated': async (context) =>
    context.provider.post(`/v1/products/${await product(context)}`, { name: 'Renamed' }),
  'product.deleted': async (context) => context.provider.delete(`/v1/products/${await product(context)}`),
  'price.created': price,
  'price.updated': async (context) =>
    context.provider.post(`/v1/prices/${await price(context)}`, { nickname: 'renamed' }),
};

const shortNames: Readonly<Record<string, string>> = {
  payment: 'payment_intent.succeeded',
  decline: 'payment_intent.payment_failed',
  refund: 'charge.refunded',
  dispute: 'charge.dispute.created',
  'dispute-won': 'charge.dispute.funds_reinstated',
  'dispute-lost': 'charge.dispute.closed',
  checkout: 'checkout.session.completed',
};

export const triggerNames: readonly string[] = [...Object.keys(shortNames), ...Object.keys(triggers)];

/** Throws `UsageError` for a name that is none. */
export function findTrigger(name: string): Trigger {
  const full = Object.hasOwn(shortNames, name) ? (shortNames[name] ?? name) : name;
  const trigger = Object.hasOwn(triggers, full) ? triggers[full] : undefined;
  if (trigger === undefined) throw new UsageError(`there is no trigger "${name}"`);
  return trigger;
}

/** `payment_intent:metadata.order=6735`, as many as are given. */
export function readChanges(texts: readonly string[]): Changes {
  const changes: Record<string, Form> = {};
  for (const text of texts) {
    const match = /^([a-z_.]+):([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+){0,5})=(.*)$/s.exec(text);
    if (match === null) throw new UsageError(`--override takes <object>:<path>=<value>, not "${text}"`);
    const [, kind = '', path = '', value = ''] = match;
    const change = path.split('.').reduceRight<FormValue>((inner, part) => ({ [part]: inner }), value);
    changes[kind] = merged(changes[kind] ?? {}, change as Form);
  }
  return changes;
}

/** What follows a payment: `/v1/charges`, `/v1/refunds`, `/v1/disputes`, `/v1/events`. */
import type { App } from '../../../kernel/http/server.ts';
import { get, listOf, type Provider, pageOf, post } from '../api.ts';
import { compare, memberPath, oneOf } from '../conditions.ts';
import { missingParameter, noSuch } from '../errors.ts';
import type { Params } from '../params.ts';
import { acceptDispute, refundCharge, refundIntent, submitEvidence } from '../payments.ts';
import { findEvent, getObject, listEvents, putObject } from '../store.ts';
import { changeableMetadata, readable, readCreated } from './lists.ts';

/** What belongs to a payment is kept under its intent. */
const ofIntent = { payment_intent: { isParent: true } };

export function chargeRoutes(app: App, provider: Provider): void {
  readable(app, provider, {
    path: '/charges',
    kind: 'charge',
    filters: { ...ofIntent, customer: {} },
    search: {
      amount: 'number',
      created: 'number',
      currency: 'text',
      customer: 'text',
      disputed: 'flag',
      'payment_method_details.card.brand': 'text',
      'payment_method_details.card.fingerprint': 'text',
      'payment_method_details.card.last4': 'text',
      refunded: 'flag',
      status: 'text',
    },
  });
  readable(app, provider, { path: '/refunds', kind: 'refund', filters: { ...ofIntent, charge: {} } });
  readable(app, provider, { path: '/disputes', kind: 'dispute', filters: { ...ofIntent, charge: {} } });

  post(app, provider, '/charges/:id', async (change, { id, params }) => {
    const charge = await getObject(change.tx, 'charge', id);
    const changed = {
      ...charge,
      description: params.optionalText('description') ?? charge.description,
      metadata: params.metadata(charge.metadata),
    };
    params.done();
    await putObject(change, changed);
    return { object: changed };
  });

  post(app, provider, '/refunds', async (change, call) => {
    const { params } = call;
    const order = {
      amount: params.optionalInteger('amount'),
      reason: params.choice('reason', ['duplicate', 'fraudulent', 'requested_by_customer']),
      metadata: params.metadata(),
    };
    const intentId = params.optionalText('payment_intent');
    const chargeId = params.optionalText('charge');
    params.done();
    if (intentId !== undefined) {
      return {
        object: await refundIntent(change, await getObject(change.tx, 'payment_intent', intentId), order),
      };
    }
    if (chargeId === undefined) throw missingParameter('payment_intent');
    return { object: await refundCharge(change, await getObject(change.tx, 'charge', chargeId), order) };
  });

  changeableMetadata(app, provider, { path: '/refunds', kind: 'refund' });

  post(app, provider, '/disputes/:id', async (change, { id, params }) => {
    const evidence = readEvidence(params.object('evidence'));
    params.flag('submit');
    const dispute = await getObject(change.tx, 'dispute', id);
    const changed = { ...dispute, metadata: params.metadata(dispute.metadata) };
    params.done();
    if (Object.keys(evidence).length > 0) return { object: await submitEvidence(change, changed, evidence) };
    await putObject(change, changed);
    return { object: changed };
  });

  post(app, provider, '/disputes/:id/close', async (change, call) => {
    call.params.done();
    return { object: await acceptDispute(change, await getObject(change.tx, 'dispute', call.id)) };
  });

  get(app, provider, '/events', async (tx, { params }) => {
    const type = params.optionalText('type');
    const types = params.texts('types');
    const conditions = [
      ...readCreated(params),
      ...(type === undefined ? [] : [compare(memberPath('type'), '=', type)]),
      ...(types === undefined ? [] : [oneOf(memberPath('type'), types)]),
    ];
    const page = pageOf(params);
    params.done();
    return listOf('/v1/events', page, await listEvents(tx, conditions, page));
  });

  get(app, provider, '/events/:id', async (tx, call) => {
    const event = await findEvent(tx, call.id);
    if (event === undefined) throw noSuch('event', call.id);
    return event;
  });
}

/** The texts that may be handed in; files are not taken here. */
const evidenceTexts = [
  'access_activity_log',
  'billing_address',
  'cancellation_policy_disclosure',
  'cancellation_rebuttal',
  'customer_email_address',
  'customer_name',
  'customer_purchase_ip',
  'product_description',
  'refund_policy_disclosure',
  'refund_refusal_explanation',
  'service_date',
  'uncategorized_text',
] as const;

function readEvidence(params: Params | undefined): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const name of evidenceTexts) {
    const text = params?.optionalText(name, 20_000);
    if (text !== undefined) texts[name] = text;
  }
  params?.done();
  return texts;
}

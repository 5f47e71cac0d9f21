/** What follows a payment: `/v1/charges`, `/v1/refunds`, `/v1/disputes`, `/v1/events`. */
import type { App } from '../../../kernel/http/server.ts';
import { type Call, get, listOf, type Provider, pageOf, post } from '../api.ts';
import { missingParameter, noSuch } from '../errors.ts';
import { acceptDispute, refundCharge, refundIntent, submitEvidence } from '../payments.ts';
import { findEvent, getObject, type Kind, listEvents, listObjects } from '../store.ts';

export function chargeRoutes(app: App, provider: Provider): void {
  readable(app, provider, '/charges', 'charge');
  readable(app, provider, '/refunds', 'refund');
  readable(app, provider, '/disputes', 'dispute');

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

  post(app, provider, '/disputes/:id', async (change, call) => {
    const evidence = call.params.object('evidence');
    const text = evidence?.optionalText('uncategorized_text', 20_000);
    evidence?.done();
    call.params.flag('submit');
    call.params.done();
    const dispute = await getObject(change.tx, 'dispute', call.id);
    return { object: text === undefined ? dispute : await submitEvidence(change, dispute, text) };
  });

  post(app, provider, '/disputes/:id/close', async (change, call) => {
    call.params.done();
    return { object: await acceptDispute(change, await getObject(change.tx, 'dispute', call.id)) };
  });

  get(app, provider, '/events', async (tx, call) => {
    const { params } = call;
    const created = params.object('created');
    const since = created?.optionalInteger('gte') ?? 0;
    created?.done();
    const type = params.optionalText('type');
    const types = params.texts('types') ?? (type === undefined ? [] : [type]);
    const page = pageOf(params);
    return listOf('/v1/events', page, await listEvents(tx, { since, types }, page));
  });

  get(app, provider, '/events/:id', async (tx, call) => {
    const event = await findEvent(tx, call.id);
    if (event === undefined) throw noSuch('event', call.id);
    return event;
  });
}

/** Retrieve by id, and list by payment intent. */
function readable(app: App, provider: Provider, path: string, kind: Kind): void {
  get(app, provider, `${path}/:id`, async (tx, call: Call) => {
    return getObject(tx, kind, call.id);
  });
  get(app, provider, path, async (tx, call: Call) => {
    const parent = call.params.optionalText('payment_intent');
    const page = pageOf(call.params);
    return listOf(`/v1${path}`, page, await listObjects(tx, kind, parent, page));
  });
}

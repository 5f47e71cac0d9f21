/** `/v1/webhook_endpoints`: further addresses that events are sent to, each signed with a secret of its own. */
import type { App } from '../../../kernel/http/server.ts';
import { type Provider, post, remove } from '../api.ts';
import { invalidRequest, missingParameter } from '../errors.ts';
import type { WebhookEndpoint } from '../objects.ts';
import type { Params } from '../params.ts';
import {
  apiVersion,
  getObject,
  listObjects,
  maxWebhookEndpoints,
  newId,
  putObject,
  randomLetters,
} from '../store.ts';
import { readable } from './lists.ts';

export function webhookEndpointRoutes(app: App, provider: Provider): void {
  readable(app, provider, { path: '/webhook_endpoints', kind: 'webhook_endpoint' });

  post(app, provider, '/webhook_endpoints', async (change, { params }) => {
    const url = params.url('url');
    if (url === undefined) throw missingParameter('url');
    const endpoint: WebhookEndpoint = {
      id: newId.webhookEndpoint(),
      object: 'webhook_endpoint',
      api_version: params.optionalText('api_version') ?? apiVersion,
      created: change.now,
      description: params.optionalText('description') ?? null,
      enabled_events: readEvents(params),
      livemode: false,
      metadata: params.metadata(),
      status: 'enabled',
      url,
    };
    params.done();
    const all = { limit: maxWebhookEndpoints, startingAfter: undefined };
    if ((await listObjects(change.tx, 'webhook_endpoint', [], all)).length >= maxWebhookEndpoints) {
      throw invalidRequest(`You have reached the maximum of ${maxWebhookEndpoints} webhook endpoints.`);
    }
    const secret = `whsec_${randomLetters(32)}`;
    await putObject(change, endpoint);
    await change.tx.run('INSERT INTO endpoint_secrets (id, secret) VALUES (?, ?)', endpoint.id, secret);
    // The secret is told once, here.
    return { object: { ...endpoint, secret } };
  });

  post(app, provider, '/webhook_endpoints/:id', async (change, { id, params }) => {
    const endpoint = await getObject(change.tx, 'webhook_endpoint', id);
    const isDisabled = params.has('disabled') ? params.flag('disabled') : endpoint.status === 'disabled';
    const changed: WebhookEndpoint = {
      ...endpoint,
      description: params.optionalText('description') ?? endpoint.description,
      enabled_events: params.has('enabled_events') ? readEvents(params) : endpoint.enabled_events,
      metadata: params.metadata(endpoint.metadata),
      status: isDisabled ? 'disabled' : 'enabled',
      url: params.url('url') ?? endpoint.url,
    };
    params.done();
    await putObject(change, changed);
    return { object: changed };
  });

  remove(app, provider, '/webhook_endpoints/:id', async (change, { id }) => {
    await getObject(change.tx, 'webhook_endpoint', id);
    const deleted = { id, object: 'webhook_endpoint', deleted: true } as const;
    await putObject(change, deleted);
    await change.tx.run('DELETE FROM endpoint_secrets WHERE id = ?', id);
    await change.tx.run(
      "UPDATE deliveries SET state = 'dropped' WHERE endpoint = ? AND state = 'waiting'",
      id,
    );
    return { object: deleted };
  });
}

function readEvents(params: Params): string[] {
  const events = params.texts('enabled_events');
  if (events === undefined || events.length === 0) throw missingParameter('enabled_events');
  for (const event of events) {
    if (!/^(\*|[a-z_]+(\.[a-z_]+)+)$/.test(event)) {
      throw invalidRequest(`Invalid enabled_events: ${event.slice(0, 100)}`, { param: 'enabled_events' });
    }
  }
  return events;
}

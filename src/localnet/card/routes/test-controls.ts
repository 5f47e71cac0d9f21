/**
 * Controls that only this provider has, for tests: `/test/webhooks` reads and sets what happens to webhooks on
 * their way, `/test/events/{id}/resend` sends one again (as the dashboard's button does). All with the secret key.
 */
import { Type } from 'typebox';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { Provider } from '../api.ts';
import { noFaults } from '../faults.ts';
import { findEvent, queueDelivery } from '../store.ts';

const Count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const FaultsBody = Type.Object(
  {
    drop: Type.Optional(Count),
    duplicate: Type.Optional(Count),
    delayMs: Type.Optional(Count),
    reverse: Type.Optional(Type.Boolean()),
    hold: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

const DeliveriesQuery = Type.Object({ after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })) });

export function testControlRoutes(app: App, provider: Provider): void {
  const state = async () => {
    const rows = await provider.sql.all<{ state: string; n: number }>(
      'SELECT state, COUNT(*) AS n FROM deliveries GROUP BY state',
    );
    const counted = Object.fromEntries(rows.map(({ state, n }) => [state, n]));
    return {
      url: provider.deliveries.url ?? null,
      faults: provider.faults.settings,
      deliveries: { waiting: 0, delivered: 0, dropped: 0, failed: 0, ...counted },
    };
  };

  app.get('/webhooks', () => state());

  app.post('/webhooks', { schema: { body: FaultsBody } }, async (request) => {
    provider.faults.set({ ...noFaults, ...request.body });
    provider.deliveries.wake();
    return state();
  });

  // What was sent, the oldest first: `turnpike card listen` asks again from where it was.
  app.get('/deliveries', { schema: { querystring: DeliveriesQuery } }, async (request) => {
    const after = Number(request.query.after ?? 0);
    const rows = await provider.sql.all<{
      seq: number;
      state: string;
      attempts: number;
      answer: string | null;
    }>(
      `SELECT d.seq, d.state, d.attempts, d.answer, d.endpoint, e.id AS event, e.type, e.created
       FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.seq > ? ORDER BY d.seq LIMIT 100`,
      after,
    );
    const newest = await provider.sql.get<{ seq: number | null }>('SELECT MAX(seq) AS seq FROM deliveries');
    return { newest: newest?.seq ?? 0, deliveries: rows };
  });

  app.post<{ Params: { id: string } }>('/events/:id/resend', async (request) => {
    const event = await findEvent(provider.sql, request.params.id);
    if (event === undefined) throw new HttpError(404, 'No such event');
    await queueDelivery(provider.sql, event.id, null);
    provider.deliveries.wake();
    return { resent: event.id };
  });
}

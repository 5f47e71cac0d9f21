/** POST /stripe-webhook: stored before it is answered, dealt with afterwards (`payments/card`). */

import type { App } from '../../kernel/http/app.ts';
import type { CardPayments } from '../../payments/card/card.ts';
import { WebhookRefused } from '../../payments/card/errors.ts';
import { webhookRefused } from '../errors.ts';

const largestWebhook = 1024 * 1024;

export function stripeWebhookRoute(scope: App, cards: CardPayments): void {
  scope.register(async (own: App) => {
    // The signature covers the bytes as they came, so nothing may parse them first.
    own.removeAllContentTypeParsers();
    own.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: largestWebhook }, (_request, body, done) =>
      done(null, body),
    );
    own.post(
      '/stripe-webhook',
      { schema: { summary: "The card provider's webhooks" } },
      async (request, reply) => {
        const signature = request.headers['stripe-signature'];
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        try {
          await cards.receive(body, typeof signature === 'string' ? signature : undefined);
        } catch (error) {
          if (error instanceof WebhookRefused) throw webhookRefused(error);
          throw error;
        }
        return reply.type('text/plain').send('OK');
      },
    );
  });
}

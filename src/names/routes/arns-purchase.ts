/** GET /arns/purchase/{nonce}: how a purchase by card stands. Action nonces live under /arns/actions. */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import { purchaseNotFound } from '../errors.ts';
import type { NamesContext } from './context.ts';
import { errorText, purchaseStatus } from './schemas.ts';

export function arnsPurchaseRoute(app: App, { cards }: NamesContext): void {
  app.get(
    '/arns/purchase/:nonce',
    {
      schema: {
        summary: 'Read how a purchase by card stands',
        params: Type.Object({ nonce: Type.String() }),
        response: { 200: purchaseStatus, 400: errorText, 503: errorText },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const status = await cards?.status(request.params.nonce);
      if (status === undefined) throw purchaseNotFound();
      return status;
    },
  );
}

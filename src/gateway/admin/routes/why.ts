/** `GET /why/{id}`: what kept an id out of the index, or keeps it from being served. */
import { Type } from 'typebox';
import { isTxId } from '../../../formats/base64url.ts';
import type { IdExplanation } from '../../../formats/gateway-admin-answers.ts';
import type { App } from '../../../kernel/http/server.ts';
import { badRequest, needsId } from '../errors.ts';
import { explainId, type WhyDeps } from '../why.ts';
import { IdText } from './queue.ts';

export function whyRoute(app: App, deps: WhyDeps): void {
  app.get(
    '/why/:id',
    {
      schema: {
        summary: 'Why an id is not indexed or not served: block, filter, height, bundle or error',
        tags: ['admin'],
        params: Type.Object({ id: IdText }),
        querystring: Type.Object({
          bundle: Type.Optional(Type.String({ ...IdText, description: 'The bundle that it should be in' })),
        }),
      },
      config: { invalid: needsId },
    },
    async ({ params, query }): Promise<IdExplanation> => {
      if (!isTxId(params.id)) throw badRequest(needsId);
      if (query.bundle !== undefined && !isTxId(query.bundle)) throw badRequest(needsId);
      return explainId(deps, params.id, query.bundle);
    },
  );
}

/** `GET /reconcile`, `POST /reconcile`: what the outside knows and the ledger does not, as after a restore. */
import { Type } from 'typebox';
import type { ReconcileState } from '../../../formats/admin-answers.ts';
import { within } from '../../../kernel/background/within.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/app.ts';
import type { Reconciler } from '../../../payments/reconciliation/reconciler.ts';

const tags = ['admin'];
/** A short one is answered at once; a long one is asked for. */
const waitMs = 5_000;

export function adminReconcileRoutes(app: App, reconciler: Reconciler): void {
  app.get(
    '/reconcile',
    { schema: { summary: 'How the last reconciliation with the outside goes, or ended', tags } },
    (): ReconcileState => ({ report: reconciler.report ?? null }),
  );
  app.post(
    '/reconcile',
    {
      schema: {
        summary: 'Find what the outside knows and the ledger does not; credit what carries its own proof',
        tags,
        body: Type.Object({
          since: Type.Integer({ minimum: 0, description: 'Unix milliseconds' }),
          dryRun: Type.Boolean({ description: 'only tell' }),
        }),
      },
    },
    async ({ body }): Promise<ReconcileState> => {
      if (!reconciler.start(body)) throw new HttpError(409, 'A reconciliation runs already');
      await within(waitMs, reconciler.settled());
      return { report: reconciler.report ?? null };
    },
  );
}

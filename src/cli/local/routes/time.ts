/** `/local/clock`, `/local/mine`, `/local/mining`: time as the local network counts it. */
import { Type } from 'typebox';
import type { App } from '../../../kernel/http/server.ts';
import { MiningSettings } from '../../../localnet/arweave/mining.ts';
import { MAX_MINED_AT_ONCE } from '../../../localnet/arweave/rules.ts';
import type { LocalControl } from '../control.ts';
import { invalidTime } from '../errors.ts';

const Clock = Type.Union([
  Type.Object(
    { advance: Type.Number({ minimum: 0, description: 'Seconds' }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      to: Type.Union([Type.String({ maxLength: 64 }), Type.Number()], {
        description: 'ISO 8601, or Unix seconds',
      }),
    },
    { additionalProperties: false },
  ),
]);

const Mine = Type.Object(
  { blocks: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_MINED_AT_ONCE })) },
  { additionalProperties: false },
);

export function timeRoutes(app: App, control: LocalControl): void {
  app.get('/local/clock', { schema: { summary: 'The time here' } }, async () => (await control.info()).clock);
  app.post(
    '/local/clock',
    { schema: { summary: 'Set the clock of everything forward, and mine a block', body: Clock } },
    async ({ body }) => {
      const change = 'advance' in body ? { seconds: body.advance } : { to: millisecondsOf(body.to) };
      return (await control.advance(change)).clock;
    },
  );
  app.post(
    '/local/mine',
    { schema: { summary: 'Mine blocks', body: Type.Union([Mine, Type.Null()]) } },
    (request) => control.mine(request.body?.blocks),
  );
  app.get('/local/mining', { schema: { summary: 'When blocks are mined' } }, () => control.mining());
  app.post(
    '/local/mining',
    { schema: { summary: 'Mine otherwise from now on', body: MiningSettings } },
    (request) => control.mining(request.body),
  );
}

function millisecondsOf(moment: string | number): number {
  const ms = typeof moment === 'number' ? moment * 1_000 : Date.parse(moment);
  if (!Number.isFinite(ms)) throw invalidTime('neither ISO 8601 nor Unix seconds');
  return ms;
}

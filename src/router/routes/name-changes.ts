/** `names/changed`: the operator's name service says what it changed. It needs the moderation token (interface §5). */
import { Type } from 'typebox';
import type { NameChanges } from '../../delivery/name-changes.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import { type App, type Guard, mountGuarded } from '../../kernel/http/server.ts';
import { notFound, pathOf } from '../errors.ts';
import { createBearerGuard } from '../request/bearer.ts';

const bodyLimit = 16 * 1024;
const maxChanges = 100;
const Change = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9-]{1,51}$' }),
  undername: Type.Optional(Type.String({ pattern: '^(@|[a-z0-9][a-z0-9_-]{0,60})$' })),
});

export function nameChangesRoute(
  app: App,
  names: Pick<NameChanges, 'tell'>,
  token: string,
  proxyCount: number,
): void {
  const bearer = createBearerGuard('name changes', () => token);
  const guard: Guard = {
    async check(request, reply) {
      reply.header('cache-control', 'no-store');
      await bearer.require(request, clientAddress(request, proxyCount));
    },
    noSuchRoute: (request) => notFound(pathOf(request.url)),
  };
  mountGuarded(app, '/names', guard, (scope) => {
    scope.post(
      '/changed',
      {
        schema: {
          summary: 'Ask again where these names point, whatever was remembered of them',
          security: [{ bearer: [] }],
          body: Type.Array(Change, { minItems: 1, maxItems: maxChanges }),
        },
        config: { invalid: { error: `A list of at most ${maxChanges} {name, undername?} is needed` } },
        bodyLimit,
      },
      async (request, reply) => {
        await names.tell(request.body);
        return reply.send({ success: true });
      },
    );
  });
}

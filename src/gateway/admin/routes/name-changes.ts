/** `name-changes`: a name service says what it changed, so that readers see it at once. */
import { Type } from 'typebox';
import type { NameChanges } from '../../../delivery/name-changes.ts';
import type { App } from '../../../kernel/http/server.ts';

const maxChanges = 100;
const NameText = Type.String({ pattern: '^[a-z0-9-]{1,51}$' });
const UndernameText = Type.String({ pattern: '^(@|[a-z0-9][a-z0-9_-]{0,60})$' });

export function nameChangesRoute(app: App, names: Pick<NameChanges, 'tell'>): void {
  app.post(
    '/name-changes',
    {
      schema: {
        summary: 'Ask again where these names point, whatever was remembered of them',
        tags: ['admin'],
        body: Type.Array(Type.Object({ name: NameText, undername: Type.Optional(UndernameText) }), {
          minItems: 1,
          maxItems: maxChanges,
        }),
      },
      config: { invalid: `A list of at most ${maxChanges} {name, undername?} is needed` },
    },
    async (request) => {
      await names.tell(request.body);
      return { message: 'Names dropped' };
    },
  );
}

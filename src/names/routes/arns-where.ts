/** `GET /arns/where/{name}`: what each known gateway shows for a name, beside what the chain says. */
import { Type } from 'typebox';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isUndername, rootUndername } from '../../formats/solana/name-rules.ts';
import type { App } from '../../kernel/http/app.ts';
import { invalidName } from '../errors.ts';
import { nameOf } from '../requests/fields.ts';
import type { NamesContext } from './context.ts';
import { errorText, nameWhere } from './schemas.ts';

export function arnsWhereRoute(app: App, { where }: NamesContext): void {
  app.get(
    '/arns/where/:name',
    {
      schema: {
        summary: 'What each known gateway shows for a name, and which are behind the chain',
        description: 'Of an undername as `{undername}_{name}`. Gateways are asked at most every few seconds.',
        params: Type.Object({ name: Type.String({ maxLength: 120 }) }),
        response: { 200: nameWhere, 400: errorText, 429: errorText, 503: errorText },
      },
      config: { clientLimit: 'gateway-asking' },
    },
    async (request, reply) => {
      const { name, undername } = splitLabel(request.params.name);
      reply.header('cache-control', 'no-store');
      return where.ask(name, undername);
    },
  );
}

/** Names have no underscore: what stands before the last one is the undername. */
function splitLabel(text: string): { readonly name: string; readonly undername: string } {
  const split = text.lastIndexOf('_');
  const name = nameOf(text.slice(split + 1));
  if (split < 0) return { name, undername: rootUndername };
  const undername = asciiLowerCase(text.slice(0, split));
  if (undername === rootUndername || !isUndername(undername)) throw invalidName();
  return { name, undername };
}

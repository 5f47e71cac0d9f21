/**
 * The routes of webhooks, the same for the operator (behind the admin key) and for a wallet (by its signature): who asks
 * is all that differs. Below the scope's prefix they begin with `/hooks`.
 */
import type { FastifyContextConfig } from 'fastify';
import { Type } from 'typebox';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import { sendJson } from '../../kernel/http/error-mapper.ts';
import type { FeedEvent, FeedQuery } from '../feed.ts';
import type { Hooks } from './hooks.ts';

export interface HookRoutesOptions<E extends FeedEvent, Q extends FeedQuery> {
  readonly hooks: Hooks<E, Q>;
  /** Whose hooks are meant: a wallet, or '' for the operator's. Throws the refusal of a request that may not. */
  readonly ownerOf: (request: Request, reply: Reply) => string | Promise<string>;
  /** For the OpenAPI document. */
  readonly tags: readonly string[];
  /** What routes that change something say of themselves: where a wallet owns hooks, that they act on its signature. */
  readonly changing?: FastifyContextConfig;
}

const settings = {
  url: Type.Optional(Type.String({ maxLength: 4_096, description: 'Where messages are posted to' })),
  query: Type.Optional(Type.Unknown({ description: 'Which events; all unless given' })),
  description: Type.Optional(Type.String({ maxLength: 4_096, description: 'For people' })),
};
const ofHook = Type.Object({ id: Type.String({ maxLength: 64 }) });
const ofLetter = Type.Object({ id: Type.String({ maxLength: 64 }), letter: Type.String({ maxLength: 64 }) });

export function hookRoutes<E extends FeedEvent, Q extends FeedQuery>(
  app: App,
  { hooks, ownerOf, tags, changing = {} }: HookRoutesOptions<E, Q>,
): void {
  const described = (summary: string) => ({ summary, tags: [...tags] });
  const answer = (reply: Reply, value: unknown, status = 200): void => {
    reply.code(status).header('cache-control', 'no-store');
    sendJson(reply, value);
  };
  app.get('/hooks', { schema: described('Webhooks') }, async (request, reply) => {
    answer(reply, { hooks: await hooks.list(await ownerOf(request, reply)) });
    return reply;
  });
  app.post(
    '/hooks',
    {
      schema: { ...described('Makes a webhook; its secret is told this once'), body: Type.Object(settings) },
      config: { ...changing, invalid: 'Invalid hook - must be an object with a url' },
    },
    async (request, reply) => {
      const owner = await ownerOf(request, reply);
      answer(reply, await hooks.add(owner, request.body), 201);
      return reply;
    },
  );
  app.get('/hooks/:id', { schema: { ...described('A webhook'), params: ofHook } }, async (request, reply) => {
    answer(reply, await hooks.get(await ownerOf(request, reply), request.params.id));
    return reply;
  });
  app.post(
    '/hooks/:id',
    {
      schema: { ...described('Changes a webhook'), params: ofHook, body: Type.Object(settings) },
      config: { ...changing, invalid: 'Invalid hook - must be an object' },
    },
    async (request, reply) => {
      const owner = await ownerOf(request, reply);
      answer(reply, await hooks.change(owner, request.params.id, request.body));
      return reply;
    },
  );
  app.delete(
    '/hooks/:id',
    { schema: { ...described('Removes a webhook and its dead letters'), params: ofHook }, config: changing },
    async (request, reply) => {
      await hooks.remove(await ownerOf(request, reply), request.params.id);
      answer(reply, { removed: true });
      return reply;
    },
  );
  const actions = {
    pause: 'Sends nothing until it is resumed; what happens meanwhile is sent then',
    resume: 'Goes on where it was, at once',
    rotate: 'Makes a new secret, told this once; both sign for a day',
    ping: 'Sends a ping',
  } as const;
  for (const action of ['pause', 'resume', 'rotate', 'ping'] as const) {
    app.post(
      `/hooks/:id/${action}`,
      { schema: { ...described(actions[action]), params: ofHook }, config: changing },
      async (request, reply) => {
        answer(reply, await hooks[action](await ownerOf(request, reply), request.params.id));
        return reply;
      },
    );
  }
  app.get(
    '/hooks/:id/dead',
    { schema: { ...described('Messages that were given up, newest first'), params: ofHook } },
    async (request, reply) => {
      answer(reply, { letters: await hooks.letters(await ownerOf(request, reply), request.params.id) });
      return reply;
    },
  );
  app.get(
    '/hooks/:id/dead/:letter',
    { schema: { ...described('One of them with its body'), params: ofLetter } },
    async (request, reply) => {
      const { id, letter } = request.params;
      answer(reply, await hooks.letter(await ownerOf(request, reply), id, letter));
      return reply;
    },
  );
  app.post(
    '/hooks/:id/dead/:letter/resend',
    {
      schema: { ...described('Sends it now; it is dropped once it was taken'), params: ofLetter },
      config: changing,
    },
    async (request, reply) => {
      const { id, letter } = request.params;
      answer(reply, await hooks.resend(await ownerOf(request, reply), id, letter));
      return reply;
    },
  );
  app.delete(
    '/hooks/:id/dead/:letter',
    { schema: { ...described('Drops it'), params: ofLetter }, config: changing },
    async (request, reply) => {
      const { id, letter } = request.params;
      await hooks.dropLetter(await ownerOf(request, reply), id, letter);
      answer(reply, { dropped: true });
      return reply;
    },
  );
}

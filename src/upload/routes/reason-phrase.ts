/** Older clients read a refusal from the reason phrase, so it says what the body says, in plain ASCII. */
import type { App } from '../../kernel/http/server.ts';

export function nameReasons(scope: App): void {
  scope.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.statusCode >= 400 && typeof payload === 'string' && payload.startsWith('"')) {
      reply.raw.statusMessage = payload
        .slice(1, -1)
        .slice(0, 200)
        .replace(/[^\x20-\x7e]|\\./g, '?');
    }
    done(null, payload);
  });
}

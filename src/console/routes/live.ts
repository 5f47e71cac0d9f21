/** `GET /api/live`: the state of everything as a stream of events, in which nothing is secret. */
import type { App } from '../../kernel/http/app.ts';
import type { LiveState } from '../api.ts';
import type { OpenStreams } from '../open-streams.ts';
import type { LiveFeed } from '../watch/live-feed.ts';
import type { Sampler } from '../watch/sampler.ts';

export interface LiveDeps {
  readonly feed: LiveFeed;
  readonly sampler: Sampler;
  readonly streams: OpenStreams;
}

/** Whoever takes nothing for so long is cut off: states are not kept for it. */
const maxUntaken = 1024 * 1024;

export function liveRoutes(app: App, { feed, sampler, streams }: LiveDeps): void {
  app.get('/live', { schema: { summary: 'The state of everything, as it changes' } }, (_request, reply) => {
    const { raw } = reply;
    const release = streams.enter(() => raw.end());
    reply.hijack();
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
    });
    raw.flushHeaders();
    sampler.wake();
    const end = feed.listen((state: LiveState) => {
      sampler.wake();
      if (raw.writableLength > maxUntaken) raw.destroy();
      else raw.write(`event: state\ndata: ${JSON.stringify(state)}\n\n`);
    });
    raw.once('close', () => {
      end();
      release();
    });
  });
}

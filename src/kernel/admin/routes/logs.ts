/**
 * `GET /logs`: the last lines of this process's log, then those that come, as server-sent events. A reader that does not
 * keep up loses lines and is told how many; one that stops reading is cut off.
 */
import { Type } from 'typebox';
import { HttpError } from '../../errors.ts';
import type { App, Reply, Request } from '../../http/app.ts';
import { sendBuffer, takeOver } from '../../http/send-bytes.ts';
import { sendStream } from '../../http/send-stream.ts';
import { isTailLevel, type LogTail, type TailEvent } from '../../log-tail.ts';

const invalid = "Invalid 'level' or 'limit' - must be a level of the log and a number from 0 to 1000";
const defaultLines = 200;
const mostLines = 1_000;
/** So many may watch at once; each costs a connection. */
const mostReaders = 16;
const beatMs = 15_000;

export class LogReaders {
  readonly #tail: LogTail;
  readonly #ending = new AbortController();
  #count = 0;

  constructor(tail: LogTail) {
    this.#tail = tail;
  }

  /** Those who watch would never end by themselves. */
  end(): void {
    this.#ending.abort();
  }

  route(app: App): void {
    app.get(
      '/logs',
      {
        schema: {
          summary: 'The log of this process as it is written (server-sent events)',
          tags: ['admin'],
          querystring: Type.Object({
            level: Type.Optional(Type.String({ maxLength: 5, description: 'info unless given' })),
            limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$' })),
          }),
        },
        config: { invalid },
      },
      async (request, reply) => {
        await this.#answer(request, reply, request.query);
        return reply;
      },
    );
  }

  async #answer(
    request: Request,
    reply: Reply,
    { level = 'info', limit = String(defaultLines) }: { level?: string; limit?: string },
  ): Promise<void> {
    if (!isTailLevel(level) || Number(limit) > mostLines) throw new HttpError(400, invalid);
    if (this.#count >= mostReaders) {
      throw new HttpError(503, 'Too many readers watch the log', { retryAfter: 5 });
    }
    const raw = takeOver(reply, 200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') {
      await sendBuffer(raw, Buffer.alloc(0));
      return;
    }
    this.#count += 1;
    try {
      const ended = this.#ending.signal;
      const query = { level, limit: Number(limit), after: lastEventId(request), beatMs };
      const events = (gone: AbortSignal) =>
        this.#tail.follow({ ...query, signal: AbortSignal.any([gone, ended]) });
      // The head goes out at once, also where nothing is logged.
      raw.flushHeaders();
      await sendStream(raw, (gone) => written(events(gone)), { length: undefined });
    } finally {
      this.#count -= 1;
    }
  }
}

function lastEventId({ headers }: Request): number | undefined {
  const text = headers['last-event-id'];
  return typeof text === 'string' && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

async function* written(events: AsyncIterable<TailEvent>): AsyncGenerator<Buffer> {
  for await (const event of events) yield Buffer.from(eventText(event));
}

function eventText(event: TailEvent): string {
  switch (event.kind) {
    case 'line':
      return `id: ${event.sequence}\nevent: line\ndata: ${event.text}\n\n`;
    case 'lost':
      return `event: lost\ndata: {"count":${event.count}}\n\n`;
    case 'beat':
      return ': beat\n\n';
  }
}

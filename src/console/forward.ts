/** Requests of the page that are passed on to a service, and what it answers, within limits of time and size. */
import { Readable } from 'node:stream';
import { HttpError } from '../kernel/errors.ts';
import type { Reply, Request } from '../kernel/http/app.ts';
import { sendStream } from '../kernel/http/send-stream.ts';
import { type HttpCall, type HttpClient, type OpenAnswer, readLimited } from '../outside/http.ts';
import { answerTooLarge, noSuchRoute, serviceAway } from './errors.ts';
import type { OpenStreams } from './open-streams.ts';

export interface Target {
  /** For people, for example `gateway`. */
  readonly name: string;
  /** What the path is put behind: the request never leaves what is below it. */
  readonly base: string;
  /** Encoded, without a slash at its beginning; with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** A file of any length. */
  readonly isFile?: boolean;
}

const answerBytes = 16 * 1024 * 1024;
const usualTimeoutMs = 30_000;
/** Streams of events are silent for this long at most: servers send comments to keep them open. */
const idleTimeoutMs = 120_000;
const passedOn = ['content-type', 'content-disposition', 'retry-after', 'content-length'] as const;

export type Forward = (request: Request, reply: Reply, target: Target) => Promise<Reply>;

export function createForward(client: HttpClient, streams: OpenStreams): Forward {
  return async (request, reply, target) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort(new Error('the page left')));
    const { timeoutMs = usualTimeoutMs } = target;
    const answer = await client
      .open(addressOf(target), {
        method: methodOf(request),
        headers: headersOf(request, target),
        ...bodyOf(request),
        timeoutMs,
        idleTimeoutMs,
        signal: gone.signal,
      })
      .catch((cause: unknown) => {
        throw serviceAway(target.name, cause);
      });
    reply.code(answer.status);
    for (const name of passedOn) {
      const value = answer.headers[name];
      if (typeof value === 'string') reply.header(name, value);
    }
    if (isEvents(answer) || (target.isFile === true && answer.status === 200)) {
      return await stream(reply, answer, streams);
    }
    reply.removeHeader('content-length');
    return reply.send(await wholeBody(answer, target.name, timeoutMs));
  };
}

/** Below the base: a path that a parser of addresses would write otherwise, as with steps up, is none of ours. */
export function addressOf({ base, path }: Pick<Target, 'base' | 'path'>): string {
  const [own = '', query] = path.split(/\?(.*)/s, 2);
  const text = own === '' ? base : `${base}/${own}`;
  if (!URL.canParse(text)) throw noSuchRoute();
  const address = new URL(text);
  if (address.href !== text && address.href !== `${text}/`) throw noSuchRoute();
  if (/#|%2e|%2f|%5c/i.test(own)) throw noSuchRoute();
  return query === undefined ? text : `${text}?${query}`;
}

function methodOf({ method }: Request): NonNullable<HttpCall['method']> {
  if (method === 'GET' || method === 'HEAD' || method === 'POST' || method === 'PUT' || method === 'DELETE') {
    return method;
  }
  throw new HttpError(405, 'Method Not Allowed');
}

function headersOf({ headers }: Request, { headers: own = {} }: Target): Record<string, string> {
  const { accept, 'content-type': type } = headers;
  return {
    ...(accept !== undefined && { accept }),
    ...(type !== undefined && { 'content-type': type }),
    ...own,
  };
}

/** Bodies are bytes in scopes that forward, or what is still on its way. */
function bodyOf({ body }: Request): { body?: Buffer | Readable } {
  if (body instanceof Readable) return { body };
  return Buffer.isBuffer(body) && body.length > 0 ? { body } : {};
}

const isEvents = ({ headers }: OpenAnswer): boolean =>
  String(headers['content-type'] ?? '').startsWith('text/event-stream');

async function stream(reply: Reply, answer: OpenAnswer, streams: OpenStreams): Promise<Reply> {
  const release = enter(reply, answer, streams);
  reply.hijack();
  reply.raw.writeHead(answer.status, reply.getHeaders() as Record<string, string>);
  reply.raw.flushHeaders();
  try {
    await sendStream(reply.raw, () => answer.body, { length: undefined });
  } catch (error) {
    reply.log.debug({ err: error }, 'a forwarded stream broke off');
  } finally {
    answer.discard();
    release();
  }
  return reply;
}

function enter(reply: Reply, answer: OpenAnswer, streams: OpenStreams): () => void {
  try {
    return streams.enter(() => reply.raw.destroy());
  } catch (error) {
    answer.discard();
    throw error;
  }
}

async function wholeBody(answer: OpenAnswer, name: string, timeoutMs: number): Promise<Buffer> {
  const tooLate = setTimeout(() => answer.discard(), timeoutMs).unref();
  try {
    return await readLimited(answer.body, answerBytes);
  } catch (error) {
    answer.discard();
    throw error instanceof RangeError ? answerTooLarge(name) : serviceAway(name, error);
  } finally {
    clearTimeout(tooLate);
  }
}

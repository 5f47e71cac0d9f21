/**
 * Each request of an HTTP/2 connection becomes one HTTP/1.1 request to the same server, over a connection in memory: all
 * limits, time-outs and ways to answer are those that every other client meets. Bodies stream both ways with back-pressure,
 * and a cut on either side is a cut on the other.
 */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import {
  constants,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { pipeline } from 'node:stream';
import { MemorySocket, type Peer } from './memory-socket.ts';

/** Gives the server a connection. */
export type HandOver = (socket: MemorySocket) => void;

/** They are about one connection and have no meaning in HTTP/2 (RFC 9113 §8.2.2). */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
]);

/** `stallTimeoutMs`: a client that takes no byte of an answer for so long is cut off. */
export function bridgeSession(
  session: ServerHttp2Session,
  peer: Peer,
  stallTimeoutMs: number,
  handOver: HandOver,
): void {
  session.on('stream', (stream, headers, _flags, rawHeaders: readonly string[]) => {
    // A client that leaves is no failure of ours; `close` says it too.
    stream.on('error', () => {});
    const method = headers[':method'] ?? 'GET';
    if (method === 'CONNECT') return refuse(stream, 405);
    let outgoing: ClientRequest;
    try {
      outgoing = request({
        method,
        path: headers[':path'] ?? '/',
        headers: requestHeaders(stream, method, headers[':authority'], rawHeaders),
        createConnection: () => {
          const { client, server } = MemorySocket.pair(peer);
          handOver(server);
          return client;
        },
      });
    } catch {
      // What HTTP/1.1 cannot say: a path with spaces, a header with control characters.
      return refuse(stream, 400);
    }
    carry(stream, outgoing, stallTimeoutMs);
  });
}

function refuse(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ':status': status, 'cache-control': 'no-store' }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}

function carry(stream: ServerHttp2Stream, outgoing: ClientRequest, stallTimeoutMs: number): void {
  let isAnswered = false;
  stream.on('close', () => outgoing.destroy());
  outgoing.on('continue', () => {
    if (!stream.destroyed && !stream.headersSent) stream.additionalHeaders({ ':status': 100 });
  });
  outgoing.on('error', () => {
    // An answer may come before the body is read whole, and what is left of the body then goes nowhere.
    if (!isAnswered) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  });
  outgoing.on('response', (answer) => {
    isAnswered = true;
    if (stream.destroyed) return void answer.destroy();
    const hasBody = respond(stream, answer);
    if (!hasBody) {
      answer.resume();
      return finish(stream);
    }
    stream.setTimeout(stallTimeoutMs, () => {
      // Else it is our own side that has nothing to send yet.
      if (stream.writableLength > 0) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    pipeline(answer, stream, (error) => {
      if (error == null) finish(stream);
      // Less than was promised must not look like all of it.
      else stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  });
  if (stream.endAfterHeaders) outgoing.end();
  else stream.pipe(outgoing);
}

/** Nobody reads what is left of a body once the answer is out (RFC 9113 §8.1). */
function finish(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.endAfterHeaders) stream.close(constants.NGHTTP2_NO_ERROR);
}

/** Whether a body follows. */
function respond(stream: ServerHttp2Stream, answer: IncomingMessage): boolean {
  const headers: OutgoingHttpHeaders = { ':status': answer.statusCode ?? 500 };
  const dropped = named(answer.headers.connection);
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    const name = (answer.rawHeaders[at] ?? '').toLowerCase();
    const text = answer.rawHeaders[at + 1] ?? '';
    if (connectionHeaders.has(name) || dropped.has(name)) continue;
    const earlier = headers[name];
    headers[name] = earlier === undefined ? text : [earlier, text].flat().map(String);
  }
  stream.respond(headers);
  // Heads without a body end the stream themselves: HEAD, 204, 304.
  return !stream.writableEnded;
}

function requestHeaders(
  stream: ServerHttp2Stream,
  method: string,
  authority: string | undefined,
  rawHeaders: readonly string[],
): string[] {
  const headers: string[] = [];
  const cookies: string[] = [];
  let host: string | undefined;
  let hasLength = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const text = rawHeaders[at + 1] ?? '';
    if (name.startsWith(':') || connectionHeaders.has(name)) continue;
    if (name === 'host') host = text;
    // Cut into crumbs by the client (RFC 9113 §8.2.3).
    else if (name === 'cookie') cookies.push(text);
    else {
      hasLength ||= name === 'content-length';
      headers.push(name, text);
    }
  }
  if (cookies.length > 0) headers.push('cookie', cookies.join('; '));
  headers.push('host', authority ?? host ?? '');
  if (!hasLength) {
    if (!stream.endAfterHeaders) headers.push('transfer-encoding', 'chunked');
    else if (method !== 'GET' && method !== 'HEAD') headers.push('content-length', '0');
  }
  return headers;
}

const named = (connection: string | undefined): Set<string> =>
  new Set(connection?.split(',').map((name) => name.trim().toLowerCase()));

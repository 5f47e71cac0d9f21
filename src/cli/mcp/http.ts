/**
 * The Model Context Protocol over HTTP, for programs of this machine: on loopback, with a token, and never for pages. A
 * browser lets any page send requests to loopback, and names can be pointed there: so the host must be a loopback name,
 * and whatever says that it comes from a page is refused.
 */
import { randomUUID } from 'node:crypto';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { HttpError } from '../../kernel/errors.ts';
import { isLoopbackHost } from '../../kernel/http/loopback.ts';
import { createHttpServer, type HttpServer, type Reply, type Request } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { maxInlineBytes } from './tools.ts';

export interface McpHttpOptions {
  readonly port: number;
  readonly token: string;
  readonly log: Logger;
  readonly createServer: () => McpServer;
}

interface Session {
  readonly transport: StreamableHTTPServerTransport;
  usedAt: number;
}

/** Beyond it the one that was silent for longest ends. */
const maxSessions = 32;
const drainMs = 10_000;
/** Base64 of the largest content, and the rest of the call. */
const maxBodyBytes = 2 * maxInlineBytes;

export interface McpHttp {
  readonly server: HttpServer;
  /** Ends all sessions, whose streams would be waited for otherwise, and then the server. */
  stop(): Promise<void>;
}

export function createMcpHttp({ port, token, log, createServer }: McpHttpOptions): McpHttp {
  const sessions = new Map<string, Session>();
  const server = createHttpServer({
    name: 'mcp',
    title: 'Model Context Protocol',
    host: '127.0.0.1',
    port,
    portVariable: '--http',
    log,
    metrics: new Metrics(),
    bodyLimit: maxBodyBytes,
    cors: false,
    docs: false,
    admit: (request) => {
      checkCaller(request, token);
      return undefined;
    },
  });

  async function open(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: async (id) => {
        sessions.set(id, { transport, usedAt: performance.now() });
        await endOldest();
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createServer().connect(transport);
    return transport;
  }

  async function endOldest(): Promise<void> {
    if (sessions.size <= maxSessions) return;
    const [oldest] = [...sessions].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined) return;
    sessions.delete(oldest[0]);
    await oldest[1].transport.close();
  }

  async function handle(request: Request, reply: Reply): Promise<Reply> {
    const id = request.headers['mcp-session-id'];
    const session = typeof id === 'string' ? sessions.get(id) : undefined;
    if (session !== undefined) session.usedAt = performance.now();
    const begins = request.method === 'POST' && id === undefined && isInitializeRequest(request.body);
    if (session === undefined && !begins)
      throw new HttpError(404, 'There is no such session: initialize first');
    const transport = session?.transport ?? (await open());
    reply.hijack();
    await transport.handleRequest(request.raw, reply.raw, request.body);
    return reply;
  }

  server.app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    schema: { hide: true },
    handler: handle,
  });
  return {
    server,
    async stop() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
      await server.drain(drainMs);
      await server.close();
    },
  };
}

function checkCaller({ hostname, headers }: Request, token: string): void {
  const name = hostname.toLowerCase();
  if (!isLoopbackHost(name) || name.endsWith('.localhost')) throw new HttpError(421, 'Unknown host');
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    throw new HttpError(403, 'Not for pages');
  }
  const given = /^Bearer (\S{1,500})$/.exec(headers.authorization ?? '')?.[1] ?? '';
  if (!sameSecret(given, token)) {
    throw new HttpError(401, 'A token is needed', { headers: { 'www-authenticate': 'Bearer' } });
  }
}

/** A console over stand-ins of its services, and the page that asks it. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../config/config.ts';
import { silentLog } from '../kernel/testing.ts';
import type { ServiceName } from './api.ts';
import type { OwnKeys } from './reach.ts';
import { ConsoleState } from './state.ts';
import { createConsoleSurface } from './surface.ts';

interface Cleanup {
  after(work: () => Promise<void> | void): void;
}

export interface StandIn {
  readonly url: string;
  /** `METHOD /path`, in order. */
  readonly asked: string[];
}

export interface StandInRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly body: string;
}

export async function startStandIn(t: Cleanup, answer: (asked: StandInRequest) => void): Promise<StandIn> {
  const asked: string[] = [];
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const piece of incoming) body += String(piece);
    asked.push(`${incoming.method} ${incoming.url}`);
    answer({ request: incoming, response, path: incoming.url ?? '', body });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  json(): unknown;
}

export interface AskOptions {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent for the page's own unless false. */
  readonly fromPage?: boolean;
  readonly host?: string;
  /** Ends the answer after so many bytes. */
  readonly untilText?: string;
}

export interface TestConsole {
  readonly url: string;
  readonly state: ConsoleState;
  ask(path: string, options?: AskOptions): Promise<ConsoleAnswer>;
  stop(): Promise<void>;
}

export interface TestConsoleOptions {
  readonly services: Readonly<Partial<Record<ServiceName, string>>>;
  readonly routerAdmin?: string;
  readonly ownKeys?: () => Promise<OwnKeys>;
  readonly state?: ConsoleState;
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startConsole(t: Cleanup, options: TestConsoleOptions): Promise<TestConsole> {
  const { services, routerAdmin, ownKeys, state = new ConsoleState() } = options;
  const surface = createConsoleSurface(readConfig({ CONSOLE_PORT: '0', ...options.environment }), {
    log: silentLog,
    version: '1.2.3',
    services: () => services,
    reach: { services: () => services, routerAdmin: () => routerAdmin, ownKeys },
    state,
  });
  await surface.start();
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await surface.drain(500);
    await surface.stop();
  };
  t.after(stop);
  return { url: surface.url, state, stop, ask: (path, asked) => ask(surface.url, path, asked) };
}

/** With node:http, which sends whatever `Host` the test says. */
function ask(base: string, path: string, options: AskOptions = {}): Promise<ConsoleAnswer> {
  const { method = options.body === undefined ? 'GET' : 'POST', body, fromPage = true, host } = options;
  const { hostname, port } = new URL(base);
  const headers = {
    ...(fromPage && { 'x-turnpike-console': '1' }),
    ...(host !== undefined && { host }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (answer) => {
      let text = '';
      const done = () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          json: () => JSON.parse(text),
        });
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
        if (options.untilText !== undefined && text.includes(options.untilText)) {
          done();
          sent.destroy();
        }
      });
      answer.on('end', done);
      answer.on('error', done);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

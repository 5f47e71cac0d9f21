/** Stand-ins for tests of this room and of the surfaces: a silent logger, one that remembers, a server on a free port. */
import { createHttpServer, type HttpServer, type HttpServerOptions } from './http/server.ts';
import { createLogger, type Logger } from './log.ts';
import { Metrics } from './metrics.ts';

export const silentLog: Logger = createLogger({ name: 'test', level: 'silent', format: 'json' });

/** A logger whose lines are kept, parsed. */
export function rememberingLog(level: 'debug' | 'info' = 'info'): {
  log: Logger;
  lines: Record<string, unknown>[];
} {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'test',
    level,
    format: 'json',
    write: (line) => lines.push(JSON.parse(line)),
  });
  return { log, lines };
}

/** A server of the kernel on a free port of loopback; whatever matters to the test is given. */
export function testServer(options: Partial<HttpServerOptions> = {}): HttpServer {
  return createHttpServer({
    name: 'test',
    title: 'Test',
    host: '127.0.0.1',
    port: 0,
    portVariable: 'TEST_PORT',
    log: silentLog,
    metrics: new Metrics(),
    ...options,
  });
}

/** The servers that kernel.bench.ts compares, chosen by the first argument; the second is the file to serve. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import Type from 'typebox';
import { sendFile, takeOver } from '../src/kernel/http/send-bytes.ts';
import { createHttpServer, type Routes } from '../src/kernel/http/server.ts';
import { createLogger } from '../src/kernel/log.ts';
import { Metrics } from '../src/kernel/metrics.ts';
import { reportServer } from './report-server.ts';

const [mode = '', file = ''] = process.argv.slice(2);

const bare: Record<string, RequestListener> = {
  'bare-json': (_request, response) => {
    const body = JSON.stringify({ hello: 'world' });
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  },
  'stream-file': async (_request, response) => {
    const { size } = await stat(file);
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
    createReadStream(file).pipe(response);
  },
};

const kernel: Record<string, Routes> = {
  'kernel-json': (app) => {
    const response = { 200: Type.Object({ hello: Type.String() }) };
    app.get('/', { schema: { response } }, async () => ({ hello: 'world' }));
  },
  'kernel-file': (app) => {
    app.get('/', async (_request, reply) => {
      const handle = await open(file);
      try {
        const { size } = await handle.stat();
        const raw = takeOver(reply, 200, {
          'content-type': 'application/octet-stream',
          'content-length': size,
        });
        await sendFile(raw, handle.fd, 0, size);
      } finally {
        await handle.close();
      }
    });
  },
};

const listener = bare[mode];
const routes = kernel[mode];
if (listener !== undefined) {
  const server = createServer(listener).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) reportServer(`http://127.0.0.1:${address.port}`);
  });
} else if (routes !== undefined) {
  const server = createHttpServer({
    name: 'bench',
    title: 'Bench',
    host: '127.0.0.1',
    port: 0,
    portVariable: 'PORT',
    log: createLogger({ name: 'bench', level: 'info', format: 'json' }),
    metrics: new Metrics(),
  });
  server.mount(routes);
  await server.listen();
  reportServer(server.url);
} else {
  throw new Error(`no server "${mode}"`);
}

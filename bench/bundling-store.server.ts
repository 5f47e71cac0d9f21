/**
 * An object store that is `node bundling-store.server.ts <ms>` away once it was told "far": each request is answered so long after
 * it came. It has just what bundling asks of one, and takes little of the cores that it shares with the bundler here.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { collected } from '../src/kernel/collected.ts';
import { reportServer } from './report-server.ts';

const [tripMs = '0'] = process.argv.slice(2);
const objects = new Map<string, Buffer>();
let isFar = false;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request;
  const body = Buffer.concat(await collected<Buffer>(request));
  if (isFar) await sleep(Number(tripMs));
  const isBucket = url === '/blobs';
  if (method === 'PUT') objects.set(url, body);
  const found = objects.get(url);
  if (found === undefined && !isBucket) response.writeHead(404).end();
  else if (method === 'GET') response.writeHead(200, { 'content-length': found?.length ?? 0 }).end(found);
  else response.writeHead(200, method === 'HEAD' ? { 'content-length': found?.length ?? 0 } : {}).end();
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  reportServer(`s3://key:secret@127.0.0.1:${address.port}/blobs?region=local`);
});
process.on('message', (message) => {
  if (message === 'far') isFar = true;
});
process.on('disconnect', () => process.exit());

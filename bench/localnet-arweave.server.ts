/**
 * The servers that localnet-arweave.bench.ts compares: `node <folder>`, or `bare`, which answers 1 KiB from memory.
 * Says its address, then the CPU seconds it has used whenever it is asked.
 */
import { createServer } from 'node:http';
import { startLocalArweave } from '../test/support/local-arweave.ts';

const [mode, folder = ''] = process.argv.slice(2);

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1e6);
});

if (mode === 'node') {
  const { client } = await startLocalArweave({ dataDir: folder });
  process.send?.(client.url);
} else {
  const body = Buffer.alloc(1_024, 'x');
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  }).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) process.send?.(`http://127.0.0.1:${address.port}`);
  });
}

/** The servers that names.bench.ts compares: the name service on a local ledger, and bare node:http with JSON. */
import { createServer } from 'node:http';
import { NamesBench } from '../test/support/names-bench.ts';
import { reportServer } from './report-server.ts';

if (process.argv[2] === 'names') {
  const bench = await NamesBench.start();
  await bench.server.listen();
  // The ledger's clock stands still in tests; here time goes on.
  const began = Date.now();
  const first = bench.ledger.time;
  setInterval(() => {
    bench.ledger.time = first + (Date.now() - began);
  }, 20);
  reportServer(bench.server.url);
} else {
  const server = createServer((_request, response) => {
    const body = JSON.stringify({ mTOKEN: '240000000', mARIO: '240000000', winc: '384000000000' });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (typeof address === 'object' && address !== null) reportServer(`http://127.0.0.1:${address.port}`);
}

/**
 * The servers that gateway-index.bench.ts compares, chosen by the first argument: a gateway with some hundred items in
 * its index and the smallest JSON route beside them, or bare node:http that answers as many bytes as the second argument
 * says.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { reportServer } from './report-server.ts';

const [mode = 'gateway', bytes = '0'] = process.argv.slice(2);
if (mode === 'bare') await startBare(Number(bytes));
else await startGateway();

async function startBare(size: number): Promise<void> {
  const body = Buffer.alloc(size, 'x');
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
    });
    response.end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  reportServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

async function startGateway(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { surface, server, index } = await createBenchGateway(
    readConfig({ DATA_DIR: folder, GATEWAY_PORT: '0', INDEX_SEED_PORT: '0', START_WRITERS: 'false' }),
  );
  server.mount((app) => void app.get('/tiny', async () => ({ hello: 'world' })));
  await surface.start();
  const one = rawTags({ 'Content-Type': 'text/plain', 'App-Name': 'bench' });
  const entries = [
    entry(header('one', { tags: one }), { height: 0, blockIndex: 0 }),
    ...Array.from({ length: 500 }, (_, number) => {
      const tags = rawTags([
        ['Content-Type', 'text/plain'],
        ['App-Name', `app-${number % 10}`],
        ['Kind', 'listed'],
        ['Unix-Time', String(1_700_000_000 + number)],
      ]);
      return entry(header(`item ${number}`, { tags, dataSize: 1_000 }), { height: number, blockIndex: 1 });
    }),
  ];
  const prepared = await index.writer.prepare(entries);
  await index.sql.transaction(async (tx) => {
    await index.writer.put(tx, prepared);
    await tx.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 1000)");
  });
  await index.refresh();
  reportServer(surface.url);
}

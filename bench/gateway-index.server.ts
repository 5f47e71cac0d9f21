/** A gateway with one transaction in its index, and the smallest JSON route beside it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { reportServer } from './report-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const { surface, server, index } = await createBenchGateway(
  readConfig({ DATA_DIR: folder, GATEWAY_PORT: '0', INDEX_SEED_PORT: '0', START_WRITERS: 'false' }),
);
server.mount((app) => void app.get('/tiny', async () => ({ hello: 'world' })));
await surface.start();
const tags = rawTags({ 'Content-Type': 'text/plain', 'App-Name': 'bench' });
const prepared = await index.writer.prepare([entry(header('one', { tags }), { height: 0, blockIndex: 0 })]);
await index.sql.transaction(async (tx) => {
  await index.writer.put(tx, prepared);
  await tx.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 0)");
});
await index.refresh();
reportServer(surface.url);

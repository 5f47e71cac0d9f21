/** A gateway with one transaction in its index, and the smallest JSON route beside it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import type { GatewayContext } from '../src/gateway/context.ts';
import { createGatewaySurface } from '../src/gateway/surface.ts';
import { createLogger } from '../src/kernel/log.ts';
import { reportServer } from './report-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const made: GatewayContext[] = [];
const gateway = createGatewaySurface(
  readConfig({ DATA_DIR: folder, GATEWAY_PORT: '0', START_WRITERS: 'false' }),
  {
    log: createLogger({ name: 'bench', level: 'silent', format: 'json' }),
    nodeUrls: [],
    release: 'bench',
    parts: [
      (context) => {
        made.push(context);
        return { name: 'tiny', routes: (app) => void app.get('/tiny', async () => ({ hello: 'world' })) };
      },
    ],
  },
);
await gateway.start();
for (const { index } of made) {
  const tags = rawTags({ 'Content-Type': 'text/plain', 'App-Name': 'bench' });
  const prepared = await index.writer.prepare([entry(header('one', { tags }), { height: 0, blockIndex: 0 })]);
  await index.sql.transaction(async (tx) => {
    await index.writer.put(tx, prepared);
    await tx.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 0)");
  });
  await index.refresh();
}
reportServer(gateway.url);

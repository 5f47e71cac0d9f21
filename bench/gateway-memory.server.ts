/**
 * A gateway on a folder that was filled by gateway-memory.bench.ts, with names: `node gateway-memory.server.ts <folder>`. It
 * has no nodes, and reads the bundles that are queued from its own cache.
 */
import { readConfig } from '../src/config/config.ts';
import { digest } from '../src/gateway/chain-index/testing.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { reportServer } from './report-server.ts';

const [folder = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit());
const config = readConfig({
  DATA_DIR: folder,
  GATEWAY_PORT: '0',
  INDEX_SEED_PORT: '0',
  ARNS_ROOT_HOST: 'gateway.test',
});
const { surface } = await createBenchGateway(config, {
  names: [
    {
      name: 'bench',
      async resolve(name) {
        const id = digest(name.replace('site-', 'manifest ')).toString('base64url');
        return { id, ttlSeconds: 60, antId: 'bench' };
      },
    },
  ],
});
await surface.start();
reportServer(surface.url);

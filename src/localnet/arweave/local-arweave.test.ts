import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { request } from 'undici';
import { startLocalArweave } from '../../../test/support/local-arweave.ts';
import { StartupError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/testing.ts';
import { createLocalArweave } from './local-arweave.ts';

test('a taken port is named with the variable that moves it, and stopping frees the chain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-arweave-port-'));
  await using first = await startLocalArweave();
  const port = Number(new URL(first.client.url).port);
  const second = createLocalArweave(
    {
      DATA_DIR: folder,
      LOCAL_NETWORK_HOST: '127.0.0.1',
      LOCAL_ARWEAVE_PORT: port,
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: 0,
      LOCAL_ARWEAVE_MINING: 'demand',
      LOCAL_ARWEAVE_CONFIRM_BLOCKS: 0,
    },
    { log: silentLog },
  );
  await assert.rejects(second.start(), (error) => {
    return error instanceof StartupError && error.message.includes('LOCAL_ARWEAVE_PORT');
  });
  await second.stop();
  const again = await startLocalArweave({ dataDir: folder });
  assert.equal(await again.client.height(), 0);
  await again.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the node can be reached on loopback only', async () => {
  await using running = await startLocalArweave();
  const { port, hostname } = new URL(running.client.url);
  assert.equal(hostname, '127.0.0.1');
  const outside = Object.values(networkInterfaces())
    .flat()
    .filter((address) => address !== undefined && !address.internal && address.family === 'IPv4');
  for (const address of outside) {
    await assert.rejects(request(`http://${address?.address}:${port}/info`, { headersTimeout: 1_000 }));
  }
});

test('every route of the contract is in the API document', async () => {
  await using running = await startLocalArweave();
  const { paths } = await running.client.json<{ paths: Record<string, unknown> }>('/openapi.json');
  const contract = [
    '/current_block',
    '/block/current',
    '/block/height/{height}',
    '/block/hash/{hash}',
    '/info',
    '/peers',
    '/height',
    '/tx_anchor',
    '/price/{size}',
    '/price/{size}/{target}',
    '/wallet/{address}/balance',
    '/wallet/{address}/last_tx',
    '/tx/pending',
    '/tx/{id}',
    '/tx/{id}/offset',
    '/tx/{id}/status',
  ];
  for (const path of contract) assert.ok(Object.hasOwn(paths, path), path);
});

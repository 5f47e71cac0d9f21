import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { dataTreeOf } from '../../src/formats/arweave/data-root.ts';
import { encodeBase64url } from '../../src/formats/base64url.ts';
import {
  checkChain,
  chunkBody,
  NodeClient,
  startLocalArweave,
  TestWallet,
} from '../support/local-arweave.ts';
import { seededRandom } from '../support/seeded-random.ts';

const script = resolve(import.meta.dirname, '../support/local-arweave-process.ts');
const AR = 1_000_000_000_000n;

async function startProcess(folder: string): Promise<{ child: ChildProcess; client: NodeClient }> {
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.ok(child.stdout);
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, client: new NodeClient(String(url)) };
}

test('what was acknowledged survives kill -9, and the chain hangs together', {
  timeout: 600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-killed-'));
  const random = seededRandom(81);
  const wallet = new TestWallet();
  const acknowledged = {
    minted: 0n,
    attempted: 0n,
    transactions: new Set<string>(),
    data: new Map<string, Buffer>(),
  };
  try {
    for (let life = 0; life < 3; life += 1) {
      const { child, client } = await startProcess(folder);
      const stopAfter = random.between(25, 60);
      let done = 0;
      const step = async (): Promise<void> => {
        const kind = random.below(3);
        if (kind === 0 || acknowledged.minted === 0n) {
          const amount = BigInt(random.between(1, 1_000)) * AR;
          acknowledged.attempted += amount;
          const answer = await client.get(`/mint/${wallet.address}/${amount}`);
          if (answer.status === 200) acknowledged.minted += amount;
          return;
        }
        const data = random.bytes(random.between(1, 5_000));
        const transaction = await wallet.transaction(client, { data, inline: kind === 1 });
        const id = encodeBase64url(transaction.id);
        if ((await client.postTx(transaction)).status !== 200) return;
        acknowledged.transactions.add(id);
        if (kind === 1) {
          acknowledged.data.set(id, data);
          return;
        }
        const tree = dataTreeOf(data);
        const { offset, dataPath } = tree.proof(0);
        const answer = await client.post('/chunk', chunkBody(data, tree, offset, dataPath));
        if (answer.status === 200) acknowledged.data.set(id, data);
      };
      const worker = async (): Promise<void> => {
        while (child.exitCode === null && child.signalCode === null) {
          await step();
          done += 1;
          if (done === stopAfter) child.kill('SIGKILL');
        }
      };
      await Promise.allSettled([worker(), worker(), worker(), worker()]);
      if (child.signalCode === null) await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
    }

    await using running = await startLocalArweave({ dataDir: folder });
    const { client } = running;
    await client.text('/mine');
    assert.ok(acknowledged.transactions.size > 20);
    for (const id of acknowledged.transactions) {
      assert.equal((await client.get(`/tx/${id}`)).status, 200, id);
      const data = acknowledged.data.get(id);
      if (data !== undefined) assert.equal(await client.text(`/tx/${id}/data`), data.toString('base64url'));
    }
    // A mint that was cut off may have happened, but nothing else may add money.
    const supply = BigInt(await client.text('/total_supply'));
    const pool = BigInt((await client.json<{ reward_pool: number }>('/block/current')).reward_pool);
    assert.ok(supply + pool >= acknowledged.minted && supply + pool <= acknowledged.attempted);
    await checkChain(client, supply + pool);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

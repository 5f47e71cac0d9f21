/** New uploads at three gateways, of which one is away: the others have them at once, and it has them when it is back. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

interface Places {
  readonly fastFinalityIndexes: readonly string[];
  readonly dataCaches: readonly string[];
}

describe('three gateways', () => {
  const signer = solanaSigner(ed25519TestKey('three gateways'));
  const key = 'the key of those elsewhere';
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-announce-'));
  const running: RunningStack[] = [];
  let home: RunningStack;
  let ports: readonly number[];
  let count = 0;

  const hostOf = (index: number): string => `127.0.0.1:${ports[index]}`;
  const startGateway = async (index: number, dataDir?: string): Promise<RunningStack> => {
    const gateway = await startStack({
      only: ['gateway'],
      ...(dataDir !== undefined && { dataDir }),
      environment: {
        GATEWAY_PORT: String(ports[index]),
        ADMIN_API_KEY: key,
        UPLOAD_URL: home.urls.upload ?? '',
        ARWEAVE_NODE_URLS: home.urls.arweave ?? '',
        SOLANA_RPC_URL: home.urls.solana ?? '',
        WORKER_THREADS: '1',
      },
    });
    running.push(gateway);
    return gateway;
  };

  before(async () => {
    ports = [await freePort(), await freePort()];
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
    home = await startStack({
      only: ['upload', 'gateway'],
      environment: {
        WORKER_THREADS: '1',
        ALLOW_LISTED_ADDRESSES: itemOwner(4, signer.owner).wallet.address,
        ANNOUNCE_GATEWAYS: JSON.stringify([
          { url: `http://127.0.0.1:${ports[0]}`, key },
          { url: `http://127.0.0.1:${ports[1]}`, keyFile },
        ]),
      },
    });
    running.push(home);
  });
  after(async () => {
    await Promise.all(running.map((stack) => stack.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  const post = async (): Promise<Places & { readonly id: string; readonly tookMs: number }> => {
    count += 1;
    const body = await signItem({ data: Buffer.from(`upload ${count}`) }, signer);
    const startedAt = performance.now();
    const answer = await request(`${home.urls.upload}/v1/tx`, { method: 'POST', body });
    const text = await answer.body.text();
    assert.equal(answer.statusCode, 200, text);
    return { ...JSON.parse(text), tookMs: performance.now() - startedAt };
  };
  const status = async (id: string): Promise<Places> =>
    JSON.parse(await (await request(`${home.urls.upload}/v1/tx/${id}/status`)).body.text());

  /** In its index and readable. */
  const isAt = async (gateway: string, id: string): Promise<boolean> => {
    const query = `query { transactions(ids: ["${id}"]) { edges { node { id } } } }`;
    const found = await request(`${gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    if (!(await found.body.text()).includes(`"id":"${id}"`)) return false;
    const read = await request(`${gateway}/raw/${id}`);
    await read.body.dump();
    return read.statusCode === 200;
  };
  const within = async (ms: number, gateway: string, id: string): Promise<void> => {
    const startedAt = performance.now();
    await eventually(`${gateway} to have ${id}`, () => isAt(gateway, id));
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < ms, `${gateway} had it after ${tookMs} ms`);
  };
  const median = (numbers: readonly number[]): number =>
    numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

  test('two have an upload within a second, the third within five of its return, and nobody waits for it', async (t) => {
    const own = new URL(home.urls.gateway ?? '').host;
    const [near, far] = [await startGateway(0), await startGateway(1)];
    const all = [own, hostOf(0), hostOf(1)];
    await eventually(
      'all to be known to listen',
      async () => (await post()).fastFinalityIndexes.length === 3,
    );
    const listening: number[] = [];
    for (let time = 0; time < 15; time += 1) listening.push((await post()).tookMs);

    await far.end('SIGKILL');
    await eventually('the service to notice', async () => (await post()).fastFinalityIndexes.length === 2);
    const away: number[] = [];
    for (let time = 0; time < 15; time += 1) away.push((await post()).tookMs);
    t.diagnostic(`an upload takes ${median(listening)} ms, and ${median(away)} ms while one is away`);
    assert.ok(median(away) < 2 * median(listening) + 5, `${median(away)} ms, ${median(listening)} ms before`);

    const receipt = await post();
    assert.deepEqual(receipt.fastFinalityIndexes, all.slice(0, 2));
    assert.deepEqual(receipt.dataCaches, all.slice(0, 2));
    // Longer on a machine that is busy otherwise, on which everything is.
    const second = Math.max(1_000, 25 * median(listening));
    await Promise.all([
      within(second, home.urls.gateway ?? '', receipt.id),
      within(second, near.urls.gateway ?? '', receipt.id),
    ]);
    await eventually(
      'the status to name two',
      async () => (await status(receipt.id)).fastFinalityIndexes.length === 2,
    );
    assert.deepEqual((await status(receipt.id)).fastFinalityIndexes, all.slice(0, 2));

    const returned = await startGateway(1, far.dataDir);
    await within(5 * second, returned.urls.gateway ?? '', receipt.id);
    await eventually(
      'the status to name all',
      async () => (await status(receipt.id)).fastFinalityIndexes.length === 3,
    );
    assert.deepEqual((await status(receipt.id)).fastFinalityIndexes, all);
    await eventually('receipts to name all', async () => (await post()).fastFinalityIndexes.length === 3);
  });
});

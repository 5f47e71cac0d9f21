/** The router before one real gateway of ours: what the default stack is. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { createRouterSurface } from '../../src/router/surface.ts';
import { get } from '../../src/router/testing/router-bench.ts';
import { makeTransaction, silent, startLocalStack, text, until } from '../support/local-gateway.ts';

test('a transaction is read through the router, proven by its data root', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-router-e2e-'));
  const stack = await startLocalStack();
  const router = createRouterSurface(
    readConfig({ DATA_DIR: folder, PORT: '0', ADMIN_PORT: '0', PING_ENABLED: 'false' }),
    { log: silent, version: 'test', localGatewayUrl: () => stack.gateway.url },
  );
  t.after(async () => {
    await router.stop();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await router.start();
  for (const size of [1_000, 1_500_000]) {
    const data = Buffer.alloc(size, 'permanent ');
    const tags = [{ name: 'Content-Type', value: 'text/plain' }];
    const { transaction, post } = await makeTransaction(stack.node.url, data, tags);
    await post();
    await text(`${stack.node.url}/mine`);
    const id = transaction.id.toString('base64url');
    const got = await until('the content', async () => {
      const answer = await get(router.url, `/${id}`);
      return answer.status === 200 && answer;
    });
    assert.ok(got.body.equals(data));
    assert.equal(got.headers['x-router-verified'], 'true');
    assert.equal(got.headers['x-router-verification-method'], 'signature');
    assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal((await get(router.url, `/${id}`)).headers['x-cache'], 'HIT');
  }
});

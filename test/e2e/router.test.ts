/** The router before one real gateway of ours: what the default stack is. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import type { Surface } from '../../src/kernel/part.ts';
import { createRouterSurface } from '../../src/router/surface.ts';
import { get } from '../../src/router/testing/router-bench.ts';
import { adminKey, makeItem } from '../support/admin-gateway.ts';
import {
  type LocalStack,
  type LocalStackOptions,
  makeTransaction,
  send,
  silent,
  startLocalStack,
  text,
  until,
} from '../support/local-gateway.ts';

interface RouterBeforeGateway {
  readonly stack: LocalStack;
  readonly router: Surface;
}

/** `front`: where the router finds the gateway, if not at its own address. */
async function startRouter(
  t: TestContext,
  options: LocalStackOptions = {},
  front?: string,
): Promise<RouterBeforeGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-router-e2e-'));
  const stack = await startLocalStack(options);
  const router = createRouterSurface(
    readConfig({ DATA_DIR: folder, PORT: '0', ADMIN_PORT: '0', PING_ENABLED: 'false' }),
    { log: silent, version: 'test', localGatewayUrl: () => front ?? stack.gateway.url },
  );
  t.after(async () => {
    await router.stop();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await router.start();
  return { stack, router };
}

test('a transaction is read through the router, proven by its data root', async (t) => {
  const { stack, router } = await startRouter(t);
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

test('data that came with a transaction is read through the router before there is a block', async (t) => {
  const { stack, router } = await startRouter(t);
  const data = Buffer.alloc(3_000, 'pending ');
  const { transaction } = await makeTransaction(stack.node.url, data);
  const header = transactionToJson(transaction, 'header');
  await send(`${stack.gateway.url}/tx`, { ...header, data: data.toString('base64url') });
  for (const method of ['HEAD', 'GET'] as const) {
    const got = await get(router.url, `/${header.id}`, { method });
    assert.equal(got.status, 200, method);
    if (method === 'GET') assert.ok(got.body.equals(data));
  }
});

test('an item is read through the router between its receipt and its announcement', async (t) => {
  const tags = [{ name: 'Content-Type', value: 'image/png' }];
  const item = (method: string) => makeItem({ data: Buffer.from(`uploaded for ${method}`), tags });
  const items = { GET: await item('GET'), HEAD: await item('HEAD') };
  let isUploaded = false;
  const upload = await serve(t, (asked, response) => {
    const found = Object.values(items).find(({ id }) => asked.url === `/v1/data-item/${id}`);
    const parsed = found && parseItem(found.bytes);
    if (parsed === undefined || typeof parsed === 'string' || !isUploaded) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-length': found?.bytes.length,
      'x-payload-offset': parsed.header.length,
      'x-payload-content-type': 'image/png',
    });
    response.end(found?.bytes);
  });
  let proofWanted = (): void => {};
  // The gateway, as the router sees it.
  const front = await serve(t, (asked, response) => {
    const { method, url = '', headers } = asked;
    const passed = request(`${stack.gateway.url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
      if (url === '/graphql') response.once('finish', () => proofWanted());
    });
    asked.pipe(passed);
  });
  const { stack, router } = await startRouter(t, { deps: () => ({ uploadUrl: () => upload }) }, front);
  for (const { id } of Object.values(items)) assert.equal((await get(router.url, `/${id}`)).status, 404);
  isUploaded = true;
  for (const method of ['GET', 'HEAD'] as const) {
    const { id, header } = items[method];
    const announced = Promise.withResolvers<void>();
    // It comes only after the router looked for it in vain.
    proofWanted = () => {
      const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
      const url = `${stack.gateway.url}/ar-io/admin/queue-data-item`;
      fetch(url, { method: 'POST', headers, body: JSON.stringify([header]) }).then(
        () => announced.resolve(),
        announced.reject,
      );
    };
    const got = await get(router.url, `/${id}`, { method });
    assert.deepEqual([got.status, got.headers['content-type']], [200, 'image/png'], method);
    if (method === 'GET') assert.equal(got.body.toString(), 'uploaded for GET');
    await announced.promise;
  }
});

async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { HttpClient, OutsideUnavailable } from './http.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(t: TestContext, timeoutMs = 60_000, maxBytes = 1_000): HttpClient {
  const client = new HttpClient({ timeoutMs, maxBytes });
  t.after(() => client.close());
  return client;
}

test('an answer of any status is an answer', async (t) => {
  const url = await serve(t, (_request, response) => response.writeHead(503).end('later'));
  const { status, body } = await open(t).call(url);
  assert.deepEqual([status, body.toString()], [503, 'later']);
});

test('a JSON body is posted as such', async (t) => {
  const url = await serve(t, (request, response) => {
    request.pipe(response.writeHead(200, { 'x-type': request.headers['content-type'] }));
  });
  const { headers, body } = await open(t).postJson(url, { a: 1 });
  assert.deepEqual([headers['x-type'], body.toString()], ['application/json', '{"a":1}']);
});

test('a body beyond the limit, and one that never ends, are no answers; keys in the address are not told', async (t) => {
  const large = await serve(t, (_request, response) => response.end('x'.repeat(1_001)));
  await assert.rejects(open(t).call(`${large}/secret?key=1`), (error: Error) => {
    assert.ok(error instanceof OutsideUnavailable);
    assert.doesNotMatch(error.message, /secret|key/);
    return true;
  });
  const endless = await serve(t, (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 10);
    response.on('close', () => clearInterval(timer));
  });
  await assert.rejects(open(t, 200, 1_000_000).call(endless), OutsideUnavailable);
});

test('whoever asked and gives up gets the reason that was given', async (t) => {
  const url = await serve(t, () => {});
  const giveUp = new AbortController();
  const call = open(t).call(url, { signal: giveUp.signal });
  giveUp.abort(new Error('stopping'));
  await assert.rejects(call, /stopping/);
});

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

test('an opened answer is read as it comes, and one that breaks off or stalls is told', async (t) => {
  const url = await serve(t, (request, response) => {
    response.writeHead(206, { 'content-length': '10' });
    response.write('01234');
    if (request.url === '/whole') response.end('56789');
    if (request.url === '/cut') setImmediate(() => response.destroy());
  });
  const client = open(t);
  const read = async (path: string, idleTimeoutMs = 60_000) => {
    const { status, body } = await client.open(url + path, { idleTimeoutMs });
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece);
    return [status, Buffer.concat(pieces).toString()];
  };
  assert.deepEqual(await read('/whole'), [206, '0123456789']);
  await assert.rejects(read('/cut'), (error) => error instanceof OutsideUnavailable && !error.isTimeout);
  await assert.rejects(read('/stall', 50), (error) => error instanceof OutsideUnavailable && error.isTimeout);
  const unread = await client.open(`${url}/stall`, { idleTimeoutMs: 60_000 });
  unread.discard();
});

test('a head that does not come in time is a timeout', async (t) => {
  const url = await serve(t, () => {});
  await assert.rejects(
    open(t, 100).call(url),
    (error) => error instanceof OutsideUnavailable && error.isTimeout,
  );
  await assert.rejects(
    open(t, 100).open(url, { idleTimeoutMs: 60_000 }),
    (error) => error instanceof OutsideUnavailable && error.isTimeout,
  );
});

/** The console's server over a whole local network: what its page sees, runs and controls. */
import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import type { LiveState, ServiceHealth, SessionInfo } from '../../src/console/api.ts';
import { type ControlledStack, startControlledStack } from '../support/controlled-stack.ts';

describe('the console of a local network', () => {
  let stack: ControlledStack;
  before(async () => {
    stack = await startControlledStack();
  });
  after(() => stack?.stop());

  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${stack.urls.console}${path}`, {
      ...init,
      headers: { 'x-turnpike-console': '1', ...init.headers },
    });
  const post = (path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    ask(path, {
      method: 'POST',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const signIn = async (): Promise<Record<string, string>> => {
    const opened = await post('/api/session', { own: true });
    assert.equal(opened.status, 200, await opened.clone().text());
    return { cookie: String(opened.headers.get('set-cookie')).split(';')[0] ?? '' };
  };

  test('the state of everything is told as it changes', async () => {
    const { body } = await ask('/api/live');
    assert.ok(body !== null);
    const read = states(body);
    const first = await read.next();
    assert.ok(Object.values(first.services).every(({ up }) => up));
    await post('/api/local/mine', { blocks: 3 });
    const later = await read.until(({ height, names, creditsSold, readsPerSecond }) => {
      const told = [names, creditsSold, readsPerSecond].every((figure) => figure !== undefined);
      return told && height === Number(first.height) + 3;
    });
    assert.equal(later.waitingItems, 0);
    assert.equal(later.waitingBundles, 0);
    assert.equal(later.creditsSold, '0');
    assert.equal(later.names, 0);
    assert.equal(later.mempool, 0);
    assert.ok(Math.abs(Date.now() - Number(later.lastBlockAt)) < 60_000);
    await read.end();
  });

  test('an operator of this machine signs in with the keys of the installation', async () => {
    const headers = await signIn();
    const session = (await (await ask('/api/session', { headers })).json()) as SessionInfo;
    assert.equal(session.operator.gateway, true);
    assert.equal(session.operator.router, true);
    assert.equal((await ask('/api/operator/gateway/debug', { headers })).status, 200);
    assert.equal((await ask('/api/operator/router/gateways', { headers })).status, 200);
    const health = (await (await ask('/api/operator/health', { headers })).json()) as ServiceHealth[];
    assert.deepEqual(
      health.filter(({ up }) => !up),
      [],
    );
    assert.equal(health.length, 8);
  });

  test('a reset through the console is answered when it is done, and nobody is signed out', async () => {
    const headers = await signIn();
    const watched = await ask('/api/live');
    const before = await (await ask('/api/local')).json();
    const began = performance.now();
    const reset = await post('/api/local/reset');
    assert.equal(reset.status, 200, await reset.clone().text());
    const { instance, height } = (await reset.json()) as Record<string, unknown>;
    assert.notEqual(instance, (before as Record<string, unknown>).instance);
    assert.equal(height, 0);
    assert.ok(performance.now() - began < 20_000);
    // The stream ends with the surface that had it, and the next one has another.
    await watched.text().catch(() => '');
    assert.equal((await ask('/api/operator/gateway/debug', { headers })).status, 200);
    const again = await ask('/api/live');
    assert.ok(again.body !== null);
    const read = states(again.body);
    assert.equal((await read.next()).height, 0);
    await read.end();
  });

  test('a state is saved and loaded through the console', async () => {
    await post('/api/local/mine', { blocks: 2 });
    const saved = await ask('/api/local/state');
    const file = await saved.arrayBuffer();
    const { height: then } = (await (await ask('/api/local')).json()) as { height: number };
    await post('/api/local/mine', { blocks: 5 });
    const loaded = await ask('/api/local/state', { method: 'PUT', body: file });
    assert.equal(loaded.status, 200, await loaded.clone().text());
    assert.equal(((await loaded.json()) as { height: number }).height, then);
    assert.equal((await ask('/api/local/wallets')).status, 200);
  });

  test('over HTTP/2 the host is checked as well, and the cookie is for TLS alone', async () => {
    const { port } = new URL(stack.urls.console ?? '');
    const client = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const get = (authority: string, method = 'GET', body = '') =>
      new Promise<{ status: number; cookie: string }>((resolve, reject) => {
        const stream = client.request(
          {
            ':path': '/api/session',
            ':method': method,
            ':authority': authority,
            'x-turnpike-console': '1',
            ...(body !== '' && { 'content-type': 'application/json' }),
          },
          { endStream: body === '' },
        );
        stream.on('response', (headers) => {
          stream.resume();
          resolve({ status: Number(headers[':status']), cookie: String(headers['set-cookie']) });
        });
        stream.on('error', reject);
        if (body !== '') stream.end(body);
      });
    try {
      assert.equal((await get(`127.0.0.1:${port}`)).status, 200);
      assert.equal((await get('evil.example')).status, 421);
      assert.equal((await get(`x.localhost:${port}`)).status, 421);
      const opened = await get(`localhost:${port}`, 'POST', '{"own":true}');
      assert.equal(opened.status, 200);
      assert.match(opened.cookie, /; Secure/);
    } finally {
      client.close();
    }
  });
});

/** The events of a stream, one by one. */
function states(body: ReadableStream<Uint8Array>) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<LiveState> => {
    for (;;) {
      const [event, rest] = text.split(/\n\n(.*)/s, 2);
      if (rest !== undefined) {
        text = rest;
        return JSON.parse(/^data: (.*)$/m.exec(event ?? '')?.[1] ?? '');
      }
      const { done, value } = await reader.read();
      if (done) throw new Error('the stream ended');
      text += value;
    }
  };
  return {
    next,
    async until(isIt: (state: LiveState) => boolean): Promise<LiveState> {
      for (let tries = 0; tries < 20; tries += 1) {
        const state = await next();
        if (isIt(state)) return state;
      }
      throw new Error('no such state came');
    },
    end: () => reader.cancel(),
  };
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { whileAwake } from '../../test/support/awake.ts';
import { type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { type TestItem, testItem } from './testing/stub-gateway.ts';

/** Everything that comes over one connection until the router closes it. */
function exchange(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    socket.on('data', (piece: Buffer) => {
      got += piece.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(got));
    socket.write(sent, 'latin1');
  });
}

const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1]);

describe('hostile clients', () => {
  let bench: RouterBench;
  let item: TestItem;
  let other: TestItem;
  let port: number;
  const base = 'router.example';

  before(async () => {
    [item, other] = await Promise.all([testItem('the content of a'), testItem('the content of b')]);
    bench = await startRouterBench({
      items: [item, other],
      environment: { BASE_DOMAIN: base, MODERATION_ENABLED: 'true' },
    });
    for (const gateway of bench.gateways) {
      gateway.names.set('a', { id: item.id, ttlSeconds: 600 });
      gateway.names.set('b', { id: other.id, ttlSeconds: 600 });
    }
    port = Number(new URL(bench.router.url).port);
  });
  after(() => bench.stop());

  const head = (host: string, ...lines: string[]) =>
    `GET / HTTP/1.1\r\nHost: ${host}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

  test('a host that the target names is not passed on to gateways', async () => {
    const sent = `GET http://${base}/tx/${item.id}/status?x HTTP/1.1\r\nHost: ${base}\r\nConnection: close\r\n\r\n`;
    await exchange(port, sent);
    const asked = bench.gateways.flatMap(({ requests }) => requests.filter((one) => one.includes('/tx/')));
    assert.ok(asked.length > 0);
    for (const one of asked) assert.equal(one, `GET /tx/${item.id}/status?x`);
  });

  test('no cache in between keeps the answer to a range that is not there, or to a question', async () => {
    const fresh = await testItem('asked about before it is read');
    for (const gateway of bench.gateways) gateway.items.set(fresh.id, fresh);
    const asked = await bench.get(`/raw/${fresh.id}`, { method: 'HEAD' });
    assert.deepEqual(
      [asked.headers['x-router-verified'], asked.headers['cache-control']],
      ['false', 'no-store'],
    );
    const beyond = await bench.get(`/raw/${fresh.id}`, { headers: { range: 'bytes=1000-' } });
    assert.deepEqual([beyond.status, beyond.headers['cache-control']], [416, 'no-store']);
    const known = await bench.get(`/raw/${fresh.id}`, { method: 'HEAD' });
    assert.equal(known.headers['cache-control'], 'public, max-age=31536000, immutable');
  });

  test('heads that two readers would read differently are refused, and nothing behind them is read', async () => {
    const second = head(`b.${base}`);
    for (const [what, sent] of Object.entries({
      'a length and chunks': `POST / HTTP/1.1\r\nHost: a.${base}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`,
      'chunks and a length': `GET / HTTP/1.1\r\nHost: a.${base}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${second}`,
      'two lengths': `GET / HTTP/1.1\r\nHost: a.${base}\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n${second}`,
      'a length with a sign': `GET / HTTP/1.1\r\nHost: a.${base}\r\nContent-Length: +5\r\n\r\nhello${second}`,
      'an unknown coding': `GET / HTTP/1.1\r\nHost: a.${base}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${second}`,
      'a folded line': `GET / HTTP/1.1\r\nHost: a.${base}\r\nX-A: b\r\n c\r\n\r\n${second}`,
      'a folded host': `GET / HTTP/1.1\r\nHost: a.${base}\r\n .evil\r\n\r\n${second}`,
      'a space before the colon': `GET / HTTP/1.1\r\nHost : a.${base}\r\n\r\n${second}`,
      'bare line feeds': `GET / HTTP/1.1\nHost: a.${base}\n\n`,
      'a bare carriage return': `GET / HTTP/1.1\r\nHost: a.${base}\r\nX: a\rb: c\r\n\r\n${second}`,
      'a zero byte': `GET / HTTP/1.1\r\nHost: a.${base}\r\nX: a\0b\r\n\r\n${second}`,
      'no host': 'GET / HTTP/1.1\r\n\r\n',
      'HTTP/2 in clear': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    })) {
      const answers = await exchange(port, sent);
      assert.deepEqual(statuses(answers), ['400'], what);
      assert.doesNotMatch(answers, /the content of/, what);
    }
  });

  test('two hosts in one request are none, wherever they stand', async () => {
    for (const sent of [
      head(`a.${base}`, `Host: b.${base}`),
      head(base, `Host: a.${base}`),
      head(`a.${base}`, `host: a.${base}`),
      `GET http://a.${base}/ HTTP/1.1\r\nHost: b.${base}\r\n\r\n`,
      `GET http://${base}/router/health HTTP/1.1\r\nHost: a.${base}\r\n\r\n`,
    ]) {
      const answers = await exchange(port, sent.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      assert.deepEqual(statuses(answers), ['400'], sent);
      assert.match(answers, /A request names one host/);
    }
    for (const sent of [head(`a.${base}, b.${base}`), head(''), head(`a.${base}:1:2`), head(`a.${base}/b`)]) {
      const answers = await exchange(port, sent.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      assert.match(statuses(answers)[0] ?? '', /^40[04]$/, sent);
    }
    const absolute = `GET http://A.${base}/ HTTP/1.1\r\nHost: a.${base}\r\nConnection: close\r\n\r\n`;
    assert.match(await exchange(port, absolute), /the content of a$/, 'the absolute form is understood');
  });

  test('headers for somebody in between change nothing', async () => {
    const answer = await exchange(
      port,
      head(
        `a.${base}`,
        `X-Forwarded-Host: b.${base}`,
        `Forwarded: host=b.${base};for=1.2.3.4`,
        'X-Original-URL: /router/info',
        'X-Rewrite-URL: /router/info',
        'X-HTTP-Method-Override: DELETE',
        'Upgrade: websocket',
        'Connection: host, x-forwarded-host, upgrade, close',
        'Cookie: a=b',
        'Authorization: Bearer stolen',
        'Proxy-Authorization: Basic stolen',
        'TE: trailers, deflate',
      ),
    );
    assert.match(answer, /the content of a$/);
    assert.doesNotMatch(answer, /set-cookie|proxy-auth/i);
    const fresh = await testItem('asked for with secrets');
    for (const gateway of bench.gateways) {
      gateway.items.set(fresh.id, fresh);
      gateway.heads.length = 0;
    }
    const host = '127.0.0.1';
    const secrets = { cookie: 'a=b', authorization: 'Bearer stolen', 'x-evil': 'yes', connection: 'x-evil' };
    await bench.get(`/${fresh.id}`, { host, headers: secrets });
    const told = bench.gateways.flatMap((gateway) => gateway.heads).map((one) => JSON.stringify(one));
    assert.ok(told.length > 0);
    for (const one of told) assert.doesNotMatch(one, /stolen|a=b|evil/, 'gateways are told nothing of it');
  });

  test('what looks like a request in a body is a body', async () => {
    const inner = head(`b.${base}`);
    for (const method of ['POST', 'GET', 'PUT', 'DELETE']) {
      const sent = `${method} / HTTP/1.1\r\nHost: a.${base}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}${head(`a.${base}`, 'Connection: close')}`;
      const answers = await exchange(port, sent);
      assert.equal(statuses(answers).at(-1), '200');
      assert.doesNotMatch(answers, /the content of b/, method);
    }
  });

  test('odd paths lead nowhere', async () => {
    const at = (path: string) =>
      exchange(port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    for (const path of [
      '//evil.example/',
      '/../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..%2f..%2fetc%2fpasswd',
      '/router%2fhealth',
      `/${item.id}/../router/health`,
      `/${item.id}%00`,
      `/${item.id}/x`,
      `/raw/${item.id}/../${other.id}`,
      '/raw/x',
      '/\\evil',
      '/router/../raw',
      '/__proto__',
      '/constructor',
    ]) {
      const answer = await at(path);
      assert.deepEqual(statuses(answer), ['404'], path);
      assert.doesNotMatch(answer, /root:|healthy|the content/, path);
    }
    for (const path of ['/%', '/%zz', `/${item.id}/%E0%A4%A`, '/%ff']) {
      assert.deepEqual(statuses(await at(path)), ['400'], path);
      assert.match(await at(path), /"error":"Bad Request"/);
    }
    assert.deepEqual(statuses(await at(`/${'a'.repeat(17_000)}`)), ['431']);
    assert.deepEqual(statuses(await at(`/${item.id}?${'a=1&'.repeat(3_000)}`)), ['200']);
    const host = head(`a.${base}`, ...Array.from({ length: 1_500 }, (_, index) => `X${index}: ${index}`));
    assert.deepEqual(statuses(await exchange(port, host)), ['431']);
  });

  test('only GET and HEAD read, and nothing else does anything', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']) {
      for (const [host, path] of [
        [`a.${base}`, '/'],
        ['127.0.0.1', `/${item.id}`],
      ]) {
        const sent = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
        const answer = await exchange(port, sent);
        assert.match(statuses(answer)[0] ?? '', /^40[45]$/, `${method} ${host}${path}`);
      }
    }
    assert.deepEqual(
      statuses(await exchange(port, 'CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n')),
      [],
    );
    const preflight = await bench.get('/', {
      method: 'OPTIONS',
      host: `a.${base}`,
      headers: {
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'range, x-ar-io-component',
      },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers['access-control-allow-headers'], 'range, x-ar-io-component');
    assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, OPTIONS');
  });

  test('a list of a thousand ranges costs one answer', async () => {
    const host = '127.0.0.1';
    const ranges = Array.from({ length: 1_000 }, () => '0-').join(',');
    const got = await bench.get(`/${item.id}`, { host, headers: { range: `bytes=${ranges}` } });
    assert.ok(got.body.length <= item.data.length + 500, `${got.body.length} bytes`);
  });

  test('connections that say nothing, or one byte at a time, keep nobody from reading', async () => {
    const host = '127.0.0.1';
    const sockets = Array.from({ length: 300 }, (_, index) => {
      const socket = connect(port, host);
      socket.on('error', () => {});
      if (index % 3 === 0) socket.write('G');
      if (index % 3 === 1) socket.write(`GET /${item.id} HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `);
      if (index % 3 === 2)
        socket.write(`GET /${item.id} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\nx`);
      return socket;
    });
    const drip = setInterval(() => {
      for (const socket of sockets) socket.write('x');
    }, 50);
    try {
      await Promise.all(sockets.map((socket) => (socket.connecting ? once(socket, 'connect') : undefined)));
      for (let round = 0; round < 50; round += 1) {
        assert.equal((await bench.get(`/${item.id}`, { host })).status, 200);
      }
    } finally {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    }
  });
});

test('readers that never read are cut off, and nobody else notices', async (t) => {
  const large = await testItem(Buffer.alloc(40_000_000, 'large '), 'video/mp4');
  await whileAwake(1_000, async () => {
    const bench = await startRouterBench({ items: [large], environment: { STREAM_TIMEOUT_MS: '2000' } });
    t.after(() => bench.stop());
    const { port } = new URL(bench.router.url);
    const idle: Socket[] = [];
    const closed = Array.from({ length: 20 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.pause();
      socket.write(`GET /${large.id} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      idle.push(socket);
      return new Promise((resolve) => {
        socket.on('error', () => {});
        socket.on('close', resolve);
      });
    });
    const got = await bench.get(`/${large.id}`);
    assert.ok(got.body.equals(large.data));
    const inFlight = async () =>
      /^router_http_in_flight (\d+)$/m.exec((await bench.get('/router/metrics')).body.toString())?.[1];
    while ((await inFlight()) !== '0') await new Promise((resolve) => setTimeout(resolve, 50));
    // What the kernels buffered may be read; the end of the connection is then seen.
    let bytes = 0;
    for (const socket of idle) socket.on('data', (piece: Buffer) => (bytes += piece.length)).resume();
    await Promise.all(closed);
    assert.ok(bytes < idle.length * large.data.length, 'none of them got everything');
  });
});

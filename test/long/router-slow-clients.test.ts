/** Clients that send their request one byte at a time, against the time-outs the router really has. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { StubGateway, testItem } from '../../src/router/testing/stub-gateway.ts';
import { readStrictly } from '../support/read-strictly.ts';
import { startStack } from '../support/stack.ts';

test('a head that drips in is refused after ten seconds, and readers are served meanwhile', async () => {
  const item = await testItem('for readers that speak up');
  const gateway = await new StubGateway([item]).start();
  const router = await startStack({
    only: ['router'],
    environment: {
      ARWEAVE_NODE_URLS: 'http://127.0.0.1:9',
      SOLANA_RPC_URL: 'http://127.0.0.1:9',
      ROUTING_STATIC_GATEWAYS: gateway.url,
    },
  });
  const url = router.urls.router ?? '';
  const answers = Array.from({ length: 100 }, (_, index) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    if (index % 2 === 0) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    const drip = setInterval(() => socket.write('x'), 500);
    return new Promise<string>((resolve) => {
      let got = '';
      socket.on('data', (piece: Buffer) => {
        got += piece.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(drip);
        resolve(got);
      });
    });
  });
  let dripping = true;
  const all = Promise.all(answers).finally(() => {
    dripping = false;
  });
  let served = 0;
  while (dripping) {
    assert.equal((await readStrictly(`${url}/${item.id}`)).status, 200);
    if (dripping) served += 1;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(served > 0, 'while they dripped');
  for (const answer of await all) assert.match(answer, /^(HTTP\/1\.1 4(00|08) |$)/);
  await router.stop();
  await gateway.stop();
});

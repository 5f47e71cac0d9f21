import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NamesBench, text } from '../../../test/support/names-bench.ts';
import type { HttpServer } from '../../kernel/http/server.ts';
import { testServer } from '../../kernel/testing.ts';
import { NamePrices } from '../prices/prices.ts';
import { arnsPriceRoute } from './arns-price.ts';

let bench: NamesBench;
let prices: NamePrices;
let server: HttpServer;

before(async () => {
  bench = await NamesBench.start();
  const now = () => bench.ledger.time;
  prices = new NamePrices({
    registry: bench.registry,
    pricing: bench.pricing,
    now,
    spawnSurcharge: undefined,
    actionFloor: 0n,
    actionMargin: 0,
    microLamports: 0,
    buyer: undefined,
  });
  server = testServer();
  server.mount((app) => arnsPriceRoute(app, { pricing: bench.pricing, prices }), ['/v1']);
  await server.app.ready();
});
after(async () => {
  await server.close();
  await bench.stop();
});

const ask = (path: string) => server.app.inject({ method: 'GET', url: `/v1/arns/price/${path}` });

test('whatever else a question says, it is the same question', async () => {
  const plain = await ask('buy-record/asked-often?type=lease&years=1');
  assert.equal(plain.statusCode, 200);
  for (let index = 0; index < 200; index += 1) {
    const junk = `made-up-${index}=${'x'.repeat(4_000)}`;
    const name = index % 2 === 0 ? 'asked-often' : 'Asked-OFTEN';
    const answer = await ask(`buy-name/${name}?${junk}&years=1&type=lease&userAddress=${index}`);
    assert.equal(answer.body, plain.body);
  }
  // On a machine that stood still meanwhile it may have gone by itself.
  assert.ok(prices.answers.size.answers <= 1, JSON.stringify(prices.answers.size));
  assert.ok(prices.answers.size.answerBytes < 2_000, JSON.stringify(prices.answers.size));
});

test('what is refused is not kept', async () => {
  const { answers } = prices.answers.size;
  for (const path of [
    'sell-record/x',
    'buy-name/www?type=permabuy',
    `buy-name/${'x'.repeat(60)}`,
    'buy-name/x',
  ]) {
    assert.equal((await ask(path)).statusCode, 400, path);
  }
  assert.ok(prices.answers.size.answers <= answers);
});

test("a token that is to be the buyer's own must be one", async () => {
  const path = 'buy-record/own-token?type=permabuy';
  const stranger = 'US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx';
  for (const [processId, words] of [
    ['abc', 'processId must be the Solana address of an ANT'],
    [stranger, `processId ${stranger} is not an ANT`],
  ]) {
    const answer = await ask(`${path}&processId=${processId}`);
    assert.deepEqual([answer.statusCode, answer.json()], [400, words]);
  }
  const made = await ask(`${path}&processId=`);
  assert.ok(BigInt(text(made.json(), 'antSpawnSurchargeWinc')) > 0n);
});

test('an estimate says how many credits come with the name, also when none do', async () => {
  const answer = await ask('buy-record/dear?type=permabuy&currency=usd');
  assert.equal(text(answer.json(), 'fiatEstimate', 'excessWincAmount'), '0');
});

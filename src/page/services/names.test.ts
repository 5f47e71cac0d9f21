import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { labelOf } from '../../formats/solana/name-rules.ts';
import { ServiceError } from './console.ts';
import { actionStatus, buyByCard, nameUrl, priceOf, readName, readOwned } from './names.ts';
import { readSettings } from './settings.ts';

const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
/** Of a service that speaks the contract and nothing else. */
const contract: Readonly<Record<string, readonly [number, unknown]>> = {
  '/v1/arns/price/buy-name/free-name': [
    200,
    {
      winc: '5',
      antSpawnSurchargeWinc: '2',
      wincTotalWithAntSpawn: '7',
      fiatEstimate: { paymentAmount: 50 },
    },
  ],
  '/v1/arns/price/buy-name/taken-name': [400, 'Name taken-name already exists'],
  '/v1/arns/price/buy-name/www': [400, 'Name www is reserved'],
  '/v1/arns/price/buy-name/broken': [503, 'Price Oracle Unavailable'],
  '/gw/resolver/taken-name': [200, { txId: target, ttlSeconds: 60, antId: 'token', limit: 10 }],
};
const asked: URL[] = [];
const realFetch = globalThis.fetch;

before(async () => {
  globalThis.fetch = async (input) => {
    if (input === '/api/settings') {
      const services = { payment: 'http://payment', gateway: 'http://gateway' };
      return Response.json({ services, sandbox: 'http://{label}.localhost:4000' });
    }
    const url = new URL(String(input));
    asked.push(url);
    const [status, body] = contract[url.pathname] ?? [404, 'Not found'];
    return Response.json(body, { status });
  };
  await readSettings();
});
beforeEach(() => void asked.splice(0));
after(() => {
  globalThis.fetch = realFetch;
});

test('a service that does not tell names as they stand is asked for a price and the gateway for the target', async () => {
  assert.deepEqual(await readName('free-name'), { name: 'free-name', state: 'free' });
  assert.deepEqual(await readName('www'), { name: 'www', state: 'reserved' });
  const taken = await readName('taken-name');
  assert.deepEqual([taken.state, taken.antId, taken.records?.[0]?.target], ['registered', 'token', target]);
  await assert.rejects(readName('broken'), (error) => error instanceof ServiceError && error.status === 503);
  assert.equal(await readOwned('owner'), undefined);
  assert.equal(await actionStatus('unknown'), undefined);
});

test('a price is everything that is debited, for the term that was asked for', async () => {
  assert.deepEqual(await priceOf({ action: 'buy-name', name: 'free-name', type: 'lease', years: 2 }), {
    winc: 7n,
    surcharge: 2n,
    cents: 50,
  });
  assert.equal(asked[0]?.search, '?type=lease&years=2&currency=usd');
  await priceOf({ action: 'buy-name', name: 'free-name', type: 'permabuy', years: 2 });
  assert.equal(asked[1]?.search, '?type=permabuy&currency=usd');
});

test('refusals are told in the words of the service', async () => {
  const back = { successUrl: 'http://here', cancelUrl: 'http://here' };
  await assert.rejects(buyByCard({ action: 'upgrade-name', name: 'x' }, 'me', back), {
    message: 'Not found',
  });
});

test('names open at hosts of their own', () => {
  assert.equal(nameUrl('gateway', labelOf('blog', '@')), 'http://blog.localhost:4000');
  assert.equal(nameUrl('gateway', labelOf('blog', 'docs')), 'http://docs_blog.localhost:4000');
  assert.equal(nameUrl('router', 'blog'), undefined);
});

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { pricing as variables } from '../../config/variables/pricing.ts';
import { nodePrices } from '../configured.ts';
import { toText } from '../decimal.ts';
import { SourceBusy } from '../oracle.ts';
import { httpRates } from './http.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function source(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  stops.push(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

const rates = variables.STATIC_RATES.fallback;
const timeoutMs = 60_000;

describe('the HTTP rate source', () => {
  it('asks for every token and currency at once, with its key, and reads prices exactly', async () => {
    let asked: URL | undefined;
    let key: unknown;
    const url = await source((request, response) => {
      asked = new URL(request.url ?? '', 'http://x');
      key = request.headers['x-cg-demo-api-key'];
      response.end(JSON.stringify({ ...rates, 'ar-io-network': { usd: 1.5e-7 } }));
    });
    const table = await httpRates({ url: `${url}/api/v3`, apiKey: 'k', timeoutMs }).fetch();
    assert.equal(asked?.pathname, '/api/v3/simple/price');
    assert.equal(asked?.searchParams.get('vs_currencies'), 'aud,brl,cad,eur,gbp,hkd,inr,jpy,sgd,usd');
    assert.ok(asked?.searchParams.get('ids')?.split(',').includes('ar-io-network'));
    assert.equal(key, 'k');
    assert.equal(toText(table.price('arweave', 'cad')), '8.55');
    assert.equal(toText(table.price('ario', 'usd')), '0.00000015');
    assert.throws(() => table.price('solana', 'eur'), /unavailable/);
  });

  it('refuses an answer without all currencies of AR, with wrong prices, or that is no JSON', async () => {
    const { usd: _usd, ...withoutUsd } = rates.arweave ?? {};
    for (const body of [
      JSON.stringify({ ...rates, arweave: withoutUsd }),
      JSON.stringify({ ...rates, arweave: { ...rates.arweave, usd: 0 } }),
      JSON.stringify({ ...rates, arweave: { ...rates.arweave, usd: -6 } }),
      JSON.stringify({ ...rates, arweave: { ...rates.arweave, usd: null } }),
      '[]',
      'null',
      '<html>',
    ]) {
      const url = await source((_request, response) => response.end(body));
      await assert.rejects(httpRates({ url, timeoutMs }).fetch(), body);
    }
  });

  it('says how long a busy source wants to be left alone', async () => {
    const url = await source((_request, response) => {
      response.writeHead(429, { 'retry-after': '17' }).end();
    });
    await assert.rejects(
      httpRates({ url, timeoutMs }).fetch(),
      (error) => error instanceof SourceBusy && error.retryAfterMs === 17_000,
    );
  });

  it('gives up on a silent source and on an endless answer', async () => {
    const silent = await source(() => {});
    await assert.rejects(httpRates({ url: silent, timeoutMs: 50 }).fetch());
    const endless = await source((_request, response) => {
      const write = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', write);
      };
      write();
    });
    await assert.rejects(httpRates({ url: endless, timeoutMs }).fetch(), (error: Error) =>
      /larger than 262144 bytes/.test(String(error.cause)),
    );
  });
});

describe('the price of storage', () => {
  it('is asked of the next node when one fails', async () => {
    const asked: string[] = [];
    const broken = await source((_request, response) => response.writeHead(500).end());
    const odd = await source((_request, response) => response.end('1e12'));
    const good = await source((request, response) => {
      asked.push(request.url ?? '');
      response.end('12345678901234');
    });
    assert.equal(await nodePrices([broken, odd, good], timeoutMs).fetch(), 12_345_678_901_234n);
    assert.deepEqual(asked, ['/price/10737418240']);
    await assert.rejects(nodePrices([broken, odd], timeoutMs).fetch(), /no Arweave node/);
    await assert.rejects(nodePrices([]).fetch(), /no Arweave node/);
  });
});

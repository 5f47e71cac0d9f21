/** The meter on the content routes: limits, refusals, payments. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { type TestContext, test } from 'node:test';
import {
  type AdminGateway,
  type AdminGatewayOptions,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, text, until } from '../../../test/support/local-gateway.ts';
import { openX402Bench } from '../../../test/support/x402-bench.ts';
import { winc } from '../../credits/credits.ts';
import { encodeHeader, examplePayment } from '../../formats/x402/testing.ts';
import { signPayment, startFacilitator } from '../../localnet/x402/testing.ts';
import { buildBands } from '../published-indexes/bands/build.ts';
import { indexFolders } from '../published-indexes/folders.ts';
import { readObserver } from '../published-indexes/publication/observer.ts';
import { publisherOf } from '../published-indexes/publication/publisher.ts';
import { PaidTokens } from './paid.ts';
import type { EgressPayee } from './part.ts';

async function open(
  t: TestContext,
  overrides: Record<string, string>,
  payee?: EgressPayee,
  options: AdminGatewayOptions = {},
) {
  const gateway = await startAdminGateway({
    ...options,
    overrides: {
      ENABLE_RATE_LIMITER: 'true',
      RATE_LIMITER_IP_TOKENS_PER_BUCKET: '20',
      RATE_LIMITER_IP_REFILL_PER_SEC: '0',
      RATE_LIMITER_RESOURCE_REFILL_PER_SEC: '0',
      ...overrides,
    },
    deps: () => ({ egressPayee: async () => payee }),
  });
  t.after(() => gateway.stop());
  return gateway;
}

async function post(gateway: AdminGateway, bytes: number, contentType?: string): Promise<string> {
  const tags = contentType === undefined ? [] : [{ name: 'Content-Type', value: contentType }];
  const made = await makeTransaction(gateway.stack.node.url, Buffer.alloc(bytes, 'x'), tags);
  await made.post();
  await text(`${gateway.stack.node.url}/mine`);
  const id = made.transaction.id.toString('base64url');
  await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height !== undefined);
  return id;
}

test('a client reads until its bucket is empty, and is told when to come again', async (t) => {
  // Large enough that what is gained while the test runs does not matter.
  const gateway = await open(t, {
    RATE_LIMITER_IP_TOKENS_PER_BUCKET: '2000',
    RATE_LIMITER_IP_REFILL_PER_SEC: '1',
  });
  const id = await post(gateway, 800 * 1024);
  const read = (headers: Record<string, string> = {}) => gateway.get(`/raw/${id}`, headers);
  assert.equal((await read()).status, 200);
  assert.equal((await read()).status, 200);
  const refused = await read();
  assert.equal(refused.status, 429);
  // Half of it is missing, at a token a second; the rest is the time that the test takes.
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(seconds > 200 && seconds <= 402, String(seconds));
  assert.deepEqual(JSON.parse(refused.body), {
    error: 'Too Many Requests',
    message: 'IP rate limit exceeded',
  });
  assert.equal(refused.headers.get('cache-control'), 'no-store');
  assert.equal(
    (await read({ 'x-forwarded-for': '1.2.3.4' })).status,
    429,
    'a forged address gives no new bucket',
  );
  assert.equal((await read({ range: 'bytes=0-1023' })).status, 206, 'a small part still fits');
  assert.equal((await gateway.get('/gw/info')).status, 200);
  const info = JSON.parse((await gateway.get('/gw/info')).body);
  assert.equal(info.rateLimiter.dataEgress.buckets.ip.capacityBytes, 2000 * 1024);
  assert.match(
    (await gateway.get('/gw/__gateway_metrics')).body,
    /rate_limit_exceeded_total\{limit_type="ip"\} [2-9]/,
  );
});

test('a HEAD costs one token and a 304 nothing', async (t) => {
  const gateway = await open(t, { RATE_LIMITER_IP_TOKENS_PER_BUCKET: '10' });
  const id = await post(gateway, 8 * 1024);
  const first = await gateway.get(`/raw/${id}`);
  const etag =
    first.headers.get('etag') ??
    (await fetch(`${gateway.url}/raw/${id}`, { method: 'HEAD' })).headers.get('etag') ??
    '';
  for (let time = 0; time < 5; time += 1) {
    assert.equal((await gateway.get(`/raw/${id}`, { 'if-none-match': etag })).status, 304);
  }
  let heads = 0;
  while ((await fetch(`${gateway.url}/raw/${id}`, { method: 'HEAD' })).status === 200) heads += 1;
  assert.ok(heads >= 1 && heads <= 2);
});

test('a resource has its own limit, and a refusal for it costs the client nothing', async (t) => {
  const gateway = await open(t, { RATE_LIMITER_RESOURCE_TOKENS_PER_BUCKET: '8' });
  const [busy, other] = [await post(gateway, 8 * 1024), await post(gateway, 7 * 1024)];
  assert.equal((await gateway.get(`/raw/${busy}`)).status, 200);
  const refused = await gateway.get(`/${busy}`);
  assert.deepEqual([refused.status, JSON.parse(refused.body).message], [429, 'Resource rate limit exceeded']);
  assert.equal((await gateway.get(`/raw/${other}`)).status, 200);
});

test('queries draw from the same allowance by what they may cost, before they run', async (t) => {
  // A bucket of all clients together would be one that a single client can empty for everybody.
  const gateway = await open(t, {
    RATE_LIMITER_IP_TOKENS_PER_BUCKET: '2000',
    RATE_LIMITER_IP_REFILL_PER_SEC: '1',
    RATE_LIMITER_RESOURCE_TOKENS_PER_BUCKET: '1',
  });
  const ask = async (body: unknown) => {
    const answer = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
  };
  const page = (first: number) => ({
    query: `{ transactions(first: ${first}) { edges { node { id signature tags { name value } } } } }`,
  });
  const consumed = async () => {
    const { body } = await gateway.get('/gw/__gateway_metrics');
    return Number(/^rate_limit_tokens_consumed_total (\d+)/m.exec(body)?.[1]);
  };
  assert.equal((await ask({ query: '{ block { id } }' })).status, 200);
  assert.equal(await consumed(), 1, 'a small question costs one token');
  assert.equal((await ask(page(1_000))).status, 200);
  const spent = await consumed();
  assert.ok(spent > 1_000 && spent < 1_600, `${spent} for a page of a thousand with signatures and tags`);
  assert.equal((await ask({ query: '{ nothing }' })).status, 400);
  assert.equal(await consumed(), spent + 1, 'what is refused was read');
  const refused = await ask([page(300), page(300)]);
  assert.equal(refused.status, 429, 'a batch is charged as a whole');
  assert.deepEqual(refused.body, { error: 'Too Many Requests', message: 'IP rate limit exceeded' });
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(await consumed(), spent + 1);
  assert.equal((await ask([page(100), page(100)])).body.length, 2);
  assert.equal((await ask(page(1_000))).status, 429);
  assert.equal((await ask({ query: '{ block { id } }' })).status, 200, 'something small still fits');
  const byUrl = await gateway.get(`/graphql?query=${encodeURIComponent('{ __typename }')}`);
  assert.deepEqual([byUrl.status, byUrl.headers.get('cache-control')], [200, 'private, max-age=30']);
});

test('chunks are metered too', async (t) => {
  const gateway = await open(t, {});
  const id = await post(gateway, 18 * 1024);
  const { offset } = JSON.parse((await gateway.get(`/tx/${id}/offset`)).body);
  assert.equal((await gateway.get(`/chunk/${offset}/data`)).status, 200);
  assert.equal((await gateway.get(`/chunk/${offset}/data`)).status, 429);
});

test('a refusal leaves nothing open of what it would have served', async (t) => {
  const gateway = await open(t, { RATE_LIMITER_IP_TOKENS_PER_BUCKET: '2000' });
  const item = await makeItem({ data: Buffer.alloc(700 * 1024, 'y') });
  const bundle = await postBundle(gateway.stack, [item]);
  await until('the bundle is read', async () => (await gateway.inside.index.locate(item.id))?.placement);
  await until('it is cached', async () => {
    const { headers } = await fetch(`${gateway.url}/raw/${bundle}`, { method: 'HEAD' });
    return headers.get('x-cache') === 'HIT';
  });
  const { hash } = (await gateway.inside.index.locate(item.id)) ?? {};
  await gateway.inside.content.dropCopies(hash === undefined ? [] : [hash]);
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(gateway.cacheFolder);
      } catch {
        return false;
      }
    }).length;
  const range = { range: `bytes=1-${690 * 1024}` };
  while ((await gateway.get(`/raw/${item.id}`, range)).status === 206);
  assert.equal((await gateway.get(`/raw/${item.id}`, range)).status, 429);
  const { hash: whole } = (await gateway.inside.index.locate(bundle)) ?? {};
  // Those that are shared and kept for a moment are closed when the file is deleted.
  await gateway.inside.content.dropCopies(whole === undefined ? [] : [whole]);
  await until('nothing is open', async () => openFiles() === 0);
});

test('the data of a transaction and its frame are metered like its content', async (t) => {
  const gateway = await open(t, {});
  const id = await post(gateway, 14 * 1024);
  assert.equal((await gateway.get(`/tx/${id}/data`)).status, 200);
  for (const path of [`/tx/${id}/data`, `/tx/${id}/data.txt`, `/local/social/frame/${id}`, `/raw/${id}`]) {
    assert.equal((await gateway.get(path)).status, 429, path);
  }
  assert.equal((await gateway.get(`/tx/${id}`)).status, 200, 'a header costs nothing');
});

test('allowed addresses are not metered, and a trusted proxy says who asks', async (t) => {
  const gateway = await open(t, {
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST: '198.51.100.0/24',
  });
  const id = await post(gateway, 15 * 1024);
  const from = async (address: string) =>
    (await gateway.get(`/raw/${id}`, { 'x-forwarded-for': address })).status;
  assert.deepEqual([await from('203.0.113.1'), await from('203.0.113.1')], [200, 429]);
  assert.equal(await from('203.0.113.2'), 200);
  assert.equal(
    await from('198.51.100.7, 203.0.113.1'),
    429,
    'an address that the client put there is not believed',
  );
  for (let time = 0; time < 3; time += 1) assert.equal(await from('198.51.100.7'), 200);
});

test('a name on the list is not metered, with its undernames; others are', async (t) => {
  const gateway = await open(
    t,
    { ARNS_ROOT_HOST: 'gateway.test', SANDBOX_ENABLED: 'false', RATE_LIMITER_ARNS_ALLOWLIST: 'Docs' },
    undefined,
    {
      names: [
        {
          name: 'all',
          resolve: async () => ({ id: id ?? '', ttlSeconds: 60, antId: 'ant', resolvedAt: 0 }),
        },
      ],
    },
  );
  let id: string | undefined;
  id = await post(gateway, 15 * 1024);
  const at = (label: string) =>
    new Promise<number>((resolve, reject) => {
      const { hostname, port } = new URL(gateway.url);
      httpRequest({ hostname, port, headers: { host: `${label}.gateway.test` } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });
  for (let time = 0; time < 3; time += 1) {
    assert.deepEqual([await at('docs'), await at('api_docs')], [200, 200]);
  }
  assert.deepEqual([await at('other'), await at('other')], [200, 429]);
  assert.equal(await at('docs'), 200, 'also when the client has nothing left');
});

test('files of a published index are charged to the same bucket', async (t) => {
  const gateway = await open(t, {});
  const id = await post(gateway, 15 * 1024);
  const { config, index } = gateway.inside;
  const observer = await readObserver(config);
  await buildBands({
    sql: index.sql,
    published: indexFolders(config.DATA_DIR).published,
    bandHeights: 1_000,
    publisher: observer.address,
  });
  await publisherOf(config, observer).publish();
  const listing = await until('the listing is there', async () => {
    const answer = await gateway.get('/gw/indexes');
    return answer.status === 200 && answer.body;
  });
  const sha256 = /"sha256":"([0-9a-f]{64})"/.exec(listing)?.[1];
  assert.ok(sha256);
  const first = await gateway.get(`/gw/indexes/blob/${sha256}`);
  assert.equal(first.status, 200);
  assert.match(first.headers.get('cache-control') ?? '', /^private, /);
  const cost = Math.max(1, Math.ceil(first.body.length / 1024));
  assert.equal((await gateway.get(`/raw/${id}`)).status, cost <= 5 ? 200 : 429);
  let reads = 0;
  while ((await gateway.get(`/gw/indexes/blob/${sha256}`)).status === 200) {
    reads += 1;
    assert.ok(reads < 20, 'content and index bytes come out of one bucket');
  }
  const refused = await gateway.get(`/gw/indexes/blob/${sha256}`);
  assert.deepEqual([refused.status, refused.headers.get('cache-control')], [429, 'no-store']);
  assert.equal((await gateway.get('/gw/indexes')).status, 200, 'the listing is free');
});

for (const engine of engines) {
  test(`what was paid for is kept through a restart on ${engine.name}, and shared`, async (t) => {
    const gateway = await open(t, {}, undefined, engine.options);
    const id = await post(gateway, 15 * 1024);
    const paid = new PaidTokens(gateway.inside.index.sql);
    await paid.credit('a payment', '127.0.0.1', 40);
    assert.equal((await gateway.get(`/raw/${id}`)).status, 200, 'from the regular tokens');
    await gateway.restart();
    const again = new PaidTokens(gateway.inside.index.sql);
    assert.equal(
      await again.credit('a payment', '127.0.0.1', 40),
      false,
      'a payment counts once, also later',
    );
    const other = await gateway.stack.addGateway();
    const statuses: number[] = [];
    for (let time = 0; time < 6; time += 1) {
      const url = time % 2 === 0 ? gateway.url : other.url;
      statuses.push((await fetch(`${url}/raw/${id}`)).status);
    }
    // Forty paid tokens are there once for both; how many regular ones are left is the engine's matter.
    const served = statuses.filter((status) => status === 200).length;
    assert.ok(served >= 2 && served <= 5, `${statuses}`);
    assert.equal((await fetch(`${gateway.url}/raw/${id}`)).status, 429);
    assert.equal((await fetch(`${other.url}/raw/${id}`)).status, 429);
  });
}

const postgres = engines.find(({ name }) => name === 'PostgreSQL');
test('two processes on PostgreSQL have one bucket for a client, also after a restart', {
  skip: postgres === undefined && 'TEST_DATABASE_URL is not set',
}, async (t) => {
  const gateway = await open(t, { RATE_LIMITER_IP_TOKENS_PER_BUCKET: '40' }, undefined, postgres?.options);
  const id = await post(gateway, 10 * 1024);
  const other = await gateway.stack.addGateway();
  const read = async (url: string) => (await fetch(`${url}/raw/${id}`)).status;
  const left = async () => {
    const row = await gateway.inside.index.sql.get<{ millitokens: number }>(
      "SELECT millitokens FROM meter_buckets WHERE bucket = '127.0.0.1'",
    );
    return row === undefined ? 40 : row.millitokens / 1000;
  };
  assert.deepEqual([await read(gateway.url), await read(other.url)], [200, 200]);
  await until('both have told', async () => (await left()) === 20);
  assert.deepEqual([await read(gateway.url), await read(other.url)], [200, 200]);
  await until('both have told', async () => (await left()) <= 0);
  await until('each knows', async () => (await read(gateway.url)) === 429 && (await read(other.url)) === 429);
  const overdrawn = -(await left());
  assert.ok(overdrawn <= 20, 'by no more than a second of one process');
  await gateway.restart();
  assert.ok([200, 429].includes(await read(gateway.url)));
  await until('it learns what is left', async () => (await read(gateway.url)) === 429);
});

/** Readers pay a tenth of a cent for ten kilobytes, to the service at `address`. */
async function openPaid(t: TestContext) {
  const facilitator = await startFacilitator(t);
  const { url, payTo, rpcUrls } = facilitator.facilitator;
  const { x402, credits } = await openX402Bench(t, { facilitatorUrl: url, payTo, rpcUrls });
  const address = 'S'.repeat(42).concat('A');
  const gateway = await open(
    t,
    {
      EGRESS_PAYMENTS: 'true',
      EGRESS_CAPACITY_MULTIPLIER: '1',
      EGRESS_USDC_PER_GB: '100000000',
      X402_FACILITATOR_URL: 'https://name:secret@facilitator.test/v2?key=secret',
      X402_PAYMENT_ADDRESS: `0x${'1'.repeat(40)}`,
    },
    {
      x402,
      pricing: { wincForUsdc: async (amount) => winc(amount * 1_000_000n) },
      wallet: { address, addressType: 'arweave' },
    },
  );
  const pay = (value: bigint) => ({
    'x-payment': encodeHeader(signPayment({ payTo, value }).paymentPayload),
  });
  return { gateway, facilitator, credits, address, payTo, pay };
}

test('who pays reads on, once for each payment', async (t) => {
  const { gateway, facilitator, credits, address, payTo, pay } = await openPaid(t);
  // A token bucket of 20 KiB; a cent buys 97 of them.
  const id = await post(gateway, 60 * 1024, 'text/plain; charset=utf-8');
  const asked = await gateway.get(`/raw/${id}`);
  assert.equal(asked.status, 402);
  assert.equal(asked.headers.get('cache-control'), 'no-store');
  const required = JSON.parse(asked.body);
  assert.deepEqual(
    [required.x402Version, required.accepts[0].maxAmountRequired, required.accepts[0].payTo],
    [1, '6000', payTo],
  );
  assert.equal(required.accepts[0].resource, `${gateway.url}/raw/${id}`);
  assert.equal(required.accepts[0].mimeType, 'text/plain; charset=utf-8');
  const { offset } = JSON.parse((await gateway.get(`/tx/${id}/offset`)).body);
  const chunk = await gateway.get(`/chunk/${offset}`);
  assert.equal(JSON.parse(chunk.body).accepts[0].mimeType, 'application/json; charset=utf-8');
  const { x402: told } = JSON.parse((await gateway.get('/gw/info')).body);
  assert.equal(told.network, required.accepts[0].network);
  assert.equal(told.facilitatorUrl, 'https://facilitator.test/v2');
  assert.deepEqual(told.dataEgress.pricing.exampleCosts, {
    '1KB': '0.001000',
    '1MB': '0.105000',
    '1GB': '1.000000',
  });

  await facilitator.mint(examplePayment.payer, 1_000_000n);
  const payment = pay(6_000n);
  const paid = await gateway.get(`/raw/${id}`, payment);
  assert.equal(paid.status, 200);
  assert.equal(paid.body.length, 60 * 1024);
  const receipt = Buffer.from(paid.headers.get('x-payment-response') ?? '', 'base64').toString();
  assert.equal(JSON.parse(receipt).success, true);
  assert.equal(await facilitator.balance(examplePayment.payer), '994000');
  assert.equal((await credits.balance(address))?.winc, 6_000_000_000n, 'the service is credited');
  assert.equal(await credits.balance(examplePayment.payer), undefined);

  const again = await gateway.get(`/raw/${id}`, payment);
  assert.equal(again.status, 429, 'a payment that is spent buys nothing twice');
  assert.equal(await facilitator.balance(examplePayment.payer), '994000');
  assert.equal((await gateway.get(`/raw/${id}`)).status, 402);

  for (const bad of ['not base64 json', encodeHeader({ x402Version: 1 })]) {
    assert.equal((await gateway.get(`/raw/${id}`, { 'x-payment': bad })).status, 402);
  }
  assert.equal(await facilitator.balance(examplePayment.payer), '994000');
});

test('less than what was asked buys nothing, and is not taken', async (t) => {
  const { gateway, facilitator, credits, address, pay } = await openPaid(t);
  await facilitator.mint(examplePayment.payer, 1_000_000n);
  const id = await post(gateway, 60 * 1024);
  assert.equal((await gateway.get(`/raw/${id}`)).status, 402);
  const refused = await gateway.get(`/raw/${id}`, pay(5_760n));
  assert.equal(refused.status, 402);
  assert.equal(JSON.parse(refused.body).error, 'invalid_exact_evm_payload_authorization_value');
  assert.equal(await facilitator.balance(examplePayment.payer), '1000000');
  assert.equal(await credits.balance(address), undefined);
});

test('a payment that was sent for something small buys no more when it comes again for something large', async (t) => {
  const { gateway, facilitator, pay } = await openPaid(t);
  await facilitator.mint(examplePayment.payer, 1_000_000n);
  const [small, large] = [await post(gateway, 1024), await post(gateway, 60 * 1024)];
  await facilitator.call('POST', '/test/faults', { refuse: 1 });
  const payment = pay(1_000n);
  assert.equal(
    (await gateway.get(`/raw/${small}`, payment)).status,
    503,
    'it is not known what became of it',
  );
  assert.equal((await gateway.get(`/raw/${large}`, payment)).status, 429);
  assert.equal(
    await facilitator.balance(examplePayment.payer),
    '999000',
    'it was taken, and counts for what it paid',
  );
  const tokens = await gateway.inside.index.sql.get<{ tokens: number }>('SELECT tokens FROM meter_payments');
  assert.equal(tokens?.tokens, 9);
});

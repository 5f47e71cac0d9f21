import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { contentDigest, ethereumPayer, signedHeaders } from '../../../test/support/request-signers.ts';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { testServer } from '../../kernel/testing.ts';
import { openReturnsBench, payByChain, returnsTestMigrations } from '../../payments/returns/testing.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { createAuthenticator } from '../auth/request-wallet.ts';
import { createReturnsPart } from '../returns/part.ts';
import { answerFailures } from '../route-failures.ts';

const service = 'ServiceWalletServiceWalletServiceWalletSer0';
const path = '/v1/account/returns';

async function openBench() {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-account-returns-'));
  const sql = await openDatabase({
    ...{ databaseUrl: undefined, dataDir: folder, name: 'ledger', migrations: returnsTestMigrations },
  });
  const bench = openReturnsBench(sql);
  const now = () => bench.clock.now;
  const signatures = new RequestSignatures({ sql, service, now });
  const auth = createAuthenticator({ jwtSecret: 'secret', signatures, now });
  const part = createReturnsPart({ sql, returns: bench.returns, auth, signatures });
  const server = testServer({ name: 'payment', admit: signatures.admit });
  signatures.watch(server.app);
  server.mount(
    async (app) => {
      answerFailures(app);
      await part.routes?.(app);
    },
    ['/v1'],
  );
  server.mount(
    async (app) => {
      answerFailures(app);
      await part.adminRoutes?.(app);
    },
    ['/admin'],
  );
  await server.app.ready();
  const ask = async (
    method: 'GET' | 'POST',
    url: string,
    headers: Record<string, string> = {},
    payload?: string,
  ) => {
    const answer = await server.app.inject({
      ...{ method, url, headers: { 'content-type': 'application/json', ...headers } },
      ...(payload !== undefined && { payload }),
    });
    const json: unknown = tryParseJson(answer.body);
    return { status: answer.statusCode, json };
  };
  return {
    ...bench,
    ask,
    async close() {
      await server.app.close();
      await sql.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe('/account/returns', () => {
  let bench: Awaited<ReturnType<typeof openBench>>;
  const payer = ethereumPayer();
  before(async () => {
    bench = await openBench();
  });
  after(() => bench.close());

  let payments = 0;
  const pay = async () => {
    payments += 1;
    const order = { id: `tx${payments}`, quantity: 1_000n, bought: 5_000n, at: bench.clock.now };
    return payByChain(bench.sql, bench.credits, payer.address, order);
  };
  const balance = async () => (await bench.credits.balance(payer.address))?.winc ?? 0n;
  const bound = (body: string, nonce: string = randomUUID()) =>
    signedHeaders(payer, nonce, { service, method: 'POST', path, contentDigest: contentDigest(body) });

  it('lists what can be returned, to the wallet alone', async () => {
    const payment = await pay();
    const { status, json } = await bench.ask('GET', path, await signedHeaders(payer, 'reading'));
    assert.equal(status, 200);
    assert.deepEqual(
      [memberOf(json, 'windowDays'), memberOf(json, 'feePercent'), memberOf(json, 'returns')],
      [14, 0, []],
    );
    assert.deepEqual(memberOf(json, 'payments'), [
      {
        ...{ payment, kind: 'chain', token: 'arweave', to: 'sender of tx1', transactionId: 'tx1' },
        ...{ date: '2026-01-01T00:00:00.000Z', until: '2026-01-15T00:00:00.000Z', wincCredited: '5000' },
        ...{ paid: '1000', unspentWinc: '5000', amount: '1000', byHand: false, refusal: null },
      },
    ]);
    assert.equal((await bench.ask('GET', path)).status, 403);
  });

  it('returns once for a signature over the very request, under twenty at once', async () => {
    const payment = await pay();
    const had = await balance();
    const body = JSON.stringify({ payment });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => bench.ask('POST', path, await bound(body), body)),
    );
    const made = answers.filter(({ status }) => status === 200);
    assert.equal(made.length, 1);
    assert.deepEqual(
      [memberOf(made[0]?.json, 'state'), memberOf(made[0]?.json, 'amount'), memberOf(made[0]?.json, 'winc')],
      ['due', '1000', '5000'],
    );
    const others = answers.filter(({ status }) => status !== 200);
    assert.ok(
      others.every(({ status, json }) => status === 409 && json === 'Not returnable: nothing of it is left'),
    );
    assert.equal(await balance(), had - 5_000n);
  });

  it('answers the same request the same, and no other request with its signature', async () => {
    const payment = await pay();
    const body = JSON.stringify({ payment, amount: '2500' });
    const headers = await bound(body);
    const first = await bench.ask('POST', path, headers, body);
    assert.equal(first.status, 200);
    assert.deepEqual(await bench.ask('POST', path, headers, body), first);
    const had = await balance();
    const other = JSON.stringify({ payment, amount: '2400' });
    assert.equal((await bench.ask('POST', path, headers, other)).status, 403);
    assert.equal(await balance(), had);
  });

  it('refuses every signature that does not cover the request, and changes nothing', async () => {
    const payment = await pay();
    const had = await balance();
    const body = JSON.stringify({ payment });
    const elsewhere = { service, method: 'POST', path: '/v1/other', contentDigest: contentDigest(body) };
    const another = { ...elsewhere, service: 'another', path };
    const attempts = [
      {},
      await signedHeaders(payer),
      await signedHeaders(payer, 'reading'),
      await signedHeaders(payer, randomUUID(), elsewhere),
      await signedHeaders(payer, randomUUID(), another),
      await signedHeaders(payer, 'reading', { ...elsewhere, path }),
      await signedHeaders(payer, randomUUID(), { ...elsewhere, path, contentDigest: '' }),
    ];
    for (const headers of attempts) {
      const { status } = await bench.ask('POST', path, headers, body);
      assert.equal(status, 403);
    }
    assert.equal(await balance(), had);
  });

  it('refuses bad amounts and payments of others', async () => {
    const payment = await pay();
    const had = await balance();
    const cases: [object, number][] = [
      [{ payment, amount: '0' }, 400],
      [{ payment, amount: '-1' }, 400],
      [{ payment, amount: '1.5' }, 400],
      [{ payment, amount: '5001' }, 400],
      [{ payment: 'unknown' }, 404],
      [{ payment: '' }, 400],
      [{}, 400],
    ];
    for (const [content, expected] of cases) {
      const body = JSON.stringify(content);
      const { status } = await bench.ask('POST', path, await bound(body), body);
      assert.equal(status, expected, body);
    }
    const stranger = ethereumPayer('stranger');
    const body = JSON.stringify({ payment });
    const digest = { service, method: 'POST', path, contentDigest: contentDigest(body) };
    const headers = await signedHeaders(stranger, randomUUID(), digest);
    assert.equal((await bench.ask('POST', path, headers, body)).status, 404);
    assert.equal(await balance(), had);
  });

  it('lets the operator see, settle and refuse what waits', async () => {
    bench.bank.hasKey = false;
    const orders = [await pay(), await pay()];
    const ids = await Promise.all(
      orders.map(async (payment) => {
        const body = JSON.stringify({ payment });
        return String(memberOf((await bench.ask('POST', path, await bound(body), body)).json, 'id'));
      }),
    );
    await bench.work();
    const { json } = await bench.ask('GET', '/admin/returns?state=by_hand&limit=1');
    const shown = memberOf(json, 'returns');
    assert.ok(Array.isArray(shown) && shown.length === 1 && memberOf(shown[0], 'state') === 'by_hand');
    assert.equal(typeof memberOf(json, 'next'), 'string');
    const act = (id: string | undefined, what: string, content: object) =>
      bench.ask('POST', `/admin/returns/${id}/${what}`, {}, JSON.stringify(content));
    assert.deepEqual(await act(ids[0], 'settle', { transaction: 'tx9' }), {
      status: 409,
      json: 'Not settled: its chain says that it is not there',
    });
    const recipient = `sender of ${orders[0]?.slice('test:'.length)}`;
    bench.transfers.set('tx9', { recipient, quantity: 1_000n });
    assert.equal((await act(ids[0], 'settle', { transaction: 'tx9' })).status, 200);
    assert.equal((await act(ids[0], 'refuse', { reason: 'late' })).status, 404);
    const had = await balance();
    assert.equal((await act(ids[1], 'refuse', { reason: 'an exchange' })).status, 200);
    assert.equal(await balance(), had + 5_000n);
    assert.equal((await act(ids[1], 'retry', {})).status, 404);
  });
});

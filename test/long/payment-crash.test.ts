/** Money survives `kill -9`: nothing that was paid is lost, and nothing is credited twice. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { startProvider } from '../../src/localnet/card/testing.ts';
import { signPayment, startFacilitator } from '../../src/localnet/x402/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { ledgerMigrations, type PaymentProcessOptions } from '../support/payment-process.ts';
import { seededRandom } from '../support/seeded-random.ts';

const script = join(import.meta.dirname, '../support/payment-process.ts');
const wallet = `${'w'.repeat(42)}A`;
const full = 1_225_600_000_000n;

interface Service {
  readonly url: string;
  kill(): Promise<void>;
}

async function startService(t: TestContext, options: PaymentProcessOptions): Promise<Service> {
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stdout !== null);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => Promise.reject(new Error('the service did not start'))),
  ]);
  const { url }: { url: string } = JSON.parse(line);
  return {
    url,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-crash-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A payment intent to confirm; undefined when the service died over it. */
async function openSession(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${url}/v1/top-up/payment-intent/${wallet}/usd/1000`);
    const { paymentSession }: { paymentSession: { id: string } } = JSON.parse(await answer.text());
    return paymentSession.id;
  } catch {
    return undefined;
  }
}

const openLedger = (dataDir: string) =>
  openDatabase({ databaseUrl: undefined, dataDir, name: 'ledger', migrations: ledgerMigrations });

test('card payments are credited exactly once through crashes of the service at random moments', async (t) => {
  const random = seededRandom(4242);
  const dataDir = await folderFor(t);
  const { provider, stripe } = await startProvider(t);
  const facilitator = await startFacilitator(t);
  const options: PaymentProcessOptions = {
    dataDir,
    card: { url: provider.url, secretKey: provider.secretKey, webhookSecret: provider.webhookSecret },
    x402: { url: facilitator.facilitator.url, payTo: facilitator.payTo, rpcUrls: {} },
  };
  await fetch(`${provider.url}/test/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${provider.secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ duplicate: 1_000_000 }),
  });
  let service = await startService(t, options);
  const perRound = 8;
  let paid = 0;
  for (let round = 0; round < 6; round += 1) {
    await provider.deliverTo(`${service.url}/v1/stripe-webhook`);
    const { url } = service;
    const killAfter = 1 + random.below(perRound - 1);
    const enough = Promise.withResolvers<void>();
    let paidNow = 0;
    const payments = Array.from({ length: perRound }, async () => {
      const session = await openSession(url);
      if (session === undefined) return;
      await stripe.paymentIntents.confirm(session, { payment_method: 'pm_card_visa' });
      paidNow += 1;
      if (paidNow === killAfter) enough.resolve();
    });
    await Promise.race([enough.promise, Promise.all(payments)]);
    await service.kill();
    await Promise.all(payments);
    paid += paidNow;
    service = await startService(t, options);
  }
  assert.ok(paid > 0);
  await provider.deliverTo(`${service.url}/v1/stripe-webhook`);
  const expected = BigInt(paid) * full;
  const sql = await openLedger(dataDir);
  const credits = createCredits({ sql });
  try {
    for (let tries = 0; tries < 2_400; tries += 1) {
      if (((await credits.balance(wallet))?.winc ?? 0n) >= expected) break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    assert.equal((await credits.balance(wallet))?.winc, expected);
    assert.equal((await stripe.refunds.list()).data.length, 0);
    const check = await credits.selfCheck();
    assert.deepEqual(check.problems, []);
    assert.equal((await credits.payments(wallet, { limit: 100 })).items.length, paid);
  } finally {
    await service.kill();
    await sql.close();
  }
});

test('an x402 payment is credited once when the service dies between settlement and credit', async (t) => {
  const dataDir = await folderFor(t);
  const { provider } = await startProvider(t);
  const facilitator = await startFacilitator(t);
  const payer = examplePayment.payer;
  await facilitator.mint(payer, 50_000_000n);

  // Stands between the service and the facilitator: kills the service once the transfer is made.
  let service: Service | undefined;
  const killer = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = await facilitator.call('POST', request.url ?? '', JSON.parse(body));
    if (request.url === '/settle') {
      await service?.kill();
      response.destroy();
    } else {
      response.end(JSON.stringify(answer));
    }
  });
  await new Promise<void>((resolve) => killer.listen(0, '127.0.0.1', resolve));
  t.after(() => killer.close());
  const { port } = killer.address() as AddressInfo;
  const options: PaymentProcessOptions = {
    dataDir,
    card: { url: provider.url, secretKey: provider.secretKey, webhookSecret: provider.webhookSecret },
    x402: {
      url: `http://127.0.0.1:${port}`,
      payTo: facilitator.payTo,
      rpcUrls: facilitator.facilitator.rpcUrls,
    },
  };
  service = await startService(t, options);
  const asked = await fetch(`${service.url}/v1/x402/top-up?type=credits&qty=1`);
  assert.equal(asked.status, 402);
  const { maxAmountRequired }: { maxAmountRequired: string } = JSON.parse(await asked.text());
  const { paymentPayload } = signPayment({ payTo: facilitator.payTo, value: BigInt(maxAmountRequired) });
  const headers = { 'x-payment': encodeHeader(paymentPayload) };
  await assert.rejects(fetch(`${service.url}/v1/x402/top-up?type=credits&qty=1`, { headers }));
  assert.equal(await facilitator.balance(facilitator.payTo), maxAmountRequired);

  const sql = await openLedger(dataDir);
  const credits = createCredits({ sql });
  assert.equal(await credits.balance(payer), undefined);
  // The lease of the dead process runs out before anybody else may touch the payment.
  await sql.run('UPDATE x402_payments SET leased_until = 0');
  service = await startService(t, options);
  for (let tries = 0; tries < 2_400 && (await credits.balance(payer)) === undefined; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const balance = (await credits.balance(payer))?.winc ?? 0n;
  assert.ok(balance >= 1_000_000_000_000n);
  const again = await fetch(`${service.url}/v1/x402/top-up?type=credits&qty=1`, { headers });
  assert.equal(again.status, 200);
  assert.equal((await credits.balance(payer))?.winc, balance);
  assert.equal(await facilitator.balance(facilitator.payTo), maxAmountRequired);
  assert.ok((await credits.selfCheck()).ok);
  await service.kill();
  await sql.close();
});

/** What a facilitator's answers mean, over HTTP: a refusal is one, silence and nonsense are not. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { FacilitatorRequest } from '../../formats/x402/facilitator.ts';
import type { RequirementV2 } from '../../formats/x402/requirements.ts';
import { silentLog } from '../../kernel/testing.ts';
import { FacilitatorUnavailable } from './errors.ts';
import { FacilitatorClient } from './facilitator-client.ts';
import { UpToSupport } from './up-to-support.ts';

const transaction = `0x${'aB'.repeat(32)}`;
const requirements: RequirementV2 = {
  ...{ scheme: 'upto', network: 'eip155:8453', payTo: '0xus', asset: '0xusdc', amount: '5' },
  ...{ maxTimeoutSeconds: 60, extra: { name: 'USDC', version: '2' } },
};
const request: FacilitatorRequest = {
  ...{ x402Version: 2, paymentPayload: { x402Version: 2 }, paymentRequirements: requirements },
};
const exact: FacilitatorRequest = { ...request, paymentRequirements: { ...requirements, scheme: 'exact' } };

async function setUp(t: TestContext, token?: string) {
  const asked: string[] = [];
  let answer: { status: number; body: string } = { status: 200, body: '{}' };
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    asked.push([incoming.method, incoming.url, incoming.headers.authorization, body.length > 0].join(' '));
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new FacilitatorClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ token, verifyTimeoutMs: 60_000, settleTimeoutMs: 60_000 },
  });
  t.after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const says = (body: unknown, status = 200) => {
    answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  };
  return { client, says, asked };
}

test('a settlement is one with a transaction, of the amount that was asked for', async (t) => {
  const { client, says, asked } = await setUp(t, 'secret');
  says({ success: true, transaction, payer: '0xpayer', network: 'elsewhere' });
  const base = { success: true, transaction, network: 'eip155:8453', payer: '0xpayer' };
  assert.deepEqual(await client.settle(request), { ...base, amount: '5' });
  assert.deepEqual(await client.settle(exact), base, 'an exact one is of what was signed');
  assert.deepEqual(asked, ['POST /settle Bearer secret true', 'POST /settle Bearer secret true']);
  says({ success: true, transaction, amount: '5' });
  assert.equal((await client.settle(request)).amount, '5');
  says({ success: true, transaction, amount: '4' });
  await assert.rejects(client.settle(request), /took another amount/);
  assert.equal((await client.settle(exact)).success, true);
  for (const broken of [undefined, '', 5, transaction.slice(1), `${transaction}0`]) {
    says({ success: true, transaction: broken });
    await assert.rejects(client.settle(request), FacilitatorUnavailable);
  }
  says({ success: 'yes', transaction });
  await assert.rejects(client.settle(request), FacilitatorUnavailable);
});

test('a refusal is one also with the status 400; what is no answer is not', async (t) => {
  const { client, says, asked } = await setUp(t);
  says({ success: false, errorReason: 'x'.repeat(300), amount: '4' }, 400);
  assert.deepEqual(await client.settle(request), {
    ...{ success: false, transaction: '', network: 'eip155:8453', errorReason: 'x'.repeat(200) },
  });
  says({ isValid: false, invalidReason: 'late' }, 400);
  assert.deepEqual(await client.verify(request), { isValid: false, invalidReason: 'late' });
  says({ isValid: true });
  assert.deepEqual(await client.verify(request), { isValid: true });
  assert.equal(asked.at(-1), 'POST /verify  true');
  says({ isValid: 'yes' });
  await assert.rejects(client.verify(request), FacilitatorUnavailable);
  for (const [body, status] of [
    [{ isValid: true }, 500],
    ['<html>', 200],
    ['[]', 200],
  ] as const) {
    says(body, status);
    await assert.rejects(client.verify(request), FacilitatorUnavailable);
  }
});

test('it tells where it takes payments up to an amount, and at which address', async (t) => {
  const { client, says, asked } = await setUp(t);
  const kind = (more: object) => ({
    ...{ scheme: 'upto', x402Version: 2, network: 'eip155:8453' },
    extra: { facilitatorAddress: `0x${'11'.repeat(20)}` },
    ...more,
  });
  says({
    kinds: [
      kind({}),
      kind({ network: 'eip155:1', scheme: 'exact' }),
      kind({ network: 'eip155:2', x402Version: 1 }),
      kind({ network: 'eip155:3', extra: { facilitatorAddress: 'nobody' } }),
      kind({ network: 'eip155:4', extra: undefined }),
      kind({ network: undefined }),
      null,
    ],
  });
  assert.deepEqual([...(await client.upToAddresses())], [['eip155:8453', `0x${'11'.repeat(20)}`]]);
  assert.equal(asked.at(-1), 'GET /supported  false');
  says({ kinds: 'all' });
  assert.equal((await client.upToAddresses()).size, 0);
});

test('what it supports is asked again after ten minutes, and sooner where it did not say', async () => {
  let now = 0;
  let asked = 0;
  let isAway = false;
  const support = new UpToSupport(
    {
      async upToAddresses() {
        asked += 1;
        if (isAway) throw new FacilitatorUnavailable('away');
        return new Map([['eip155:8453', '0x1']]);
      },
    },
    silentLog,
    () => now,
  );
  assert.equal((await support.facilitators()).size, 1);
  now = 10 * 60_000 - 1;
  await support.facilitators();
  assert.equal(asked, 1);
  now += 1;
  isAway = true;
  assert.equal((await support.facilitators()).size, 0);
  assert.equal(asked, 2);
  now += 9_999;
  assert.equal((await support.facilitators()).size, 0);
  assert.equal(asked, 2);
  now += 1;
  isAway = false;
  assert.equal((await support.facilitators()).size, 1);
  assert.equal(asked, 3);
});

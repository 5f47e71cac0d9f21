/** Money and names move by one signature over one request, once: what somebody saw is good for nothing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, it, test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import {
  at,
  NamesBench,
  type NamesBenchOptions,
  namesLedgerMigrations,
  ownerHeaders,
  payerHeaders,
  serviceAddress,
  text,
} from '../../test/support/names-bench.ts';
import {
  contentDigest,
  payersOfEachKind,
  type RequestSigner,
  signedHeaders,
} from '../../test/support/request-signers.ts';
import { winc } from '../credits/credits.ts';
import { addressBytes, parseSolanaAddress } from '../formats/solana/address.ts';
import { wallet } from '../localnet/solana/testing.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { verifyRequestSignatureAsync } from '../wallets/request-signature.ts';
import { signEd25519 } from '../wallets/solana/ed25519.ts';
import { ownerText } from './actions/owner-proof.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');
const thief = wallet('thief');
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const older = 'U9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const replayed = [401, 'Nonce already used — replay rejected'];
const another = [409, 'This nonce was used for another request; nothing was done, sign a new nonce'];
let bench: NamesBench;

async function start(options: NamesBenchOptions = {}): Promise<NamesBench> {
  const started = await NamesBench.start(options);
  await started.give(payer, 10_000n * credit);
  for (const { address, kind } of payersOfEachKind()) {
    const gift = { address, addressType: kind, amount: winc(1_000n * credit), id: `given ${address}` };
    await started.credits.credit({ ...gift, reason: 'payment' });
  }
  await started.buy('kept-name', owner, payer);
  return started;
}

before(async () => {
  bench = await start();
});
after(() => bench.stop());

const balanceOf = async (signer: RequestSigner) => (await bench.credits.balance(signer.address))?.winc;
const theft = { name: 'stolen', ownerAddress: thief.address, type: 'lease', years: 1 };
const increase = { name: 'kept-name', increaseQty: 1 };

/** Every way to write the same headers that a service takes. */
function encodings(headers: Record<string, string>): Record<string, string>[] {
  const { 'x-signature': signature = '', 'x-public-key': key = '' } = headers;
  const forms = (field: string) => {
    const bytes = Buffer.from(field, 'base64url');
    return [field, bytes.toString('base64'), `${field}=`];
  };
  const signatures = forms(signature);
  const keys = forms(key);
  const bytes = Buffer.from(signature, 'base64url');
  if (bytes.length === 65) {
    bytes[64]! -= 27;
    signatures.push(bytes.toString('base64url'));
    const publicKey = Buffer.from(key, 'base64url');
    keys.push(`0x${publicKey.toString('hex')}`);
    const compressed = Buffer.concat([Buffer.from([2 + (publicKey[64]! & 1)]), publicKey.subarray(1, 33)]);
    keys.push(`0x${compressed.toString('hex')}`);
  }
  return signatures.flatMap((one) =>
    keys.map((other) => ({ ...headers, 'x-signature': one, 'x-public-key': other })),
  );
}

async function holds(headers: Record<string, string>): Promise<boolean> {
  const { 'x-nonce': nonce = '', 'x-signature': signature = '', 'x-public-key': publicKey = '' } = headers;
  return (await verifyRequestSignatureAsync({ nonce, signature, publicKey })) !== undefined;
}

test('a signature acts once, whatever it is encoded in and in whichever letter case its nonce is', async () => {
  for (const signer of payersOfEachKind()) {
    const nonce = randomUUID();
    const headers = await signedHeaders(signer, nonce);
    const first = await bench.post('/arns/actions/increase-undername-limit', increase, headers);
    assert.equal(text(first.body, 'status'), 'completed', JSON.stringify(first.body));
    const held = await balanceOf(signer);
    for (const shown of encodings(headers)) {
      assert.ok(await holds(shown), JSON.stringify(shown));
      const answer = await bench.post('/arns/actions/buy-name', theft, shown);
      assert.deepEqual([answer.status, answer.body], another);
      const again = await bench.post('/arns/actions/increase-undername-limit', increase, shown);
      assert.deepEqual([again.status, at(again.body, 'alreadyCompleted')], [200, true]);
    }
    const upper = await signedHeaders(signer, nonce.toUpperCase());
    assert.ok(await holds(upper));
    const same = await bench.post('/arns/actions/increase-undername-limit', increase, upper);
    assert.deepEqual([same.status, text(same.body, 'nonce')], [200, nonce]);
    assert.deepEqual((await bench.post('/arns/actions/buy-name', theft, upper)).status, 409);
    assert.equal(await balanceOf(signer), held);
  }
});

test('what was shown on any other route, and however that answered, never acts', async () => {
  const nonce = randomUUID();
  const shows: readonly [string, string, number, string?][] = [
    ['GET', '/v1/arns/price/buy-name/some-name?type=permabuy', 200],
    ['GET', '/v1/arns/price/buy-name/some-name', 400],
    ['GET', `/v1/arns/quote/payment-intent/${payer.address}/usd/upgrade-name/kept-name`, 503],
    ['GET', '/v1/arns/quote/nothing/x/usd/upgrade-name/kept-name', 400],
    ['GET', `/v1/arns/my-names/${payer.address}`, 200],
    ['GET', `/v1/arns/purchase/${nonce}`, 400],
    ['GET', `/v1/arns/actions/${nonce}`, 404],
    ['GET', '/v1/arns/actions/transfer/price', 200],
    ['POST', `/v1/arns/actions/${nonce}/sign`, 404, '{}'],
    ['POST', `/v1/arns/actions/${nonce}/sign`, 400, '{'],
    ['POST', '/v1/arns/actions/sell-name', 404, '{}'],
    ['POST', '/v1/arns/actions/buy-name', 400, '{'],
    ['POST', '/v1/arns/actions/buy-name', 400, '{"name":"some-name"}'],
    ['PUT', '/v1/arns/actions/buy-name', 405],
    ['GET', '/v1/nowhere', 404],
    ['DELETE', '/elsewhere', 404],
  ];
  for (const signer of payersOfEachKind()) {
    const held = await balanceOf(signer);
    for (const [method, url, status, payload] of shows) {
      const headers = await signedHeaders(signer);
      const shown = await bench.server.app.inject({
        method:
          method === 'PUT' ? 'PUT' : method === 'DELETE' ? 'DELETE' : method === 'POST' ? 'POST' : 'GET',
        url,
        headers: { ...headers, ...(payload !== undefined && { 'content-type': 'application/json' }) },
        ...(payload !== undefined && { payload }),
      });
      assert.equal(shown.statusCode, status, `${method} ${url}: ${shown.body}`);
      for (const [action, body] of [
        ['buy-name', theft],
        ['increase-undername-limit', increase],
      ] as const) {
        const answer = await bench.post(`/arns/actions/${action}`, body, headers);
        assert.deepEqual([answer.status, answer.body], replayed, `${method} ${url}`);
      }
      // The nonce is used up, not only this signature over it.
      const fresh = await signedHeaders(signer, headers['x-nonce']);
      assert.deepEqual((await bench.post('/arns/actions/buy-name', theft, fresh)).status, 401);
    }
    assert.equal(await balanceOf(signer), held);
  }
  assert.equal((await bench.registry.name('stolen')).record, undefined);
});

test('a request that is cut off while it is sent has shown its signature', async () => {
  await bench.server.listen();
  const headers = payerHeaders(payer);
  const cut = httpRequest(`${bench.server.url}/v1/arns/actions/buy-name`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': '1000',
      expect: '100-continue',
    },
  });
  cut.on('error', () => {});
  cut.flushHeaders();
  const rows = () =>
    bench.sql.all('SELECT key FROM spent_signatures WHERE key = ?', headers['x-nonce'] ?? '');
  await new Promise((told) => cut.once('continue', told));
  cut.write('{"name":');
  cut.destroy();
  await eventually('the signature is spent', async () => (await rows()).length === 1);
  const answer = await bench.post('/arns/actions/buy-name', theft, headers);
  assert.deepEqual([answer.status, answer.body], replayed);
});

test('a nonce stands for the first request with it, even if that came to nothing', async () => {
  const poor = wallet('poor payer');
  const nonce = randomUUID();
  const create = (action: string, body: Readonly<Record<string, unknown>>, headers = {}) =>
    bench.create(action, body, poor, { nonce, headers });
  assert.equal((await create('buy-name', { ...theft, name: 'asked-for' })).status, 402);
  await bench.give(poor, 100n * credit);
  const held = await bench.balance(poor);
  const refused = await create('buy-name', theft);
  assert.deepEqual([refused.status, refused.body], another);
  assert.equal(await bench.balance(poor), held);
  const again = await create('buy-name', { ...theft, name: 'asked-for' });
  assert.equal(again.status, 200, JSON.stringify(again.body));
});

test('the same payer and nonce with anything else is refused and changes nothing', async () => {
  const lender = wallet('lender');
  await bench.give(lender, 100n * credit);
  const amount = winc(50n * credit);
  await bench.credits.approve({ id: 'loan', payer: lender.address, approved: payer.address, amount });
  const nonce = randomUUID();
  const body = { name: 'asked-once', ownerAddress: owner.address, type: 'lease', years: 1 };
  const first = await bench.create('buy-name', body, payer, { nonce });
  assert.deepEqual(
    [first.status, at(first.body, 'name'), at(first.body, 'ownerAddress')],
    [200, 'asked-once', owner.address],
  );
  const stored = await bench.get(`/arns/actions/${nonce}`);
  assert.deepEqual([at(stored.body, 'name'), at(stored.body, 'ownerAddress')], ['asked-once', owner.address]);
  const held = await bench.balance(payer);
  const others: readonly [string, Readonly<Record<string, unknown>>][] = [
    ['buy-name', { ...body, name: 'asked-twice' }],
    ['buy-name', { ...body, ownerAddress: thief.address }],
    ['buy-name', { ...body, type: 'permabuy' }],
    ['buy-name', { ...body, years: 2 }],
    ['buy-name', { ...body, antState: { ticker: 'T' } }],
    ['buy-name', { ...body, paidBy: [lender.address] }],
    ['extend-lease', { name: 'kept-name', years: 1 }],
    ['increase-undername-limit', increase],
  ];
  for (const [action, other] of others) {
    const answer = await bench.create(action, other, payer, { nonce });
    assert.deepEqual([answer.status, answer.body], another, JSON.stringify(other));
  }
  assert.equal(await bench.balance(payer), held);
  assert.equal(await bench.balance(lender), 50n * credit);
  const again = await bench.create('buy-name', body, payer, { nonce });
  assert.deepEqual([again.status, again.body], [200, first.body]);
});

async function recordTarget(on: NamesBench, antId: string, undername: string): Promise<string | undefined> {
  return (await on.registry.antRecord(parseSolanaAddress(antId), undername))?.record?.target;
}

test("an owner's proof acts once, however its nonce is cut, and is never forgotten", async () => {
  const later = await start();
  try {
    const antId = await later.buy('proven-name', owner, payer);
    const body = {
      antId,
      ownerAddress: owner.address,
      undername: 'docs',
      transactionId: older,
      ttlSeconds: 3600,
    };
    const old = ownerHeaders('set-record', body, owner);
    assert.equal((await later.create('set-record', body, payer, { headers: old })).status, 200);
    const now = { ...body, transactionId: target };
    assert.equal((await later.create('set-record', now, payer, { owner })).status, 200);
    later.ledger.skipSeconds(20 * 365 * 86_400);
    await later.names.reconcile();
    const stranger = wallet('stranger');
    await later.give(stranger, 100n * credit);
    const held = await later.balance(stranger);
    const nonce = old['x-owner-nonce'] ?? '';
    const moved = await later.create('set-record', { ...body, ttlSeconds: 360 }, stranger, {
      headers: { ...old, 'x-owner-nonce': `0${nonce}` },
    });
    assert.equal(moved.status, 401, JSON.stringify(moved.body));
    const replay = await later.create('set-record', body, stranger, { headers: old });
    assert.deepEqual([replay.status, replay.body], replayed);
    const padded = { ...old, 'x-owner-signature': `${old['x-owner-signature']}==` };
    assert.deepEqual(
      (await later.create('set-record', body, stranger, { headers: padded })).body,
      replayed[1],
    );
    const upper = ownerHeaders('set-record', body, owner, nonce.toUpperCase());
    assert.deepEqual(
      (await later.create('set-record', body, stranger, { headers: upper })).body,
      replayed[1],
    );
    assert.equal(await recordTarget(later, antId, 'docs'), target);
    assert.equal(await later.balance(stranger), held);
  } finally {
    await later.stop();
  }
});

test("an owner's proof that was shown elsewhere, or for somebody who could not pay, acts for nobody else", async () => {
  const antId = await bench.buy('shown-name', owner, payer);
  const body = { antId, ownerAddress: owner.address, undername: 'docs', transactionId: older };
  const poor = wallet('poor asker');
  const shows: readonly ((proof: Record<string, string>) => Promise<{ status: number }>)[] = [
    (proof) => bench.get('/arns/price/upgrade-name/shown-name', proof),
    (proof) => bench.get('/nowhere', proof),
    (proof) => bench.post(`/arns/actions/${randomUUID()}/sign`, {}, proof),
    (proof) => bench.create('increase-undername-limit', increase, payer, { headers: proof }),
    (proof) => bench.create('remove-record', { ...body, undername: 'none' }, payer, { headers: proof }),
    (proof) => bench.post('/arns/actions/set-record', body, proof),
    (proof) => bench.create('set-record', body, poor, { headers: proof }),
  ];
  for (const show of shows) {
    const proof = ownerHeaders('set-record', body, owner);
    await show(proof);
    const held = await bench.balance(payer);
    const answer = await bench.create('set-record', body, payer, { headers: proof });
    assert.deepEqual([answer.status, answer.body], replayed, show.toString());
    assert.equal(await bench.balance(payer), held);
  }
  assert.equal(await recordTarget(bench, antId, 'docs'), undefined);
  // Who could not pay may ask for the very same again.
  const proof = ownerHeaders('set-record', body, owner);
  const nonce = randomUUID();
  assert.equal((await bench.create('set-record', body, poor, { nonce, headers: proof })).status, 402);
  await bench.give(poor, 10n * credit);
  const done = await bench.create('set-record', body, poor, { nonce, headers: proof });
  assert.equal(text(done.body, 'status'), 'completed', JSON.stringify(done.body));
});

async function boundPost(
  on: NamesBench,
  signer: RequestSigner,
  action: string,
  body: unknown,
  changes: { service?: string; path?: string; digest?: string; query?: string; sent?: unknown } = {},
) {
  const path = `/arns/actions/${action}${changes.query ?? ''}`;
  const headers = await signedHeaders(signer, randomUUID(), {
    service: changes.service ?? serviceAddress,
    method: 'POST',
    path: changes.path ?? `/v1${path}`,
    contentDigest: changes.digest ?? contentDigest(JSON.stringify(body)),
  });
  return { headers, answer: await on.post(path, changes.sent ?? body, headers) };
}

test('a bound signature acts on its own request and on no other', async () => {
  for (const signer of payersOfEachKind()) {
    const held = await balanceOf(signer);
    const action = 'increase-undername-limit';
    for (const [changes, words] of [
      [{ service: target }, 'The signature is for another service'],
      [{ service: `${serviceAddress}A` }, 'The signature is for another service'],
      [{ path: '/v1/arns/actions/upgrade-name' }, 'Signed request is required for this route'],
      [{ path: `/v1/arns/actions/${action}?name=x` }, 'Signed request is required for this route'],
      [{ sent: { ...increase, increaseQty: 100 } }, 'Invalid or unbound signature for this action'],
      [{ digest: '' }, 'Invalid or unbound signature for this action'],
      [{ digest: 'sha-512=:x:' }, 'Signed request is required for this route'],
    ] as const) {
      const { headers, answer } = await boundPost(bench, signer, action, increase, changes);
      assert.deepEqual([answer.status, answer.body], [401, words], JSON.stringify(changes));
      // Without the header that binds it, it is a signature over something else.
      const { 'x-service-address': _service, ...unbound } = headers;
      assert.equal((await bench.post(`/arns/actions/${action}`, increase, unbound)).status, 401);
    }
    assert.equal(await balanceOf(signer), held);
    const { headers, answer } = await boundPost(bench, signer, action, increase);
    assert.equal(text(answer.body, 'status'), 'completed', JSON.stringify(answer.body));
    const paid = await balanceOf(signer);
    const again = await bench.post(`/arns/actions/${action}`, increase, headers);
    assert.equal(at(again.body, 'alreadyCompleted'), true);
    // Fields in the query are covered with the path.
    const query = '?name=kept-name&increaseQty=1';
    const inQuery = await boundPost(bench, signer, action, {}, { query });
    assert.equal(text(inQuery.answer.body, 'status'), 'completed', JSON.stringify(inQuery.answer.body));
    assert.ok((await balanceOf(signer)) !== paid);
  }
});

test('a bound signature that was shown where it does not hold can no longer act where it would', async () => {
  const [signer] = payersOfEachKind();
  assert.ok(signer !== undefined);
  const action = 'increase-undername-limit';
  const headers = await signedHeaders(signer, randomUUID(), {
    service: serviceAddress,
    method: 'POST',
    path: `/v1/arns/actions/${action}`,
    contentDigest: contentDigest(JSON.stringify(increase)),
  });
  const held = await balanceOf(signer);
  await bench.get('/arns/price/upgrade-name/kept-name', headers);
  const answer = await bench.post(`/arns/actions/${action}`, increase, headers);
  assert.deepEqual([answer.status, answer.body], replayed);
  assert.equal(await balanceOf(signer), held);
});

test('where bound signatures are required, nothing acts without one', async () => {
  const closed = await NamesBench.start({ environment: { REQUIRE_BOUND_SIGNATURES: 'true' } });
  try {
    await closed.give(payer, 100n * credit);
    for (const signer of payersOfEachKind()) {
      const amount = winc(100n * credit);
      const gift = { address: signer.address, addressType: signer.kind, amount, id: signer.address };
      await closed.credits.credit({ ...gift, reason: 'payment' });
      const refused = await closed.post('/arns/actions/buy-name', theft, await signedHeaders(signer));
      assert.deepEqual(
        [refused.status, refused.body],
        [401, 'This service takes only signatures that name it (x-service-address) and cover the request'],
      );
      assert.equal((await closed.credits.balance(signer.address))?.winc, 100n * credit);
      const body = { ...theft, name: `of-${signer.kind}`, ownerAddress: owner.address };
      const { answer } = await boundPost(closed, signer, 'buy-name', body);
      assert.equal(text(answer.body, 'status'), 'awaiting-signature', JSON.stringify(answer.body));
      const signed = await closed.sign(answer.body, owner);
      assert.equal(text(signed.body, 'status'), 'completed', JSON.stringify(signed.body));
      const antId = text(signed.body, 'antId');
      const record = { antId, ownerAddress: owner.address, undername: 'docs' };
      const set = { ...record, transactionId: target, ttlSeconds: 600 };
      const proof = (service?: string) => {
        const nonce = randomUUID();
        const lines = ['arns', 'set-record', antId, 'docs', target, '600'].join('\n');
        const signature = signEd25519(owner.privateKey, Buffer.from(ownerText(lines, { nonce, service })));
        return {
          'x-owner-public-key': addressBytes(owner.address).toString('base64url'),
          'x-owner-nonce': nonce,
          'x-owner-signature': signature.toString('base64url'),
          'x-owner-signature-type': '4',
          ...(service !== undefined && { 'x-owner-service-address': service }),
        };
      };
      const path = '/v1/arns/actions/set-record';
      const digest = contentDigest(JSON.stringify(set));
      const bound = { service: serviceAddress, method: 'POST', path, contentDigest: digest };
      const send = async (owned: Record<string, string>) =>
        closed.post('/arns/actions/set-record', set, {
          ...(await signedHeaders(signer, randomUUID(), bound)),
          ...owned,
        });
      assert.match(String((await send(proof())).body), /takes only signatures that name it/);
      assert.match(String((await send(proof(older))).body), /for another service/);
      assert.equal(text((await send(proof(serviceAddress))).body, 'status'), 'completed');
    }
  } finally {
    await closed.stop();
  }
});

forEachEngine((_engine, open) => {
  it('lets no more actions wait than the limit, however many are asked for at once', async () => {
    const environment = { ARNS_MAX_OPEN_ACTIONS: '2' };
    const sql = await open(namesLedgerMigrations, 'shared');
    const services = [
      await NamesBench.start({ environment, sql }),
      await NamesBench.start({ environment, sql: await open(namesLedgerMigrations, 'shared') }),
    ];
    const [one] = services;
    assert.ok(one !== undefined);
    try {
      const crowd = wallet('crowd payer');
      await one.give(crowd, 1_000n * credit);
      for (const service of services) await service.buy(`warm-${services.indexOf(service)}`, owner, crowd);
      const held = await one.balance(crowd);
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          services[n % 2]!.create(
            'buy-name',
            { ...theft, name: `crowd-${n}`, ownerAddress: owner.address },
            crowd,
          ),
        ),
      );
      const taken = answers.filter(({ status }) => status === 200);
      assert.deepEqual([taken.length, answers.filter(({ status }) => status === 429).length], [2, 10]);
      const paid = taken.reduce((sum, { body }) => sum + BigInt(text(body, 'wincQty')), 0n);
      assert.equal(await one.balance(crowd), held - paid);
      // What needs no signature is not limited.
      const alone = await one.create('increase-undername-limit', { name: 'warm-0', increaseQty: 1 }, crowd);
      assert.equal(alone.status, 200, JSON.stringify(alone.body));
      assert.deepEqual((await one.credits.selfCheck()).problems, []);
    } finally {
      for (const service of services) await service.stop();
    }
  });

  it('gives one of two equal proofs or nonces at once what it asks for', async () => {
    const bothBench = await NamesBench.start({ sql: await open(namesLedgerMigrations) });
    try {
      const payers = [wallet('first payer'), wallet('second payer')];
      for (const one of payers) await bothBench.give(one, 100n * credit);
      const antId = await bothBench.buy('raced-name', owner, payers[0]!);
      const body = { antId, ownerAddress: owner.address, undername: 'docs', transactionId: target };
      const proof = ownerHeaders('set-record', body, owner);
      const proofs = await Promise.all(
        payers.map((one) => bothBench.create('set-record', body, one, { headers: proof })),
      );
      assert.deepEqual(proofs.map(({ status }) => status).sort(), [200, 401]);
      const nonce = randomUUID();
      const names = ['raced-1', 'raced-2', 'raced-3'].map((name) => ({ ...theft, name }));
      const bought = await Promise.all(
        names.map((asked) => bothBench.create('buy-name', asked, payers[1]!, { nonce })),
      );
      assert.deepEqual(bought.map(({ status }) => status).sort(), [200, 409, 409]);
      assert.deepEqual((await bothBench.credits.selfCheck()).problems, []);
    } finally {
      await bothBench.stop();
    }
  });

  it('takes over what a service before it has used up, in whichever letter case', async () => {
    const before = namesLedgerMigrations.filter(({ id }) => !/^(signatures-001|names-00[45])/.test(id));
    const [used, acted] = [randomUUID(), randomUUID()];
    const sql = await open(before, 'old');
    const insert = 'INSERT INTO arns_spent_nonce (signer, nonce, expires_at) VALUES (?, ?, ?)';
    await sql.run(insert, `payer:${payer.address}`, used.toUpperCase(), 1);
    await sql.run(insert, `payer:${payer.address}`, used, 1);
    await sql.run(
      `INSERT INTO arns_action (nonce, payer, payer_type, payer_nonce, action, request, name, winc, mtoken, status,
         expires_at, created_at, updated_at)
       VALUES (?, ?, 'solana', ?, 'upgrade-name', ?, 'old-name', '1', '0', 'completed', 1, 1, 1)`,
      acted.toUpperCase(),
      payer.address,
      acted.toUpperCase(),
      JSON.stringify({ action: 'upgrade-name', name: 'old-name' }),
    );
    await sql.close();
    const upgraded = await NamesBench.start({ sql: await open(namesLedgerMigrations, 'old') });
    try {
      await upgraded.give(payer, 100n * credit);
      const held = await upgraded.balance(payer);
      for (const nonce of [used, used.toUpperCase(), acted]) {
        const answer = await upgraded.create('buy-name', theft, payer, { nonce });
        assert.deepEqual([answer.status, answer.body], replayed, nonce);
      }
      assert.equal(await upgraded.balance(payer), held);
      const stored = await upgraded.get(`/arns/actions/${acted.toUpperCase()}`);
      assert.equal(text(stored.body, 'name'), 'old-name');
    } finally {
      await upgraded.stop();
    }
  });
});

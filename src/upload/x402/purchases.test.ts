/** What a payment for an upload bought is remembered for good, and nobody else ever pays for it. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { costOf, openX402World, payer, type X402World } from '../../../test/support/x402-uploads.ts';
import { type AddressType, winc } from '../../credits/credits.ts';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { PaymentClaim } from '../../payments/x402/claims.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { solanaAddress } from '../../wallets/solana/address.ts';
import { ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { type TestAnswer, type TestUpload, testMigrations } from '../testing.ts';

const random = seededRandom(73);
const signer = solanaSigner(ed25519TestKey('x402 purchases'));
const signerAddress = itemOwner(4, signer.owner).wallet.address;
const victim = solanaAddress(ed25519RawPublicKey(ed25519TestKey('x402 victim')));
const makeItem = (bytes: number) => signItem({ data: random.bytes(bytes) }, signer);
const none = Buffer.alloc(0);
const day = 86_400_000;
const key = '0fb5ad7c-4a4d-4b2c-9f51-6a6f2a7d3b10';
const used = 'This payment has begun an upload already';

interface PaymentRow {
  readonly id: string;
  readonly purchase: string | null;
  readonly session: string | null;
  readonly item: string | null;
}

const rows = (sql: Sql) =>
  sql.all<PaymentRow>('SELECT id, purchase, session, item FROM x402_payments ORDER BY created_at, id');

const count = async (sql: Sql, table: string) =>
  (await sql.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))?.n;

const begin = (
  upload: TestUpload,
  bytes: number,
  headers: Record<string, string>,
  address?: string,
): Promise<TestAnswer> =>
  upload.get(
    `/v1/chunks/base-usdc/-1/-1?totalBytes=${bytes}${address === undefined ? '' : `&address=${address}`}`,
    headers,
  );

const put = (upload: TestUpload, id: string, bytes: Buffer) =>
  upload.post(`/v1/chunks/base-usdc/${id}/0`, bytes);
const finalize = (upload: TestUpload, id: string) => upload.post(`/v1/chunks/base-usdc/${id}/-1`, none);

async function give(
  upload: TestUpload,
  address: string,
  amount: bigint,
  addressType: AddressType = 'solana',
) {
  const id = `for ${address} ${amount}`;
  await upload.credits.credit({ address, addressType, amount: winc(amount), reason: 'admin_credit', id });
}

/** Lets the time of every session be over, and waits until they are removed. */
async function expire(upload: TestUpload): Promise<void> {
  upload.clock += day + 1;
  await eventually('sessions are removed', async () => (await count(upload.sql, 'upload_sessions')) === 0);
}

/** As a process that died between the settlement and what it was for leaves it. */
async function settleOnly(
  { x402 }: X402World,
  headers: Record<string, string>,
  price: bigint,
  reference: string,
  more: { claim?: PaymentClaim; address?: string } = {},
) {
  const quote = await x402.offer({
    product: 'test',
    winc: winc(price),
    resource: 'http://localhost',
    description: '',
    mimeType: '',
  });
  const payment = await x402.read(headers, quote);
  assert.ok(payment !== undefined);
  const wallet =
    more.address === undefined ? {} : { wallet: { address: more.address, addressType: 'solana' } };
  const claim = more.claim === undefined ? {} : { claim: more.claim };
  return x402.settle(payment, {
    purpose: 'upload',
    reference,
    reserve: winc(price),
    ...claim,
    ...wallet,
  });
}

forEachEngine((_engine, open) => {
  const start = async (t: TestContext, environment: Record<string, string> = {}) =>
    openX402World(t, {
      sql: await open(testMigrations),
      environment: { BUNDLE_POLL_MS: '20', BUNDLE_MAX_WAIT_MS: '2000000000', ...environment },
    });
  /** Without the loop that looks after sessions. */
  const startQuiet = (t: TestContext, environment: Record<string, string> = {}) =>
    start(t, { BUNDLE_POLL_MS: '3600000', ...environment });

  it('a payment that began an upload charges nobody again, whenever and wherever it is shown', async (t) => {
    const world = await start(t);
    const { upload, pay, spent, another } = world;
    await give(upload, victim, 10_000_000n);
    const item = await makeItem(30_000);
    const headers = pay(costOf(item.length));
    const begun = await begin(upload, item.length, headers, victim);
    assert.equal(begun.status, 200);
    assert.equal(await upload.balance(victim), 10_000_000n, 'the price is reserved out of the payment');
    const id = String(begun.body.id);
    assert.equal((await put(upload, id, item)).status, 200);
    const done = await finalize(upload, id);
    assert.equal(done.status, 200, done.bytes.toString());
    const other = await another();
    const showAll = async (when: string) => {
      for (const from of [upload, other]) {
        const again = await begin(from, item.length, headers, victim);
        assert.deepEqual([again.status, again.body], [409, used], when);
        for (const address of [payer, signerAddress, undefined]) {
          assert.equal((await begin(from, item.length, headers, address)).status, 402, when);
        }
        assert.equal((await begin(from, item.length - 1, headers, victim)).status, 402, when);
      }
      assert.equal(await upload.balance(victim), 10_000_000n, when);
      assert.equal(await upload.balance(payer), 0n, when);
      assert.equal(await spent(), costOf(item.length), when);
    };
    await showAll('finalized');
    await expire(upload);
    await give(upload, payer, 5_000_000n, 'ethereum');
    await upload.credits.spend({
      id: 'all of it',
      reason: 'upload',
      signer: payer,
      signerType: 'ethereum',
      amount: winc(5_000_000n),
    });
    await showAll('removed');
    assert.equal(await count(upload.sql, 'upload_sessions'), 0);
    const [row] = await rows(upload.sql);
    assert.deepEqual([row?.purchase, row?.session, row?.item], ['spent', id, done.body.id]);
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  for (const end of ['expires', 'fails'] as const) {
    it(`an upload that ${end} gives what was reserved for it back once, to the wallet that was credited`, async (t) => {
      const { upload, pay, spent, another } = await start(t);
      const other = await another();
      const headers = pay(costOf(30_000));
      const begun = await begin(upload, 30_000, headers, victim);
      assert.equal(await upload.balance(victim), 0n);
      const id = String(begun.body.id);
      if (end === 'fails') {
        assert.equal((await put(upload, id, random.bytes(20_000))).status, 200);
        assert.equal((await finalize(upload, id)).status, 400);
        assert.equal(await upload.balance(victim), costOf(30_000), 'at once');
      }
      upload.clock += day + 1;
      other.clock = upload.clock;
      await eventually('it is removed', async () => (await count(upload.sql, 'upload_sessions')) === 0);
      assert.equal(await upload.balance(victim), costOf(30_000));
      assert.equal((await begin(upload, 30_000, headers, victim)).status, 409);
      assert.equal(await upload.balance(victim), costOf(30_000));
      assert.equal(await upload.balance(payer), 0n);
      assert.equal(await spent(), costOf(30_000));
      const [row] = await rows(upload.sql);
      assert.deepEqual([row?.purchase, row?.session, row?.item], ['returned', id, null]);
      assert.equal((await upload.credits.selfCheck()).ok, true);
    });
  }

  it('an upload that was paid for is stored also when the credited wallet owes, and its debt stays as it is', async (t) => {
    const { upload, pay } = await startQuiet(t);
    const clawback = { address: victim, addressType: 'solana', amount: winc(7_000n) };
    await upload.credits.clawback({ ...clawback, reason: 'chargeback', id: 'dispute' });
    const item = await makeItem(30_000);
    const declared = item.length + 1_000;
    const begun = await begin(upload, declared, pay(costOf(declared)), victim);
    const id = String(begun.body.id);
    assert.equal((await put(upload, id, item)).status, 200);
    assert.equal((await finalize(upload, id)).status, 200);
    assert.equal(await upload.balance(victim), costOf(1_000) - 7_000n);
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('an item that is here already costs an upload in parts nothing: what was paid is left as credits', async (t) => {
    const { upload, pay } = await startQuiet(t);
    const item = await makeItem(30_000);
    await give(upload, signerAddress, costOf(item.length));
    const first = await upload.post('/v1/tx', item);
    assert.equal(first.status, 200);
    const begun = await begin(upload, item.length, pay(costOf(item.length)));
    const id = String(begun.body.id);
    assert.equal((await put(upload, id, item)).status, 200);
    assert.deepEqual((await finalize(upload, id)).body, first.body);
    assert.equal(await upload.balance(payer), costOf(item.length));
    const [row] = await rows(upload.sql);
    assert.deepEqual([row?.purchase, row?.item], ['returned', first.body.id]);
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('a client that gave its request a key has the same answer with it for ever, and nobody else has', async (t) => {
    const { upload, pay, spent, another } = await start(t, { TRUSTED_PROXY_COUNT: '1' });
    const item = await makeItem(30_000);
    const paid = pay(costOf(item.length));
    const ask = (from: TestUpload, network: string, idempotencyKey?: string) =>
      begin(from, item.length, {
        ...paid,
        'x-forwarded-for': network,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      });
    const short = await ask(upload, '192.0.2.1', 'guess-me');
    assert.equal(short.status, 400);
    assert.match(String(short.body), /at least 16 characters/);
    assert.equal(await spent(), 0n);
    const begun = await ask(upload, '192.0.2.1', key);
    assert.equal(begun.status, 200);
    const other = await another();
    const check = async () => {
      for (const from of [upload, other]) {
        assert.deepEqual((await ask(from, '198.51.100.7', key)).body, begun.body);
        for (const stranger of [
          await ask(from, '192.0.2.1'),
          await ask(from, '192.0.2.1', key.replace('0', '1')),
          await ask(from, '198.51.100.7'),
        ]) {
          assert.deepEqual([stranger.status, stranger.body], [409, used]);
        }
      }
    };
    await check();
    const id = String(begun.body.id);
    assert.equal((await put(upload, id, item)).status, 200);
    await check();
    assert.equal((await finalize(upload, id)).status, 200);
    await check();
    await expire(upload);
    await check();
    assert.equal(await count(upload.sql, 'upload_sessions'), 0);
    assert.equal(await spent(), costOf(item.length));
    assert.equal(await upload.balance(payer), 0n);
  });

  it('a client without a key has its upload again from its network, shortly after and while it is empty', async (t) => {
    const { upload, pay, spent } = await startQuiet(t, { TRUSTED_PROXY_COUNT: '1' });
    const ask = (headers: Record<string, string>, network: string) =>
      begin(upload, 30_000, { ...headers, 'x-forwarded-for': network });
    const [touched, late] = [pay(costOf(30_000)), pay(costOf(30_000))];
    const begun = await ask(touched, '192.0.2.1');
    const second = await ask(late, '192.0.2.1');
    assert.notEqual(second.body.id, begun.body.id);
    upload.clock += 9 * 60_000;
    assert.deepEqual((await ask(touched, '192.0.2.1')).body, begun.body);
    assert.deepEqual((await ask(late, '192.0.2.1')).body, second.body);
    const elsewhere = await ask(touched, '192.0.2.2');
    assert.deepEqual([elsewhere.status, elsewhere.body], [409, used]);
    assert.equal((await put(upload, String(begun.body.id), random.bytes(5))).status, 200);
    assert.equal((await ask(touched, '192.0.2.1')).status, 409, 'bytes are in it');
    upload.clock += 2 * 60_000;
    assert.equal((await ask(late, '192.0.2.1')).status, 409, 'too late');
    assert.equal(await count(upload.sql, 'upload_sessions'), 2);
    assert.equal(await spent(), 2n * costOf(30_000));
  });

  it('a payment whose upload was never begun can be used by its client alone, and goes back after a day', async (t) => {
    const world = await start(t);
    const { upload, pay, spent } = world;
    const claim = { network: '127.0.0.1', key };
    const [taken, left] = [pay(costOf(30_000)), pay(costOf(20_000))];
    await settleOnly(world, taken, costOf(30_000), 'multipart 30000', { claim, address: victim });
    await settleOnly(world, left, costOf(20_000), 'multipart 20000', { claim, address: victim });
    assert.equal((await begin(upload, 30_000, taken, victim)).status, 409);
    assert.equal(await count(upload.sql, 'upload_sessions'), 0);
    const own = await begin(upload, 30_000, { ...taken, 'idempotency-key': key }, victim);
    assert.equal(own.status, 200, own.bytes.toString());
    assert.equal(await upload.balance(victim), 0n);
    await expire(upload);
    await eventually('both are back', async () => (await upload.balance(victim)) === costOf(50_000));
    assert.equal((await begin(upload, 20_000, { ...left, 'idempotency-key': key }, victim)).status, 409);
    assert.deepEqual(
      (await rows(upload.sql)).map(({ purchase }) => purchase),
      ['returned', 'returned'],
    );
    assert.equal(await upload.balance(victim), costOf(50_000));
    assert.equal(await spent(), costOf(50_000));
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('a payment that was cut off before its item was stored buys that item when it comes again', async (t) => {
    const world = await startQuiet(t);
    const { upload, pay, spent } = world;
    await give(upload, payer, 1_000n, 'ethereum');
    for (const bytes of [500, 30_000]) {
      const item = await makeItem(bytes);
      const before = await spent();
      const headers = pay(costOf(item.length));
      const id = itemId(item);
      await settleOnly(world, headers, costOf(item.length), id);
      assert.equal(await upload.balance(payer), 1_000n);
      assert.equal((await upload.post('/v1/x402/upload/signed', await makeItem(bytes), headers)).status, 402);
      const answer = await upload.post('/v1/x402/upload/signed', item, headers);
      assert.deepEqual([answer.status, answer.body.id], [200, id], answer.bytes.toString());
      assert.equal((await upload.post('/v1/x402/upload/signed', item, headers)).status, 202);
      assert.equal((await spent()) - before, costOf(item.length));
      assert.equal(await upload.balance(payer), 1_000n);
    }
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('what nobody came back for is credits when its time is over, and the payment buys nothing more', async (t) => {
    const world = await start(t, { MULTIPART_EXPIRY_SECS: '3600' });
    const { upload, pay, spent } = world;
    const item = await makeItem(500);
    const headers = pay(costOf(item.length));
    await settleOnly(world, headers, costOf(item.length), itemId(item));
    upload.clock += 3_600_001;
    await eventually('it is back', async () => (await upload.balance(payer)) === costOf(item.length));
    const again = await upload.post('/v1/x402/upload/signed', item, headers);
    assert.deepEqual([again.status, again.body.error], [402, 'invalid_exact_evm_nonce_already_used']);
    assert.equal(await upload.balance(payer), costOf(item.length));
    assert.equal(await count(upload.sql, 'upload_items'), 0);
    assert.equal(await spent(), costOf(item.length));
  });

  it('an item that fails for good gives its price to the payer, and its payment does not buy it again', async (t) => {
    const { upload, pay } = await startQuiet(t);
    const item = await makeItem(500);
    const headers = pay(costOf(item.length));
    const { body } = await upload.post('/v1/x402/upload/signed', item, headers);
    const id = String(body.id);
    await upload.sql.run("UPDATE upload_items SET state = 'failed' WHERE id = ?", id);
    await upload.credits.refund('upload', id);
    assert.equal(await upload.balance(payer), costOf(item.length));
    assert.equal((await upload.post('/v1/x402/upload/signed', item, headers)).status, 402);
    assert.equal(await upload.balance(payer), costOf(item.length));
    const bought = await upload.post('/v1/x402/upload/signed', item, pay(costOf(item.length)));
    assert.equal(bought.status, 200, 'another payment does');
    assert.equal(await upload.balance(payer), costOf(item.length));
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('no payment is taken for what is stored already, whatever its size and by whatever route it comes', async (t) => {
    const { upload, pay, spent } = await startQuiet(t);
    for (const bytes of [500, 9_000, 30_000]) {
      const item = await makeItem(bytes);
      const first = await upload.post('/v1/x402/upload/signed', item, pay(costOf(item.length)));
      assert.equal(first.status, 200);
      const data = random.bytes(bytes);
      const asked = await upload.post('/v1/x402/upload/unsigned', data);
      const price = BigInt(String(asked.body.maxAmountRequired));
      const raw = await upload.post('/v1/x402/upload/unsigned', data, pay(price));
      assert.equal(raw.status, 200);
      const before = await spent();
      for (const path of ['/v1/x402/upload', '/v1/x402/data-item', '/x402/upload']) {
        const signed = await upload.post(`${path}/signed`, item, pay(costOf(item.length)));
        assert.deepEqual([signed.status, signed.body], [202, first.body], path);
        const unsigned = await upload.post(`${path}/unsigned`, data, pay(price));
        assert.deepEqual([unsigned.status, unsigned.body], [202, raw.body], path);
      }
      for (const path of ['/v1/tx', '/v1/tx/base-usdc', '/tx']) {
        const answer = await upload.post(path, item, pay(costOf(item.length)));
        assert.deepEqual([answer.status, answer.body], [202, first.body], path);
        assert.equal(answer.headers['x-payment-response'], undefined, 'nothing was settled');
      }
      assert.equal((await spent()) - before, 0n);
    }
    assert.equal(await upload.balance(payer), 0n);
    assert.equal((await rows(upload.sql)).length, 6);
  });

  it('two payments for one item at once buy it once, and what the other paid is left as credits', async (t) => {
    const { upload, pay, spent, another } = await startQuiet(t);
    const other = await another();
    for (const bytes of [500, 30_000]) {
      const item = await makeItem(bytes);
      const [spentBefore, balanceBefore] = [await spent(), await upload.balance(payer)];
      const answers = await Promise.all(
        [upload, other, upload, other].map((from) =>
          from.post('/v1/x402/upload/signed', item, pay(costOf(item.length))),
        ),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 202, 202, 202]);
      const taken = (await spent()) - spentBefore;
      assert.equal(taken - ((await upload.balance(payer)) - balanceBefore), costOf(item.length));
    }
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  it('the same payment answers with its settlement again when its item is stored', async (t) => {
    const { upload, pay } = await startQuiet(t);
    const item = await makeItem(500);
    const headers = pay(costOf(item.length));
    const first = await upload.post('/v1/x402/upload/signed', item, headers);
    const again = await upload.post('/v1/x402/upload/signed', item, headers);
    assert.ok(first.headers['x-payment-response'] !== undefined);
    assert.equal(again.headers['x-payment-response'], first.headers['x-payment-response']);
  });

  it('less than was ever asked is refused on every route, and nothing is taken', async (t) => {
    const { upload, pay, spent, market } = await startQuiet(t);
    const item = await makeItem(30_000);
    const data = random.bytes(30_000);
    const paths = ['/v1/x402/upload/signed', '/v1/x402/data-item/signed', '/v1/tx'];
    const most = async (answer: Promise<TestAnswer>) => BigInt(String((await answer).body.maxAmountRequired));
    const price = costOf(item.length);
    const rawPrice = await most(upload.post('/v1/x402/upload/unsigned', data));
    const partsPrice = await most(begin(upload, item.length, {}));
    assert.equal(partsPrice, price);
    const low = (amount: bigint) => pay((amount * 96n) / 100n);
    const tryAll = async () => {
      for (const path of paths) {
        const answer = await upload.post(path, item, low(price));
        assert.equal(answer.status, 402, path);
        assert.equal(answer.body.error, 'invalid_exact_evm_payload_authorization_value');
      }
      assert.equal((await upload.post('/v1/x402/upload/unsigned', data, low(rawPrice))).status, 402);
      assert.equal((await begin(upload, item.length, low(price))).status, 402);
    };
    await tryAll();
    assert.equal(await spent(), 0n);
    assert.deepEqual(await rows(upload.sql), []);
    // The price rises by four percent: what was asked before is still taken, and no less.
    market.percent = 104n;
    await tryAll();
    assert.equal((await upload.post('/v1/tx', item, pay(price))).status, 200);
    assert.equal((await upload.post('/v1/x402/upload/unsigned', data, pay(rawPrice))).status, 200);
    assert.equal(await spent(), price + rawPrice);
    assert.equal(await upload.balance(payer), 0n);
    upload.clock += 300_001;
    assert.equal(
      (await upload.post('/v1/tx', await makeItem(30_000), pay(price))).status,
      402,
      'too long ago',
    );
  });

  it('an upload that was begun before prices were reserved is charged to who signed its item', async (t) => {
    const { upload, pay } = await startQuiet(t);
    await give(upload, victim, 10_000_000n);
    const item = await makeItem(30_000);
    const headers = pay(costOf(item.length));
    const begun = await begin(upload, item.length, headers, victim);
    const id = String(begun.body.id);
    // As the version before left both rows: the credits are the wallet's, and nothing is reserved.
    const payment = (await rows(upload.sql))[0]?.id ?? '';
    await upload.credits.refund('upload', payment);
    await upload.sql.run(
      'UPDATE x402_payments SET reserved = NULL, purchase = NULL, session = NULL, claim = NULL, credited_at = NULL',
    );
    const account = { kind: 'solana', address: victim };
    const stored = { id: payment, account, winc: String(costOf(item.length)), answer: { payer } };
    await upload.sql.run(
      'UPDATE upload_sessions SET payment = ?, request_key = ? WHERE id = ?',
      JSON.stringify(stored),
      `payment ${payment}`,
      id,
    );
    const before = await upload.balance(victim);
    assert.equal((await begin(upload, item.length, headers, victim)).status, 409);
    assert.equal((await put(upload, id, item)).status, 200);
    assert.equal((await finalize(upload, id)).status, 402);
    assert.equal(await upload.balance(victim), before);
    await give(upload, signerAddress, costOf(item.length));
    const done = await finalize(upload, id);
    assert.equal(done.status, 200);
    assert.equal(done.body.winc, String(costOf(item.length)));
    assert.equal(await upload.balance(victim), before);
    assert.equal(await upload.balance(signerAddress), 0n);
    assert.equal((await begin(upload, item.length, headers, victim)).status, 409);
    assert.equal(await count(upload.sql, 'upload_sessions'), 1);
  });

  it('a paid upload is not refused for want of room, and one without room is not paid', async (t) => {
    const { upload, pay, spent } = await startQuiet(t, { MULTIPART_MAX_OPEN_PER_IP: '1' });
    const headers = pay(costOf(30_000));
    const begun = await begin(upload, 30_000, headers);
    assert.equal(begun.status, 200);
    assert.deepEqual((await begin(upload, 30_000, headers)).body, begun.body);
    assert.equal((await begin(upload, 30_000, pay(costOf(30_000)))).status, 429);
    assert.equal(await spent(), costOf(30_000));
  });
});

/** The id as the item's own signature has it. */
function itemId(item: Buffer): string {
  const header = parseItemHeader(item);
  assert.ok(typeof header !== 'string');
  return header.id;
}

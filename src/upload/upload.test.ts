import assert from 'node:assert/strict';
import { constants, createPublicKey, verify } from 'node:crypto';
import { connect } from 'node:net';
import { after, describe, test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { parseItemHeader } from '../formats/ans104/item-header.ts';
import type { TagSource } from '../formats/avro-tags.ts';
import { receiptMessage } from '../formats/receipt.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import {
  aptosSigner,
  arweaveSigner,
  ethereumSigner,
  type ItemSigner,
  signItem,
  solanaSigner,
} from '../wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../wallets/testing/keys.ts';
import { pricePerByte, startTestUpload } from './testing.ts';

// Tests move the clock, and items stay new all the same.
const upload = await startTestUpload({ BUNDLE_MAX_WAIT_MS: '99999999' });
after(() => upload.close());

const random = seededRandom(51);
let wallets = 0;

/** A new wallet with credits. */
async function fundedSigner(amount = 10_000_000_000n): Promise<{ signer: ItemSigner; address: string }> {
  const signer = solanaSigner(ed25519TestKey(`wallet ${wallets++}`));
  const { address, kind } = itemOwner(signer.signatureType, signer.owner).wallet;
  if (amount > 0n) await upload.give(address, kind, amount);
  return { signer, address };
}

const makeItem = (signer: ItemSigner, bytes = 100, tags: TagSource[] = []) =>
  signItem(
    { data: random.bytes(bytes), tags: [{ name: 'Content-Type', value: 'text/plain' }, ...tags] },
    signer,
  );

function idOf(item: Buffer): string {
  const header = parseItemHeader(item);
  assert.ok(typeof header !== 'string');
  return header.id;
}

describe('prices', () => {
  test('bytes cost what they cost, as bare digits', async () => {
    const answer = await upload.get('/v1/price/arweave/1000');
    assert.equal(answer.status, 200);
    assert.equal(answer.bytes.toString(), '3000');
    assert.match(String(answer.headers['content-type']), /application\/json/);
    assert.equal((await upload.get('/price/solana/9007199254740991')).bytes.toString(), '27021597764222973');
    assert.equal((await upload.get('/v1/price/ethereum/0')).bytes.toString(), '0');
  });

  test('clients of the bundlr family read balances at this host', async () => {
    const { address } = await fundedSigner(1_234n);
    for (const path of ['/account/balance', '/v1/account/balance/solana']) {
      const { status, body, headers } = await upload.get(`${path}?address=${address}`);
      assert.deepEqual([status, body], [200, { winc: '1234', balance: '1234' }]);
      assert.equal(headers['cache-control'], 'no-store');
    }
    const unknown = await upload.get(
      '/account/balance/arweave?address=43CharArweaveStubAddress1234567890123456789',
    );
    assert.equal(unknown.body.balance, '0');
    for (const [path, why] of [
      ['/account/balance', 'Missing address in query parameters'],
      ['/account/balance?address=x', 'Invalid address format'],
      [`/account/balance/doge?address=${address}`, 'Invalid token'],
    ]) {
      const answer = await upload.get(path ?? '');
      assert.deepEqual([answer.status, answer.body], [400, why]);
    }
  });

  test('without a byte count it is the price of 1 GiB, and digits alone are a byte count', async () => {
    assert.equal((await upload.get('/v1/price/arweave')).bytes.toString(), String(3n * 1024n ** 3n));
    assert.equal((await upload.get('/v1/price/1000')).bytes.toString(), '3000');
    assert.equal((await upload.get('/v1/price/arweave?byteCount=7')).bytes.toString(), '21');
  });

  test('what is no byte count and no token is refused in the contract words', async () => {
    for (const wrong of ['1e3', '0x10', '-1', '+1', '1.5', 'abc']) {
      const answer = await upload.get(`/v1/price/arweave/${wrong}`);
      assert.equal(answer.status, 400, wrong);
      assert.deepEqual(answer.body, 'Invalid byte count');
    }
    for (const more of ['9007199254740993', '99999999999999999999', '9'.repeat(400)]) {
      const answer = await upload.get(`/v1/price/arweave/${more}`);
      assert.deepEqual([answer.status, answer.body], [400, 'Byte count too large']);
    }
    assert.deepEqual((await upload.get('/v1/price/dogecoin/5')).body, 'Invalid token');
    assert.deepEqual((await upload.get('/v1/price/arweave?byteCount=x')).body, 'Invalid byte count');
  });
});

test('info names the receipt key, the addresses that are paid to and no empty ones, and the limits', async () => {
  for (const path of ['/v1/info', '/v1', '/info', '/']) {
    const { status, body, at } = await upload.get(path);
    assert.equal(status, 200, path);
    assert.equal(body.version, '0.2.0');
    assert.equal(body.gateway, 'http://gateway.test');
    assert.equal(at('addresses.arweave'), testArweaveKey.address);
    assert.equal(at('addresses.ethereum'), '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A');
    assert.deepEqual([at('addresses.solana'), at('addresses.matic')], [undefined, undefined]);
  }
});

describe('taking items in', () => {
  test('an item is stored, paid and answered with a receipt that verifies', async () => {
    const { signer, address } = await fundedSigner(1_000_000n);
    const item = await makeItem(signer);
    const { status, body } = await upload.post('/v1/tx/solana', item, {
      'content-type': 'application/octet-stream',
    });
    assert.equal(status, 200);
    assert.equal(body.id, idOf(item));
    const cost = BigInt(item.length) * pricePerByte;
    assert.equal(body.winc, String(cost));
    assert.equal(await upload.balance(address), 1_000_000n - cost);
    assert.equal(body.deadlineHeight, 1_500_200);
    assert.deepEqual(body.dataCaches, ['gateway.test']);
    assert.deepEqual(body.fastFinalityIndexes, []);
    const header = parseItemHeader(item);
    assert.ok(typeof header !== 'string');
    assert.equal(body.owner, header.ownerAddress);
    const key = createPublicKey({ key: { kty: 'RSA', e: 'AQAB', n: String(body.public) }, format: 'jwk' });
    const message = receiptMessage(String(body.id), Number(body.deadlineHeight), Number(body.timestamp));
    const options = { key, padding: constants.RSA_PKCS1_PSS_PADDING };
    assert.ok(verify('sha256', message, options, Buffer.from(String(body.signature), 'base64url')));
    assert.deepEqual((await upload.get(`/v1/data-item/${body.id}`)).bytes, item);
  });

  test('every wallet type pays from its own account', async () => {
    for (const signer of [arweaveSigner(testArweaveKey), ethereumSigner(ethereumTestKey('payer'))]) {
      const { address, kind } = itemOwner(signer.signatureType, signer.owner).wallet;
      await upload.give(address, kind, 1_000_000n);
      const item = await makeItem(signer);
      assert.equal((await upload.post('/tx', item)).status, 200);
      assert.equal(await upload.balance(address), 1_000_000n - BigInt(item.length) * pricePerByte);
    }
  });

  test('the same item again is answered with the same receipt and not charged', async () => {
    const { signer, address } = await fundedSigner();
    const item = await makeItem(signer, 50_000);
    const first = await upload.post('/v1/tx', item);
    const balance = await upload.balance(address);
    upload.clock += 60_000;
    const again = await upload.post('/v1/tx', item);
    assert.equal(first.status, 200);
    assert.equal(again.status, 202);
    assert.deepEqual(again.body, first.body);
    assert.equal(await upload.balance(address), balance);
  });

  test('the same item from many clients at once is charged once', async () => {
    const { signer, address } = await fundedSigner(1_000_000n);
    const item = await makeItem(signer, 20_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => upload.post('/v1/tx', item)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
    assert.equal(answers.filter((answer) => answer.status === 202).length, 7);
    assert.equal(new Set(answers.map((answer) => String(answer.body.signature))).size, 1);
    assert.equal(await upload.balance(address), 1_000_000n - BigInt(item.length) * pricePerByte);
  });

  test('large items go to the blob store and come back byte for byte, whole and in ranges', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer, 3_000_000);
    const { body, status } = await upload.post('/v1/tx', item);
    assert.equal(status, 200);
    const path = `/v1/data-item/${body.id}`;
    const whole = await upload.get(path);
    assert.ok(whole.bytes.equals(item));
    const payloadStart = Number(whole.headers['x-payload-offset']);
    assert.equal(item.length - payloadStart, 3_000_000);
    assert.equal(whole.headers['x-payload-content-type'], 'text/plain');
    assert.equal(whole.headers['x-content-type-options'], 'nosniff', 'it is a stranger’s, and no page');
    assert.equal(whole.headers['content-security-policy'], 'sandbox');
    for (const [range, expected] of [
      ['bytes=0-9', item.subarray(0, 10)],
      [`bytes=${payloadStart}-`, item.subarray(payloadStart)],
      [`bytes=${payloadStart - 5}-${payloadStart + 4}`, item.subarray(payloadStart - 5, payloadStart + 5)],
      ['bytes=-7', item.subarray(-7)],
      [`bytes=5-${item.length + 100}`, item.subarray(5)],
    ] as const) {
      const part = await upload.get(path, { range });
      assert.equal(part.status, 206, range);
      assert.ok(part.bytes.equals(expected), range);
    }
    assert.equal((await upload.get(path, { range: `bytes=${item.length}-` })).status, 416);
    assert.equal((await upload.get(path, { 'if-none-match': `"${body.id}"` })).status, 304);
  });

  test('a body without a length is taken in', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer, 30_000);
    const answer = await fetch(`${upload.url}/v1/tx`, {
      method: 'POST',
      body: new ReadableStream({
        start(controller) {
          controller.enqueue(item.subarray(0, 10));
          controller.enqueue(item.subarray(10));
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit & { duplex: 'half' });
    assert.equal(answer.status, 200);
  });

  test('status and offsets say how far an item is', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer);
    const { body } = await upload.post('/v1/tx', item);
    const status = await upload.get(`/v1/tx/${body.id}/status`);
    assert.equal(status.body.status, 'CONFIRMED');
    assert.equal(status.body.info, 'new');
    assert.equal(status.body.rawContentLength, item.length);
    assert.equal(status.body.payloadContentLength, 100);
    assert.equal((await upload.get(`/v1/tx/${body.id}/offsets`)).body.dataItemId, body.id);
    assert.deepEqual((await upload.get(`/v1/tx/${'A'.repeat(43)}/status`)).body, "TX doesn't exist");
    assert.deepEqual((await upload.get('/v1/tx/short/status')).body, 'Invalid id');
  });
});

describe('what is refused changes nothing', () => {
  /** Posts and asserts that no row and no balance moved. */
  async function refuse(body: Uint8Array, status: number, message: RegExp, headers = {}, path = '/v1/tx') {
    const before = await upload.counts();
    const answer = await upload.post(path, body, headers);
    assert.equal(answer.status, status, answer.bytes.toString());
    assert.match(String(answer.body), message);
    assert.deepEqual(await upload.counts(), before);
    return answer;
  }

  test('items that cannot be paid', async () => {
    const { signer, address } = await fundedSigner(100n);
    await refuse(
      await makeItem(signer),
      402,
      /^Insufficient balance: it costs \d+ winc, the wallet has \d+, \d+ are missing$/,
    );
    await refuse(
      await makeItem(signer, 2_000_000),
      402,
      /^Insufficient balance: it costs \d+ winc, the wallet has \d+, \d+ are missing$/,
    );
    assert.equal(await upload.balance(address), 100n);
    const { signer: unknown } = await fundedSigner(0n);
    await refuse(
      await makeItem(unknown, 50_000),
      402,
      /^Insufficient balance: it costs \d+ winc, the wallet has \d+, \d+ are missing$/,
    );
  });

  test('items that are not signed by their owner, and forged recovery bytes', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer);
    item[item.length - 1]! ^= 1;
    await refuse(item, 400, /^Invalid Data Item!$/);
    const ethereum = ethereumSigner(ethereumTestKey('victim'));
    await upload.give(itemOwner(3, ethereum.owner).wallet.address, 'ethereum', 1_000_000n);
    const good = await makeItem(ethereum);
    for (const v of [0, 1, 55 - good[66]!, 255]) {
      const forged = Buffer.from(good);
      forged[66] = v;
      await refuse(forged, 400, /^Invalid Data Item!$/);
    }
  });

  test('multi-signatures of nobody, and types that cannot pay', async () => {
    const nobody = Buffer.alloc(2 + 2_052 + 1_025 + 2 + 16 + 5);
    nobody.writeUInt16LE(6);
    await refuse(nobody, 400, /^Invalid Data Item!$/);
    await refuse(await makeItem(aptosSigner(ed25519TestKey('aptos'))), 400, /cannot be paid for/);
  });

  test('bytes that are no item: cut, with trailing presence bytes, tag bombs, wrong counts', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer);
    await refuse(Buffer.alloc(0), 400, /^Data item parsing error!/);
    await refuse(item.subarray(0, 90), 400, /^Data item parsing error!/);
    const presence = Buffer.from(item);
    presence[2 + 64 + 32] = 2;
    await refuse(presence, 400, /presence byte/);
    const hidden = Buffer.from(item);
    hidden[2 + 64 + 32 + 2] = 0;
    await refuse(hidden, 400, /number of tags/);
    const bomb = Buffer.from(item);
    bomb.writeUInt32LE(0xffffffff, 2 + 64 + 32 + 2 + 8);
    await refuse(bomb, 400, /tags take more bytes/);
    const unknown = Buffer.from(item);
    unknown.writeUInt16LE(8);
    await refuse(unknown, 400, /signature type is not known/);
  });

  test('wrong content types and tokens', async () => {
    const { signer } = await fundedSigner();
    const item = await makeItem(signer);
    await refuse(item, 400, /^Invalid Content Type$/, { 'content-type': 'application/json' });
    await refuse(item, 400, /^Invalid token$/, {}, '/v1/tx/No%20Token');
  });

  test('an item above the limit, known from its length or counted', async () => {
    const small = await startTestUpload({ MAX_DATA_ITEM_SIZE: '5000' });
    try {
      const { signer } = await fundedSigner(0n);
      const item = await makeItem(signer, 6_000);
      const answer = await small.post('/v1/tx', item);
      assert.equal(answer.status, 413);
      assert.match(String(answer.body), /only accepts data items up to 5000 bytes/);
    } finally {
      await small.close();
    }
  });

  test('a client that leaves in the middle', async () => {
    const { signer, address } = await fundedSigner();
    const item = await makeItem(signer, 400_000);
    const before = await upload.counts();
    const balance = await upload.balance(address);
    const port = Number(new URL(upload.url).port);
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`POST /v1/tx HTTP/1.1\r\nhost: x\r\ncontent-length: ${item.length}\r\n\r\n`);
        socket.write(item.subarray(0, 300_000), () => socket.destroy());
      });
      socket.on('close', () => resolve());
    });
    await upload.get('/health');
    assert.deepEqual(await upload.counts(), before);
    assert.equal(await upload.balance(address), balance);
    assert.equal((await upload.post('/v1/tx', item)).status, 200, 'and may come back');
  });
});

describe('credit sharing', () => {
  async function approve(signer: ItemSigner, approved: string, tags: Record<string, string>) {
    const all = { 'x-approve-payment': approved, ...tags };
    return upload.post(
      '/v1/tx',
      await makeItem(
        signer,
        10,
        Object.entries(all).map(([name, value]) => ({ name, value })),
      ),
    );
  }

  test('tags lend credits, an upload is paid by the loan, and tags take it back', async () => {
    const payer = await fundedSigner(1_000_000n);
    const borrower = await fundedSigner(0n);
    const created = await approve(payer.signer, borrower.address, {
      'x-amount': '500000',
      'x-expires-seconds': '3600',
    });
    assert.equal(created.status, 200);
    assert.equal(created.at('createdApproval.approvedAddress'), borrower.address);
    assert.equal(created.at('createdApproval.approvedWincAmount'), '500000');
    assert.equal(created.at('createdApproval.payingAddress'), payer.address);

    const item = await makeItem(borrower.signer);
    assert.equal((await upload.post('/v1/tx', item)).status, 402, 'loans are not used unless they are named');
    const paid = await upload.post('/v1/tx', item, { 'X-Paid-By': payer.address });
    assert.equal(paid.status, 200);
    const [approval] = await upload.credits.approvals(payer.address, borrower.address);
    assert.equal(approval?.usedWincAmount, String(BigInt(item.length) * pricePerByte));

    const revoke = await makeItem(payer.signer, 10, [
      { name: 'x-delete-payment-approval', value: borrower.address },
    ]);
    const revoked = await upload.post('/v1/tx', revoke);
    assert.equal(revoked.status, 200);
    assert.equal(revoked.at('revokedApprovals.length'), 1);
    const again = await upload.post('/v1/tx', revoke);
    assert.equal(again.status, 202);
    assert.deepEqual(again.body.revokedApprovals, revoked.body.revokedApprovals);
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });

  test('loans that make no sense are refused and their item is not charged', async () => {
    const payer = await fundedSigner(1_000_000n);
    const other = (await fundedSigner(0n)).address;
    const cases: [string, Record<string, string>, RegExp][] = [
      [other, {}, /x-amount tag missing/],
      [other, { 'x-amount': '-5' }, /Invalid value provided for wincAmount: -5/],
      [other, { 'x-amount': '0' }, /wincAmount/],
      [other, { 'x-amount': '1e3' }, /wincAmount/],
      [other, { 'x-amount': '0x10' }, /wincAmount/],
      [other, { 'x-amount': '1'.repeat(31) }, /wincAmount/],
      [other, { 'x-amount': '5', 'x-expires-seconds': '0' }, /expiresInSeconds/],
      [other, { 'x-amount': '5', 'x-expires-seconds': '-1' }, /expiresInSeconds/],
      ['nobody', { 'x-amount': '5' }, /Invalid approved address/],
      [payer.address, { 'x-amount': '5' }, /cannot approve itself/],
      [other, { 'x-amount': '999999999' }, /Insufficient balance/],
      [other, { 'x-amount': '5', 'x-delete-payment-approval': other }, /not both/],
    ];
    for (const [approved, tags, message] of cases) {
      const before = await upload.counts();
      const answer = await approve(payer.signer, approved, tags);
      assert.equal(answer.status, 400, JSON.stringify(tags));
      assert.match(String(answer.body), message);
      assert.deepEqual(await upload.counts(), before);
    }
    assert.equal(await upload.balance(payer.address), 1_000_000n);
    const twice = await makeItem(payer.signer, 10, [
      { name: 'x-approve-payment', value: other },
      { name: 'x-amount', value: '5' },
      { name: 'x-amount', value: '6' },
    ]);
    assert.match(String((await upload.post('/v1/tx', twice)).body), /more than once/);
    const nothing = await makeItem(payer.signer, 10, [{ name: 'x-delete-payment-approval', value: other }]);
    assert.equal(
      String((await upload.post('/v1/tx', nothing)).body),
      `Unable to revoke delegated payment approval : No valid approvals found for approved address '${other}' and paying address '${payer.address}'`,
    );
    assert.equal(await upload.balance(payer.address), 1_000_000n);
  });
});

test('metrics count what came in and what was refused', async () => {
  const text = (await upload.get('/v1/metrics')).bytes.toString();
  assert.match(text, /upload_items_total\{type="4"\} [1-9]/);
  assert.match(text, /upload_refused_total\{status="402"\} [1-9]/);
  assert.match(text, /upload_repeats_total [1-9]/);
  assert.equal((await upload.get('/health')).bytes.toString(), 'OK');
});

test('probes may ask with HEAD', async () => {
  for (const path of ['/health', '/v1/health', '/', '/info', '/v1/info', '/metrics', '/v1/bundler_metrics']) {
    const answer = await fetch(`${upload.url}${path}`, { method: 'HEAD' });
    assert.deepEqual([answer.status, await answer.text()], [200, ''], path);
  }
});

test('small items are free when the operator says so, up to an allowance per address', async () => {
  const free = await startTestUpload({
    FREE_UPLOAD_LIMIT: '1000',
    FREE_BYTES_PER_IP: '2000',
    FREE_BYTES_PER_IP_TTL_SECS: '600',
  });
  try {
    const signer = solanaSigner(ed25519TestKey('poor'));
    const first = await free.post('/v1/tx', await makeItem(signer, 500));
    assert.equal(first.status, 200);
    assert.equal(first.body.winc, '0');
    assert.equal((await free.counts()).credits_spendings, 0);
    assert.equal((await free.post('/v1/tx', await makeItem(signer, 2_000))).status, 402);
    assert.equal((await free.post('/v1/tx', await makeItem(signer, 600))).status, 200);
    const over = await free.post('/v1/tx', await makeItem(signer, 700));
    assert.equal(over.status, 429);
    assert.ok(Number(over.headers['retry-after']) > 0);
    const rich = solanaSigner(ed25519TestKey('rich'));
    const { address } = itemOwner(4, rich.owner).wallet;
    await free.give(address, 'solana', 10n ** 9n);
    const paid = await free.post('/v1/tx', await makeItem(rich, 700));
    assert.equal(paid.status, 200, 'who has credits is charged');
    assert.equal(await free.balance(address), 10n ** 9n - BigInt(String(paid.body.winc)));
    assert.ok(BigInt(String(paid.body.winc)) > 0n);
    free.clock += 600_000;
    assert.equal((await free.post('/v1/tx', await makeItem(signer, 700))).status, 200);
  } finally {
    await free.close();
  }
});

test('listed wallets pay nothing, blocked ones are refused', async () => {
  const friend = solanaSigner(ed25519TestKey('friend'));
  const foe = solanaSigner(ed25519TestKey('foe'));
  const villain = ethereumSigner(ethereumTestKey('villain'));
  const listed = await startTestUpload({
    ALLOW_LISTED_ADDRESSES: itemOwner(4, friend.owner).wallet.address,
    BLOCK_LISTED_ADDRESSES: [itemOwner(4, foe.owner), itemOwner(3, villain.owner)]
      .map(({ wallet }) => wallet.address)
      .join(','),
  });
  try {
    assert.equal((await listed.post('/v1/tx', await makeItem(friend, 100_000))).body.winc, '0');
    const refused = await listed.post('/v1/tx', await makeItem(foe));
    assert.equal(refused.status, 403);
    assert.deepEqual(refused.body, 'Forbidden');
    const other = await listed.post('/v1/tx/kyve', await makeItem(villain));
    assert.equal(other.status, 403, 'the same key by its name on another chain');
  } finally {
    await listed.close();
  }
});

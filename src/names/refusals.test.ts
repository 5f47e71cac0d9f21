import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, NamesBench, payerHeaders, text } from '../../test/support/names-bench.ts';
import { arnsAddresses } from '../formats/solana/accounts-arns.ts';
import { wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const id = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const payer = wallet('payer');
const owner = wallet('name owner');
let bench: NamesBench;
let antId: string;

before(async () => {
  bench = await NamesBench.start();
  await bench.give(payer, 100n * credit);
  antId = await bench.buy('refusals', owner, payer);
});
after(() => bench.stop());

/** A 400 with these words, and proof that nothing was charged and nothing came of it. */
async function refused(
  action: string,
  body: Record<string, unknown>,
  words: RegExp,
  proven = false,
): Promise<void> {
  const held = await bench.balance(payer);
  const count = bench.ledger.local.ledger.transactionCount;
  const answer = await bench.create(action, body, payer, proven ? { owner } : {});
  assert.equal(answer.status, 400, `${action} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`);
  assert.match(String(answer.body), words);
  assert.equal(await bench.balance(payer), held);
  assert.equal(bench.ledger.local.ledger.transactionCount, count);
}

test('purchases with parameters out of bounds are refused', async () => {
  const buy = { name: 'free-name', ownerAddress: owner.address, type: 'lease', years: 1 };
  for (const years of [0, 6, 1.5, '1e0', '', '+1', '01', -1, null, true, '1.0']) {
    await refused('buy-name', { ...buy, years }, /years|Missing/);
    await refused('extend-lease', { name: 'refusals', years }, /years|Missing/);
  }
  await refused('buy-name', { ...buy, years: undefined }, /Missing required parameter: years/);
  for (const increaseQty of [0, -1, 1.5, '1e3', 65_536, '']) {
    await refused('increase-undername-limit', { name: 'refusals', increaseQty }, /increaseQty/);
  }
  await refused('buy-name', { ...buy, type: 'rent' }, /Missing required parameter: type/);
  for (const name of ['', '-x', 'x-', 'a_b', 'x'.repeat(43), 'x'.repeat(52), 'ünïcode', 'a b', 5]) {
    await refused('buy-name', { ...buy, name }, /Invalid ArNS name|name/);
  }
  await refused('buy-name', { ...buy, name: 'www' }, /reserved/);
  await refused('buy-name', { ...buy, name: 'refusals' }, /^Name refusals already exists$/);
  await refused('upgrade-name', { name: 'nobody-has-it' }, /^Name nobody-has-it does not exist$/);
  await refused('extend-lease', { name: 'refusals', years: 5 }, /at most 4 years/);
  for (const ownerAddress of [undefined, '', 'short', 5, 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4']) {
    await refused('buy-name', { ...buy, ownerAddress }, /ownerAddress/);
  }
  // A derived address: nobody could ever sign for it.
  const derived = arnsAddresses(bench.registry.programs.arns).config().address;
  await refused(
    'buy-name',
    { ...buy, ownerAddress: derived },
    /ownerAddress must be the address of a wallet/,
  );
  await refused('buy-name', { ...buy, ownerAddress: bench.service.address }, /must not be the service/);
  await refused('buy-name', { ...buy, transactionId: id }, /antState.transactionId/);
});

test('antState is checked field by field and only taken on buy-name', async () => {
  const buy = { name: 'free-name', ownerAddress: owner.address, type: 'lease', years: 1 };
  await refused('upgrade-name', { name: 'refusals', antState: {} }, /antState is only accepted on buy-name/);
  await refused(
    'transfer',
    { antId, ownerAddress: owner.address, target: payer.address, antState: {} },
    /antState/,
  );
  for (const [antState, words] of [
    ['{', /JSON/],
    [[], /object/],
    [5, /object/],
    [{ name: 'x' }, /antState.name is not known/],
    [{ ticker: 'x'.repeat(17) }, /antState.ticker/],
    [{ ticker: 5 }, /antState.ticker/],
    [{ logo: 'short' }, /antState.logo/],
    [{ description: 'ä'.repeat(65) }, /antState.description/],
    [{ keywords: ['a', 'b', 'c', 'd'] }, /antState.keywords/],
    [{ keywords: ['a', 'a'] }, /antState.keywords/],
    [{ keywords: 'a' }, /antState.keywords/],
    [{ transactionId: 'short' }, /antState.transactionId/],
    [{ transactionId: id, targetProtocol: 1 }, /antState.transactionId/],
    [{ targetProtocol: 2 }, /antState.targetProtocol/],
  ] as const) {
    await refused('buy-name', { ...buy, antState }, words);
  }
});

test('an antState that does not fit names its size and what would help; nothing is charged', async () => {
  const name = 'x'.repeat(51);
  const body = { name, ownerAddress: wallet('fresh owner').address, type: 'lease', years: 1 };
  await refused(
    'buy-name',
    { ...body, antState: { description: 'd'.repeat(71) } },
    /^antState does not fit: the transaction is 12\d\d bytes, \d+ over Solana's 1232-byte limit\. Shorten/,
  );
  // The largest that fits goes through, with the owner's list made in a transaction of its own.
  const created = await bench.create(
    'buy-name',
    { ...body, antState: { description: 'd'.repeat(69) } },
    payer,
  );
  assert.equal(created.status, 200, JSON.stringify(created.body));
  assert.ok(Buffer.from(text(created.body, 'transaction'), 'base64').length <= 1232);
  const done = await bench.sign(created.body, wallet('fresh owner'));
  assert.equal(text(done.body, 'status'), 'completed', JSON.stringify(done.body));
  await bench.names.settled();
});

test('record actions with fields out of bounds are refused', async () => {
  const base = { antId, ownerAddress: owner.address };
  const set = { ...base, transactionId: id, undername: 'docs' };
  for (const ttlSeconds of [59, 86_401, '60.5', 'x', 0]) {
    await refused(
      'set-record',
      { ...set, ttlSeconds },
      /ttlSeconds must be an integer from 60 to 86400/,
      true,
    );
  }
  await refused('set-record', { ...set, undername: 'x'.repeat(62) }, /61/, true);
  for (const undername of ['_a', '-a', 'a.b', 'ä', 'a b', '\u212a', '\u212aelvin']) {
    await refused('set-record', { ...set, undername }, /undername/, true);
  }
  await refused('set-record', { ...set, transactionId: 'short' }, /transactionId/, true);
  await refused('set-record', { ...base, undername: 'docs' }, /transactionId/, true);
  await refused('remove-record', { ...base, undername: '@' }, /root record/, true);
  await refused('remove-record', { ...base, undername: 'none' }, /no record none/, true);
  await refused('remove-record', base, /undername/, true);
  await refused('remove-record-metadata', { ...base, undername: '@' }, /no metadata/, true);
  const describe = { ...base, undername: '@' };
  await refused('set-record-metadata', describe, /at least one/, true);
  for (const [field, value] of [
    ['displayName', 'x'.repeat(62)],
    ['displayName', 'two\nlines'],
    ['displayName', 'nul\u0000'],
    ['displayName', 'half \ud800'],
    ['displayName', 5],
    ['recordLogo', 'short'],
    ['recordLogo', ''],
    ['recordDescription', 'x'.repeat(129)],
    ['recordDescription', 'del\u007f'],
    ['recordKeywords', ['a', 'b', 'c', 'd']],
    ['recordKeywords', ['a\u0001b']],
    ['recordKeywords', [5]],
    ['recordKeywords', { a: 1 }],
  ] as const) {
    await refused('set-record-metadata', { ...describe, [field]: value }, new RegExp(field), true);
  }
  await refused(
    'set-record-metadata',
    { ...base, undername: 'none', displayName: 'x' },
    /no record none/,
    true,
  );
  await refused('transfer-record', { ...base, undername: '@' }, /target/, true);
});

test('controllers and transfers are checked against the chain', async () => {
  const base = { antId, ownerAddress: owner.address };
  await refused('add-controller', base, /is a controller already/);
  await refused('remove-controller', { ...base, target: payer.address }, /is not a controller/);
  await refused('transfer', { ...base, target: owner.address }, /owns the ANT already/);
  await refused('transfer', base, /target/);
  const stranger = { ...base, ownerAddress: payer.address, target: wallet('x').address };
  await refused('transfer', stranger, /does not own/);
  const unknown = { antId: wallet('no ant').address, ownerAddress: owner.address, target: payer.address };
  const answer = await bench.create('transfer', unknown, payer);
  assert.deepEqual([answer.status, answer.body], [404, `ANT ${unknown.antId} not found`]);
  for (const controller of ['c1', 'c2']) {
    const created = await bench.create(
      'add-controller',
      { ...base, target: wallet(controller).address },
      payer,
    );
    assert.equal(text((await bench.sign(created.body, owner)).body, 'status'), 'completed');
  }
  await refused('add-controller', { ...base, target: wallet('c3').address }, /at most 4 controllers/);
});

test('unknown actions, nonces and purchases', async () => {
  assert.equal((await bench.create('sell-name', {}, payer)).status, 404);
  assert.equal((await bench.get('/arns/actions/11111111-1111-4111-8111-111111111111')).status, 404);
  const sign = await bench.post('/arns/actions/11111111-1111-4111-8111-111111111111/sign', {
    transaction: 'x',
  });
  assert.equal(sign.status, 404);
  const purchase = await bench.get('/arns/purchase/11111111-1111-4111-8111-111111111111');
  assert.deepEqual([purchase.status, purchase.body], [400, 'Purchase status not found']);
  assert.equal((await bench.get('/arns/actions/sell-name/price')).status, 404);
  assert.equal((await bench.get('/arns/actions/buy-name/price')).status, 400);
  const price = await bench.get('/arns/actions/remove-controller/price');
  assert.deepEqual(price.body, { action: 'remove-controller', wincQty: '50000000000' });
  const record = await bench.get('/arns/actions/set-record/price');
  assert.ok(BigInt(text(record.body, 'wincQty')) > 50_000_000_000n);
  const body = await bench.post('/arns/actions/upgrade-name', 5, payerHeaders(payer));
  assert.equal(body.status, 400);
});

test('the price route judges its parameters in order', async () => {
  for (const [path, words] of [
    [`buy-record/${'x'.repeat(52)}?type=lease&years=1`, 'Invalid ArNS name'],
    [`buy-record/${'x'.repeat(43)}?type=lease&years=1`, 'Invalid ArNS name'],
    // Its lower case is the letter k.
    ['buy-record/%E2%84%AAelvin?type=lease&years=1', 'Invalid ArNS name'],
    ['sell-record/free-name', 'Invalid intent: sell-record'],
    ['buy-record/free-name', "Missing required parameter: type. Must be either 'permabuy' or 'lease'"],
    ['buy-record/free-name?type=x', "Missing required parameter: type. Must be either 'permabuy' or 'lease'"],
    ['buy-record/free-name?type=lease', 'Missing required parameter: years'],
    ['buy-record/free-name?type=lease&years=6', 'years must be an integer from 1 to 5'],
    ['buy-record/free-name?type=lease&years=1e0', 'years must be an integer from 1 to 5'],
    ['extend-lease/refusals', 'Missing required parameter: years'],
    ['increase-undername-limit/refusals', 'Missing required parameter: increaseQty'],
    ['increase-undername-limit/refusals?increaseQty=0', 'increaseQty must be an integer from 1 to 65535'],
    ['upgrade-name/nobody-has-it', 'Name nobody-has-it does not exist'],
    ['buy-name/refusals?type=permabuy', 'Name refusals already exists'],
    ['buy-name/www?type=permabuy', 'Name www is reserved'],
    ['buy-name/free-name?type=permabuy&currency=xyz', "The currency type 'xyz' is not supported"],
  ] as const) {
    const answer = await bench.get(`/arns/price/${path}`);
    assert.deepEqual([answer.status, answer.body], [400, words], path);
  }
  const upper = await bench.get('/arns/price/BUY-Record/Free-Name?type=permabuy&years=3');
  assert.equal(text(upper.body, 'mTOKEN'), '2000000000');
  const own = await bench.get(`/arns/price/buy-record/free-name?type=permabuy&processId=${antId}`);
  assert.equal(text(own.body, 'antSpawnSurchargeWinc'), '0');
  assert.equal(text(own.body, 'wincTotalWithAntSpawn'), text(own.body, 'winc'));
  const fiat = await bench.get('/arns/price/buy-record/free-name?type=lease&years=1&currency=usd');
  const estimate = at(fiat.body, 'fiatEstimate');
  assert.equal(
    at(estimate, 'paymentAmountWithAntSpawn'),
    Number(at(estimate, 'paymentAmount')) + Number(at(estimate, 'antSpawnSurchargeAmount')),
  );
  const extension = await bench.get(
    '/arns/price/increase-undername-limit/refusals?increaseQty=1&currency=usd',
  );
  assert.equal(at(extension.body, 'fiatEstimate', 'paymentAmount'), 50);
  assert.equal(at(extension.body, 'fiatEstimate', 'antSpawnSurchargeAmount'), undefined);
  assert.ok(BigInt(text(extension.body, 'fiatEstimate', 'excessWincAmount')) > 0n);
});

test('parameters in the query count, and the body wins over them', async () => {
  const path = `/arns/actions/extend-lease?name=refusals&years=9`;
  const held = (await bench.registry.name('refusals')).record?.end ?? 0;
  const answer = await bench.post(path, { years: 1 }, payerHeaders(payer));
  assert.equal(text(answer.body, 'status'), 'completed', JSON.stringify(answer.body));
  assert.equal((await bench.registry.name('refusals')).record?.end, held + 365 * 86_400);
  const bare = await bench.server.app.inject({
    method: 'POST',
    url: '/v1/arns/actions/increase-undername-limit?name=refusals&increaseQty=1',
    headers: { ...payerHeaders(payer), 'content-type': 'application/json' },
  });
  assert.equal(bare.statusCode, 200, bare.body);
  const antState = encodeURIComponent(JSON.stringify({ ticker: 'Q' }));
  const query = `name=query-name&ownerAddress=${owner.address}&type=permabuy&antState=${antState}`;
  const bought = await bench.post(`/arns/actions/buy-name?${query}`, {}, payerHeaders(payer));
  assert.equal(text(bought.body, 'status'), 'awaiting-signature', JSON.stringify(bought.body));
});

test('one payer may have only so many actions waiting', async () => {
  const crowd = await NamesBench.start({ environment: { ARNS_MAX_OPEN_ACTIONS: '2' } });
  try {
    await crowd.give(payer, 100n * credit);
    const create = (name: string, holder = owner) =>
      crowd.create('buy-name', { name, ownerAddress: holder.address, type: 'lease', years: 1 }, payer);
    const first = await create('crowd-1');
    assert.equal((await create('crowd-2', wallet('other'))).status, 200);
    const held = await crowd.balance(payer);
    const third = await create('crowd-3', wallet('another'));
    assert.equal(third.status, 429);
    assert.equal(third.headers['retry-after'], '60');
    assert.equal(await crowd.balance(payer), held);
    await crowd.sign(first.body, owner);
    assert.equal((await create('crowd-3', wallet('another'))).status, 200);
  } finally {
    await crowd.stop();
  }
});

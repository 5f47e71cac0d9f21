/** Several services sell names over one database and one chain; what one sends may be lost, and one may sleep. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { at, chainDown, NamesBench, namesLedgerMigrations, text } from '../../test/support/names-bench.ts';
import { aclPage, aclPageSize, antAddresses, maxAclPageEntries } from '../formats/solana/accounts-ant.ts';
import { parseSolanaAddress } from '../formats/solana/address.ts';
import { rentExemptMinimum } from '../formats/solana/programs.ts';
import { wallet } from '../localnet/solana/testing.ts';
import { forEachEngine, type OpenForTest } from '../storage/sql/testing.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');

/** Runs on two services; both are stopped after it. */
async function withServices(
  open: OpenForTest,
  work: (one: NamesBench, two: NamesBench) => Promise<void>,
): Promise<void> {
  const one = await NamesBench.start({
    sql: await open(namesLedgerMigrations, 'names'),
    deliveryTimeoutMs: 200,
  });
  const two = await NamesBench.start({
    sql: await open(namesLedgerMigrations, 'names'),
    deliveryTimeoutMs: 200,
    ledger: one.ledger,
  });
  try {
    await one.give(payer, 1_000n * credit);
    await work(one, two);
    assert.deepEqual((await one.credits.selfCheck()).problems, []);
  } finally {
    await two.stop();
    await one.stop();
  }
}

/** Leaves so much room in the first page of the service's own list. */
function fillServiceList({ ledger, service }: NamesBench, room: number): void {
  const address = antAddresses(ledger.programs.ant).aclPage(service.address, 0n).address;
  const { accounts } = ledger.local.ledger;
  const account = accounts.get(address);
  const page = aclPage.decode(account.data);
  const count = maxAclPageEntries - room;
  const entries = Array.from({ length: count }, (_, index) => ({
    asset: wallet(`token ${index}`).address,
    role: 'controller' as const,
  }));
  const size = aclPageSize(count);
  const data = aclPage.encode({ ...page, entries }, size);
  accounts.apply(new Map([[address, { ...account, data, lamports: rentExemptMinimum(size) }]]));
}

/** So many buyers at once, over all services; all of them get a transaction, sign it and have their name. */
async function crowd(benches: readonly NamesBench[], label: string, count = 10): Promise<void> {
  const buyers = Array.from({ length: count }, (_, index) => ({
    bench: benches[index % benches.length]!,
    payer: wallet(`${label} payer ${index}`),
    owner: wallet(`${label} owner ${index}`),
    name: `${label}-${index}`,
  }));
  for (const buyer of buyers) await buyer.bench.give(buyer.payer, 100n * credit);
  const created = await Promise.all(
    buyers.map((buyer) => {
      const body = { name: buyer.name, ownerAddress: buyer.owner.address, type: 'lease', years: 1 };
      return buyer.bench.create('buy-name', body, buyer.payer);
    }),
  );
  assert.deepEqual(
    created.map(({ status, body }) => (status === 200 ? status : body)),
    buyers.map(() => 200),
  );
  for (const [index, { bench, owner, name }] of buyers.entries()) {
    const signed = await bench.sign(created[index]?.body, owner);
    assert.equal(text(signed.body, 'status'), 'completed', JSON.stringify(signed.body));
    const { record } = await bench.registry.name(name);
    assert.equal(record?.ant, text(signed.body, 'antId'));
  }
}

forEachEngine((_engine, open) => {
  it('makes one new transaction and one purchase of an owner who signs first at two services at once', () =>
    withServices(open, async (one, two) => {
      const held = await one.balance(payer);
      const body = { name: 'signed-at-two', ownerAddress: owner.address, type: 'lease', years: 1 };
      const created = await one.create('buy-name', { ...body, signOrder: 'owner-first' }, payer);
      one.ledger.skip(151);
      const late = await Promise.all([one, two, one, two].map((bench) => bench.sign(created.body, owner)));
      const anew = late.filter(({ status }) => status === 200);
      assert.equal(anew.length, 1, JSON.stringify(late));
      assert.ok(
        late.every(({ status }) => status === 200 || status === 400),
        'the old one is not taken again',
      );
      const [fresh] = anew;
      const signed = await Promise.all([two, one, two].map((bench) => bench.sign(fresh?.body, owner)));
      assert.deepEqual(
        signed.map(({ status }) => status),
        [200, 200, 200],
        JSON.stringify(signed),
      );
      const { record } = await one.registry.name('signed-at-two');
      assert.equal(record?.ant, text(fresh?.body, 'antId'));
      assert.equal(await one.balance(payer), held - BigInt(text(created.body, 'wincQty')));
    }));

  it('sells to ten buyers at once, the first of all, and when a page of its list is full or nearly so', async () => {
    await withServices(open, async (one, two) => {
      await crowd([one, two], 'first');
      for (const room of [0, 3]) {
        fillServiceList(one, room);
        await crowd([one, two], `room-${room}`);
      }
    });
  });

  it('keeps the places of its list for those who have not signed yet', async () => {
    await withServices(open, async (one, two) => {
      await one.buy('opens-the-list', owner, payer);
      fillServiceList(one, 1);
      const lease = { ownerAddress: owner.address, type: 'lease', years: 1 };
      const first = await one.create('buy-name', { ...lease, name: 'unsigned-a' }, payer);
      const second = await two.create('buy-name', { ...lease, name: 'unsigned-b' }, payer);
      const pages = await one.sql.all(
        'SELECT name, list_page FROM arns_action WHERE status = ? ORDER BY name',
        'awaiting',
      );
      assert.deepEqual(pages, [
        { name: 'unsigned-a', list_page: 0 },
        { name: 'unsigned-b', list_page: 1 },
      ]);
      for (const answer of [second, first]) {
        assert.equal(text((await one.sign(answer.body, owner)).body, 'status'), 'completed');
      }
    });
  });

  it('says what is wrong when its list cannot be extended, and gives the credits back', async () => {
    await withServices(open, async (one) => {
      const held = await one.balance(payer);
      one.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
      const lease = { name: 'no-list', ownerAddress: owner.address, type: 'lease', years: 1 };
      const answer = await one.create('buy-name', lease, payer);
      assert.deepEqual([answer.status, answer.body], [503, 'The name chain is unavailable']);
      assert.equal(await one.balance(payer), held);
      one.faults.before = () => {};
      await one.buy('no-list', owner, payer);
    });
  });

  it('does not take the purchase of another service for one that was lost', async () => {
    await withServices(open, async (one, two) => {
      await one.buy('wide', owner, payer);
      const body = { name: 'wide', increaseQty: 3 };
      const held = await one.balance(payer);
      // Stored, and never sent: the service dies.
      one.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
      const lost = await one.create('increase-undername-limit', body, payer);
      assert.equal(lost.status, 503);
      const nonce = text(
        await one.sql.get("SELECT nonce FROM arns_action WHERE status = 'sending'"),
        'nonce',
      );
      const price = held - (await one.balance(payer));
      one.ledger.skip(151);
      const bought = await two.create('increase-undername-limit', body, payer);
      assert.equal(text(bought.body, 'status'), 'completed', JSON.stringify(bought.body));
      one.faults.before = () => {};
      await one.names.reconcile();
      assert.equal(text((await one.get(`/arns/actions/${nonce}`)).body, 'status'), 'failed');
      assert.equal((await one.registry.name('wide')).record?.undernameLimit, 13);
      assert.equal(await one.balance(payer), held - price);
    });
  });

  it('does not begin a purchase while it is not known whether the one before it landed', async () => {
    await withServices(open, async (one, two) => {
      await one.buy('unsettled', owner, payer);
      const body = { name: 'unsettled', years: 1 };
      one.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
      assert.equal((await one.create('extend-lease', body, payer)).status, 503);
      const held = await one.balance(payer);
      // Neither can the other service send or see anything.
      two.faults.before = (method) => (method === 'send' || method === 'status' ? chainDown() : undefined);
      const refused = await two.create('extend-lease', body, payer);
      assert.deepEqual(
        [refused.status, refused.body],
        [503, 'Another request for the same name is still on its way; nothing was done for this one'],
      );
      assert.equal(await one.balance(payer), held);
      two.faults.before = () => {};
      // The first try sends what was left unsent; once it has landed the next one is made on top of it.
      const answers = [
        await two.create('extend-lease', body, payer),
        await two.create('extend-lease', body, payer),
      ];
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 503]);
      const rows = await one.sql.all(
        "SELECT status FROM arns_action WHERE action = 'extend-lease' ORDER BY nonce",
      );
      assert.deepEqual(rows, [{ status: 'completed' }, { status: 'completed' }]);
    });
  });

  it('writes both of two changes to the metadata of one record that come to two services at once', async () => {
    await withServices(open, async (one, two) => {
      const antId = await one.buy('described', owner, payer);
      const body = { antId, ownerAddress: owner.address, undername: '@' };
      const [named, described] = await Promise.all([
        one.create('set-record-metadata', { ...body, displayName: 'A name' }, payer, { owner }),
        two.create('set-record-metadata', { ...body, recordDescription: 'What it is' }, payer, { owner }),
      ]);
      for (const answer of [named, described]) {
        assert.equal(text(answer.body, 'status'), 'completed', JSON.stringify(answer.body));
      }
      const metadata = await one.registry.metadata(parseSolanaAddress(antId), '@');
      assert.deepEqual([metadata?.displayName, metadata?.description], ['A name', 'What it is']);
    });
  });

  it('does not write a record while it is not known whether the change before it landed', async () => {
    await withServices(open, async (one, two) => {
      const antId = await one.buy('unsure', owner, payer);
      const body = { antId, ownerAddress: owner.address, undername: '@' };
      one.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
      const first = { ...body, displayName: 'A name' };
      assert.equal((await one.create('set-record-metadata', first, payer, { owner })).status, 503);
      const second = { ...body, recordDescription: 'What it is' };
      const describe = () => two.create('set-record-metadata', second, payer, { owner });
      // The first try sends what was left unsent.
      assert.deepEqual([(await describe()).status, (await describe()).status], [503, 200]);
      const metadata = await one.registry.metadata(parseSolanaAddress(antId), '@');
      assert.deepEqual([metadata?.displayName, metadata?.description], ['A name', 'What it is']);
    });
  });

  it('sends nothing that was planned before it slept through its lock', async () => {
    await withServices(open, async (one, two) => {
      const antId = await one.buy('sleeper', owner, payer);
      const body = { antId, ownerAddress: owner.address, undername: '@' };
      const held = await one.balance(payer);
      let slept = false;
      one.faults.before = async (method) => {
        if (method !== 'latestBlockhash' || slept) return;
        slept = true;
        // As if its time were over by the database's clock.
        await one.sql.run('UPDATE arns_locks SET until = 0');
        const change = { ...body, recordDescription: 'What it is' };
        const other = await two.create('set-record-metadata', change, payer, { owner });
        assert.equal(text(other.body, 'status'), 'completed', JSON.stringify(other.body));
      };
      const late = await one.create('set-record-metadata', { ...body, displayName: 'A name' }, payer, {
        owner,
      });
      assert.equal(late.status, 503, JSON.stringify(late.body));
      const metadata = await one.registry.metadata(parseSolanaAddress(antId), '@');
      assert.deepEqual([metadata?.displayName, metadata?.description], [undefined, 'What it is']);
      const price = BigInt(text((await one.get('/arns/actions/set-record-metadata/price')).body, 'wincQty'));
      assert.equal(await one.balance(payer), held - price);
    });
  });

  it('never sends what was ended and paid back while it was being prepared', async () => {
    await withServices(open, async (one, two) => {
      await one.buy('ended', owner, payer);
      const { record } = await one.registry.name('ended');
      const held = await one.balance(payer);
      let sent = 0;
      one.faults.before = async (method) => {
        if (method === 'send') sent += 1;
        if (method !== 'latestBlockhash') return;
        await two.names.reconcile();
        assert.equal(await one.balance(payer), held);
      };
      const answer = await one.create('extend-lease', { name: 'ended', years: 1 }, payer);
      assert.ok(answer.status >= 400, JSON.stringify(answer.body));
      assert.equal(sent, 0);
      assert.equal((await one.registry.name('ended')).record?.end, record?.end);
      assert.equal(await one.balance(payer), held);
      const [action] = await one.sql.all("SELECT status FROM arns_action WHERE action = 'extend-lease'");
      assert.equal(at(action, 'status'), 'failed');
    });
  });
});

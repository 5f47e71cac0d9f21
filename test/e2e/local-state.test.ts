/** The state of a local network under control: everything of it together goes back, forward, away and elsewhere. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { winc } from '../../src/credits/credits.ts';
import { isRecord } from '../../src/formats/json.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { buyName } from '../support/buy-name.ts';
import { type ControlledStack, startControlledStack } from '../support/controlled-stack.ts';
import { eventually } from '../support/eventually.ts';
import { makeTransaction } from '../support/local-gateway.ts';

const wallet = `${'w'.repeat(42)}A`;
const friend = `${'f'.repeat(42)}A`;
const year = 365 * 86_400;
const folder = mkdtempSync(join(tmpdir(), 'turnpike-local-state-'));
let stack: ControlledStack;

before(async () => {
  stack = await startControlledStack({ environment: { FREE_UPLOAD_LIMIT: '10000000' } });
});
after(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const url = (name: string): string => stack.urls[name] ?? '';
const text = async (path: string, init?: RequestInit): Promise<string> => (await fetch(path, init)).text();
const json = async (path: string, init?: RequestInit): Promise<Record<string, unknown>> => {
  const body: unknown = JSON.parse(await text(path, init));
  assert.ok(isRecord(body), JSON.stringify(body));
  return body;
};
const local = (path: string, method = 'GET', body?: unknown): Promise<Response> =>
  fetch(`${url('arweave')}/local${path}`, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
const height = async (): Promise<number> => Number(await text(`${url('arweave')}/height`));
const credits = async () => (await stack.control.stack().ledger.open()).credits;
const give = async (id: string) =>
  (await credits()).credit({
    reason: 'admin_credit',
    id,
    address: wallet,
    addressType: 'arweave',
    amount: winc(1_000_000n),
  });
const balance = async () => String((await (await credits()).balance(wallet))?.winc ?? 0);
const post = async (content: string): Promise<string> => {
  const made = await makeTransaction(url('arweave'), Buffer.from(content));
  await made.post();
  return made.transaction.id.toString('base64url');
};
/** Mined, indexed by the gateway and readable there. */
const posted = async (content: string): Promise<string> => {
  const id = await post(content);
  await stack.control.mine();
  await eventually('the content', async () => (await fetch(`${url('gateway')}/raw/${id}`)).ok);
  return id;
};
const blockOf = async (id: string): Promise<unknown> => {
  const query = { query: `{ transactions(ids: ["${id}"]) { edges { node { block { height } } } } }` };
  const answer = await text(`${url('gateway')}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(query),
  });
  return /"height":([0-9]+)/.exec(answer)?.[1];
};

describe('reset', () => {
  test('gives a fresh network at the same addresses and with the same keys', async () => {
    const info = await json(`${url('arweave')}/local`);
    const { addresses } = await json(`${url('payment')}/v1/info`);
    const id = await posted('gone with the reset');
    await give('before-reset');
    assert.equal(await balance(), '1000000');

    const answer = await local('/reset', 'POST');
    assert.equal(answer.status, 200);
    const fresh = JSON.parse(await answer.text());
    assert.equal(fresh.height, 0);
    assert.deepEqual(fresh.addresses, info.addresses);
    assert.notEqual(fresh.instance, info.instance);
    assert.equal(await balance(), '0');
    assert.deepEqual((await json(`${url('payment')}/v1/info`)).addresses, addresses);
    assert.equal((await fetch(`${url('gateway')}/raw/${id}`)).status, 404);
    assert.equal(await blockOf(id), undefined);

    const again = await posted('after the reset');
    assert.equal(await blockOf(again), '1');
    assert.equal(await text(`${url('router')}/${again}`), 'after the reset', 'the router reads it too');
  });

  test('keeps who asks meanwhile waiting, on the connections that they have', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const asked = (path: string) =>
      new Promise<{ status: number | undefined; port: number | undefined }>((resolve, reject) => {
        get(path, { agent }, (answer) => {
          const { localPort: port } = answer.socket;
          answer.resume().on('end', () => resolve({ status: answer.statusCode, port }));
        }).on('error', reject);
      });
    const first = await asked(`${url('gateway')}/info`);
    const resetting = stack.control.reset();
    const paths = ['gateway', 'payment', 'upload', 'router'].map((name) =>
      name === 'router' ? `${url(name)}/router/info` : `${url(name)}/info`,
    );
    const answers = await Promise.all(paths.flatMap((path) => [fetch(path), fetch(path)]));
    const second = await asked(`${url('gateway')}/info`);
    await resetting;
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    assert.equal(second.status, 200);
    assert.equal(second.port, first.port, 'the connection stayed');
    agent.destroy();
  });
});

describe('snapshots', () => {
  test('bring chain, ledger and index back together, nested and more than once', async () => {
    await stack.control.reset();
    const kept = await posted('kept');
    const first = JSON.parse(await (await local('/snapshots', 'POST', { name: 'first' })).text());
    assert.equal(first.height, 1);
    await give('between');
    const second = await stack.control.snapshot();
    assert.equal(second.name, 'snapshot-1');
    const lost = await posted('lost');
    assert.equal((await fetch(`${url('arweave')}/tx/${lost}`)).status, 200);

    assert.equal((await local('/revert', 'POST')).status, 200);
    assert.equal(await balance(), '1000000', 'the newest has the credit');
    assert.equal((await fetch(`${url('arweave')}/tx/${lost}`)).status, 404);
    assert.equal((await fetch(`${url('gateway')}/raw/${lost}`)).status, 404);

    for (let times = 0; times < 2; times += 1) {
      assert.equal((await local('/snapshots/first/revert', 'POST')).status, 200);
      assert.equal(await height(), 1);
      assert.equal(await balance(), '0');
      assert.equal(await text(`${url('gateway')}/raw/${kept}`), 'kept');
      assert.deepEqual(
        (await stack.control.snapshots()).map(({ name }) => name),
        ['first'],
        'what was made after it is gone, and it stays',
      );
    }
  });

  test('have names, one each', async () => {
    const before = await stack.control.snapshots();
    for (const [path, method, body, status] of [
      ['/snapshots', 'POST', { name: 'first' }, 409],
      ['/snapshots', 'POST', { name: '../keys' }, 400],
      ['/snapshots', 'POST', { name: '.' }, 400],
      ['/snapshots', 'POST', { name: 'x'.repeat(65) }, 400],
      ['/snapshots', 'POST', { named: 'x' }, 400],
      ['/snapshots/nothing/revert', 'POST', undefined, 404],
      ['/snapshots/..%2Fkeys', 'DELETE', undefined, 400],
    ] as const) {
      assert.equal((await local(path, method, body)).status, status, `${method} ${path}`);
    }
    assert.deepEqual(await stack.control.snapshots(), before);
    assert.equal((await local('/snapshots/first', 'DELETE')).status, 204);
    assert.equal((await local('/revert', 'POST')).status, 404);
    assert.deepEqual(await stack.control.snapshots(), []);
  });
});

describe('the clock', () => {
  test('makes everything happen that would happen in a year', async () => {
    await stack.control.reset();
    await stack.control.mine();
    const blockTime = async () => Number((await json(`${url('arweave')}/block/current`)).timestamp);
    const before = await blockTime();
    const id = await posted('named');
    await buyName(stack, 'leased', id);
    const named = () => fetch(`${url('gateway')}/ar-io/resolver/leased`);
    assert.equal((await named()).status, 200);
    await give('to-lend');
    await (await credits()).approve({
      id: 'a'.repeat(43),
      payer: wallet,
      approved: friend,
      amount: winc(10n),
      expiresInSeconds: 3_600,
    });
    const lent = async () => (await (await credits()).approvals(wallet, friend)).length;
    assert.equal(await lent(), 1);
    const page = String((await checkout()).url);
    assert.equal((await fetch(page)).status, 200);
    const { id: parts } = await json(`${url('upload')}/chunks/arweave/-1/-1`);
    const partsStatus = async () => (await fetch(`${url('upload')}/chunks/arweave/${parts}/status`)).status;
    assert.equal(await partsStatus(), 200);
    const quotes = async () => {
      const { sql } = await stack.control.stack().ledger.open();
      return (await sql.all<{ state: string }>('SELECT state FROM card_quotes')).map(({ state }) => state);
    };
    assert.deepEqual(await quotes(), ['quoted']);

    const answer = await local('/clock', 'POST', { advance: year + 60 * 86_400 });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.equal((await json(`${url('arweave')}/local/clock`)).offsetSeconds, year + 60 * 86_400);
    assert.ok((await blockTime()) >= before + year, 'the chain has a block of that time');
    assert.equal((await named()).status, 404, 'the lease has lapsed');
    assert.equal(await lent(), 0, 'the approval has expired');
    assert.equal(await balance(), '1000000', 'and what was lent is back');
    await eventually('the checkout session ends', async () => (await fetch(page)).status === 410);
    await eventually('the quote ends', async () => (await quotes()).every((state) => state !== 'quoted'));
    await eventually('the upload in parts ends', async () => (await partsStatus()) === 404);
    assert.equal(await text(`${url('gateway')}/raw/${id}`), 'named', 'what is stored stays');
    assert.equal((await fetch(String((await checkout()).url))).status, 200, 'and everything goes on');
  });

  test('goes to a moment, forward only, and is part of the state', async () => {
    const now = (await stack.control.info()).clock;
    for (const [body, status] of [
      [{ to: '2020-01-01T00:00:00Z' }, 400],
      [{ to: 'tomorrow' }, 400],
      [{ advance: -5 }, 400],
      [{ advance: 1e12 }, 400],
      [{ advance: 1, to: 5 }, 400],
    ] as const) {
      assert.equal((await local('/clock', 'POST', body)).status, status, JSON.stringify(body));
    }
    assert.equal((await stack.control.info()).clock.offsetSeconds, now.offsetSeconds);
    await stack.control.snapshot('then');
    const to = new Date(Date.now() + 10 * year * 1_000);
    assert.equal((await local('/clock', 'POST', { to: to.toISOString() })).status, 200);
    assert.ok(Math.abs(Date.now() - to.getTime()) < 60_000);
    await stack.control.revert('then');
    assert.equal((await stack.control.info()).clock.offsetSeconds, now.offsetSeconds);
    await stack.control.forget('then');
    await stack.control.reset();
    assert.equal((await stack.control.info()).clock.offsetSeconds, 0);
  });

  async function checkout(): Promise<Record<string, unknown>> {
    const quoted = await json(`${url('payment')}/v1/top-up/checkout-session/${wallet}/usd/1000`);
    assert.ok(isRecord(quoted.paymentSession));
    return quoted.paymentSession;
  }
});

describe('mining', () => {
  test('comes with each transaction, at intervals, or when asked, and stays so after a restart', async () => {
    assert.deepEqual(await json(`${url('arweave')}/local/mining`), { mode: 'none', intervalMs: 0 });
    const at = await height();
    assert.equal((await local('/mining', 'POST', { mode: 'transaction' })).status, 200);
    const id = await post('at once');
    const { block_height: mined } = await json(`${url('arweave')}/tx/${id}/status`);
    assert.equal(mined, at + 1);
    await stack.control.snapshot('mining');
    assert.equal((await stack.control.mining()).mode, 'transaction');
    await stack.control.forget('mining');

    assert.equal((await local('/mining', 'POST', { mode: 'interval', intervalMs: 10 })).status, 200);
    await eventually('empty blocks', async () => (await height()) > at + 3);
    assert.equal((await local('/mining', 'POST', { mode: 'none' })).status, 200);
    const { height: stopped } = JSON.parse(await (await local('/mine', 'POST', { blocks: 3 })).text());
    assert.equal(await height(), stopped);
    for (const body of [{ mode: 'often' }, { mode: 'interval', intervalMs: 0 }, {}]) {
      assert.equal((await local('/mining', 'POST', body)).status, 400);
    }
    assert.equal((await local('/mine', 'POST', { blocks: 0 })).status, 400);
  });
});

describe('a saved state', () => {
  test('is loaded by another installation, with its keys', async () => {
    await stack.control.reset();
    const id = await posted('on the road');
    await give('saved');
    const item = await signItem({ data: Buffer.from('an item') }, solanaSigner(ed25519TestKey('saver')));
    const headers = { 'content-type': 'application/octet-stream' };
    const stored = await json(`${url('upload')}/v1/tx/solana`, { method: 'POST', headers, body: item });
    const path = await stack.control.save();
    const file = join(folder, 'state.turnpike');
    copyFileSync(path, file);
    rmSync(path);
    const digest = (dataDir: string) =>
      createHash('sha256')
        .update(readFileSync(join(dataDir, 'keys', 'jwt-secret')))
        .digest('hex');
    const keys = digest(stack.dataDir);
    await stack.stop();

    stack = await startControlledStack({ environment: { FREE_UPLOAD_LIMIT: '10000000' } });
    assert.notEqual(digest(stack.dataDir), keys);
    const answer = await fetch(`${url('arweave')}/local/state`, { method: 'PUT', body: readFileSync(file) });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.equal(digest(stack.dataDir), keys);
    assert.equal(await balance(), '1000000');
    assert.equal(await text(`${url('gateway')}/raw/${id}`), 'on the road');
    assert.equal((await fetch(`${url('upload')}/v1/tx/${stored.id}/status`)).status, 200);
  });

  test('that is none, or does not start, changes nothing', async () => {
    await stack.control.mine();
    const at = await height();
    const load = async (bytes: Uint8Array<ArrayBuffer>) => {
      const answer = await fetch(`${url('arweave')}/local/state`, { method: 'PUT', body: bytes });
      return `${answer.status} ${await answer.text()}`;
    };
    assert.match(await load(Buffer.from('nothing')), /^400 .*Not a saved state/);
    const damaged = (change: string) => {
      const file = join(folder, 'damaged.turnpike');
      copyFileSync(join(folder, 'state.turnpike'), file);
      const sql = new DatabaseSync(file);
      sql.exec(change);
      sql.close();
      return readFileSync(file);
    };
    assert.match(
      await load(damaged("UPDATE files SET path = '../outside' WHERE path = 'ledger.db'")),
      /^400/,
    );
    assert.match(await load(damaged("UPDATE files SET path = 'world' WHERE path = 'ledger.db'")), /^400/);
    assert.match(await load(damaged('UPDATE about SET format = 9')), /^400 .*another release/);
    assert.match(await load(damaged("UPDATE files SET data = x'00' WHERE path = 'ledger.db'")), /^400/);
    assert.ok(!existsSync(join(stack.dataDir, '..', 'outside')));
    assert.match(
      await load(damaged("UPDATE files SET path = 'ledger.db/gone' WHERE path = 'ledger.db'")),
      /^409 .*does not start/,
    );
    assert.equal(await height(), at);
    assert.equal(await balance(), '1000000');
    assert.ok(statSync(join(stack.dataDir, 'ledger.db')).isFile());
  });
});

describe('the control', () => {
  test('is not for pages of other sites', async () => {
    const at = await height();
    for (const headers of [
      { origin: 'https://example.com' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
    ]) {
      for (const path of ['', '/state', '/clock']) {
        assert.equal((await fetch(`${url('arweave')}/local${path}`, { headers })).status, 403);
      }
      assert.equal((await fetch(`${url('arweave')}/local/reset`, { method: 'POST', headers })).status, 403);
    }
    assert.equal(await height(), at);
    const own = { origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' };
    assert.equal((await fetch(`${url('arweave')}/local`, { headers: own })).status, 200);
  });
});

describe('another chain', () => {
  test('is noticed: the gateway begins anew, and uploads go on', async () => {
    await stack.stop();
    stack = await startControlledStack({ dataDir: join(folder, 'replaced') });
    await stack.control.mine(40);
    const gone = await posted('gone');
    await stack.stop();
    for (const suffix of ['', '-wal', '-shm']) {
      rmSync(join(folder, 'replaced', 'localnet', `arweave.db${suffix}`), { force: true });
    }
    stack = await startControlledStack({ dataDir: join(folder, 'replaced') });
    const id = await posted('of the new chain');
    await eventually('it is indexed', async () => (await blockOf(id)) !== undefined);
    assert.equal(await blockOf(gone), undefined);
    assert.equal((await fetch(`${url('gateway')}/ar-io/healthcheck`)).status, 200);
    assert.equal(await text(`${url('router')}/${id}`), 'of the new chain');
  });
});

/** A local network started and controlled from test code. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Arweave from 'arweave';
import type * as arlocalKit from '../../src/kit/arlocal.ts';
import type * as kit from '../../src/kit/testing.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { isGone } from '../support/is-gone.ts';
import { arweaveTestKey } from '../support/keys.ts';
import { importOfProgram } from '../support/program.ts';

const { connectTurnpike, startTurnpike } = (await importOfProgram('testing')) as typeof kit;
const { default: ArLocal } = (await importOfProgram('arlocal')) as typeof arlocalKit;
const text = async (url: string): Promise<string> => (await fetch(url)).text();
describe('a network in the hands of a test', () => {
  let turnpike: kit.Turnpike;
  before(async () => {
    turnpike = await startTurnpike({ mining: 'none' });
  });
  after(() => turnpike?.stop());

  test('every part answers at its address', async () => {
    assert.match(await text(`${turnpike.urls.arweave}/info`), /turnpike\.local/);
    assert.equal((await fetch(`${turnpike.urls.gateway}/ar-io/healthcheck`)).status, 200);
    assert.equal((await fetch(`${turnpike.urls.payment}/v1/info`)).status, 200);
    assert.equal((await fetch(`${turnpike.urls.upload}/v1/info`)).status, 200);
    assert.equal(turnpike.env.UPLOAD_URL, turnpike.urls.upload);
    assert.equal(turnpike.url, turnpike.urls.arweave);
  });

  test('has funded wallets of each kind, and gives money to any other', async () => {
    assert.deepEqual(
      [turnpike.wallets.arweave.length, turnpike.wallets.ethereum.length, turnpike.wallets.solana.length],
      [10, 10, 10],
    );
    const balance = async (address: string) =>
      BigInt(await text(`${turnpike.url}/wallet/${address}/balance`));
    assert.ok((await balance(turnpike.wallets.arweave[0]?.address ?? '')) > 0n);
    const stranger = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
    await turnpike.mint(stranger, '1.5');
    assert.equal(await balance(stranger), 1_500_000_000_000n);
    await turnpike.mint(stranger, 2, 'credits');
    const credits: unknown = await (
      await fetch(`${turnpike.urls.payment}/v1/account/balance?address=${stranger}`)
    ).json();
    assert.ok(JSON.stringify(credits).includes('"winc":"2000000000000"'));
    await assert.rejects(turnpike.mint('not an address', 1), /answered 400/);
    await assert.rejects(turnpike.mint(stranger, 1e21), /give it as text/);
  });

  test('mines, goes back to snapshots, and begins anew', async () => {
    const { height } = await turnpike.mine();
    const first = await turnpike.snapshot('first');
    assert.deepEqual([first.name, first.height], ['first', height]);
    assert.equal((await turnpike.mine(3)).height, height + 3);
    await turnpike.revert('first');
    assert.equal((await turnpike.info()).height, height);
    await turnpike.mine();
    await turnpike.revert();
    assert.equal((await turnpike.info()).height, height);
    await turnpike.forget('first');
    await assert.rejects(turnpike.revert('first'), /answered 404/);
    const { instance } = await turnpike.info();
    const fresh = await turnpike.reset();
    assert.notEqual(fresh.instance, instance);
    assert.ok(fresh.height < height);
  });

  test('puts the clock of everything ahead', async () => {
    const now = async () => Date.parse((await turnpike.info()).clock.now);
    const before = await now();
    await turnpike.advance({ days: 1, hours: 1 });
    assert.ok((await now()) - before >= 25 * 3_600_000);
    await assert.rejects(turnpike.advance({ fortnights: 1 } as object), /there is no unit "fortnights"/);
  });

  test('is written to a file and read from it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-kit-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const { height } = await turnpike.mine(2);
    const file = join(folder, 'state');
    await turnpike.save(file);
    assert.ok(statSync(file).size > 0);
    await turnpike.mine();
    assert.equal((await turnpike.load(file)).height, height);
    await assert.rejects(turnpike.load(join(folder, 'none')), /ENOENT/);
  });

  test('mines as it is told', async () => {
    assert.equal((await turnpike.setMining({ mode: 'interval', intervalMs: 20 })).mode, 'interval');
    const { height } = await turnpike.info();
    await eventually('blocks by themselves', async () => (await turnpike.info()).height > height + 1);
    assert.equal((await turnpike.setMining('none')).mode, 'none');
  });

  test('fails where it is told to, and behaves again', async () => {
    await turnpike.faults('arweave', { status: 503, path: '/height' });
    assert.equal((await fetch(`${turnpike.url}/height`)).status, 503);
    await turnpike.faults('arweave', null);
    assert.equal((await fetch(`${turnpike.url}/height`)).status, 200);
    await turnpike.faults('card', { hold: true });
    await turnpike.faults('card', null);
    await turnpike.faults('x402', { refuse: 1 });
    await turnpike.faults('x402', null);
  });

  test('is the same for who connects to it, by JSON or by its address', async () => {
    const other = await connectTurnpike(JSON.parse(JSON.stringify(turnpike)));
    assert.deepEqual(other.urls, turnpike.urls);
    assert.deepEqual(other.wallets, turnpike.wallets);
    assert.equal((await other.mine()).height, (await turnpike.info()).height);
    await other.faults('card', null);
    await other.stop();
    const byAddress = await connectTurnpike(`${turnpike.url}/`);
    assert.equal((await byAddress.info()).instance, (await turnpike.info()).instance);
    await assert.rejects(
      byAddress.faults('card', null),
      /the key of the local card provider is not known here/,
    );
  });

  test('gives clients of packages that are installed', async () => {
    const arweave = await turnpike.clients.arweave();
    assert.match((await arweave.network.getInfo()).network, /turnpike\.local$/);
    const stripe = await turnpike.clients.stripe();
    assert.deepEqual((await stripe.events.list()).data, []);
    await assert.rejects(turnpike.clients.solana(), /@solana\/web3.js is not installed/);
  });
});

describe('the life of a network', () => {
  test('runs in a thread, beside another, and leaves nothing', async () => {
    const networks = await Promise.all([
      startTurnpike({ run: 'thread', surfaces: ['gateway'] }),
      startTurnpike({ surfaces: ['gateway'] }),
    ]);
    const [thread, child] = networks;
    assert.notEqual(thread.url, child.url);
    const { height } = await thread.mine(2);
    assert.ok((await child.info()).height < height);
    assert.throws(() => thread.urls.upload, /upload was not started/);
    await thread.advance({ years: 1 });
    assert.ok(
      Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 60_000,
      'our own clock stays',
    );
    for (const network of networks) {
      assert.ok(existsSync(network.dataDir ?? ''));
      await network.stop();
      await network.stop();
      assert.ok(await isGone(network.url));
      assert.ok(!existsSync(network.dataDir ?? ''));
      await assert.rejects(network.mine(), /the program ended with code 0/);
    }
  });

  test('a folder that is named is kept and continued; one that does not start says why', async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-kit-'));
    t.after(() => rmSync(dataDir, { recursive: true }));
    const options = { dataDir, surfaces: ['gateway'] as const, mining: 'none' as const };
    const first = await startTurnpike(options);
    const { height } = await first.mine(5);
    await first.stop();
    {
      await using again = await startTurnpike(options);
      assert.equal((await again.info()).height, height);
    }
    const lines: string[] = [];
    await assert.rejects(
      startTurnpike({ ...options, env: { LOG_LEVEL: 'loud' }, log: (line) => lines.push(line) }),
      /Turnpike did not start: it ended with code 1\n.*LOG_LEVEL/,
    );
    assert.match(lines.join('\n'), /LOG_LEVEL/);
    await assert.rejects(startTurnpike({ ...options, timeoutMs: 1 }), /was not there after 1 ms/);
  });

  test("ArLocal's class starts and stops it, and a suite for it finds what it expects", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const arLocal = new ArLocal(port, false);
    await arLocal.start();
    const arweave = Arweave.init({ host: '127.0.0.1', port, protocol: 'http' });
    const address = await arweave.wallets.jwkToAddress(arweaveTestKey);
    await text(`${url}/mint/${address}/1000000000000`);
    const transaction = await arweave.createTransaction({ data: 'hello' }, arweaveTestKey);
    transaction.addTag('App-Name', 'suite');
    await arweave.transactions.sign(transaction, arweaveTestKey);
    assert.equal((await arweave.transactions.post(transaction)).status, 200);
    assert.equal((await arweave.transactions.getStatus(transaction.id)).confirmed, null);
    await text(`${url}/mine`);
    assert.equal((await arweave.transactions.getStatus(transaction.id)).confirmed?.block_height, 1);
    const query =
      '{ transactions(tags: [{ name: "App-Name", values: ["suite"] }]) { edges { node { id } } } }';
    const found = await arweave.api.post('/graphql', { query });
    assert.deepEqual(found.data.data.transactions.edges, [{ node: { id: transaction.id } }]);
    assert.equal(await text(`${url}/${transaction.id}`), 'hello');
    await arLocal.stop();
    await arLocal.stop();
    assert.ok(await isGone(url));
    assert.throws(() => new ArLocal(port, false, undefined, false, 50), /mineWithFails\?fails=50/);
  });
});

/**
 * A backup is taken of a running stack, more happens, the machine is lost, and the backup is restored elsewhere: what was
 * acknowledged before is there, the ledger adds up, and what was paid since is credited once. On SQLite, or on PostgreSQL
 * where TEST_DATABASE_URL names one.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import Stripe from 'stripe';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { memberOf } from '../../src/formats/json.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { signPayment } from '../../src/localnet/x402/testing.ts';
import { connected } from '../../src/storage/sql/postgres/testing-schemas.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { NodeClient, TestWallet } from '../support/local-arweave.ts';
import { createDatabase } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { type CommandResult, runCommand, startCommands } from '../support/run-command.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const server = process.env.TEST_DATABASE_URL;
const signer = solanaSigner(ed25519TestKey('restore'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(5150);
const early = `${'e'.repeat(42)}A`;
const late = `${'l'.repeat(42)}A`;
const oneAr = 1_000_000_000_000n;
/** As soon as they are there. */
const bundlesAtOnce = { BUNDLE_MAX_WAIT_MS: '1', BUNDLE_POLL_MS: '200', BUNDLE_CONFIRMATIONS: '3' };
const waits = 'another backup runs, or was cut off less than two minutes ago';
const fullDiskSkip =
  (server !== undefined || process.getuid?.() !== 0) && 'needs to mount a disk, and SQLite';
const settings = {
  ALLOW_LISTED_ADDRESSES: address,
  MIN_FREE_DISK_BYTES: '0',
  // What is uploaded stays with the service, so that the backup has to have it.
  BUNDLE_MAX_WAIT_MS: '3600000',
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '200',
  PENDING_PAYMENT_RECHECK_MS: '100',
  PAYMENT_TX_POLLING_WAIT_TIME_MS: '20',
};

describe(`a backup, and a restore elsewhere, on ${server === undefined ? 'SQLite' : 'PostgreSQL'}`, () => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-restore-'));
  const dataDir = join(home, 'first');
  const other = join(home, 'second');
  const place = join(home, 'backups');
  const passphrase = join(home, 'passphrase');
  const databases: Awaited<ReturnType<typeof createDatabase>>[] = [];
  const commands = startCommands();
  let stack: RunningStack;
  const acknowledged = new Map<string, Buffer>();
  /** Items that came while the backup was made: it may have them. */
  const meanwhile: string[] = [];

  const environmentOf = (folder: string): Record<string, string> => {
    const database = databases[folder === dataDir ? 0 : 1];
    return { ...settings, DATA_DIR: folder, ...(database && { DATABASE_URL: database.url }) };
  };
  const start = async (folder: string, more: Record<string, string> = {}): Promise<RunningStack> =>
    startStack({
      dataDir: folder,
      environment: { ...environmentOf(folder), ...more },
      only: ['payment', 'upload', 'gateway'],
    });

  before(async () => {
    writeFileSync(passphrase, 'a passphrase that is long enough\n', { mode: 0o600 });
    if (server !== undefined) databases.push(await createDatabase(server), await createDatabase(server));
    stack = await start(dataDir);
  });
  after(async () => {
    commands.stop();
    await stack.end();
    for (const database of databases) await database.drop();
    rmSync(home, { recursive: true, force: true });
  });

  const turnpike = (folder: string, args: readonly string[]) =>
    commands.run(args, { ...freePorts(), ...environmentOf(folder) });
  /** Killed when it says what it is at. */
  function killed(folder: string, args: readonly string[], word: string): Promise<CommandResult> {
    const env = { ...process.env, ...freePorts(), ...environmentOf(folder) };
    return runCommand(process.execPath, [program, ...args], { env }, (child) => {
      child.stderr?.on('data', (text: Buffer) => {
        if (text.includes(word)) child.kill('SIGKILL');
      });
    });
  }
  const succeeded = (result: CommandResult): CommandResult => {
    assert.equal(result.code, 0, `${result.out}\n${result.error}`);
    return result;
  };
  const json = async (url: string, init?: RequestInit): Promise<Record<string, unknown>> =>
    JSON.parse(await (await fetch(url, init)).text());
  const balance = async (wallet: string): Promise<string> =>
    String((await json(`${stack.urls.payment}/v1/account/balance?address=${wallet}`)).winc ?? '0');

  async function upload(size: number): Promise<void> {
    const data = random.bytes(size);
    const body = await signItem({ data }, signer);
    const headers = { 'content-type': 'application/octet-stream' };
    const answer = await fetch(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', headers, body });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    acknowledged.set(String(memberOf(JSON.parse(text), 'id')), data);
  }

  async function payByCard(wallet: string): Promise<void> {
    const key = readFileSync(join(stack.dataDir, 'keys', 'local-card-secret-key'), 'utf8').trim();
    const { hostname, port } = new URL(stack.urls.card ?? '');
    const stripe = new Stripe(key, { host: hostname, port, protocol: 'http', telemetry: false });
    const quoted = await json(`${stack.urls.payment}/v1/top-up/payment-intent/${wallet}/usd/1000`);
    await stripe.paymentIntents.confirm(String(memberOf(quoted.paymentSession, 'id')), {
      payment_method: 'pm_card_visa',
    });
    await eventually('the credit', async () => (await balance(wallet)) === '1225600000000');
  }

  async function payByX402(): Promise<void> {
    const { payer } = examplePayment;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ address: payer, amount: '100000000' });
    await json(`${stack.urls.x402}/mint`, { method: 'POST', headers, body });
    const path = `${stack.urls.payment}/v1/x402/top-up?type=credits&qty=1`;
    const asked = await json(path);
    const value = BigInt(String(asked.maxAmountRequired));
    const { paymentPayload } = signPayment({ payTo: String(asked.payTo), value });
    const paid = await json(path, { headers: { 'x-payment': encodeHeader(paymentPayload) } });
    assert.equal(paid.walletAddress, payer);
  }

  async function payInAr(): Promise<void> {
    const node = new NodeClient(stack.urls.arweave ?? '');
    const wallet = new TestWallet(testArweaveKey.privateKey);
    await node.text(`/mint/${wallet.address}/${10n * oneAr}`);
    const info = await json(`${stack.urls.payment}/v1/info`);
    const target = String(memberOf(info.addresses, 'arweave'));
    const transaction = await wallet.transaction(node, { target, quantity: oneAr });
    await node.postTx(transaction);
    const body = JSON.stringify({ tx_id: transactionToJson(transaction, 'with data').id });
    await eventually('the credit in AR', async () => {
      const url = `${stack.urls.payment}/v1/account/balance/arweave`;
      return (await fetch(url, { method: 'POST', body })).status === 200;
    });
  }

  /** What each of those who paid has. */
  const balances = async (): Promise<string[]> =>
    Promise.all([early, late, examplePayment.payer, testArweaveKey.address].map(balance));
  let afterwards: string[] = [];

  it('leaves nothing behind when it is killed, and is taken again', async () => {
    await upload(30_000);
    const cut = await killed(dataDir, ['backup', place, '--no-keys'], 'stored uploads');
    assert.equal(cut.code, null);
    assert.match(succeeded(await turnpike(dataDir, ['backup', place, '--list'])).out, /there is no backup/);
    const busy = await turnpike(dataDir, ['backup', place, '--no-keys']);
    assert.deepEqual([busy.code, busy.error.split('\n').at(-2)], [1, waits]);
    // What it held is free after two minutes.
    if (server === undefined) freeHold(join(dataDir, 'ledger.db'));
    else await connected(databases[0]?.url ?? '', (client) => client.query(freed));
  });

  it('is taken while the stack takes uploads, and proves itself', async () => {
    for (const size of [0, 100, 5_000, 20_000, 300_000, 9_000_000]) await upload(size);
    await payByCard(early);
    let isRunning = true;
    const before = acknowledged.size;
    const traffic = (async () => {
      while (isRunning) await upload(random.below(40_000));
    })();
    const made = await turnpike(dataDir, ['backup', place, '--keys', passphrase]);
    isRunning = false;
    await traffic;
    assert.ok(acknowledged.size > before);
    for (const id of [...acknowledged.keys()].slice(before)) {
      acknowledged.delete(id);
      meanwhile.push(id);
    }
    assert.match(succeeded(made).out, /^backup \d{8}T\d{6}Z-[0-9a-f]{6} of .*stored uploads.*keys sealed\n$/);
    const checked = succeeded(await turnpike(dataDir, ['backup', place, '--check']));
    assert.match(checked.out, /it is whole, and its ledger adds up/);
    const wrong = await turnpike(other, [
      'restore',
      place,
      '--no-keys',
      '--backup',
      '20200101T000000Z-abcdef',
    ]);
    assert.deepEqual([wrong.code, wrong.error.trim()], [1, 'there is no backup 20200101T000000Z-abcdef']);
  });

  /** The bundle of each item; undefined while one is not permanent. */
  async function bundles(ids: Iterable<string>): Promise<Map<string, string> | undefined> {
    const found = new Map<string, string>();
    for (const id of ids) {
      const { status, bundleId } = await json(`${stack.urls.upload}/v1/tx/${id}/status`);
      if (status !== 'FINALIZED') return undefined;
      found.set(id, String(bundleId));
    }
    return found;
  }
  /** All that the service's wallet has posted, as the gateway lists it. */
  async function posted(): Promise<string[]> {
    const info = await json(`${stack.urls.upload}/v1/info`);
    const query = `{ transactions(owners: ["${memberOf(info.addresses, 'arweave')}"], first: 100,
      tags: [{ name: "Bundle-Format", values: ["binary"] }]) { edges { node { id } } } }`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query });
    const { data } = await json(`${stack.urls.gateway}/graphql`, { method: 'POST', headers, body });
    const edges = memberOf(memberOf(data, 'transactions'), 'edges');
    assert.ok(Array.isArray(edges));
    return edges.map((edge: unknown) => String(memberOf(memberOf(edge, 'node'), 'id'))).sort();
  }
  let first = new Map<string, string>();
  let paid: string[] = [];

  it('knows nothing of what was bundled afterwards', async () => {
    await stack.end();
    stack = await start(dataDir, bundlesAtOnce);
    const all = await eventually('all items are permanent', () =>
      bundles([...acknowledged.keys(), ...meanwhile]),
    );
    first = new Map([...all].filter(([id]) => acknowledged.has(id)));
    paid = [...new Set(all.values())].sort();
    await eventually('the gateway has all bundles', async () => isDeepStrictEqual(await posted(), paid));
    await stack.end();
    stack = await start(dataDir);
  });

  it('nor of what was paid, and the machine is lost', async () => {
    await payByCard(late);
    await payByX402();
    await payInAr();
    afterwards = await balances();
    assert.ok(
      afterwards.every((winc) => BigInt(winc) > 0n),
      String(afterwards),
    );
    await stack.end('SIGKILL');
  });

  it('refuses a folder that is in use, and goes on after it was killed', async () => {
    const used = await turnpike(dataDir, ['restore', place, '--keys', passphrase]);
    assert.equal(used.code, 1);
    assert.match(used.error, /is not empty .*: restore into a new one/);
    const cut = await killed(other, ['restore', place, '--keys', passphrase], 'database');
    assert.equal(cut.code, null);
    await assert.rejects(start(other), /a restore was cut off: run "turnpike restore" to its end/);
    const restored = succeeded(await turnpike(other, ['restore', place, '--keys', passphrase]));
    assert.match(restored.out, /the ledger adds up\nnext: turnpike reconcile --dry-run\n$/);
    // The outside is the same as before.
    cpSync(join(dataDir, 'localnet'), join(other, 'localnet'), { recursive: true });
    stack = await start(other, bundlesAtOnce);
  });

  it('pays for no item again that is on the chain', async () => {
    assert.deepEqual(await eventually('all items are permanent', () => bundles(first.keys())), first);
    assert.deepEqual(await posted(), paid);
    await stack.end();
    stack = await start(other);
  });

  it('has every item that was acknowledged before it began', async () => {
    for (const [id, data] of acknowledged) {
      const answer = await fetch(`${stack.urls.gateway}/raw/${id}`);
      assert.equal(answer.status, 200, id);
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(data), id);
    }
    assert.equal(await balance(early), afterwards[0]);
    assert.equal(await balance(late), '0');
    // Nothing that was held while the copy was made is held now.
    succeeded(await turnpike(other, ['backup', join(other, 'backups'), '--no-keys']));
  });

  it('tells of the card payment whose quote is gone, and does not ignore it', async () => {
    const open = await eventually('the open event', async () => {
      const listed: unknown = JSON.parse((await turnpike(other, ['ledger', 'open', '--json'])).out);
      const events = memberOf(listed, 'cardEvents');
      return Array.isArray(events) && events.length > 0 && events;
    });
    assert.ok(open.every((event: unknown) => typeof memberOf(event, 'intentId') === 'string'));
    const metrics = await (await fetch(`${stack.urls.payment}/metrics`)).text();
    assert.match(metrics, /^card_events_open [1-9]/m);
  });

  it('is reconciled with the outside: told first, then credited, once', async () => {
    await eventually('the gateway has what was paid in AR', async () => {
      const dry = await turnpike(other, ['reconcile', '--dry-run', '--json']);
      // Bundles have items that were uploaded after the backup: nobody can bring back what they cost.
      assert.equal(dry.code, 3, dry.error);
      const records = memberOf(JSON.parse(dry.out), 'records');
      assert.ok(Array.isArray(records));
      const told = records.filter((record: unknown) => memberOf(record, 'state') === 'would be credited');
      const isTold = (kind: string, payer = '') =>
        told.some(
          (record: unknown) =>
            memberOf(record, 'kind') === kind && String(memberOf(record, 'what')).endsWith(payer),
        );
      // The service's own SOL is of a chain, too.
      return isTold('card') && isTold('x402') && isTold('chain', testArweaveKey.address);
    });
    assert.deepEqual((await balances()).slice(1), ['0', '0', '0']);
    // Killed in the middle of it, it is run again.
    const cut = turnpike(other, ['reconcile']);
    await eventually('the first credit', async () =>
      (await balances()).slice(1).some((winc) => winc !== '0'),
    );
    await stack.end('SIGKILL');
    await cut;
    stack = await start(other);
    const run = await turnpike(other, ['reconcile']);
    assert.match(
      run.out,
      /^since .*: \d+ that the ledger did not know, [0-3] credited, \d+ taken in, \d+ open$/m,
    );
    assert.doesNotMatch(run.out, /could not be listed/);
    const open = run.out.split('\n').filter((line) => / {2}open +/.test(line));
    assert.ok(open.length > 0, run.out);
    for (const line of open) {
      assert.match(
        line,
        /^ {2}bundle .*: (?:\d+ of its items waited here and are not bundled again; \d+|its items) came after/,
      );
    }
    const report = /^report: (.*)$/m.exec(run.out)?.[1] ?? '';
    assert.ok(existsSync(report), report);
    // What the one that was killed had taken in is credited by the service itself.
    await eventually('all credits', async () => isDeepStrictEqual(await balances(), afterwards));
    const again = await turnpike(other, ['reconcile']);
    assert.match(again.out, /, 0 credited, /);
    assert.deepEqual(await balances(), afterwards);
    await eventually('nothing is open of cards', async () => {
      const listed: unknown = JSON.parse((await turnpike(other, ['ledger', 'open', '--json'])).out);
      const events = memberOf(listed, 'cardEvents');
      return Array.isArray(events) && events.length === 0;
    });
    succeeded(await turnpike(other, ['ledger', 'check']));
  });

  it('serves what it has on a full disk, and takes more when there is room', {
    skip: fullDiskSkip,
  }, async () => {
    await stack.end();
    const disk = mountSmallDisk(96);
    assert.ok(disk !== undefined);
    try {
      const folder = join(disk.folder, 'data');
      const filler = join(disk.folder, 'filler');
      cpSync(other, folder, { recursive: true });
      writeFileSync(join(folder, 'reserve'), Buffer.alloc(1024 * 1024, 1), { mode: 0o600 });
      fill(filler);
      stack = await start(folder);
      assert.match(stack.log(), /the disk of DATA_DIR is full: only reads are served/);
      for (const [id, data] of acknowledged) {
        const answer = await fetch(`${stack.urls.gateway}/raw/${id}`);
        assert.ok(Buffer.from(await answer.arrayBuffer()).equals(data), id);
      }
      rmSync(filler);
      const before = acknowledged.size;
      await eventually('an upload', () =>
        upload(50_000).then(
          () => true,
          () => false,
        ),
      );
      assert.equal(acknowledged.size, before + 1);
      for (const id of [...acknowledged.keys()].slice(before)) acknowledged.delete(id);
      await stack.end();
    } finally {
      disk.remove();
    }
  });

  it('does not sell on a damaged ledger, says so, and serves what it has', {
    skip: server !== undefined,
  }, async () => {
    await stack.end();
    damageTable(join(other, 'ledger.db'), 'arns_receipt');
    stack = await start(other);
    const health = await fetch(`${stack.urls.payment}/v1/health`);
    assert.equal(health.status, 503);
    assert.match(await health.text(), /Ledger unchecked: /);
    const metrics = await (await fetch(`${stack.urls.payment}/metrics`)).text();
    assert.match(metrics, /^ledger_unchecked 1$/m);
    assert.match(metrics, /^ledger_drift_winc NaN$/im);
    const quote = await fetch(`${stack.urls.payment}/v1/top-up/payment-intent/${late}/usd/1000`);
    assert.equal(quote.status, 503);
    const body = await signItem({ data: random.bytes(10) }, signer);
    const stored = await fetch(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body });
    assert.equal(stored.status, 503);
    assert.equal(await balance(late), afterwards[1]);
    const checked = await turnpike(other, ['ledger', 'check']);
    assert.equal(checked.code, 1);
    const [id = ''] = acknowledged.keys();
    assert.equal((await fetch(`${stack.urls.gateway}/raw/${id}`)).status, 200);
  });
});

/** Writes until nothing more goes in. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const size of [64 * 1024, 4_096]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size, 1));
      } catch {
        // No room for a piece of this size.
      }
    }
  } finally {
    closeSync(file);
  }
}

const freed = "UPDATE ledger.upload_leases SET until = 0 WHERE name = 'backup'";

function freeHold(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec(freed.replace('ledger.', ''));
  database.close();
}

/** Makes the root page of a table look like nothing. */
function damageTable(path: string, table: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const row = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
  const size = database.prepare('PRAGMA page_size').get();
  database.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(16, 0xee), 0, 16, (Number(row?.rootpage) - 1) * Number(size?.page_size));
  closeSync(file);
}

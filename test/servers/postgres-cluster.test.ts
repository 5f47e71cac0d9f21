/**
 * PostgreSQL as people run it: a primary with two standbys, of which one has everything that was acknowledged, PgBouncer
 * in transaction mode and HAProxy. Readers are answered by standbys and see what was written; the primary dies under
 * load and nothing is lost; a schema changes while an older release works on it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lookAtDatabases } from '../../src/cli/doctor/databases.ts';
import { readConfig } from '../../src/config/config.ts';
import { type Credits, winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { transferLamports } from '../../src/formats/solana/system.ts';
import { parseTransaction } from '../../src/formats/solana/transaction.ts';
import { signed, wallet as solanaWallet } from '../../src/localnet/solana/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { openPostgres, type PostgresOptions } from '../../src/storage/sql/postgres/open.ts';
import { inReadScope } from '../../src/storage/sql/read-scope.ts';
import { DatabaseUnavailable, type Migration, OutcomeUnknown, type Sql } from '../../src/storage/sql/sql.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { eventually } from '../support/eventually.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type Haproxy, haproxyProgram, startHaproxy } from '../support/servers/haproxy.ts';
import { type Pgbouncer, pgbouncerProgram, startPgbouncer } from '../support/servers/pgbouncer.ts';
import {
  type PostgresCluster,
  type PostgresNode,
  postgresPrograms,
  startPostgresCluster,
} from '../support/servers/postgres-cluster.ts';
import { skipWithout } from '../support/servers/programs.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const first: Migration = {
  id: 'rows-001',
  up: 'CREATE TABLE rows (n BIGINT PRIMARY KEY, value BIGINT NOT NULL DEFAULT 0);',
};
const maxStalenessMs = 400;

describe('a cluster of PostgreSQL', {
  skip: skipWithout({ ...postgresPrograms, ...pgbouncerProgram, ...haproxyProgram }),
}, () => {
  let cluster: PostgresCluster;
  let haproxy: Haproxy;
  let pgbouncer: Pgbouncer;
  const opened: Sql[] = [];
  const open = async (options: Partial<PostgresOptions> & { schema: string }) => {
    const sql = await openPostgres({ url: cluster.url, migrations: [first], maxStalenessMs, ...options });
    opened.push(sql);
    return sql;
  };
  const reading = (schema: string) =>
    open({ schema, readUrls: cluster.nodes.slice(1).map(({ url }) => url) });
  /** The port of the server that answers a scope, and what it shows. */
  const portIn = (sql: Sql) =>
    inReadScope(async () => (await sql.get<{ port: number }>('SELECT inet_server_port() AS port'))?.port);
  const isStandby = (port: number | undefined) => cluster.standbys.some((node) => node.port === port);

  before(async () => {
    cluster = await startPostgresCluster({
      standbys: 2,
      synchronous: true,
      settings: { max_standby_streaming_delay: '0' },
    });
    haproxy = await startHaproxy([
      { name: 'primary', kind: 'primary', ports: cluster.nodes.map(({ port }) => port) },
    ]);
    pgbouncer = await startPgbouncer({ target: { port: haproxy.ports.primary! }, poolSize: 6 });
  });
  after(async () => {
    for (const sql of opened) await sql.close();
    await pgbouncer?.stop();
    await haproxy?.stop();
    await cluster?.stop();
  });

  it('answers readers from standbys, and everybody else from the primary', async () => {
    const sql = await reading('reads');
    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
    const used = new Set<number | undefined>();
    await eventually('both standbys answer', async () => {
      used.add(await portIn(sql));
      return cluster.standbys.every(({ port }) => used.has(port));
    });
    const outside = await sql.get<{ port: number }>('SELECT inet_server_port() AS port');
    assert.equal(outside?.port, cluster.primary.port, 'whoever writes or decides reads the primary');
  });

  it('is looked at host by host by the doctor', async () => {
    const look = async (environment: Record<string, string>, surfaces = ['gateway']) => {
      const config = readConfig({ WORLD: 'local', ...environment });
      const found = await lookAtDatabases({ config, surfaces });
      return found.map(({ state, what }) => `${state}: ${what}`);
    };
    const urls = cluster.standbys.map(({ url }) => url);
    const [standby = ''] = urls;
    const away = 'postgres://nobody@127.0.0.1:1/none';
    const [primary, ...others] = await look({
      DATABASE_URL: cluster.url,
      DATABASE_READ_URLS: urls.join(),
    });
    assert.match(String(primary), /^ok: the database gateway answers \(PostgreSQL \d+/);
    assert.deepEqual(
      others,
      cluster.standbys.map(({ port }) => `ok: the standby 127.0.0.1:${port} of the database gateway answers`),
    );
    assert.deepEqual(await look({ DATABASE_URL: away, DATABASE_URL_GATEWAY: standby }), [
      'wrong: the database gateway takes no writes',
    ]);
    assert.deepEqual(await look({ DATABASE_URL: cluster.url, DATABASE_URL_ROUTER: standby }, ['router']), [
      'wrong: the database router takes no writes',
    ]);
    assert.deepEqual(await look({}, ['router']), []);
    const [silent, answers, reader, noStandby] = await look({
      DATABASE_URL: cluster.primary.url.replace(/@[^/]+/, (host) => `${host},127.0.0.1:1`),
      DATABASE_READ_URLS: [away, cluster.primary.url].join(),
    });
    assert.match(
      String(silent),
      /^warning: the host 127\.0\.0\.1:1 of the database gateway does not answer: .*ECONNREFUSED/,
    );
    assert.match(String(answers), /^ok: the database gateway answers/);
    assert.match(
      String(reader),
      /^warning: the standby 127\.0\.0\.1:1 of the database gateway does not answer/,
    );
    assert.equal(
      noStandby,
      `warning: 127.0.0.1:${cluster.primary.port} takes writes and is no standby of the database gateway`,
    );
  });

  it('shows a reader what it wrote, and everybody what was made visible', async () => {
    const sql = await reading('own');
    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
    for (let n = 0; n < 50; n += 1) {
      await inReadScope(async () => {
        assert.deepEqual(await sql.all('SELECT n FROM rows WHERE n = ?', n), []);
        await sql.run('INSERT INTO rows (n) VALUES (?)', n);
        assert.deepEqual(await sql.all('SELECT n FROM rows WHERE n = ?', n), [{ n }], 'in the same request');
      });
      await sql.visible();
      assert.deepEqual(
        await inReadScope(() => sql.all('SELECT n FROM rows WHERE n = ?', n)),
        [{ n }],
        'in the next, wherever it is answered',
      );
    }
    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
  });

  it('reads from no standby that is too far behind, and from it again when it is not', async () => {
    const sql = await reading('behind');
    const [one, two] = cluster.standbys;
    assert.ok(one !== undefined && two !== undefined);
    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
    await two.pauseReplay();
    await one.pauseReplay();
    const began = performance.now();
    await sql.run('INSERT INTO rows (n) VALUES (1)');
    await sql.visible();
    assert.ok(performance.now() - began < maxStalenessMs + 2_000, 'a write waits no longer than that');
    for (let ask = 0; ask < 20; ask += 1) {
      const shown = await inReadScope(() => sql.all('SELECT n FROM rows'));
      assert.deepEqual(shown, [{ n: 1 }]);
    }
    assert.equal(await portIn(sql), cluster.primary.port);
    await one.resumeReplay();
    await eventually('the one that caught up answers', async () => (await portIn(sql)) === one.port);
    assert.deepEqual(await inReadScope(() => sql.all('SELECT n FROM rows')), [{ n: 1 }]);
    await two.resumeReplay();
    await eventually('the other answers too', async () => (await portIn(sql)) === two.port);
  });

  it('asks the primary where a standby fails in the middle of a read', async () => {
    const sql = await reading('conflict');
    await sql.run('INSERT INTO rows (n) VALUES (1)');
    await sql.visible();
    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
    // What the standby replays takes the table away from its reader.
    const slow = inReadScope(() =>
      sql.get('SELECT n, inet_server_port() AS port, CAST(pg_sleep(1) AS text) AS slept FROM rows'),
    );
    await eventually('it reads on a standby', async () => (await readers('conflict')) > 0);
    await cluster.primary.query('ALTER TABLE conflict.rows ADD COLUMN more BIGINT');
    assert.deepEqual(await slow, { n: 1, port: cluster.primary.port, slept: '' });

    await eventually('a standby answers', async () => isStandby(await portIn(sql)));
    // A machine that hangs keeps its connections open and says nothing.
    const hanging = inReadScope(() =>
      sql.get('SELECT n, inet_server_port() AS port, CAST(pg_sleep(1) AS text) AS slept FROM rows'),
    );
    await eventually('it reads on a standby', async () => (await readers('conflict')) > 0);
    for (const standby of cluster.standbys) standby.pause();
    try {
      assert.deepEqual(await hanging, { n: 1, port: cluster.primary.port, slept: '' });
      assert.equal(await portIn(sql), cluster.primary.port);
    } finally {
      for (const standby of cluster.standbys) standby.resume();
    }
    await eventually('a standby answers again', async () => isStandby(await portIn(sql)));
  });

  it('does not believe an address that leads to several standbys, or to those of another server', async () => {
    const balanced = await startHaproxy([
      { name: 'standbys', kind: 'standbys', ports: cluster.nodes.map(({ port }) => port) },
    ]);
    const stranger = await startPostgresCluster({ standbys: 1 });
    try {
      const said: object[] = [];
      const sql = await open({
        schema: 'strangers',
        readUrls: [stranger.standbys[0]!.url],
        log: { warn: (details) => void said.push(details) },
      });
      await eventually('it is said', () => JSON.stringify(said).includes('a standby of another server'));
      assert.equal(await portIn(sql), cluster.primary.port);
      const mixed = await open({
        schema: 'mixed',
        readUrls: [`postgres://postgres@127.0.0.1:${balanced.ports.standbys}/postgres?pool_size=4`],
      });
      for (let n = 0; n < 40; n += 1) {
        await mixed.run('INSERT INTO rows (n) VALUES (?)', n);
        await mixed.visible();
        const shown = await Promise.all(
          Array.from({ length: 4 }, () => inReadScope(() => mixed.all('SELECT n FROM rows WHERE n = ?', n))),
        );
        assert.deepEqual(shown, [[{ n }], [{ n }], [{ n }], [{ n }]]);
      }
    } finally {
      await stranger.stop();
      await balanced.stop();
    }
  });

  it('works through PgBouncer, whose connections pass from one schema to the next', async () => {
    const names = ['pooled_one', 'pooled_two'] as const;
    // Two openers of each at once: one of them makes the schema.
    const both = await Promise.all(
      [...names, ...names].map((schema) =>
        open({ schema, url: `${pgbouncer.url}?pool_size=20`, byIndexOnly: true }),
      ),
    );
    const [one, two] = both;
    assert.ok(one !== undefined && two !== undefined);
    await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        const sql = n % 2 === 0 ? one : two;
        await sql.transaction(async (tx) => {
          await tx.run('INSERT INTO rows (n, value) VALUES (?, ?)', n, n);
          await tx.run('UPDATE rows SET value = value + 1 WHERE n = ?', n);
        });
        assert.deepEqual(await sql.get('SELECT value FROM rows WHERE n = ?', n), { value: n + 1 });
      }),
    );
    for (const [index, sql] of [one, two].entries()) {
      const seen: number[] = [];
      for await (const row of sql.stream<{ n: number }>('SELECT n FROM rows ORDER BY n')) seen.push(row.n);
      assert.deepEqual(
        seen,
        Array.from({ length: 150 }, (_, n) => 2 * n + index),
      );
    }
    const refused = one.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (1000)');
      throw new Error('no');
    });
    await assert.rejects(refused, /no/);
    assert.equal(await one.get('SELECT n FROM rows WHERE n = 1000'), undefined);
    const slow = await open({ schema: 'pooled_one', url: pgbouncer.url, statementTimeoutMs: 300 });
    await assert.rejects(
      slow.transaction((tx) => tx.get('SELECT pg_sleep(60)')),
      DatabaseUnavailable,
    );
    await pgbouncer.kill();
    await assert.rejects(one.run('INSERT INTO rows (n) VALUES (2000)'), DatabaseUnavailable);
    await pgbouncer.start();
    await eventually('it goes on', () => one.run('INSERT INTO rows (n) VALUES (2001)').catch(() => false));
  });

  it('changes a schema while the release before works on it, which can be started again', async () => {
    const expanded: Migration[] = [
      first,
      { id: 'rows-002', up: 'ALTER TABLE rows ADD COLUMN more BIGINT;', expands: true },
      { id: 'rows-003', up: 'CREATE INDEX CONCURRENTLY rows_value ON rows (value);', expands: true },
    ];
    const older = await open({ schema: 'growing' });
    let isOver = false;
    let written = 0;
    let longest = 0;
    const working = (async () => {
      while (!isOver) {
        const began = performance.now();
        await older.run('INSERT INTO rows (n, value) VALUES (?, ?)', written, written);
        longest = Math.max(longest, performance.now() - began);
        written += 1;
      }
    })();
    // Somebody reads the table all the while: the change must not wait so long that all wait behind it.
    const reader = older.transaction(async (tx) => {
      await tx.get('SELECT n FROM rows LIMIT 1');
      await tx.get('SELECT pg_sleep(3)');
    });
    await eventually('it reads', async () => (await sessions('growing', 'PgSleep')) > 0);
    const newer = await Promise.all([
      open({ schema: 'growing', migrations: expanded }),
      open({ schema: 'growing', migrations: expanded, url: pgbouncer.url }),
    ]);
    await reader;
    isOver = true;
    await working;
    assert.ok(longest < 2_900, `nobody waited for the reader: ${Math.round(longest)} ms at most`);
    for (const sql of newer) {
      assert.deepEqual(await sql.get('SELECT count(*) AS n FROM rows WHERE more IS NULL'), { n: written });
    }
    const index = await cluster.primary.query(
      "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'growing.rows_value'::regclass",
    );
    assert.deepEqual(index, [{ valid: true }]);
    const again = await open({ schema: 'growing' });
    assert.equal(await again.run('INSERT INTO rows (n) VALUES (-1)'), 1, 'the release before works');
    const taking = [...expanded, { id: 'rows-004', up: 'ALTER TABLE rows DROP COLUMN more;' }];
    await open({ schema: 'growing', migrations: taking });
    await assert.rejects(
      open({ schema: 'growing' }),
      /has had migration "rows-004", which this version does not know/,
    );
  });

  it('makes an index again of which an interrupted try is left', async () => {
    const sql = await open({ schema: 'half' });
    await sql.run('INSERT INTO rows (n, value) VALUES (1, 7), (2, 7)');
    const unique: Migration = {
      id: 'rows-002',
      up: 'CREATE UNIQUE INDEX CONCURRENTLY rows_value ON rows (value);',
    };
    await assert.rejects(
      open({ schema: 'half', migrations: [first, unique] }),
      /could not create unique index/,
    );
    await sql.run('DELETE FROM rows WHERE n = 2');
    const later = await open({ schema: 'half', migrations: [first, unique] });
    await assert.rejects(later.run('INSERT INTO rows (n, value) VALUES (3, 7)'), /duplicate key/);
  });

  it('asks what became of a commit whose answer was lost', async () => {
    const sql = await open({ schema: 'lost', url: pgbouncer.url });
    const outcomes = new Map<string, number>();
    for (let n = 0; n < 6; n += 1) {
      const working = sql
        .transaction(async (tx) => {
          await tx.run('INSERT INTO rows (n) VALUES (?)', n);
          // The commit waits for the standbys, and the connection is cut meanwhile.
          for (const standby of cluster.standbys) standby.pause();
        })
        .then(
          () => 'committed',
          (error: unknown) => {
            assert.ok(error instanceof DatabaseUnavailable, String(error));
            return error instanceof OutcomeUnknown ? 'unknown' : 'aborted';
          },
        );
      await eventually('it commits', async () => (await sessions('lost', 'SyncRep')) > 0);
      await pgbouncer.kill();
      for (const standby of cluster.standbys) standby.resume();
      await pgbouncer.start();
      const outcome = await working;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const rows = await eventually('it is asked', () =>
        sql.all('SELECT n FROM rows WHERE n = ?', n).catch(() => false as const),
      );
      if (outcome === 'committed') assert.deepEqual(rows, [{ n }]);
      if (outcome === 'aborted') assert.deepEqual(rows, []);
    }
    assert.ok((outcomes.get('committed') ?? 0) > 0, JSON.stringify([...outcomes]));
    assert.equal(outcomes.get('unknown'), undefined, 'on the same primary it can be known');
  });

  it('loses nothing that was acknowledged when the primary dies, and needs no restart', async (t) => {
    const ways = {
      'several hosts': cluster.url,
      HAProxy: `postgres://postgres@127.0.0.1:${haproxy.ports.primary}/postgres`,
      'PgBouncer and HAProxy': pgbouncer.url,
    };
    const ledgers: { way: string; sql: Sql; credits: Credits }[] = [];
    for (const [way, databaseUrl] of Object.entries(ways)) {
      const name = 'ledger';
      const sql = await openDatabase({ databaseUrl, dataDir: '', name, migrations: creditsMigrations });
      opened.push(sql);
      ledgers.push({ way, sql, credits: createCredits({ sql }) });
    }
    const reader = await open({
      schema: 'own',
      readUrls: cluster.nodes.map(({ url }) => url),
    });
    const load = new Load(ledgers.map(({ credits }) => credits));
    t.after(() => load.end().catch(() => {}));
    for (let round = 0; round < 2; round += 1) {
      await load.grows(200);
      const lost = cluster.primary;
      await lost.kill();
      await load.pauses();
      // Nobody can write; whoever reads is answered all the same.
      await eventually('a standby answers', async () => isStandby(await portIn(reader)));
      await cluster.promote();
      await load.grows(200);
      if (round === 0) await cluster.rejoin(lost);
    }
    await load.end();
    // A machine that was thought dead comes back and believes that it is the primary.
    const stale = cluster.nodes.find((node) => !node.isRunning);
    await stale?.start();
    assert.deepEqual(await stale?.query('SELECT pg_is_in_recovery() AS standby'), [{ standby: false }]);
    const fresh = await open({ schema: 'own' });
    for (const sql of [fresh, reader]) {
      const row = await sql.get<{ port: number }>('SELECT inet_server_port() AS port');
      assert.equal(row?.port, cluster.primary.port);
    }
    await stale?.kill();
    for (const { way, sql, credits } of ledgers) {
      const { problems, drift } = await credits.selfCheck();
      assert.deepEqual({ problems, drift }, { problems: [], drift: 0n }, way);
      await load.assertBalances(credits, way);
      await sql.close();
    }
    assert.ok(load.acknowledged.length >= 800, String(load.acknowledged.length));
  });

  it('keeps every payment and upload of a whole stack that was acknowledged around a failover', async () => {
    for (const node of cluster.nodes) if (!node.isRunning) await cluster.rejoin(node);
    await cluster.streaming(cluster.primary, 2);
    const stack = await startStack({
      environment: {
        DATABASE_URL: cluster.url,
        DATABASE_URL_LEDGER: pgbouncer.url,
        DATABASE_READ_URLS: cluster.nodes.map(({ url }) => url).join(','),
        FREE_UPLOAD_LIMIT: '0',
        PAYMENT_TX_POLLING_WAIT_TIME_MS: '20',
      },
    });
    try {
      const buyer = new Buyer(stack);
      await buyer.pay(1_000_000_000n);
      const before = await buyer.balance();
      let isOver = false;
      const paying = (async () => {
        for (; !isOver; ) await buyer.pay(1_000_000n);
      })();
      const uploading = Array.from({ length: 3 }, async () => {
        for (; !isOver; ) await buyer.upload();
      });
      const grows = (by: number) => {
        const goal = buyer.uploads.length + by;
        return Promise.race([
          eventually(`${by} more uploads`, () => buyer.uploads.length >= goal),
          ...uploading.map((one) => one.then(() => undefined)),
          paying,
        ]);
      };
      await grows(20);
      await cluster.primary.kill();
      await eventually('the failure is noticed', () => buyer.refused > 0);
      await cluster.promote();
      await grows(20);
      isOver = true;
      await Promise.all([paying, ...uploading]);
      const spent = buyer.uploads.reduce((sum, { winc }) => sum + winc, 0n);
      const paid = before / 1_000n;
      assert.equal(await buyer.balance(), before + paid * BigInt(buyer.payments - 1) - spent);
      for (const { id, data } of buyer.uploads) {
        const answer = await fetch(`${stack.urls.gateway}/${id}`);
        assert.equal(answer.status, 200, id);
        assert.ok(Buffer.from(await answer.arrayBuffer()).equals(data), id);
      }
    } finally {
      await stack.stop();
    }
  });

  /** Sessions of a schema on standbys that are in the middle of a slow read. */
  async function readers(schema: string): Promise<number> {
    let count = 0;
    for (const node of cluster.standbys) count += await sessionsOn(node, schema, 'PgSleep');
    return count;
  }

  const sessions = (schema: string, wait: string) => sessionsOn(cluster.primary, schema, wait);

  async function sessionsOn(node: PostgresNode, schema: string, wait: string): Promise<number> {
    const statement = 'SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event = $2';
    return (await node.query(statement, [`turnpike ${schema}`, wait])).length;
  }
});

/** Wallets that are paid and pay, each change under an id of its own and tried until it is acknowledged. */
class Load {
  readonly acknowledged: { readonly id: string; readonly wallet: string }[] = [];
  readonly #working: Promise<void>[];
  #isOver = false;
  #giveUpAt = Number.POSITIVE_INFINITY;
  #failures = 0;

  constructor(ledgers: readonly Credits[]) {
    this.#working = ledgers.flatMap((credits, ledger) =>
      Array.from({ length: 4 }, (_, client) => this.#client(credits, `${ledger}-${client}`)),
    );
  }

  async #client(credits: Credits, name: string): Promise<void> {
    const wallet = `wallet-${name}`;
    for (let count = 0; !this.#isOver; count += 1) {
      const id = `${name}-${count}`;
      const amount = winc(10n);
      await this.#until(() =>
        credits.credit({ address: wallet, addressType: 'arweave', amount, reason: 'payment', id }),
      );
      await this.#until(() =>
        credits.spend({ id, reason: 'upload', signer: wallet, signerType: 'arweave', amount: winc(3n) }),
      );
      this.acknowledged.push({ id, wallet });
    }
  }

  async #until(change: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await change();
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || performance.now() > this.#giveUpAt) throw error;
        this.#failures += 1;
        await sleep(20);
      }
    }
  }

  async grows(by: number): Promise<void> {
    const goal = this.acknowledged.length + by;
    await Promise.race([
      eventually(`${by} more are acknowledged`, () => this.acknowledged.length >= goal),
      ...this.#working,
    ]);
  }

  /** Until everybody noticed that nothing can be written. */
  async pauses(): Promise<void> {
    const goal = this.#failures + 1;
    await eventually('the failure is noticed', () => this.#failures >= goal);
  }

  /** What was begun is brought to its end. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#giveUpAt = performance.now() + 60_000;
    await Promise.all(this.#working);
  }

  /** Every change is there, and there once: each balance is what is left of all that was acknowledged. */
  async assertBalances(credits: Credits, way: string): Promise<void> {
    const counts = new Map<string, bigint>();
    for (const { wallet } of this.acknowledged) counts.set(wallet, (counts.get(wallet) ?? 0n) + 1n);
    for (const [wallet, count] of counts) {
      assert.equal((await credits.balance(wallet))?.winc, count * 7n, `${way}: ${wallet}`);
    }
  }
}

/** Pays a stack in SOL and uploads for it; whatever is refused because the database is away is tried again. */
class Buyer {
  readonly uploads: { readonly id: string; readonly data: Buffer; readonly winc: bigint }[] = [];
  payments = 0;
  refused = 0;
  readonly #stack: RunningStack;
  readonly #wallet = solanaWallet('buyer');
  readonly #signer = solanaSigner(this.#wallet.privateKey);
  readonly #random = seededRandom(17);
  #target: string | undefined;

  constructor(stack: RunningStack) {
    this.#stack = stack;
  }

  async pay(lamports: bigint): Promise<void> {
    if (this.#target === undefined) {
      await this.#rpc('requestAirdrop', this.#wallet.address, 100_000_000_000);
      const info = await (await fetch(`${this.#stack.urls.payment}/v1/info`)).text();
      this.#target = /"solana":"([^"]+)"/.exec(info)?.[1] ?? '';
    }
    const latest = await this.#rpc('getLatestBlockhash');
    const blockhash = /"blockhash":"([^"]+)"/.exec(latest)?.[1] ?? '';
    // Each with a memo of its own in its amount: two equal transfers of one block would be one transaction.
    const transfer = transferLamports(this.#wallet.address, parseSolanaAddress(this.#target), lamports);
    const nonce = transferLamports(this.#wallet.address, this.#wallet.address, BigInt(this.payments + 1));
    const wire = signed(blockhash, [transfer, nonce], this.#wallet);
    await this.#rpc('sendTransaction', wire.toString('base64'), { encoding: 'base64' });
    const id = encodeBase58(parseTransaction(wire).signatures[0] ?? new Uint8Array());
    await this.#until(200, 'payment/v1/account/balance/solana', JSON.stringify({ tx_id: id }));
    this.payments += 1;
  }

  async upload(): Promise<void> {
    const data = this.#random.bytes(2_000);
    const item = await signItem({ data }, this.#signer);
    const receipt = await this.#until(200, 'upload/v1/tx/solana', item);
    const { id, winc } = JSON.parse(receipt) as { id: string; winc: string };
    this.uploads.push({ id, data, winc: BigInt(winc) });
  }

  async balance(): Promise<bigint> {
    const answer = await fetch(`${this.#stack.urls.payment}/v1/balance?address=${this.#wallet.address}`);
    return BigInt(/"winc":"([0-9]+)"/.exec(await answer.text())?.[1] ?? -1);
  }

  async #until(status: number, path: string, body: string | Buffer): Promise<string> {
    const [surface = '', ...rest] = path.split('/');
    for (;;) {
      const answer = await fetch(`${this.#stack.urls[surface]}/${rest.join('/')}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(Buffer.from(body)),
      });
      const text = await answer.text();
      if (answer.status === status) return text;
      assert.ok(answer.status === 503 || answer.status === 202, `${path}: ${answer.status} ${text}`);
      if (answer.status === 503) this.refused += 1;
      await sleep(20);
    }
  }

  async #rpc(method: string, ...params: unknown[]): Promise<string> {
    const answer = await fetch(this.#stack.urls.solana ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return await answer.text();
  }
}

/** Debug, pruning and the export, on a chain with bundles that are stable. Also on TEST_DATABASE_URL. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import {
  type AdminGateway,
  holdJobs,
  type MadeItem,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, send, text, until } from '../../../../test/support/local-gateway.ts';

interface Debug {
  readonly db: {
    readonly counts: Record<string, number>;
    readonly heights: Record<string, number>;
    readonly timestamps: Record<string, number>;
    readonly errors: string[];
    readonly warnings: string[];
  };
}

for (const engine of engines)
  describe(`the operator's view on ${engine.name}`, () => {
    let gateway: AdminGateway;
    let items: MadeItem[];
    let bundle: string;
    let plain: string;
    before(async () => {
      gateway = await startAdminGateway(engine.options);
      items = await Promise.all(
        Array.from({ length: 300 }, (_, at) =>
          makeItem({
            data: Buffer.from(`item ${at}`),
            tags: [
              { name: 'Content-Type', value: 'text/plain' },
              { name: 'Number', value: String(at) },
            ],
          }),
        ),
      );
      bundle = await postBundle(gateway.stack, items);
      const { transaction, post } = await makeTransaction(gateway.stack.node.url, Buffer.from('plain'), [
        { name: 'Kind', value: 'plain' },
      ]);
      await post();
      plain = transaction.id.toString('base64url');
      await text(`${gateway.stack.node.url}/mine/60`);
      await until('everything is stable and read', async () => {
        const status = await gateway.call('GET', `bundle-status/${bundle}`);
        const found = status.body as { lastUnbundledAt?: number | null };
        return gateway.inside.index.height >= 61 && typeof found.lastUnbundledAt === 'number';
      });
    });
    after(() => gateway.stop());

    const debug = async () => (await gateway.call('GET', 'debug')).body as Debug;
    const found = async (id: string) => {
      const query = `{ transaction(id: "${id}") { id } }`;
      return JSON.parse(await send(`${gateway.url}/graphql`, { query })).data.transaction !== null;
    };
    const exportDir = () => join(gateway.stack.dataDir, 'parquet');
    const exported = async () =>
      await until('the export ended', async () => {
        const { body } = await gateway.call('GET', 'export-parquet/status');
        const status = body as Record<string, unknown>;
        return status.status !== 'running' && status;
      });
    const readTable = async (folder: string, table: string) => {
      const data = join(exportDir(), folder, table, 'data');
      const rows: Record<string, unknown>[] = [];
      const names: string[] = [];
      for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        assert.match(entry.name, /\.parquet$/, 'nothing unfinished is left');
        names.push(entry.name);
        const bytes = readFileSync(join(entry.parentPath, entry.name));
        const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
        assert.ok(parquetMetadata(file).num_rows > 0n);
        rows.push(
          ...(await parquetReadObjects({
            file,
            utf8: false,
            compressors: { ZSTD: (input) => new Uint8Array(zstdDecompressSync(input)) },
          })),
        );
      }
      return { rows, names };
    };
    const idOf = (row: Record<string, unknown>) => Buffer.from(row.id as Uint8Array).toString('base64url');

    it('counts what there is, and finds nothing wrong', async () => {
      const { db } = await debug();
      assert.equal(db.counts.dataItems, 300);
      assert.equal(db.counts.bundleCount, 1);
      assert.equal(db.counts.matchedDataItems, 300);
      assert.equal(db.counts.stableTxs, 2);
      assert.equal(db.counts.stableBlocks, (db.heights.maxStable ?? 0) - (db.heights.minStable ?? 0) + 1);
      assert.deepEqual([db.counts.missingStableBlocks, db.counts.missingStableTxs], [0, 0]);
      assert.equal(db.heights.minStableDataItem, db.heights.maxStableDataItem);
      assert.ok((db.timestamps.maxStableDataItemIndexedAt ?? 0) > 1_700_000_000);
      assert.deepEqual([db.errors, db.warnings], [[], []]);
    });

    it('shows lag, queues, cache and blocks as metrics', async () => {
      for (const line of [
        /^chain_import_lag_blocks 0$/m,
        /^operator_queue_length\{queue_name="bundles"\} 0$/m,
        /^content_blocks\{kind="id"\} 0$/m,
        /^bundles_unbundled_total 1$/m,
        /^data_items_indexed_total 300$/m,
        /^last_height_imported [0-9]+$/m,
        /^cache_size_bytes [0-9]+$/m,
        /^contiguous_data_cache_miss_total [0-9]+$/m,
        /^http_request_duration_seconds_count\{[^}]*bundle-status/m,
      ]) {
        // Figures move after the work is done, and queues are counted now and then.
        await until(`${line} is shown`, async () =>
          line.test((await gateway.get('/gw/__gateway_metrics')).body),
        );
      }
    });

    it('names missing blocks and transactions, and a day without a bundle', async () => {
      const { sql } = gateway.inside.index;
      const row = await sql.get<{ tx_count: number }>('SELECT tx_count FROM blocks WHERE height = 3');
      assert.ok(row);
      const old = Math.floor(Date.now() / 1000) - 90_000;
      const was = await sql.get<{ at: number }>('SELECT last_fully_indexed_at AS at FROM bundles');
      await sql.run('UPDATE bundles SET last_fully_indexed_at = ?', old);
      await sql.run('UPDATE blocks SET tx_count = tx_count + 4 WHERE height = 3');
      await sql.run('UPDATE blocks SET height = 1000000 WHERE height = 9');
      try {
        const { db } = await debug();
        assert.match(db.errors.join('\n'), /stable blocks are missing between heights/);
        assert.match(db.errors.join('\n'), /4 transactions of stable blocks/);
        assert.deepEqual(db.warnings, ['Last bundle fully indexed more than 24 hours ago.']);
      } finally {
        await sql.run('UPDATE blocks SET height = 9 WHERE height = 1000000');
        await sql.run('UPDATE blocks SET tx_count = tx_count - 4 WHERE height = 3');
        await sql.run('UPDATE bundles SET last_fully_indexed_at = ?', was?.at ?? null);
      }
    });

    it('exports three tables that read back, in partitions and files of bounded rows', async () => {
      const stable = gateway.inside.index.stableHeight;
      const answer = await gateway.call('POST', 'export-parquet', {
        outputDir: 'first',
        startHeight: 0,
        endHeight: 1_000_000,
        maxFileRows: 100,
        heightPartitionSize: 10,
      });
      assert.equal(answer.status, 200);
      assert.equal((answer.body as { message: string }).message, 'Parquet export started');
      const status = await exported();
      assert.deepEqual([status.status, status.error], ['completed', undefined]);
      assert.deepEqual(status.rows, { blocks: stable + 1, transactions: 302, tags: 603 });
      assert.equal(status.partitionsDone, status.partitions);
      assert.equal(typeof status.durationInSeconds, 'number');
      assert.ok((status.endTimestamp as number) > 1_700_000_000_000);

      const blocks = await readTable('first', 'blocks');
      assert.deepEqual(
        blocks.rows.map((row) => Number(row.height)).sort((a, b) => a - b),
        Array.from({ length: stable + 1 }, (_, height) => height),
      );
      const transactions = await readTable('first', 'transactions');
      assert.ok(transactions.names.length >= 4, 'at most a hundred rows in a file');
      const byId = new Map(transactions.rows.map((row) => [idOf(row), row]));
      assert.equal(byId.size, 302);
      for (const [at, item] of items.entries()) {
        const row = byId.get(item.id);
        assert.ok(row);
        const located = await gateway.inside.index.locate(item.id);
        assert.equal(row.is_data_item, true);
        assert.equal(row.data_size, BigInt(`item ${at}`.length));
        assert.equal(Buffer.from(row.parent as Uint8Array).toString('base64url'), bundle);
        assert.equal(Number(row.data_offset), located?.placement?.dataOffset);
        assert.equal(Buffer.from(row.content_type as Uint8Array).toString(), 'text/plain');
        assert.deepEqual([row.quantity, row.format], [null, null]);
      }
      const chain = byId.get(plain);
      assert.ok(chain);
      assert.deepEqual([chain.is_data_item, chain.parent, chain.indexed_at], [false, null, null]);
      assert.equal(chain.format, 2);
      const tags = await readTable('first', 'tags');
      const numbers = tags.rows.filter(
        (row) => Buffer.from(row.tag_name as Uint8Array).toString() === 'Number',
      );
      assert.equal(numbers.length, 300);
      assert.ok(numbers.every((row) => row.tag_index === 1));
    });

    it('refuses a folder that it does not fit in, and writes no partition twice', async () => {
      const before = await exported();
      mkdirSync(join(exportDir(), 'second'), { recursive: true });
      // The tags have nowhere to go.
      writeFileSync(join(exportDir(), 'second', 'tags'), 'in the way');
      const body = { outputDir: 'second', startHeight: 0, endHeight: 1_000_000, maxFileRows: 0 };
      const refused = await gateway.call('POST', 'export-parquet', body);
      assert.equal(refused.status, 409);
      assert.match(String(refused.body), /^The export does not fit in - .*tags is in the way/);
      rmSync(join(exportDir(), 'second', 'tags'));
      // The first has another grid.
      for (const grid of [{ heightPartitionSize: 20 }, { heightPartitionSize: 10, startHeight: 5 }]) {
        const other = await gateway.call('POST', 'export-parquet', { ...body, outputDir: 'first', ...grid });
        assert.equal(other.status, 409);
        assert.match(String(other.body), /holds partitions of 10 heights from 0 on/);
      }
      for (const outputDir of [
        'first/transactions',
        'first/tags/data',
        'first/.versions/x',
        'first/.current',
      ]) {
        const inside = await gateway.call('POST', 'export-parquet', { ...body, outputDir });
        assert.deepEqual(
          [inside.status, inside.body],
          [400, 'Invalid outputDir - the folder lies inside another export'],
        );
      }
      assert.deepEqual(await exported(), before);
      for (const expected of [302, 0]) {
        await gateway.call('POST', 'export-parquet', { ...body, resume: true });
        const status = await exported();
        assert.equal(status.status, 'completed');
        assert.equal((status.rows as { transactions: number }).transactions, expected);
      }
      assert.equal((await readTable('second', 'transactions')).rows.length, 302);
    });

    it('says where nothing is stable yet, and writes nothing', async () => {
      const stable = gateway.inside.index.stableHeight;
      const start = await gateway.call('POST', 'export-parquet', {
        outputDir: 'above',
        startHeight: stable + 1,
        endHeight: stable + 10,
        maxFileRows: 0,
      });
      const body = start.body as Record<string, unknown>;
      assert.deepEqual([start.status, body.message], [200, 'Parquet export started']);
      assert.equal(body.stableHeight, stable);
      assert.match(String(body.warning), /^Nothing is exported: heights are stable up to [0-9]+, and/);
      const status = await exported();
      assert.deepEqual(
        [status.status, status.stableHeight, status.exportedToHeight, status.endHeight],
        ['completed', stable, null, stable + 10],
      );
      assert.deepEqual(readdirSync(join(exportDir(), 'above')), []);
    });

    it('cancels an export, and leaves what it has finished', async () => {
      const nothing = await gateway.call('POST', 'export-parquet/cancel');
      assert.deepEqual([nothing.status, nothing.body], [409, 'No export is in progress']);
      const begin = (resume: boolean) =>
        gateway.call('POST', 'export-parquet', {
          ...{ outputDir: 'cancelled', startHeight: 0, endHeight: 1_000_000, maxFileRows: 0 },
          ...{ heightPartitionSize: 1, resume },
        });
      // One may be done before it is cancelled, on a machine that lets the caller wait.
      const status = await until('one is cancelled in time', async () => {
        await begin(false);
        const { status: code, body } = await gateway.call('POST', 'export-parquet/cancel');
        if (code === 200) assert.deepEqual(body, { message: 'Parquet export is being cancelled' });
        const end = await exported();
        return end.status === 'cancelled' && end;
      });
      assert.equal(status.error, undefined);
      assert.equal(typeof status.endTimestamp, 'number');
      await begin(true);
      assert.equal((await exported()).status, 'completed');
      assert.equal((await readTable('cancelled', 'transactions')).rows.length, 302);
      const metrics = (await gateway.get('/gw/__gateway_metrics')).body;
      assert.match(metrics, /^parquet_exports_total\{outcome="cancelled"\} [1-9]/m);
      assert.match(metrics, /^parquet_export_height [0-9]+$/m);
    });

    it('refuses parameters and folders that make no sense, and a second export at a time', async (t) => {
      const good = { outputDir: 'third', startHeight: 0, endHeight: 3, maxFileRows: 0 };
      const outside = join(gateway.stack.dataDir, 'elsewhere');
      mkdirSync(outside, { recursive: true });
      mkdirSync(exportDir(), { recursive: true });
      symlinkSync(outside, join(exportDir(), 'link'));
      const bad: unknown[] = [
        {},
        [],
        { ...good, outputDir: '' },
        { ...good, outputDir: 7 },
        { ...good, startHeight: -1 },
        { ...good, startHeight: '0' },
        { ...good, endHeight: 1.5 },
        { ...good, startHeight: 4 },
        { ...good, maxFileRows: -1 },
        { ...good, heightPartitionSize: 0 },
        { ...good, skipL1Tags: 'yes' },
      ];
      for (const body of bad) {
        const answer = await gateway.call('POST', 'export-parquet', body);
        assert.deepEqual([answer.status, answer.body], [400, 'Invalid or missing required parameters']);
      }
      for (const outputDir of [
        '../elsewhere',
        '/etc/turnpike',
        'a/../../b',
        'link',
        'link/below',
        'nul\0byte',
      ]) {
        const answer = await gateway.call('POST', 'export-parquet', { ...good, outputDir });
        assert.equal(answer.status, 400, outputDir);
        assert.match(String(answer.body), /^Invalid outputDir/);
      }
      assert.deepEqual(readdirSync(outside), []);
      assert.equal(existsSync(join(exportDir(), 'third')), false);
      const release = holdJobs(t);
      const first = gateway.call('POST', 'export-parquet', good);
      const second = gateway.call('POST', 'export-parquet', good);
      const answers = await Promise.all([first, second]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
      release();
      await exported();
    });

    it('prunes stable items indexed before a time, while blocks are imported, and nothing else', async () => {
      const pending = await makeItem({ data: Buffer.from('not mined') });
      await gateway.call('POST', 'queue-data-item', [pending.header]);
      const refused: [unknown, string][] = [
        [{}, 'Invalid indexedAtThreshold - must be a positive integer'],
        [{ indexedAtThreshold: -1 }, 'Invalid indexedAtThreshold - must be a positive integer'],
        [{ indexedAtThreshold: '7' }, 'Invalid indexedAtThreshold - must be a positive integer'],
        [{ indexedAtThreshold: 1.5 }, 'Invalid indexedAtThreshold - must be a positive integer'],
        [{ indexedAtThreshold: 9, startHeight: -1 }, 'Invalid startHeight - must be a positive integer'],
        [
          { indexedAtThreshold: 9, startHeight: 5, endHeight: 4 },
          'Invalid endHeight - must be a positive integer greater than or equal to startHeight',
        ],
      ];
      for (const [body, words] of refused) {
        const answer = await gateway.call('POST', 'prune-stable-data-items', body);
        assert.deepEqual([answer.status, answer.body], [400, words]);
      }
      let last: { warning?: string } = {};
      const prune = async (body: object) => {
        const answer = await gateway.call('POST', 'prune-stable-data-items', body);
        assert.equal(answer.status, 200);
        const { message, prunedCount } = answer.body as { message: string; prunedCount: number };
        assert.equal(message, 'Stable data items pruned successfully');
        last = answer.body as object;
        return prunedCount;
      };
      const soon = Math.floor(Date.now() / 1000) + 3;
      assert.equal(await prune({ indexedAtThreshold: 0 }), 0);
      assert.equal(await prune({ indexedAtThreshold: soon, startHeight: 30 }), 0);
      // Asked for before, so that GraphQL may remember it.
      const some = items[7];
      assert.ok(some && (await found(some.id)));
      await gateway.call('POST', 'export-parquet', {
        ...{ outputDir: 'by/hand', startHeight: 0, endHeight: 15, maxFileRows: 0, heightPartitionSize: 20 },
      });
      await exported();
      const preview = async (body: object) =>
        (await gateway.call('POST', 'prune-stable-data-items', { ...body, dryRun: true })).body as {
          wouldPruneCount: number;
          warning?: string;
        };
      const all = { indexedAtThreshold: soon };
      const dry = await preview({ ...all, endHeight: 12 });
      assert.equal(dry.wouldPruneCount, 300);
      assert.match(dry.warning ?? '', /The Parquet dataset by\/hand has heights 0-12 in a partition that/);
      assert.equal(
        (await preview({ ...all, startHeight: 5 })).warning,
        undefined,
        'nothing is there to prune',
      );
      // The scheduled export has nothing complete: what it needs is left alone, and the status says so.
      await gateway.restart({
        PARQUET_EXPORT_INTERVAL_MINUTES: '60',
        PARQUET_EXPORT_INTERVAL_PARTITION_SIZE: '1000',
        PARQUET_EXPORT_INTERVAL_DIR: 'unfinished',
      });
      const leftOutHeights = [{ from: 0, to: gateway.inside.index.stableHeight }];
      const left = await gateway.call('POST', 'prune-stable-data-items', all);
      const { warning, ...counted } = left.body as { warning: string };
      assert.deepEqual(
        [left.status, counted],
        [200, { message: 'Stable data items pruned successfully', prunedCount: 0, leftOutHeights }],
      );
      assert.match(
        warning,
        /^The scheduled Parquet export has heights 0-[0-9]+ in no complete partition yet/,
      );
      assert.equal((await preview(all)).wouldPruneCount, 0);
      const said = (await gateway.call('GET', 'prune-stable-data-items/status')).body as object;
      assert.deepEqual({ ...said, ...{ warning, leftOutHeights } }, said);
      await gateway.restart({});
      await gateway.inside.index.sql.run("DELETE FROM operator_jobs WHERE name = 'export-schedule'");
      const importing = text(`${gateway.stack.node.url}/mine/20`);
      assert.equal(await prune({ indexedAtThreshold: soon }), 300);
      assert.match(last.warning ?? '', /by\/hand has heights 0-19 in a partition that is not complete/);
      await importing;
      for (const item of [some, items[0], items[299]]) {
        assert.equal(await found(item?.id ?? ''), false);
        assert.equal((await gateway.get(`/raw/${item?.id}`)).status, 200);
      }
      assert.deepEqual(
        [await found(bundle), await found(plain), await found(pending.id)],
        [true, true, true],
      );
      const status = (await gateway.call('GET', 'prune-stable-data-items/status')).body as Record<
        string,
        unknown
      >;
      assert.deepEqual([status.status, status.pruned], ['completed', 300]);
      await until('the import went on', async () => gateway.inside.index.height >= 80);
      const { db } = await debug();
      assert.deepEqual([db.counts.dataItems, db.errors], [1, []]);
    });

    it('exports by itself up to what is stable, and is unhealthy while that fails', async () => {
      const schedule = { PARQUET_EXPORT_INTERVAL_MINUTES: '60' };
      const outside = gateway.restart({ ...schedule, PARQUET_EXPORT_INTERVAL_DIR: '../outside' });
      await assert.rejects(outside, /PARQUET_EXPORT_INTERVAL_DIR: the folder lies outside/);
      await gateway.restart({ ...schedule, PARQUET_EXPORT_INTERVAL_PARTITION_SIZE: '100' });
      const done = await until('it is done', async () => {
        const { body } = await gateway.call('GET', 'export-parquet/status');
        const status = body as { schedule: Record<string, unknown>; exportedToHeight: number };
        return status.schedule.lastStatus === 'completed' && { ...status };
      });
      assert.deepEqual([done.schedule.everyMinutes, done.schedule.outputDir], [60, 'latest']);
      assert.equal((await readTable('latest', 'blocks')).rows.length, done.exportedToHeight + 1);
      assert.match(
        (await gateway.get('/gw/__gateway_metrics')).body,
        new RegExp(`^parquet_export_height ${done.exportedToHeight}$`, 'm'),
      );
      const { sql } = gateway.inside.index;
      await sql.run("UPDATE operator_jobs SET told_at = 0 WHERE name = 'export-schedule'");
      rmSync(join(exportDir(), 'latest', 'blocks'));
      writeFileSync(join(exportDir(), 'latest', 'blocks'), 'in the way');
      const reasons = await until('it is a reason', async () => {
        const health = JSON.parse((await gateway.get('/gw/healthcheck')).body);
        const reasons = String(health.reasons);
        return health.status === 'unhealthy' && reasons.includes('The scheduled Parquet export') && reasons;
      });
      assert.match(reasons, /The scheduled Parquet export failed: .*blocks is in the way/);
    });
  });

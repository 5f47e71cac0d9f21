/**
 * The admin routes as the contract has them (interface §2, §4.4, §5): words, fields, one job at a time. Also on
 * TEST_DATABASE_URL.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  adminKey,
  holdJobs,
  type MadeItem,
  makeItem,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, text, until } from '../../../../test/support/local-gateway.ts';
import { bundleTags } from '../../../formats/ans104/bundle-header.ts';

type Fields = Record<string, unknown>;
const never = { ANS104_UNBUNDLE_FILTER: '{"never":true}' };

/** A bundle that holds its first item twice, which no encoder of ours would write. */
async function postTwice({ stack }: AdminGateway, one: MadeItem, two: MadeItem): Promise<string> {
  const items = [one, two, one];
  const number = (value: number) => {
    const bytes = Buffer.alloc(32);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const data = Buffer.concat([
    number(items.length),
    ...items.flatMap(({ id, bytes }) => [number(bytes.length), Buffer.from(id, 'base64url')]),
    ...items.map(({ bytes }) => bytes),
  ]);
  const made = await makeTransaction(stack.node.url, data, [...bundleTags]);
  await made.post();
  await text(`${stack.node.url}/mine`);
  return made.transaction.id.toString('base64url');
}

for (const engine of engines)
  describe(`the admin contract on ${engine.name}`, () => {
    let gateway: AdminGateway;
    before(async () => {
      gateway = await startAdminGateway({ ...engine.options, overrides: never });
    });
    after(() => gateway.stop());

    const ask = async (method: string, path: string, body?: string, type?: string, base = gateway.url) => {
      const answer = await fetch(`${base}/gw/admin/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${adminKey}`,
          ...(type !== undefined && { 'content-type': type }),
        },
        ...(body !== undefined && { body }),
      });
      return { status: answer.status, body: (await answer.json()) as unknown, headers: answer.headers };
    };
    const json = (method: string, path: string, body: object, base?: string) =>
      ask(method, path, JSON.stringify(body), 'application/json', base);

    const routes: [string, string, string][] = [
      ['POST', 'queue-tx', "Must provide 'id'"],
      ['POST', 'queue-bundle', "Must provide 'id'"],
      ['POST', 'queue-data-item', 'Must provide array of data item headers'],
      ['PUT', 'block-data', "Must provide 'id' or 'hash'"],
      ['PUT', 'unblock-data', "Must provide 'id' or 'hash'"],
      ['PUT', 'block-name', "'name' must be a non-empty string"],
      ['PUT', 'unblock-name', "'name' must be a non-empty string"],
      ['POST', 'export-parquet', 'Invalid or missing required parameters'],
      ['POST', 'prune-stable-data-items', 'Invalid indexedAtThreshold - must be a positive integer'],
    ];

    it('has one sentence for a body that is missing, and one for what is no JSON', async () => {
      for (const [method, path, words] of routes) {
        for (const [body, type] of [
          [undefined, undefined],
          ['', 'application/json'],
          ['{}', 'application/json'],
          ['null', 'application/json'],
          ['"text"', 'application/json; charset=utf-8'],
        ]) {
          const answer = await ask(method, path, body, type);
          assert.deepEqual([path, body, answer.status, answer.body], [path, body, 400, words]);
          assert.equal(answer.headers.get('cache-control'), 'no-store');
        }
        for (const broken of ['{', '{"id":}', '[1,', '\u0000']) {
          const answer = await ask(method, path, broken, 'application/json');
          assert.deepEqual([path, answer.status, answer.body], [path, 400, 'Invalid JSON body']);
        }
        const typed = await ask(method, path, 'id=1', 'application/x-www-form-urlencoded');
        assert.deepEqual([path, typed.status, typed.body], [path, 415, 'Unsupported media type']);
        const large = await ask(method, path, `"${'x'.repeat(11 * 1024 * 1024)}"`, 'application/json');
        assert.deepEqual([path, large.status, large.body], [path, 413, 'Request body is too large']);
        const polluted = await ask(method, path, '{"__proto__":{"id":"x"}}', 'application/json');
        assert.equal(polluted.status, 400);
      }
    });

    it('answers 405 for other methods, and 401 for those without the key', async () => {
      for (const [method, path] of routes) {
        assert.equal((await ask('DELETE', path)).status, 405);
        const bare = await fetch(`${gateway.url}/gw/admin/${path}?ADMIN_API_KEY=${adminKey}`, { method });
        assert.deepEqual([bare.status, await bare.json()], [401, 'Unauthorized']);
      }
    });

    it('tells of its own failures nothing but that they are', async () => {
      const { sql } = gateway.inside.index;
      await sql.run('ALTER TABLE asked_transactions RENAME TO elsewhere');
      try {
        const answer = await json('POST', 'queue-tx', { id: 'A'.repeat(43) });
        assert.deepEqual([answer.status, answer.body], [500, 'Internal Server Error']);
      } finally {
        await sql.run('ALTER TABLE elsewhere RENAME TO asked_transactions');
      }
    });

    it('shows every field of a bundle, true to what became of it', async () => {
      const one = await makeItem({ data: Buffer.from('one') });
      const two = await makeItem({ data: Buffer.from('two') });
      const bundle = await postTwice(gateway, one, two);
      const statusWhen = (what: string, holds: (found: Fields) => boolean) =>
        until(what, async () => {
          const { status, body } = await ask('GET', `bundle-status/${bundle}`);
          const found = body as Fields;
          return status === 200 && holds(found) && found;
        });
      const skipped = await statusWhen('it was met', () => true);
      const numbers = [
        ...['formatId', 'unbundleFilterId', 'indexFilterId', 'dataItemCount', 'matchedDataItemCount'],
        ...['firstQueuedAt', 'lastQueuedAt', 'firstSkippedAt', 'lastSkippedAt', 'firstUnbundledAt'],
        ...['lastUnbundledAt', 'firstFullyIndexedAt', 'lastFullyIndexedAt', 'importAttemptCount'],
        ...['duplicatedDataItemCount', 'previousUnbundleFilterId', 'previousIndexFilterId'],
        ...['retryAttemptCount', 'firstRetriedAt', 'lastRetriedAt'],
      ];
      for (const name of numbers) {
        assert.ok(name in skipped, `${name} is there`);
        assert.ok(skipped[name] === null || Number.isSafeInteger(skipped[name]), `${name} is a number`);
      }
      assert.deepEqual([skipped.id, skipped.rootTransactionId], [bundle, bundle]);
      const times = (status: Fields, ...names: string[]) => names.map((name) => status[name] !== null);
      assert.deepEqual(times(skipped, 'firstSkippedAt', 'firstQueuedAt', 'firstUnbundledAt'), [
        true,
        false,
        false,
      ]);

      await gateway.restart({ ANS104_UNBUNDLE_FILTER: '{"always":true}' });
      const read = await statusWhen('it was read', (found) => found.lastFullyIndexedAt !== null);
      assert.deepEqual(
        [read.dataItemCount, read.matchedDataItemCount, read.duplicatedDataItemCount, read.retryAttemptCount],
        [3, 2, 1, 0],
      );
      assert.notEqual(read.unbundleFilterId, skipped.unbundleFilterId);
      assert.equal(read.previousUnbundleFilterId, skipped.unbundleFilterId);
      assert.equal(read.firstSkippedAt, skipped.firstSkippedAt);
      assert.ok(
        times(read, 'firstQueuedAt', 'lastQueuedAt', 'firstUnbundledAt', 'firstFullyIndexedAt').every(
          Boolean,
        ),
      );
      assert.ok(Number(read.importAttemptCount) > Number(skipped.importAttemptCount));
      const now = Math.floor(Date.now() / 1000);
      for (const name of numbers.filter((one) => one.endsWith('At'))) {
        const at = read[name];
        assert.ok(at === null || (Number(at) > now - 600 && Number(at) <= now), `${name} is in Unix seconds`);
      }
    });

    it('has one export at a time in all processes, whose state each of them tells', async (t) => {
      assert.deepEqual((await ask('GET', 'export-parquet/status')).body, { status: 'not_started' });
      await text(`${gateway.stack.node.url}/mine/60`);
      await until('it is stable', async () => gateway.inside.index.stableHeight >= 10);
      const other = await gateway.stack.addGateway();
      const request = { outputDir: 'one', startHeight: 0, endHeight: 900_000, maxFileRows: 0 };
      const release = holdJobs(t);
      const started = await json('POST', 'export-parquet', request);
      assert.equal((started.body as Fields).message, 'Parquet export started');
      const second = await json('POST', 'export-parquet', { ...request, outputDir: 'two' }, other.url);
      assert.deepEqual([second.status, second.body], [409, 'An export is already in progress']);
      const elsewhere = (await ask('GET', 'export-parquet/status', undefined, undefined, other.url))
        .body as Fields;
      assert.equal(elsewhere.status, 'running');
      release();
      const done = await until('both know that it is done', async () => {
        const body = (await ask('GET', 'export-parquet/status', undefined, undefined, other.url))
          .body as Fields;
        return body.status === 'completed' && body;
      });
      assert.deepEqual(
        [done.startHeight, done.endHeight, done.maxFileRows, done.outputDir],
        [0, 900_000, 0, join(gateway.stack.dataDir, 'parquet', 'one')],
      );
      assert.equal(typeof done.durationInSeconds, 'number');
      assert.equal(new Date(String(done.endTime)).getTime(), done.endTimestamp);
      assert.ok(Number(done.exportedToHeight) >= 10);
      assert.equal('error' in done, false);
      const again = await json('POST', 'export-parquet', { ...request, resume: true }, other.url);
      assert.equal(again.status, 200);
      await until('that one is done', async () => {
        const body = (await ask('GET', 'export-parquet/status')).body as Fields;
        return body.status === 'completed' && body.jobId === (again.body as Fields).jobId;
      });
    });

    it('calls a job errored whose process is gone, and lets another begin', async () => {
      const { sql } = gateway.inside.index;
      const long = Date.now() - 60_000;
      for (const [name, path] of [
        ['export', 'export-parquet/status'],
        ['prune', 'prune-stable-data-items/status'],
      ]) {
        await sql.run('DELETE FROM operator_jobs WHERE name = ?', name ?? '');
        await sql.run(
          'INSERT INTO operator_jobs (name, holder, running, status, told_at) VALUES (?, ?, 1, ?, ?)',
          name ?? '',
          'a process that was killed',
          '{"status":"running","startHeight":3}',
          long,
        );
        const status = (await ask('GET', path ?? '')).body as Fields;
        assert.deepEqual(
          [status.status, status.error, status.startHeight, status.endTimestamp],
          ['errored', 'The process that did it has ended', 3, long],
        );
      }
      const pruned = await json('POST', 'prune-stable-data-items', { indexedAtThreshold: 0 });
      assert.deepEqual(pruned.body, { message: 'Stable data items pruned successfully', prunedCount: 0 });
      await sql.run("UPDATE operator_jobs SET running = 1, told_at = ? WHERE name = 'prune'", Date.now());
      const refused = await json('POST', 'prune-stable-data-items', { indexedAtThreshold: 0 });
      assert.deepEqual([refused.status, refused.body], [409, 'A prune is already in progress']);
      await sql.run("UPDATE operator_jobs SET running = 0 WHERE name = 'prune'");
    });

    it('writes nothing outside of the export folder, whatever lies in it', async () => {
      const base = join(gateway.stack.dataDir, 'parquet');
      const outside = join(gateway.stack.dataDir, 'outside');
      mkdirSync(outside);
      mkdirSync(join(base, 'inner', 'tags'), { recursive: true });
      symlinkSync(join(outside, 'not-there-yet'), join(base, 'dangling'));
      symlinkSync(outside, join(base, 'inner', 'tags', 'data'));
      symlinkSync('inner', join(base, 'sideways'));
      writeFileSync(join(base, 'file'), '');
      const good = { startHeight: 0, endHeight: 3, maxFileRows: 0 };
      for (const outputDir of [
        'dangling',
        'dangling/below',
        'file',
        'file/below',
        'x'.repeat(300),
        '..',
        `../${'parquet-beside'}`,
        'a/../../outside',
        outside,
        '/',
      ]) {
        const answer = await json('POST', 'export-parquet', { ...good, outputDir });
        assert.equal(answer.status, 400, outputDir);
        assert.match(String(answer.body), /^Invalid outputDir - the folder /);
      }
      for (const outputDir of ['inner', 'sideways']) {
        const answer = await json('POST', 'export-parquet', { ...good, outputDir });
        assert.equal(answer.status, 409);
        assert.match(String(answer.body), /tags is in the way and was not made by an export/);
      }
      assert.deepEqual(readdirSync(outside), []);
    });
  });

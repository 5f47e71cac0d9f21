/**
 * An operator and a gateway of several processes, started as a person starts it: what one process is told holds in
 * all of them, a job is one job, and their traces reach the collector. On SQLite, or on PostgreSQL where TEST_DATABASE_URL
 * names one.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startCollector } from '../../src/kernel/tracing/testing.ts';
import { createDatabase, engines, makeTransaction, text, until } from '../support/local-gateway.ts';
import { startStack } from '../support/stack.ts';

/** A connection of its own each time, so that the processes take turns. */
function ask(url: string, method = 'GET', key?: string, body?: object) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    httpRequest(url, { method, headers, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(pieces).toString('utf8') }),
      );
    })
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

for (const { name: engine, options } of engines) {
  describe(`a gateway of two processes on ${engine}`, () => {
    it('is one gateway to its operator', async (t) => {
      const database = options.postgres === undefined ? undefined : await createDatabase(options.postgres);
      t.after(() => database?.drop());
      const collector = await startCollector();
      t.after(() => collector.stop());
      const stack = await startStack({
        only: ['gateway', '--workers', '2'],
        environment: {
          LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_SERVICE_NAME: 'two processes',
          ...(database !== undefined && { DATABASE_URL: database.url }),
        },
      });
      t.after(() => stack.stop());
      const [gateway = '', node = ''] = [stack.urls.gateway, stack.urls.arweave];
      const key = readFileSync(join(stack.dataDir, 'keys', 'admin-api-key'), 'utf8').trim();
      const admin = (method: string, path: string, body?: object) =>
        ask(`${gateway}/gw/admin/${path}`, method, key, body);

      const made = await makeTransaction(node, Buffer.from('for all or none'));
      await made.post();
      await text(`${node}/mine/60`);
      const id = made.transaction.id.toString('base64url');
      /** Of so many connections that each process certainly gets some. */
      const statuses = async () =>
        (await Promise.all(Array.from({ length: 40 }, () => ask(`${gateway}/raw/${id}`)))).map(
          ({ status }) => status,
        );
      await until('all processes serve it', async () => (await statuses()).every((status) => status === 200));
      for (const what of ['block-data', 'unblock-data']) {
        assert.equal((await admin('PUT', what, { id })).status, 200);
        const wanted = what === 'block-data' ? 451 : 200;
        await until(`${what} holds`, async () => (await statuses()).every((status) => status === wanted));
        const later = await statuses();
        assert.deepEqual(new Set(later), new Set([wanted]), `${what}: and from then on`);
      }

      const request = { outputDir: 'both', startHeight: 0, endHeight: 20, maxFileRows: 0 };
      const started = await Promise.all(
        Array.from({ length: 4 }, () => admin('POST', 'export-parquet', request)),
      );
      const refused = started.filter(({ status }) => status === 409).length;
      const jobs = new Set(
        started.flatMap(({ status, body }) => (status === 200 ? [String(JSON.parse(body).jobId)] : [])),
      );
      assert.ok(jobs.size > 0 && jobs.size + refused === started.length, JSON.stringify(started));
      await until('every process says that it is done', async () => {
        const told = await Promise.all(
          Array.from({ length: 6 }, () => admin('GET', 'export-parquet/status')),
        );
        const all = told.map(({ body }) => JSON.parse(body));
        assert.ok(all.every(({ status }) => status === 'running' || status === 'completed'));
        return (
          jobs.has(all[0].jobId) &&
          all.every(({ status, jobId }) => status === 'completed' && jobId === all[0].jobId)
        );
      });

      const named = (what: string) => collector.spans.filter(({ name }) => name === what);
      const processes = () =>
        new Set(named('GET /raw/:id').map(({ resource }) => resource['process.pid'])).size;
      await until(
        'both processes were asked, and told of it',
        async () => processes() === 2 && named('export parquet').length >= jobs.size,
      );
      // On a machine that takes its time one may have ended before the next was asked for; never are there two at once.
      const exports = named('export parquet').sort((a, b) => (a.start < b.start ? -1 : 1));
      assert.deepEqual(new Set(exports.map(({ attributes }) => attributes['turnpike.export.id'])), jobs);
      for (const [at, { start }] of exports.entries())
        assert.ok(at === 0 || start > (exports[at - 1]?.end ?? start), 'one at a time');

      assert.equal(await stack.end(), 0);
      assert.deepEqual(collector.faults, []);
      assert.equal(processes(), 2);
      assert.ok(named('GET /raw/:id').every(({ resource }) => resource['service.name'] === 'two processes'));
    });
  });
}

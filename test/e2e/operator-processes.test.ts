/**
 * An operator and a gateway of several processes, started as a person starts it: what one process is told holds in
 * all of them, a job is one job, and their traces reach the collector. On both engines.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startCollector } from '../../src/kernel/tracing/testing.ts';
import { makeTransaction, text, until } from '../support/local-gateway.ts';
import { hasPostgres, preparePostgres } from '../support/postgres-server.ts';
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

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  describe(`a gateway of two processes on ${engine}`, () => {
    it('is one gateway to its operator', async (t) => {
      if (engine === 'PostgreSQL' && !hasPostgres()) return t.skip('needs PostgreSQL');
      const postgres = engine === 'PostgreSQL' ? await preparePostgres() : undefined;
      if (postgres !== undefined) t.after(() => postgres.stop());
      const collector = await startCollector();
      t.after(() => collector.stop());
      const stack = await startStack({
        only: ['gateway', '--workers', '2'],
        environment: {
          LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_SERVICE_NAME: 'two processes',
          ...(postgres !== undefined && { DATABASE_URL: postgres.url }),
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
      assert.deepEqual(started.map(({ status }) => status).sort(), [200, 409, 409, 409]);
      const jobId = JSON.parse(started.find(({ status }) => status === 200)?.body ?? '{}').jobId;
      await until('every process says that it is done', async () => {
        const told = await Promise.all(
          Array.from({ length: 6 }, () => admin('GET', 'export-parquet/status')),
        );
        const all = told.map(({ body }) => JSON.parse(body));
        assert.ok(all.every(({ status }) => status === 'running' || status === 'completed'));
        return all.every((status) => status.status === 'completed' && status.jobId === jobId);
      });

      assert.equal(await stack.end(), 0);
      assert.deepEqual(collector.faults, []);
      const read = collector.spans.filter(({ name }) => name === 'GET /raw/:id');
      const processes = new Set(read.map(({ resource }) => resource['process.pid']));
      assert.equal(processes.size, 2, 'both processes were asked, and told of it');
      assert.ok(read.every(({ resource }) => resource['service.name'] === 'two processes'));
      assert.ok(collector.spans.some(({ name }) => name === 'export parquet'));
    });
  });
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Metrics } from '../../kernel/metrics.ts';
import { silentLog } from '../../kernel/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { ExportStatus } from '../export/exporter.ts';
import type { ExportRequest } from '../export/write.ts';
import { gatewayMigrations } from '../migrations.ts';
import { Exports, type ExportsOptions } from './exports.ts';
import { SharedJob } from './shared-job.ts';

/** An export that runs until it is cancelled. */
class EndlessExporter {
  status: ExportStatus = { status: 'not_started' };
  isRunning = false;
  readonly #over = Promise.withResolvers<void>();

  start(request: ExportRequest, asked: Partial<ExportStatus> = {}) {
    this.isRunning = true;
    this.status = { ...request, ...asked, status: 'running', jobId: 'one' };
    return { jobId: 'one', ended: this.#over.promise };
  }

  async cancel(): Promise<void> {
    this.status = { ...this.status, status: 'cancelled' };
    this.isRunning = false;
    this.#over.resolve();
  }

  stop(): Promise<void> {
    return this.cancel();
  }
}

describe('exports that operators ask for', () => {
  forEachEngine((_engine, open) => {
    it('are cancelled here and from other processes, and told so to all', { timeout: 30_000 }, async (t) => {
      const sql = await open(gatewayMigrations);
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-exports-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const make = (exporter: ExportsOptions['exporter']) =>
        new Exports({
          ...{ exporter, folder, job: new SharedJob(sql, 'export', silentLog) },
          ...{ stableHeight: () => 50, metrics: new Metrics() },
        });
      const asked: ExportRequest = {
        ...{ outputDir: 'x', startHeight: 0, endHeight: 90, maxFileRows: 0, heightPartitionSize: 10 },
        ...{ skipL1Transactions: false, skipL1Tags: false, resume: false },
      };
      const elsewhere = make(new EndlessExporter());
      for (const whom of ['here', 'elsewhere']) {
        const here = make(new EndlessExporter());
        const ended = Promise.withResolvers<ExportStatus>();
        const onEnd = async (status: ExportStatus) => ended.resolve(status);
        assert.deepEqual(await here.start(asked, { onEnd }), { jobId: 'one', stableHeight: 50 });
        assert.equal(await elsewhere.start(asked), undefined, 'one at a time');
        const cancelling = whom === 'here' ? here : elsewhere;
        assert.equal(await cancelling.cancel(), true);
        const { status, endHeight, stableHeight } = await ended.promise;
        assert.deepEqual([status, endHeight, stableHeight], ['cancelled', 90, 50]);
        await here.stop();
        assert.equal((await elsewhere.status()).status, 'cancelled');
        assert.equal(await cancelling.cancel(), false, 'none runs');
      }
    });
  });
});

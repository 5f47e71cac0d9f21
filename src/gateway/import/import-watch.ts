/** Whether anybody imports: no process holds the lease, or the index stands still while the chain goes on. */
import { createJob, type Job } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import { isLeaseHeld } from '../../storage/sql/lease.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { importLease } from './importer.ts';

export interface ImportWatchOptions {
  readonly index: SqlGatewayIndex;
  readonly nodes: Pick<NodePool, 'height'>;
  /** This process imports, or would. */
  readonly imports: boolean;
  /** Blocks beyond it are not imported. */
  readonly stopHeight: number | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
}

const everyMs = 5_000;
/** A process that dies is followed by another sooner. */
const unheldMs = 60_000;
const standstillMs = 15 * 60_000;

export class ImportWatch {
  readonly #options: ImportWatchOptions;
  readonly job: Job;
  #heldAt = performance.now();
  #height = -1;
  #grewAt = performance.now();

  constructor(options: ImportWatchOptions) {
    this.#options = options;
    const { log, metrics } = options;
    metrics.gauge('gateway_nobody_imports', 'Whether no process imports blocks', [], () =>
      Number(this.problem !== undefined),
    );
    this.job = createJob({ name: 'watch the import', everyMs, log, run: () => this.#look() });
  }

  get problem(): string | undefined {
    const { index, nodes, imports, stopHeight = Number.MAX_SAFE_INTEGER } = this.#options;
    const now = performance.now();
    if (imports && now - this.#heldAt > unheldMs) {
      return `Nobody imports: no process has held the import for ${seconds(now - this.#heldAt)}.`;
    }
    const behind = Math.min(nodes.height, stopHeight) - index.height;
    if (behind <= 0 || now - this.#grewAt <= standstillMs) return undefined;
    return `Nobody imports: the index is ${behind} blocks behind and has stood still for ${seconds(now - this.#grewAt)}.`;
  }

  async #look(): Promise<void> {
    const { index, nodes } = this.#options;
    if (index.height !== this.#height || nodes.height <= index.height) {
      this.#height = index.height;
      this.#grewAt = performance.now();
    }
    if (await isLeaseHeld(index.sql, importLease)) this.#heldAt = performance.now();
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} seconds`;

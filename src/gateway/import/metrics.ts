/** What is counted of the import, under the names that dashboards of public gateways use. */
import type { Metrics } from '../../kernel/metrics.ts';

export function createImportMetrics(metrics: Metrics) {
  return {
    blocks: metrics.counter('blocks_imported_total', 'Blocks imported'),
    transactions: metrics.counter(
      'block_transactions_imported_total',
      'Transactions imported with their blocks',
    ),
    missing: metrics.counter('missing_block_transactions_total', 'Transactions of blocks that no node gave'),
    errors: metrics.counter('block_import_errors_total', 'Rounds of the importer that failed'),
    height: metrics.gauge('last_height_imported', 'Height of the newest imported block'),
    running: metrics.gauge('block_importer_running', 'Whether this process imports blocks'),
    forks: metrics.counter('forks_total', 'Times that blocks were taken back'),
    lastForkDepth: metrics.gauge('last_fork_depth', 'Blocks that the last fork took back'),
  };
}

export type ImportMetrics = ReturnType<typeof createImportMetrics>;

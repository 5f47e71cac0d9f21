/** What the kernel costs above bare node:http, and what its byte path gains over a file stream. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Histogram } from 'prom-client';
import { Metrics } from '../src/kernel/metrics.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const script = join(import.meta.dirname, 'kernel.server.ts');

export const benches: Bench[] = [
  {
    name: 'kernel/json',
    async run() {
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['kernel-json'] },
        yardstick: { script, args: ['bare-json'] },
        load: { path: '/', connections: 32, seconds: 2 },
        rounds: 3,
      });
      return [
        {
          name: 'tiny JSON route with request id, log, metrics',
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'bare node:http',
          ratio,
          bar: 0.75,
        },
      ];
    },
  },
  {
    name: 'kernel/request-histogram',
    async run() {
      const plain = new Histogram({
        name: 'yardstick',
        help: 'yardstick',
        labelNames: ['route', 'method', 'status'],
        registers: [],
      });
      const route = new Metrics().requests.route('/price/:bytes');
      const theirs = perSecond((seconds) =>
        plain.observe({ route: '/price/:bytes', method: 'GET', status: 200 }, seconds),
      );
      const ours = perSecond((seconds) => route.observe('GET', 200, seconds));
      return [
        {
          name: 'one request counted',
          value: ours,
          unit: '/s',
          yardstick: 'prom-client',
          ratio: ours / theirs,
        },
      ];
    },
  },
  blob('256 KiB', 256 * 1024, 1.5, 32),
  blob('4 MiB', 4 * 1024 * 1024, 1.2, 8),
];

function blob(name: string, size: number, bar: number, connections: number): Bench {
  return {
    name: `kernel/blob-${name.replace(' ', '')}`,
    async run(): Promise<Measurement[]> {
      const folder = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
      try {
        const file = join(folder, 'blob');
        await writeFile(file, Buffer.alloc(size, 'turnpike'));
        const { candidate, ratio } = await compareServers({
          candidate: { script, args: ['kernel-file', file] },
          yardstick: { script, args: ['stream-file', file] },
          load: { path: '/', connections, seconds: 2 },
        });
        return [
          {
            name: `${name} from disk`,
            value: candidate.requestsPerCpuSecond,
            unit: 'req/cpu-s',
            yardstick: 'createReadStream().pipe(res)',
            ratio,
            bar,
            note: `${Math.round(candidate.megabytesPerSecond)} MB/s`,
          },
        ];
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Calls per second, the best of five runs; the argument walks through the buckets. */
function perSecond(call: (seconds: number) => void): number {
  const count = 200_000;
  let best = 0;
  for (let run = 0; run < 5; run++) {
    const start = performance.now();
    for (let index = 0; index < count; index++) call((index % 1000) / 500);
    best = Math.max(best, (count / (performance.now() - start)) * 1000);
  }
  return best;
}

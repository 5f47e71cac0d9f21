/** What the router costs above the barest proxy, what verification costs, and what a stalled gateway does to readers. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { compareServers, measureServer } from './load.ts';

const script = join(import.meta.dirname, 'router.server.ts');
const idOf = (index: number) => createHash('sha256').update(`id ${index}`).digest('base64url');
/** More than are asked for in a run: content that was proven before would be cheaper. */
const many = Array.from({ length: 20_000 }, (_, index) => `/${idOf(index)}`);

export const benches: Bench[] = [
  {
    name: 'router/pass-through',
    async run() {
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['pass-through', '1024'] },
        yardstick: { script, args: ['bare-proxy', '1024'] },
        load: { path: `/${idOf(0)}`, connections: 16, seconds: 2 },
      });
      return [
        {
          name: '1 KiB passed through, verification off',
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'node:http + undici proxy',
          ratio,
          bar: 0.5,
        },
      ];
    },
  },
  {
    name: 'router/verified',
    async run() {
      const size = String(1024 * 1024);
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['verified', size] },
        yardstick: { script, args: ['bare-proxy', size] },
        load: { path: many[0] ?? '/', paths: many, connections: 8, seconds: 2 },
      });
      return [
        {
          name: '1 MiB not cached, proven by two other gateways',
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'node:http + undici proxy',
          ratio,
          bar: 0.6,
          note: `${Math.round(candidate.megabytesPerSecond)} MB/s`,
        },
      ];
    },
  },
  {
    name: 'router/cache-hit',
    async run() {
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['cached', '1024'] },
        yardstick: { script, args: ['bare-bytes', '1024'] },
        load: { path: `/${idOf(0)}`, connections: 32, seconds: 2 },
      });
      return [
        {
          name: '1 KiB from the cache',
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'bare node:http',
          ratio,
          bar: 0.5,
        },
      ];
    },
  },
  {
    name: 'router/one-stalled',
    async run() {
      const load = { path: `/${idOf(0)}`, connections: 8, seconds: 3, warmSeconds: 2 };
      const healthy = await measureServer({ script, args: ['pass-through', '1024'], ...load });
      const stalled = await measureServer({ script, args: ['one-stalled', '1024'], ...load });
      return [
        {
          name: 'p99 with one of three gateways stalled',
          value: stalled.p99,
          unit: 'ms',
          yardstick: 'p99 with all healthy',
          ratio: healthy.p99 / stalled.p99,
          bar: 0.5,
          note: `${healthy.p99.toFixed(1)} ms with all healthy`,
        },
      ];
    },
  },
];

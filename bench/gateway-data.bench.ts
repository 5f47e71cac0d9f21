/** Content that is cached, as readers get it, beside plain `node:http` with the same bytes. */
import { join } from 'node:path';
import { digest } from '../src/gateway/chain-index/testing.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const script = join(import.meta.dirname, 'gateway-data.server.ts');
const id = (name: string) => digest(name).toString('base64url');

interface Case {
  readonly name: string;
  readonly path: string;
  readonly yardstick: string;
  readonly bar: number;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly connections?: number;
}

const cases: readonly Case[] = [
  { name: 'raw 1 KiB', path: `/raw/${id('small')}`, yardstick: '/small', bar: 0.5 },
  { name: 'raw 1 MiB', path: `/raw/${id('large')}`, yardstick: '/large', bar: 1.2, connections: 8 },
  { name: 'HEAD 1 KiB', path: `/raw/${id('small')}`, yardstick: '/small', bar: 0.7, method: 'HEAD' },
  {
    name: 'range 1 KiB of 1 MiB',
    path: `/raw/${id('large')}`,
    yardstick: '/small',
    bar: 0.65,
    headers: { range: 'bytes=500000-501023' },
  },
  { name: 'item inside a cached bundle', path: `/raw/${id('item')}`, yardstick: '/small', bar: 0.4 },
  { name: 'manifest path', path: `/${id('manifest')}/page`, yardstick: '/small', bar: 0.65 },
];

export const benches: Bench[] = [{ name: 'gateway/content', run: () => inTurn(cases, measure) }];

async function measure(one: Case): Promise<Measurement> {
  const { candidate, ratio } = await compareServers({
    candidate: { script },
    yardstick: { script, args: ['bare'], path: one.yardstick, headers: {} },
    load: {
      path: one.path,
      method: one.method ?? 'GET',
      connections: one.connections ?? 32,
      headers: one.headers ?? {},
      expect: [200, 206],
    },
  });
  const yardstick = one.yardstick === '/large' ? 'createReadStream().pipe(res)' : 'bare node:http, 1 KiB';
  return {
    name: one.name,
    value: candidate.requestsPerCpuSecond,
    unit: 'req/cpu-s',
    yardstick,
    ratio,
    bar: one.bar,
  };
}

async function inTurn<A, B>(all: readonly A[], act: (one: A) => Promise<B>): Promise<B[]> {
  const done: B[] = [];
  for (const one of all) done.push(await act(one));
  return done;
}

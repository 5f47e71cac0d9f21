/** What the router costs above the barest proxy, what verification costs, and what a stalled gateway does to readers. */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Bench, Measurement } from './bench.ts';
import { installBunProxy } from './bun.ts';
import { compareServers, type LoadOptions, measureServer } from './load.ts';

const script = join(import.meta.dirname, 'router.server.ts');
const idOf = (index: number) => createHash('sha256').update(`id ${index}`).digest('base64url');
/** More than are asked for in a run: content that was proven before would be cheaper. */
const many = Array.from({ length: 20_000 }, (_, index) => `/${idOf(index)}`);
const one: LoadOptions = { path: `/${idOf(0)}`, connections: 16, seconds: 2 };
const eachOnce: LoadOptions = { path: many[0] ?? '/', paths: many, connections: 8, seconds: 2 };
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** What a server of ours does per CPU second, beside one that does the least that such a server can. */
async function compare(options: {
  readonly name: string;
  readonly mode: string;
  readonly yardstick: keyof typeof yardsticks;
  readonly size: number;
  readonly load: LoadOptions;
  readonly bar?: number;
}): Promise<Measurement> {
  const { name, mode, yardstick, size, load, bar } = options;
  const { candidate, ratio } = await compareServers({
    candidate: { script, args: [mode, String(size)] },
    yardstick: { script, args: [yardstick, String(size)] },
    load,
    // A process may be lucky for as long as it lives; where that decides, several are asked.
    rounds: bar === undefined ? 1 : 3,
  });
  return {
    name,
    value: candidate.requestsPerCpuSecond,
    unit: 'req/cpu-s',
    yardstick: yardsticks[yardstick],
    ratio,
    ...(bar === undefined ? {} : { bar }),
    ...(size < mebibyte ? {} : { note: `${Math.round(candidate.megabytesPerSecond)} MB/s` }),
  };
}

/** 1 MiB passed through beside the barest proxy on Bun, where that can be had. */
async function besideBun(): Promise<Measurement[]> {
  const bun = await installBunProxy();
  if (typeof bun === 'string') {
    console.log(bun);
    return [];
  }
  const gateways = fork(script, ['gateways', String(mebibyte)]);
  try {
    const [upstream = ''] = await said<string[]>(gateways);
    const { candidate, ratio } = await compareServers({
      candidate: { script, args: ['pass-through', String(mebibyte)] },
      yardstick: { script: bun.script, args: [upstream], execPath: bun.execPath },
      load: eachOnce,
      rounds: 3,
    });
    return [
      {
        name: '1 MiB passed through, beside Bun',
        value: candidate.requestsPerCpuSecond,
        unit: 'req/cpu-s',
        yardstick: 'Bun.serve + fetch proxy',
        ratio,
      },
    ];
  } finally {
    gateways.kill();
    bun[Symbol.dispose]();
  }
}

const yardsticks = {
  'bare-proxy': 'node:http + undici proxy',
  'bare-bytes': 'bare node:http',
  'pass-through': 'passed through',
};

/** The most that the memory of a router grows by while one reader takes a gibibyte. */
async function memoryOfStream(): Promise<Measurement[]> {
  const size = 1024 * mebibyte;
  const router = fork(script, ['streamed', String(size)]);
  try {
    const { url } = await said<{ url: string }>(router);
    await readAll(`${url}${many[0]}`);
    router.send('memory');
    const { grown } = await said<{ grown: number }>(router);
    const allowed = 96;
    return [
      {
        name: 'memory grown at most by a stream of 1 GiB, verified',
        value: grown / mebibyte,
        unit: 'MiB',
        yardstick: `${allowed} MiB`,
        ratio: allowed / Math.max(1, grown / mebibyte),
        bar: 1,
      },
    ];
  } finally {
    router.kill();
  }
}

/** The most memory of a router while eight readers take bodies of 1 MiB, each of an id that is new. */
async function memoryOfBodies(mode: 'streamed' | 'kept'): Promise<Measurement> {
  const router = fork(script, [mode, String(mebibyte)]);
  try {
    const { url } = await said<{ url: string }>(router);
    await measureServer({ ...eachOnce, url, seconds: 4, warmSeconds: 0 });
    router.send('memory');
    const { most } = await said<{ most: number }>(router);
    const allowed = 250;
    return {
      name: `memory while 1 MiB bodies are verified${mode === 'kept' ? ' and kept' : ''}`,
      value: most / mebibyte,
      unit: 'MiB',
      yardstick: `${allowed} MiB`,
      ratio: allowed / (most / mebibyte),
      bar: 1,
    };
  } finally {
    router.kill();
  }
}

async function said<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}

async function readAll(url: string): Promise<void> {
  const [response] = await once(get(url), 'response');
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  response.resume();
  await once(response, 'end');
}

export const benches: Bench[] = [
  {
    name: 'router/pass-through',
    run: async () => [
      await compare({
        name: '1 KiB passed through, verification off',
        mode: 'pass-through',
        yardstick: 'bare-proxy',
        size: kibibyte,
        load: one,
        bar: 0.5,
      }),
      // wayfinder-router on Bun does 1.42 times as much as the bare proxy of Node in the same run: that is the bar.
      await compare({
        name: '1 MiB passed through, verification off',
        mode: 'pass-through',
        yardstick: 'bare-proxy',
        size: mebibyte,
        load: eachOnce,
        bar: 1.42,
      }),
      ...(await besideBun()),
    ],
  },
  {
    name: 'router/verified',
    run: async () => [
      await compare({
        name: '1 MiB not cached, proven by two other gateways',
        mode: 'verified',
        yardstick: 'bare-proxy',
        size: mebibyte,
        load: eachOnce,
        bar: 0.7,
      }),
      await compare({
        name: '1 MiB not cached, proven, beside the same unproven',
        mode: 'verified',
        yardstick: 'pass-through',
        size: mebibyte,
        load: eachOnce,
      }),
      await compare({
        name: '1 KiB not cached, proven by two other gateways',
        mode: 'verified',
        yardstick: 'bare-proxy',
        size: kibibyte,
        load: eachOnce,
        bar: 0.4,
      }),
    ],
  },
  {
    name: 'router/cache-hit',
    run: async () => [
      await compare({
        name: '1 KiB from the cache',
        mode: 'cached',
        yardstick: 'bare-bytes',
        size: kibibyte,
        load: { ...one, connections: 32 },
        bar: 0.5,
      }),
      await compare({
        name: '1 MiB from the cache on disk',
        mode: 'cached',
        yardstick: 'bare-bytes',
        size: mebibyte,
        load: { ...one, connections: 8 },
      }),
    ],
  },
  {
    name: 'router/one-stalled',
    async run() {
      // Side by side, so that what else the machine does is in both figures.
      const { candidate: stalled, yardstick: healthy } = await compareServers({
        candidate: { script, args: ['one-stalled', String(kibibyte)] },
        yardstick: { script, args: ['pass-through', String(kibibyte)] },
        load: { ...one, connections: 8, seconds: 3, warmSeconds: 2 },
      });
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
  {
    name: 'router/memory',
    run: async () => [
      ...(await memoryOfStream()),
      await memoryOfBodies('streamed'),
      await memoryOfBodies('kept'),
    ],
  },
];

/** What it costs to have many follow events, and how soon they are told. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Bench, Measurement } from './bench.ts';

const readers = 10_000;
/** For all of them, of the process that serves them. */
const memoryBar = 200 * 1024 * 1024;
const rounds = 20;

export const benches: Bench[] = [{ name: 'events/readers', run: compare }];

async function compare(): Promise<Measurement[]> {
  const bare = await measure('bare');
  const feed = await measure('feed');
  const mebibytes = (bytes: number) => bytes / 1024 / 1024;
  return [
    {
      name: `${readers} idle readers: memory that they add`,
      value: mebibytes(feed.added),
      unit: 'MiB',
      yardstick: `the bar of ${mebibytes(memoryBar)} MiB`,
      ratio: memoryBar / feed.added,
      bar: 1,
      note: `bare node:http ${mebibytes(bare.added).toFixed(0)} MiB; the process as a whole ${mebibytes(feed.whole).toFixed(0)} MiB`,
    },
    {
      name: `an event until the last of ${readers} readers has it`,
      value: feed.lastMs,
      unit: 'ms',
      yardstick: 'bare node:http that writes to each',
      ratio: bare.lastMs / feed.lastMs,
      note: `the first reader after ${feed.firstMs.toFixed(1)} ms, which the log gathers 20 ms of`,
    },
  ];
}

async function measure(mode: 'bare' | 'feed') {
  const server = fork(join(import.meta.dirname, 'events.server.ts'), [mode]);
  const sockets: Socket[] = [];
  try {
    const { url } = await answer<{ url: string }>(server);
    const { port } = new URL(url);
    const before = await memoryOf(server);
    let received = 0;
    const all = () => received >= sockets.length;
    const onData = () => {
      received += 1;
    };
    for (let at = 0; at < readers; at += 250) {
      const some = Array.from({ length: 250 }, () => connect(Number(port), '127.0.0.1'));
      await Promise.all(some.map((socket) => once(socket, 'connect')));
      for (const socket of some) {
        socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n');
      }
      await Promise.all(some.map((socket) => once(socket, 'data')));
      for (const socket of some) socket.on('data', onData);
      sockets.push(...some);
    }
    // The last heads may come in two pieces.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const after = await memoryOf(server);
    const times: { first: number; last: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      received = 0;
      const begin = performance.now();
      let first = 0;
      server.send('append');
      while (!all()) {
        await new Promise((resolve) => setImmediate(resolve));
        if (first === 0 && received > 0) first = performance.now() - begin;
      }
      times.push({ first, last: performance.now() - begin });
    }
    const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
    return {
      added: after - before,
      whole: after,
      firstMs: median(times.map(({ first }) => first)),
      lastMs: median(times.map(({ last }) => last)),
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    server.disconnect();
    await once(server, 'exit');
  }
}

async function memoryOf(server: ChildProcess): Promise<number> {
  server.send('memory');
  return (await answer<{ rss: number }>(server)).rss;
}

async function answer<T>(server: ChildProcess): Promise<T> {
  const [message] = await once(server, 'message');
  return message;
}

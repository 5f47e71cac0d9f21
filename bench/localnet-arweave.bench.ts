/**
 * What the local Arweave node costs above bare node:http on the routes that clients poll. Both servers have processes
 * of their own and are loaded in turn, a moment each; the figure is requests per second of the server's CPU time,
 * which other load on the machine hardly moves.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { encodeBase64url } from '../src/formats/base64url.ts';
import { startLocalArweave, TestWallet } from '../test/support/local-arweave.ts';
import type { Bench, Measurement } from './bench.ts';

const connections = 32;
const turnMs = 150;
const warmTurns = 6;
const measuredTurns = 10;

/** A chain with one mined transaction in `folder`; answers its id. */
async function prepareChain(folder: string): Promise<string> {
  const node = await startLocalArweave({ dataDir: folder });
  const wallet = new TestWallet();
  await node.client.text(`/mint/${wallet.address}/1000000000000`);
  const transaction = await wallet.transaction(node.client, { data: Buffer.alloc(1_000, 7) });
  await node.client.postTx(transaction);
  await node.client.text('/mine/20');
  await node.stop();
  return encodeBase64url(transaction.id);
}

class LoadedServer {
  readonly #child: ChildProcess;
  readonly #pool: Pool;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#pool = new Pool(url, { connections });
  }

  static async start(...args: string[]): Promise<LoadedServer> {
    const child = fork(join(import.meta.dirname, 'localnet-arweave.server.ts'), args);
    const [url] = await once(child, 'message');
    return new LoadedServer(child, String(url));
  }

  /** Requests per CPU second of the server in one turn. */
  async turn(path: string): Promise<number> {
    const before = await this.#cpuSeconds();
    const stopAt = performance.now() + turnMs;
    let requests = 0;
    const ask = async (): Promise<void> => {
      while (performance.now() < stopAt) {
        const { statusCode, body } = await this.#pool.request({ method: 'GET', path });
        await body.dump();
        if (statusCode !== 200) throw new Error(`${path}: status ${statusCode}`);
        requests += 1;
      }
    };
    await Promise.all(Array.from({ length: connections }, ask));
    return requests / ((await this.#cpuSeconds()) - before);
  }

  async stop(): Promise<void> {
    await this.#pool.destroy();
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #cpuSeconds(): Promise<number> {
    this.#child.send('cpu');
    const [seconds] = await once(this.#child, 'message');
    return Number(seconds);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}

const reads: Bench = {
  name: 'localnet/arweave-reads',
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-arweave-'));
    const id = await prepareChain(folder);
    const [node, bare] = [await LoadedServer.start('node', folder), await LoadedServer.start('bare')];
    try {
      const measured: Measurement[] = [];
      const routes = { '/info': '/info', '/tx/{id}': `/tx/${id}`, '/tx/{id}/offset': `/tx/${id}/offset` };
      for (const [name, path] of Object.entries(routes)) {
        const [ours, yardstick]: [number[], number[]] = [[], []];
        for (let turn = 0; turn < warmTurns + measuredTurns; turn += 1) {
          const figures = [await node.turn(path), await bare.turn('/')] as const;
          if (turn < warmTurns) continue;
          ours.push(figures[0]);
          yardstick.push(figures[1]);
        }
        measured.push({
          name: `GET ${name}`,
          value: median(ours),
          unit: 'req/cpu-s',
          yardstick: 'bare node:http, 1 KiB',
          ratio: median(ours) / median(yardstick),
          bar: 0.5,
        });
      }
      return measured;
    } finally {
      await Promise.all([node.stop(), bare.stop()]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export const benches: Bench[] = [reads];

/**
 * Taking items in. Small ones beside the rate at which this machine makes the RSA signatures of their receipts; a
 * large one beside reading and hashing the same bytes.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, request } from 'undici';
import { winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { DeepHashBlob } from '../src/formats/deep-hash.ts';
import { makeFastRsaKey } from '../src/kernel/fast-rsa-key.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { testMigrations } from '../src/upload/testing.ts';
import { signPss } from '../src/wallets/arweave/rsa.ts';
import { itemOwner } from '../src/wallets/data-items/owner.ts';
import { signItem, signItemHeader, solanaSigner } from '../src/wallets/data-items/signer.ts';
import { testArweaveKey, testEd25519Key } from '../src/wallets/testing/keys.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { Bench, Measurement } from './bench.ts';
import { postFile } from './post-file.ts';

const signer = solanaSigner(testEd25519Key);
const { address } = itemOwner(4, signer.owner).wallet;

/** A server with a folder of its own and a wallet that can pay for everything. */
async function withServer<T>(
  kind: string,
  work: (url: string, server: ChildProcess) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-upload-'));
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir: folder,
    name: 'ledger',
    migrations: testMigrations,
  });
  await createCredits({ sql }).credit({
    address,
    addressType: 'solana',
    amount: winc(10n ** 18n),
    reason: 'payment',
    id: 'bench',
  });
  await sql.close();
  const script = join(import.meta.dirname, 'upload.server.ts');
  const server = fork(script, [folder, kind], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      server.stdout?.once('data', (text: Buffer) => resolve(text.toString().trim()));
      server.once('exit', () => reject(new Error('the server did not start')));
    });
    return await work(url, server);
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** CPU seconds that this process spends on one signature, all threads counted. */
async function bareSignature(key: KeyObject, count: number): Promise<number> {
  const message = Buffer.alloc(48, 7);
  const before = process.cpuUsage();
  let left = count;
  const worker = async () => {
    while (left-- > 0) await signPss(key, message, 0);
  };
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / count;
}

/** CPU seconds that a server has spent so far. */
function cpuOf(server: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    server.once('message', ({ cpu }: { cpu: NodeJS.CpuUsage }) => resolve((cpu.user + cpu.system) / 1e6));
    server.send('report');
  });
}

/**
 * Per CPU second, so that neither the load generator nor other work on the machine counts: a service that has two
 * cores to itself does twice this.
 */
async function intakeBench(kind: 'two-prime' | 'four-prime'): Promise<Measurement> {
  const key = kind === 'two-prime' ? testArweaveKey.privateKey : createPrivateKey(await makeFastRsaKey());
  const random = seededRandom(1);
  const items: Buffer[] = [];
  for (let i = 0; i < 3_000; i++) {
    const tags = [{ name: 'Content-Type', value: 'application/octet-stream' }];
    items.push(await signItem({ data: random.bytes(1_024), tags }, signer));
  }
  return withServer(kind, async (url, server) => {
    await sendItems(url, items.splice(0, 500), 10_000);
    const bareBefore = await bareSignature(key, 200);
    const before = await cpuOf(server);
    const { taken, rate } = await sendItems(url, items, 8_000);
    const perItem = ((await cpuOf(server)) - before) / taken;
    const bare = (bareBefore + (await bareSignature(key, 200))) / 2;
    return {
      name: `1 KiB items, ${kind} key`,
      value: 1 / perItem,
      unit: 'items/cpu-s',
      yardstick: `${Math.round(1 / bare)} bare RSA-4096 signatures/cpu-s`,
      ratio: bare / perItem,
      bar: 0.8,
      note: `${Math.round(rate)} items/s with the load generator on the same cores`,
    };
  });
}

/** Items per second over 48 kept connections. */
async function sendItems(
  url: string,
  items: readonly Buffer[],
  milliseconds: number,
): Promise<{ taken: number; rate: number }> {
  const end = performance.now() + milliseconds;
  let next = 0;
  let taken = 0;
  const worker = async () => {
    const client = new Client(url);
    while (performance.now() < end && next < items.length) {
      const body = items[next++]!;
      const answer = await client.request({ method: 'POST', path: '/v1/tx/solana', body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`an item was answered ${answer.statusCode}`);
      taken++;
    }
    await client.close();
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: 48 }, worker));
  return { taken, rate: taken / ((performance.now() - start) / 1_000) };
}

const largeBytes = Number(process.env.BENCH_LARGE_BYTES ?? 2 ** 30);

async function largeBench(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-large-'));
  const path = join(folder, 'item');
  const warmPath = join(folder, 'warm');
  try {
    const size = await makeLargeItem(path, largeBytes);
    await makeLargeItem(warmPath, 64 * 2 ** 20);
    return await withServer('four-prime', async (url, server) => {
      const post = async (file: string) => {
        const status = await postFile(`${url}/v1/tx/solana`, file);
        if (status !== 200) throw new Error(`the item was answered ${status}`);
      };
      await post(warmPath);
      const yardstickBefore = await catAndHash(path);
      const diskBefore = await diskWriteRate(folder, size);
      const before = await memoryOf(server);
      const start = performance.now();
      const peak = await memoryWhile(server, post(path));
      const rate = size / 2 ** 20 / ((performance.now() - start) / 1_000);
      const yardstick = (yardstickBefore + (await catAndHash(path))) / 2;
      const disk = (diskBefore + (await diskWriteRate(folder, size))) / 2;
      return [
        {
          name: `one item of ${Math.round(size / 2 ** 20)} MiB, beside the disk`,
          value: rate,
          unit: 'MiB/s',
          yardstick: `written and synced by one program, ${Math.round(disk)} MiB/s`,
          ratio: rate / disk,
          bar: 0.6,
        },
        {
          name: `one item of ${Math.round(size / 2 ** 20)} MiB`,
          value: rate,
          unit: 'MiB/s',
          yardstick: `a file piped into node, SHA-384: ${Math.round(yardstick)} MiB/s`,
          ratio: rate / yardstick,
          bar: 0.6,
        },
        {
          name: 'memory while it came in',
          value: (peak - before) / 2 ** 20,
          unit: 'MiB more',
          yardstick: `128 MiB (${Math.round(peak / 2 ** 20)} in all)`,
          ratio: 128 / Math.max((peak - before) / 2 ** 20, 1),
          bar: 1,
        },
      ];
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeLargeItem(path: string, bytes: number): Promise<number> {
  const block = seededRandom(2).bytes(2 ** 20);
  const hash = new DeepHashBlob();
  for (let at = 0; at < bytes; at += block.length) hash.update(block);
  const header = await signItemHeader({}, signer, hash.digest());
  const file = await open(path, 'w');
  await file.write(header);
  for (let at = 0; at < bytes; at += block.length) await file.write(block);
  await file.close();
  return statSync(path).size;
}

/** MiB/s at which the disk takes so many bytes, the sync at the end included. */
async function diskWriteRate(folder: string, bytes: number): Promise<number> {
  const path = join(folder, 'written');
  const block = seededRandom(3).bytes(2 ** 20);
  const file = await open(path, 'w');
  const start = performance.now();
  for (let at = 0; at < bytes; at += block.length) await file.write(block);
  await file.datasync();
  const seconds = (performance.now() - start) / 1_000;
  await file.close();
  rmSync(path);
  return bytes / 2 ** 20 / seconds;
}

const partBytes = 64 * 2 ** 20;

/** How long an upload in parts takes from its last part to its receipt, beside one reading of its bytes. */
async function partsBench(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-parts-'));
  const path = join(folder, 'item');
  try {
    const size = await makeLargeItem(path, largeBytes);
    return await withServer('four-prime', async (url) => {
      const asked = await request(`${url}/v1/chunks/solana/-1/-1?chunkSize=${partBytes}`);
      const { id } = (await asked.body.json()) as { id: string };
      const post = async (offset: number, body: Readable | undefined, bytes: number) => {
        const headers = { 'content-length': String(bytes) };
        const to = `${url}/v1/chunks/solana/${id}/${offset}`;
        const answer = await request(to, { method: 'POST', headers, body: body ?? null });
        await answer.body.dump();
        if (answer.statusCode !== 200) throw new Error(`part ${offset} was answered ${answer.statusCode}`);
      };
      for (let at = 0; at < size; at += partBytes) {
        const end = Math.min(size, at + partBytes);
        await post(at, createReadStream(path, { start: at, end: end - 1 }), end - at);
      }
      const start = performance.now();
      await post(-1, undefined, 0);
      const seconds = (performance.now() - start) / 1_000;
      const reading = size / 2 ** 20 / (await catAndHash(path));
      return [
        {
          name: `finalize ${Math.round(size / 2 ** 20)} MiB that came in parts`,
          value: seconds * 1_000,
          unit: 'ms',
          yardstick: `its bytes read and hashed once, ${Math.round(reading * 1_000)} ms`,
          ratio: reading / seconds,
          bar: 5,
        },
      ];
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** MiB/s of a process that hashes what another pipes to it. */
async function catAndHash(path: string): Promise<number> {
  const script = `const h=require('crypto').createHash('sha384');process.stdin.on('data',c=>h.update(c)).on('end',()=>console.log(h.digest('hex')))`;
  const start = performance.now();
  const cat = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] });
  const node = spawn(process.execPath, ['-e', script], { stdio: [cat.stdout, 'ignore', 'inherit'] });
  await new Promise((done) => node.once('exit', done));
  return statSync(path).size / 2 ** 20 / ((performance.now() - start) / 1_000);
}

function memoryOf(server: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    server.once('message', ({ rss }: { rss: number }) => resolve(rss));
    server.send('report');
  });
}

async function memoryWhile(server: ChildProcess, work: Promise<unknown>): Promise<number> {
  let peak = 0;
  let working = true;
  const ended = work.finally(() => {
    working = false;
  });
  while (working) {
    peak = Math.max(peak, await memoryOf(server));
    await Promise.race([ended, sleep(50)]);
  }
  return peak;
}

export const benches: Bench[] = [
  {
    name: 'upload/intake',
    run: async () => [await intakeBench('two-prime'), await intakeBench('four-prime')],
  },
  { name: 'upload/large', run: largeBench },
  { name: 'upload/parts', run: partsBench },
];

/** The ledger: durable reserve + settle, many clients against one commit each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Credits, winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../src/credits/migrations.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import type { Bench, Measurement } from './bench.ts';

const CLIENTS = 64;
const SECONDS = 2;

/** Reserve + settle pairs per second by so many clients, each waiting for its own before the next. */
async function rate(credits: Credits, clients: number, wallet: (client: number) => string): Promise<number> {
  let pairs = 0;
  const run = `${Math.random()}`;
  const start = performance.now();
  const end = start + SECONDS * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let count = 0; performance.now() < end; count += 1) {
        const id = `${run}-${client}-${count}`;
        const signer = wallet(client);
        await credits.reserve({ id, reason: 'upload', signer, signerType: 'arweave', amount: winc(7n) });
        await credits.settle('upload', id);
        pairs += 1;
      }
    }),
  );
  return (pairs * 1000) / (performance.now() - start);
}

async function measure(
  databaseUrl: string | undefined,
  bars: { distinct: number; hot: number },
): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const name = `bench_${process.pid}`;
  const sql = await openDatabase({ databaseUrl, dataDir: folder, name, migrations: creditsMigrations });
  try {
    const credits = createCredits({ sql });
    for (let client = 0; client < CLIENTS; client += 1) {
      await credits.credit({
        address: `wallet${client}`,
        addressType: 'arweave',
        amount: winc(10n ** 18n),
        reason: 'payment',
        id: `${client}`,
      });
    }
    const alone = await rate(credits, 1, () => 'wallet0');
    const distinct = await rate(credits, CLIENTS, (client) => `wallet${client}`);
    const hot = await rate(credits, CLIENTS, () => 'wallet0');
    const figure = (what: string, value: number, bar: number): Measurement => ({
      name: `reserve + settle, ${CLIENTS} clients, ${what}`,
      value,
      unit: 'pairs/s',
      yardstick: `one client, one commit each: ${Math.round(alone)} pairs/s`,
      ratio: value / alone,
      bar,
    });
    return [figure('distinct wallets', distinct, bars.distinct), figure('one hot wallet', hot, bars.hot)];
  } finally {
    if (databaseUrl !== undefined) await sql.run(`DROP SCHEMA "${name}" CASCADE`);
    await sql.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const benches: Bench[] = [
  { name: 'credits/sqlite', run: () => measure(undefined, { distinct: 3, hot: 2 }) },
  {
    name: 'credits/postgres',
    async run() {
      const server = await preparePostgres({ durable: true }).catch((error: Error) => {
        console.log(`credits/postgres: skipped, ${error.message}`);
      });
      if (server === undefined) return [];
      try {
        return await measure(server.url, { distinct: 4, hot: 4 });
      } finally {
        await server.stop();
      }
    },
  },
];

/**
 * Run by the crash test of returns to be killed: wallets that pay, spend and return at once, and a worker that sends, each
 * return written to standard output when it was acknowledged. Arguments: database URL or `-`, folder, database name, round.
 */
import { join } from 'node:path';
import { winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { createCreditReturns } from '../../src/payments/returns/credit-returns.ts';
import { payByChain, returnsTestMigrations, spend, testRules } from '../../src/payments/returns/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { durableBank } from './returns-bank.ts';
import { seededRandom } from './seeded-random.ts';

const [url = '-', folder = '.', name = 'ledger', round = '0'] = process.argv.slice(2);
const sql = await openDatabase({
  databaseUrl: url === '-' ? undefined : url,
  dataDir: folder,
  name,
  migrations: returnsTestMigrations,
});
const credits = createCredits({ sql });
const bank = await durableBank(join(folder, 'bank.db'));
const returns = createCreditReturns(testRules, { sql, credits, log: silentLog, ways: bank.ways });
returns.start();

async function client(number: number): Promise<void> {
  const random = seededRandom(Number(round) * 1_000 + number);
  const address = `wallet${number}`;
  for (let count = 0; ; count += 1) {
    const id = `${round}-${number}-${count}`;
    const bought = BigInt(1_000 + random.below(1_000));
    const payment = await payByChain(sql, credits, address, { id, quantity: 500n, bought, at: Date.now() });
    await spend(credits, address, BigInt(1 + random.below(400)), id);
    const { made } = await returns.request({
      wallet: { kind: 'arweave', address },
      payment,
      amount: random.below(2) === 0 ? undefined : winc(BigInt(10 + random.below(500))),
      requestKey: id,
    });
    // A pipe is written synchronously, so that what is read was acknowledged and what was acknowledged is read.
    process.stdout.write(`${made.id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, number) => client(number)));

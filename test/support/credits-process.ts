/**
 * Run by crash.test.ts to be killed: mixed changes by many clients at once, each written to standard output
 * when it has been acknowledged. Arguments: database URL or `-`, folder, database name, round.
 */

import { winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { seededRandom } from './seeded-random.ts';

const [url = '-', folder = '.', name = 'ledger', round = '0'] = process.argv.slice(2);
const sql = await openDatabase({
  databaseUrl: url === '-' ? undefined : url,
  dataDir: folder,
  name,
  migrations: creditsMigrations,
});
const credits = createCredits({ sql });

/** A pipe is written synchronously, so that what is read was acknowledged and what was acknowledged is read. */
const acknowledge = (what: string): void => void process.stdout.write(`${what}\n`);

async function client(number: number): Promise<void> {
  const random = seededRandom(Number(round) * 1_000 + number);
  const wallet = `wallet${number % 6}`;
  const friend = `wallet${(number + 1) % 6}`;
  for (let count = 0; ; count += 1) {
    const id = `${round}-${number}-${count}`;
    const amount = winc(BigInt(1_000 + random.below(1_000)));
    const cost = winc(BigInt(1 + random.below(200)));
    const spending = { id, reason: 'upload', signer: wallet, signerType: 'arweave', amount: cost } as const;
    await credits.credit({ address: wallet, addressType: 'arweave', amount, reason: 'payment', id });
    acknowledge(`credited ${id} ${wallet} ${amount}`);
    // The same wallet under another form: some of it arrives before that is known, some after.
    const form = `kyve1${wallet}`;
    await credits.credit({
      address: form,
      addressType: 'kyve',
      amount: cost,
      reason: 'payment',
      id: `${id}f`,
    });
    acknowledge(`credited ${id}f ${form} ${cost}`);
    if (random.below(20) === 0) {
      await credits.unite({ wallet: { kind: 'ethereum', address: wallet }, others: [form] });
      acknowledge(`united ${form} ${wallet}`);
    }
    if (random.below(3) === 0) {
      await credits.approve({ id, payer: wallet, approved: friend, amount: cost });
      acknowledge(`approved ${id} ${wallet} ${friend}`);
    }
    if (random.below(2) === 0) {
      await credits.spend({ ...spending, paidBy: [`wallet${(number + 5) % 6}`] });
    } else {
      await credits.reserve(spending);
      acknowledge(`reserved ${id}`);
      await credits.settle('upload', id);
    }
    acknowledge(`settled ${id}`);
    if (random.below(4) === 0) {
      await credits.refund('upload', id);
      acknowledge(`refunded ${id}`);
    }
  }
}

await Promise.all(Array.from({ length: 24 }, (_, number) => client(number)));

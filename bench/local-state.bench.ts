/**
 * The state of a local network under control: a fresh network, a snapshot and the way back at a thousand transactions,
 * and what mining them costs beside verifying their signatures.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transaction } from '../src/formats/arweave/transaction.ts';
import { verifyTransactionAsync } from '../src/formats/arweave/transaction-signature.ts';
import { startControlledStack } from '../test/support/controlled-stack.ts';
import { NodeClient, startLocalArweave, TestWallet } from '../test/support/local-arweave.ts';
import type { Bench, Measurement } from './bench.ts';

const transactionCount = 1_000;
const barMs = 1_000;
/** Mining may cost so many times what verifying does. */
const miningBar = 5;
const rounds = 5;

export const benches: Bench[] = [
  { name: 'local/state', run: measureState },
  { name: 'local/mining', run: measureMining },
];

async function measureState(): Promise<Measurement[]> {
  await using stack = await startControlledStack({ environment: { LOCAL_ARWEAVE_CONFIRM_BLOCKS: '0' } });
  const { control } = stack;
  const reset = await best(() => control.reset());
  await postAll(new NodeClient(stack.urls.arweave ?? ''));
  await control.mine();
  let made = 0;
  const snapshot = await best(() => {
    made += 1;
    return control.snapshot(`round-${made}`);
  });
  const revert = await best(() => control.revert('round-1'));
  return [
    ...told('reset', reset),
    ...told(`snapshot of ${transactionCount} transactions`, snapshot),
    ...told(`revert to ${transactionCount} transactions`, revert),
  ];
}

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

/** The processor's time is told beside it: it says more of us where others are at work too. */
function told(name: string, { ms, cpuMs }: Cost): Measurement[] {
  const yardstick = `${barMs} ms`;
  return [
    { name, value: ms, unit: 'ms', yardstick, ratio: barMs / ms, bar: 1 },
    { name: `${name}, processor`, value: cpuMs, unit: 'ms', yardstick, ratio: barMs / cpuMs },
  ];
}

async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - start, cpuMs: (user + system) / 1_000 };
}

/** The fastest of a few rounds: the others are slower because of what else the machine does. */
async function best(work: () => Promise<unknown>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) costs.push(await costOf(work));
  return { ms: Math.min(...costs.map(({ ms }) => ms)), cpuMs: Math.min(...costs.map(({ cpuMs }) => cpuMs)) };
}

async function measureMining(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mining-'));
  try {
    await using node = await startLocalArweave({ dataDir: folder });
    const transactions = await postAll(node.client);
    const verifying = await best(async () => {
      for (const transaction of transactions) await verifyTransactionAsync(transaction);
    });
    const mining = await costOf(() => node.client.text('/mine'));
    const mined = await node.client.json<{ txs: string[] }>('/block/current');
    if (mined.txs.length !== transactionCount) throw new Error(`${mined.txs.length} transactions were mined`);
    return [
      {
        name: `mining ${transactionCount} transactions, processor`,
        value: mining.cpuMs,
        unit: 'ms',
        yardstick: 'verifying their signatures',
        ratio: verifying.cpuMs / mining.cpuMs,
        bar: 1 / miningBar,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As wallets of people sign them, each with a little data. */
async function postAll(client: NodeClient): Promise<Transaction[]> {
  const wallet = new TestWallet(generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey);
  await client.text(`/mint/${wallet.address}/100000000000000`);
  const transactions: Transaction[] = [];
  const data = (index: number) => Buffer.from(`transaction ${index}`);
  for (let index = 0; index < transactionCount; index += 1) {
    const transaction = await wallet.transaction(client, { data: data(index) });
    await client.postTx(transaction);
    transactions.push(transaction);
  }
  return transactions;
}

/** The local ledger beside bare signature checks; the price route beside bare node:http; how long an action takes. */
import { verify } from 'node:crypto';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { addressBytes } from '../src/formats/solana/address.ts';
import { transferLamports } from '../src/formats/solana/system.ts';
import { parseTransaction } from '../src/formats/solana/transaction.ts';
import type { Keypair } from '../src/localnet/solana/genesis.ts';
import { signed, TestLedger, wallet } from '../src/localnet/solana/testing.ts';
import { ed25519PublicKey } from '../src/wallets/solana/ed25519.ts';
import { NamesBench, text } from '../test/support/names-bench.ts';
import type { Bench } from './bench.ts';
import { compareServers } from './load.ts';

const script = join(import.meta.dirname, 'names.server.ts');
const transactions = 6_000;
const inFlight = 512;

/** Runs the work over all items with so many at once; answers items per second. */
async function rate<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<number> {
  let next = 0;
  const began = performance.now();
  const lane = async () => {
    while (next < items.length) {
      const item = items[next]!;
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return items.length / ((performance.now() - began) / 1000);
}

function verified(wire: Buffer, key: NonNullable<ReturnType<typeof ed25519PublicKey>>): Promise<boolean> {
  const { messageBytes, signatures } = parseTransaction(wire);
  return new Promise((resolve, reject) => {
    verify(null, messageBytes, key, signatures[0]!, (error, valid) =>
      error ? reject(error) : resolve(valid),
    );
  });
}

function payments(ledger: TestLedger, from: Keypair, count: number): Buffer[] {
  const to = wallet('bench receiver');
  return Array.from({ length: count }, (_, index) => {
    const transfer = transferLamports(from.address, to.address, BigInt(1_000_000 + index));
    return signed(ledger.blockhash, [transfer], from);
  });
}

export const benches: Bench[] = [
  {
    name: 'names/ledger',
    async run() {
      const from = wallet('bench sender');
      const ledger = await TestLedger.start({ fund: [from.address] });
      try {
        const wires = payments(ledger, from, transactions);
        const key = ed25519PublicKey(addressBytes(from.address));
        if (key === undefined) throw new Error('the sender has a key');
        await rate(wires.slice(0, 1_000), (wire) => verified(wire, key));
        const bare = await rate(wires, (wire) => verified(wire, key));
        await rate(wires.slice(0, 1_000), (wire) => ledger.local.ledger.submit(wire, true));
        const value = await rate(wires.slice(1_000), (wire) => ledger.local.ledger.submit(wire, true));
        return [
          {
            name: 'transfers, checked, executed and durable',
            value,
            unit: 'tx/s',
            yardstick: 'bare Ed25519 verification on the same threads',
            ratio: value / bare,
            bar: 0.25,
            note: `2,000 tx/s are asked for; bare verification ${Math.round(bare)}/s`,
          },
        ];
      } finally {
        await ledger.stop();
      }
    },
  },
  {
    name: 'names/price',
    async run() {
      const paths = Array.from(
        { length: 64 },
        (_, n) => `/v1/arns/price/buy-name/bench-name-${n}?type=lease&years=1`,
      );
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['names'], paths },
        yardstick: { script, args: ['bare'], path: '/' },
        load: { path: '/', connections: 32, seconds: 2 },
      });
      return [
        {
          name: 'GET /arns/price/{intent}/{name}',
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'bare node:http with JSON',
          ratio,
          bar: 0.4,
          note: `p99 ${candidate.p99.toFixed(1)} ms at full load`,
        },
      ];
    },
  },
  {
    name: 'names/actions',
    async run() {
      const bench = await NamesBench.start({ environment: { ARNS_MAX_OPEN_ACTIONS: '1000' } });
      const [payer, owner] = [wallet('bench payer'), wallet('bench owner')];
      try {
        await bench.give(payer, 10n ** 18n);
        const tokens: string[] = [];
        for (let index = 0; index < 10; index += 1)
          tokens.push(await bench.buy(`token-${index}`, owner, payer));
        const record = {
          ownerAddress: owner.address,
          transactionId: 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4',
          ttlSeconds: 600,
        };
        const create = async (index: number) => {
          const began = performance.now();
          const answer =
            index % 2 === 0
              ? await bench.create(
                  'set-record',
                  { ...record, antId: tokens[(index / 2) % tokens.length], undername: `u${index}` },
                  payer,
                  { owner },
                )
              : await bench.create(
                  'buy-name',
                  {
                    name: `bench-${index}`,
                    ownerAddress: wallet(`o${index}`).address,
                    type: 'lease',
                    years: 1,
                  },
                  payer,
                );
          if (answer.status !== 200) throw new Error(text(answer.body));
          return performance.now() - began;
        };
        for (let index = 0; index < 100; index += 1) await create(index);
        const cpu = process.cpuUsage();
        const asked: Promise<number>[] = [];
        for (let index = 100; index < 400; index += 1) {
          asked.push(create(index));
          await new Promise((resolve) => setTimeout(resolve, 20));
          bench.ledger.skip(1);
        }
        const times = (await Promise.all(asked)).sort((a, b) => a - b);
        const { user, system } = process.cpuUsage(cpu);
        const each = (user + system) / 1_000 / times.length;
        const p99 = times[Math.floor(times.length * 0.99)] ?? Number.NaN;
        return [
          {
            name: 'CPU of an action: service, ledger and client together',
            value: each,
            unit: 'ms',
            yardstick: '20 ms, a whole core at 50/s',
            ratio: 20 / each,
            bar: 1.25,
          },
          {
            name: 'creating an action at 50/s, p99',
            value: p99,
            unit: 'ms',
            yardstick: '50 ms',
            ratio: 50 / p99,
            bar: 1,
            note: `median ${(times[times.length >> 1] ?? Number.NaN).toFixed(1)} ms of ${times.length}; load of the machine ${loadavg()[0]?.toFixed(1)}`,
          },
        ];
      } finally {
        await bench.stop();
      }
    },
  },
];

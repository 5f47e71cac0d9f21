/** The payment service beside bare node:http, and its signed route beside bare signature verification. */
import { join } from 'node:path';
import { signPss } from '../src/wallets/arweave/rsa.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';
import type { Bench } from './bench.ts';
import { compareServers, measureServer } from './load.ts';

const script = join(import.meta.dirname, 'payment.server.ts');
/** As payment.server.ts has it. */
const VERIFICATIONS_PER_REQUEST = 20;
const walletAddress = (n: number): string => `${String(n).padStart(42, 'w')}A`;

function againstBare(name: string, what: string, paths: readonly string[], bar: number): Bench {
  return {
    name,
    async run() {
      const { candidate, ratio } = await compareServers({
        candidate: { script, args: ['payment'], paths },
        yardstick: { script, args: ['bare'], path: '/' },
        load: { path: '/', connections: 32, seconds: 2 },
      });
      return [
        {
          name: what,
          value: candidate.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: 'bare node:http with JSON',
          ratio,
          bar,
          note: `p99 ${candidate.p99.toFixed(1)} ms at full load`,
        },
      ];
    },
  };
}

export const benches: Bench[] = [
  againstBare(
    'payment/price',
    'GET /price/bytes/{n}',
    Array.from({ length: 64 }, (_, n) => `/v1/price/bytes/${n * 7_919 + 1}`),
    0.6,
  ),
  againstBare(
    'payment/balance',
    'GET /balance?address=',
    Array.from({ length: 64 }, (_, n) => `/v1/balance?address=${walletAddress(n * 71)}`),
    0.65,
  ),
  againstBare(
    'payment/shared-balance',
    'GET /balance?address= with three approvals',
    Array.from({ length: 64 }, (_, n) => `/v1/balance?address=${walletAddress(n * 71 + 1)}`),
    0.6,
  ),
  {
    name: 'payment/signed-balance',
    async run() {
      const nonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';
      const signature = await signPss(testArweaveKey.privateKey, Buffer.from(nonce));
      const headers = {
        'x-public-key': testArweaveKey.modulus.toString('base64url'),
        'x-nonce': nonce,
        'x-signature': signature.toString('base64url'),
      };
      const load = { path: '/v1/balance', headers, connections: 32, seconds: 3 };
      const { candidate: full, yardstick } = await compareServers({
        candidate: { script, args: ['payment'] },
        yardstick: { script, args: ['verify'], path: '/' },
        load,
      });
      const bare = yardstick.requestsPerCpuSecond * VERIFICATIONS_PER_REQUEST;
      // One connection asks less than half of what the service can do.
      const calm = await measureServer({ script, args: ['payment'], ...load, connections: 1, seconds: 2 });
      return [
        {
          name: 'GET /balance, RSA-4096 signature',
          value: full.requestsPerCpuSecond,
          unit: 'req/cpu-s',
          yardstick: `bare RSA-4096 verification: ${Math.round(bare)} per CPU second`,
          ratio: full.requestsPerCpuSecond / bare,
          bar: 0.75,
          note: `${Math.round(full.requestsPerSecond)} req/s`,
        },
        {
          name: 'p99 of the same under half load',
          value: calm.p99,
          unit: 'ms',
          yardstick: '5 ms',
          ratio: 5 / calm.p99,
          bar: 1,
        },
      ];
    },
  },
];

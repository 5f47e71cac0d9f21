/**
 * The servers that payment.bench.ts compares, chosen by the first argument: the payment service on a ledger of a
 * few thousand wallets; bare node:http with a small JSON body; or a server that does nothing for an answer but
 * verify RSA-4096 signatures, many per request, so that HTTP hardly counts.
 */
import { constants, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { type Credits, winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../src/credits/migrations.ts';
import { paymentMigrations } from '../src/payment/migrations.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { signPss } from '../src/wallets/arweave/rsa.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';
import { createBenchPayment } from './bench-payment.ts';
import { reportServer } from './report-server.ts';

const WALLETS = 5_000;
const VERIFICATIONS_PER_REQUEST = 20;
/** So many wallets, every 71st from number 1 on, have approvals. */
const SHARING = 64;
/** Wallet number n, a valid address. */
const walletAddress = (n: number): string => `${String(n).padStart(42, 'w')}A`;

const [mode = ''] = process.argv.slice(2);
if (mode === 'payment') await startPayment();
else await startBare(mode === 'verify' ? await verifyMany() : (response) => answer(response));

function answer(response: ServerResponse): void {
  const body = JSON.stringify({ winc: '1234567890123', adjustments: [] });
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

async function verifyMany(): Promise<(response: ServerResponse) => void> {
  const message = Buffer.from('5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495');
  const signature = await signPss(testArweaveKey.privateKey, message);
  const n = testArweaveKey.modulus.toString('base64url');
  const key = createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' });
  // As the manual of Node has it.
  const isRight = () =>
    new Promise((resolve) => {
      const options = {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_AUTO,
      };
      verify('sha256', message, options, signature, (_error, valid) => resolve(valid));
    });
  return async (response) => {
    for (let count = 0; count < VERIFICATIONS_PER_REQUEST; count += 1) {
      if (!(await isRight())) throw new Error('the signature holds');
    }
    answer(response);
  };
}

async function startBare(handle: (response: ServerResponse) => void): Promise<void> {
  const server = createServer((_request, response) => handle(response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (typeof address === 'object' && address !== null) reportServer(`http://127.0.0.1:${address.port}`);
}

async function startPayment(): Promise<void> {
  const config = readConfig({ PAYMENT_PORT: '0' });
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const migrations = [...creditsMigrations, ...paymentMigrations];
  const sql = await openDatabase({ databaseUrl: undefined, dataDir, name: 'ledger', migrations });
  const credits = createCredits({ sql });
  const addresses = [testArweaveKey.address, ...Array.from({ length: WALLETS }, (_, n) => walletAddress(n))];
  await Promise.all(
    addresses.map((address) =>
      credits.credit({
        address,
        addressType: 'arweave',
        amount: winc(10n ** 12n),
        reason: 'payment',
        id: address,
      }),
    ),
  );
  await Promise.all(Array.from({ length: SHARING }, (_, n) => share(credits, n * 71 + 1)));
  const surface = createBenchPayment(config, sql);
  await surface.start();
  reportServer(surface.url);
}

/** Two approvals that a wallet gave, and one that it received. */
async function share(credits: Credits, wallet: number): Promise<void> {
  const pairs = [
    [wallet, wallet + 1],
    [wallet, wallet + 2],
    [wallet + 3, wallet],
  ] as const;
  for (const [payer, approved] of pairs) {
    await credits.approve({
      id: `${payer}-${approved}`.padStart(43, 'a'),
      payer: walletAddress(payer),
      approved: walletAddress(approved),
      amount: winc(10n ** 9n),
      expiresInSeconds: 86_400,
    });
  }
}

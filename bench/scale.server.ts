/**
 * One of several processes on one database, for scale.bench.ts: `node scale.server.ts <surface> <data folder>
 * [database address]`. The surface is `gateway`, `payment`, `upload`, or `ledger`: a bare server that
 * reserves and settles credits for every request.
 */
import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openLedgerDatabase } from '../src/cli/ledger-database.ts';
import { readConfig } from '../src/config/config.ts';
import { winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { startTestUpload } from '../src/upload/testing.ts';
import { arweaveKey } from '../src/wallets/arweave/rsa.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { createBenchPayment } from './bench-payment.ts';
import { loadAddress } from './load-wallets.ts';
import { reportServer } from './report-server.ts';
import { environmentOf, loadWallets } from './scale-data.ts';

const [surface = '', dataDir = '', databaseUrl] = process.argv.slice(2);
const environment = environmentOf({ dataDir, databaseUrl });
const config = readConfig({
  ...environment,
  GATEWAY_PORT: '0',
  INDEX_SEED_PORT: '0',
  PAYMENT_PORT: '0',
  START_WRITERS: 'false',
  // It reads the whole ledger, beside whatever is measured.
  LEDGER_CHECK_INTERVAL_MS: '0',
});
process.on('disconnect', () => process.exit());

if (surface === 'gateway') {
  const gateway = (await createBenchGateway(config)).surface;
  await gateway.start();
  reportServer(gateway.url);
} else {
  const sql = await openLedgerDatabase(config);
  if (surface === 'payment') {
    const payment = createBenchPayment(config, sql);
    await payment.start();
    reportServer(payment.url);
  } else if (surface === 'upload') {
    const receiptKey = arweaveKey(createPrivateKey(readFileSync(join(dataDir, 'receipts.pem'))));
    const unbundled = {
      BUNDLE_MAX_WAIT_MS: '3600000',
      BUNDLE_MAX_ITEMS: '1000000',
      BUNDLE_TARGET_BYTES: '1000000000',
    };
    const upload = await startTestUpload(
      { ...environment, FREE_UPLOAD_LIMIT: '0', ...unbundled },
      { receiptKey, now: Date.now },
      { folder: dataDir, sql },
    );
    reportServer(upload.url);
  } else {
    const credits = createCredits({ sql });
    let asked = 0;
    const spend = async (): Promise<void> => {
      const id = randomUUID();
      const signer = loadAddress(asked++ % loadWallets);
      await credits.reserve({ id, reason: 'upload', signer, signerType: 'solana', amount: winc(7n) });
      await credits.settle('upload', id);
    };
    // Connections wait for their turn longer than a server would have them.
    const server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (_request, response) => {
      spend().then(
        () => response.end('{}'),
        (error: unknown) => {
          console.error(error);
          response.writeHead(500).end();
        },
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    reportServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
}

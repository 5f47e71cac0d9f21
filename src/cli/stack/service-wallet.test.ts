import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Arweave from 'arweave';
import { arweaveTestKey } from '../../../test/support/keys.ts';
import { readConfig } from '../../config/config.ts';
import { makeFastRsaKey } from '../../kernel/fast-rsa-key.ts';
import { createLogger } from '../../kernel/log.ts';
import { type ArweaveKey, arweaveKey, importJwk } from '../../wallets/arweave/rsa.ts';
import { isKnownToEveryone, localWallets } from '../../wallets/local-wallets.ts';
import { ServiceKeys } from './service-keys.ts';
import {
  formerServiceWallets,
  openServiceWallet,
  readServiceWallet,
  rotateServiceWallet,
} from './service-wallet.ts';

function open(t: TestContext): { dataDir: string; folder: string; keys: () => ServiceKeys } {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-wallet-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
  return {
    dataDir,
    folder: join(dataDir, 'keys'),
    keys: () => new ServiceKeys(readConfig({ DATA_DIR: dataDir }), log),
  };
}

/** A wallet that need not be made: to make one takes seconds. */
function writeWallet(path: string): ArweaveKey {
  const text = JSON.stringify(arweaveTestKey);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return importJwk(text);
}

/** A folder as it was made when one key did everything. */
async function withLegacyKey(t: TestContext) {
  const world = open(t);
  const text = await makeFastRsaKey();
  await openServiceWallet(world.folder, 'local');
  rmSync(join(world.folder, 'service-wallet.json'));
  writeFileSync(join(world.folder, 'service-wallet.pem'), `${text}\n`, { mode: 0o600 });
  return { ...world, legacy: arweaveKey(createPrivateKey(text)) };
}

test('the wallet that holds AR is a file that other wallets open, readable by its owner only', async (t) => {
  const { folder, keys } = open(t);
  const { address } = await keys().wallet();
  const path = join(folder, 'service-wallet.json');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const jwk = JSON.parse(readFileSync(path, 'utf8'));
  const other = Arweave.init({});
  assert.equal(await other.wallets.jwkToAddress(jwk), address);
  const number = (text: string) => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  assert.equal(number(jwk.p) * number(jwk.q), number(jwk.n));
  const message = Buffer.from('any message');
  const signature = await other.crypto.sign(jwk, message);
  assert.ok(await other.crypto.verify(jwk.n, message, signature));
  assert.equal((await keys().wallet()).address, address, 'the next start has the same');
});

test('who only looks at the wallet makes none', async (t) => {
  const { dataDir, folder, keys } = open(t);
  await assert.rejects(
    readServiceWallet(folder),
    /^StartupError: there is no wallet in .*SERVICE_WALLET_FILE/,
  );
  await assert.rejects(rotateServiceWallet(folder, 'local'), /there is no wallet/);
  assert.deepEqual(readdirSync(dataDir), []);
  const { address } = await keys().wallet();
  assert.equal((await readServiceWallet(folder)).key.address, address);
});

test('a wallet that is given is refused where others may read it and money is real, and by whom it cannot be read is said', async (t) => {
  const { dataDir } = open(t);
  const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
  const made = join(dataDir, 'wallet.json');
  const other = writeWallet(made);
  const given = async (file: string, WORLD = 'public') =>
    new ServiceKeys(readConfig({ DATA_DIR: dataDir, WORLD, SERVICE_WALLET_FILE: file }), log).wallet();
  chmodSync(made, 0o440);
  assert.equal((await given(made)).address, other.address, 'as Kubernetes hands it out');
  chmodSync(made, 0o644);
  await assert.rejects(
    given(made),
    /^StartupError: SERVICE_WALLET_FILE .* is open to other users \(mode 0644\): run "chmod 600 /,
  );
  assert.equal((await given(made, 'local')).address, other.address, 'who only tries is told');
  await assert.rejects(
    given(`${made}.gone`, 'local'),
    /^StartupError: SERVICE_WALLET_FILE .*\.gone is not there: make it, or do not name it$/,
  );
});

test('wallet, receipts and strangers’ data have three keys', async (t) => {
  const { keys } = open(t);
  const service = keys();
  const addresses = [await service.wallet(), await service.receipts(), await service.unsignedData()].map(
    (key) => key.address,
  );
  assert.equal(new Set(addresses).size, 3);
});

test('a folder with one key for everything keeps its wallet and its receipts, and data gets a key of its own', async (t) => {
  const { keys, legacy } = await withLegacyKey(t);
  const service = keys();
  assert.equal((await service.wallet()).address, legacy.address);
  assert.equal((await service.receipts()).address, legacy.address);
  assert.notEqual((await service.unsignedData()).address, legacy.address);
});

test('rotating keeps the former wallets, and receipts stay as they are', async (t) => {
  const { folder, keys, legacy } = await withLegacyKey(t);
  const earlier = writeWallet(join(folder, 'service-wallet.former-1.json'));
  await keys().receipts();
  const { wallet, former } = await rotateServiceWallet(folder, 'testnet');
  assert.equal(former.key.address, legacy.address);
  assert.equal(wallet.ordinary, true);
  const service = keys();
  assert.equal((await service.wallet()).address, wallet.key.address);
  assert.equal((await service.receipts()).address, legacy.address);
  assert.deepEqual(await service.formerWallets(), [legacy.address, earlier.address]);
  assert.deepEqual(
    (await formerServiceWallets(folder)).map(({ ordinary }) => ordinary),
    [false, true],
  );
});

test('a rotation that was interrupted between its steps is finished by the next start', async (t) => {
  const { folder, keys } = open(t);
  mkdirSync(folder, { mode: 0o700 });
  const before = writeWallet(join(folder, 'service-wallet.json'));
  const { wallet } = await rotateServiceWallet(folder, 'testnet');
  renameSync(join(folder, 'service-wallet.json'), join(folder, 'service-wallet.next.json'));
  assert.equal((await keys().wallet()).address, wallet.key.address);
  assert.ok(!readdirSync(folder).includes('service-wallet.next.json'));
  assert.deepEqual(await keys().formerWallets(), [before.address]);
});

test('a new local folder has keys that are the same everywhere, and every other world refuses them', async (t) => {
  const [one, other] = [open(t), open(t)];
  const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
  const addressesOf = async (keys: ServiceKeys) =>
    (await Promise.all([keys.wallet(), keys.receipts(), keys.unsignedData()])).map(({ address }) => address);
  const addresses = await addressesOf(one.keys());
  assert.deepEqual(await addressesOf(other.keys()), addresses);
  assert.ok(addresses.every(isKnownToEveryone));

  const inPublic = () => new ServiceKeys(readConfig({ DATA_DIR: one.dataDir, WORLD: 'public' }), log);
  for (const open of [
    () => inPublic().wallet(),
    () => inPublic().receipts(),
    () => inPublic().unsignedData(),
  ]) {
    await assert.rejects(open, /known to everyone: WORLD=public needs another/);
  }
  const [owner] = localWallets(1).solana;
  const solana = { DATA_DIR: one.dataDir, WORLD: 'testnet', SOLANA_SIGNER_SECRET_KEY: owner?.secretKey };
  await assert.rejects(new ServiceKeys(readConfig(solana), log).solana(), /known to everyone/);
});

test('in other worlds keys are made at random', async (t) => {
  const { dataDir } = open(t);
  const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
  const keys = new ServiceKeys(readConfig({ DATA_DIR: dataDir, WORLD: 'testnet' }), log);
  assert.equal(isKnownToEveryone((await keys.receipts()).address), false);
});

/**
 * The wallet that holds the service's AR, in DATA_DIR/keys: `service-wallet.json`, an ordinary wallet file that every
 * Arweave wallet opens. Rotating puts another in its place and keeps the former ones, because payments may still
 * arrive there:
 *
 *   service-wallet.json            the wallet of now
 *   service-wallet.next.json       the one that is taking its place; the next start finishes an interrupted change
 *   service-wallet.former-N.json   earlier ones, `.pem` where they were made of more than two primes
 *
 * Folders made before wallets were ordinary files have `service-wallet.pem`. It goes on being the wallet until it is
 * rotated.
 */
import { createPrivateKey } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorldName } from '../../config/config.ts';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { syncFolder } from '../../kernel/files.ts';
import { readKey, readOrCreateKey } from '../../kernel/keys.ts';
import { type ArweaveKey, arweaveKey, exportJwk, importJwk } from '../../wallets/arweave/rsa.ts';
import { localServiceWallet } from '../../wallets/local-wallets.ts';
import { makeWalletText } from '../wallet-file.ts';

export interface ServiceWallet {
  readonly key: ArweaveKey;
  readonly path: string;
  /** Whether this call made it. */
  readonly made: boolean;
  /** Whether other wallets can open the file. */
  readonly ordinary: boolean;
}

const current = 'service-wallet.json';
const next = 'service-wallet.next.json';
const legacy = 'service-wallet.pem';
const former = /^service-wallet\.former-([0-9]{1,6})\.(json|pem)$/;

/** To make a wallet takes a second, which a local service need not wait for: its first is the same everywhere. */
const makes: Readonly<Record<WorldName, () => string | Promise<string>>> = {
  local: () => JSON.stringify(exportJwk(localServiceWallet())),
  testnet: makeWalletText,
  public: makeWalletText,
};

/** The wallet of now; made when there is none yet. */
export async function openServiceWallet(keysFolder: string, world: WorldName): Promise<ServiceWallet> {
  const found = await findServiceWallet(keysFolder);
  if (found !== undefined) return found;
  const { path, text, made } = await readOrCreateKey(keysFolder, current, makes[world]);
  return { key: keyOf(path, text), path, made, ordinary: true };
}

/** For those who only look; makes nothing. */
export async function readServiceWallet(keysFolder: string): Promise<ServiceWallet> {
  const found = await findServiceWallet(keysFolder);
  if (found !== undefined) return found;
  throw new StartupError(
    `there is no wallet in ${keysFolder}: the first start makes it, or SERVICE_WALLET_FILE names one (commands need the settings of the service)`,
  );
}

async function findServiceWallet(keysFolder: string): Promise<ServiceWallet | undefined> {
  const files = await filesOf(keysFolder);
  if (files.includes(current)) return readWalletFile(keysFolder, current);
  if (files.includes(next)) {
    await move(keysFolder, next, current);
    return readWalletFile(keysFolder, current);
  }
  return files.includes(legacy) ? readWalletFile(keysFolder, legacy) : undefined;
}

/** Newest first. */
export async function formerServiceWallets(keysFolder: string): Promise<ServiceWallet[]> {
  const numbers = (await filesOf(keysFolder)).flatMap((name) => {
    const match = former.exec(name);
    return match === null ? [] : [{ name, number: Number(match[1]) }];
  });
  numbers.sort((left, right) => right.number - left.number);
  return Promise.all(numbers.map(({ name }) => readWalletFile(keysFolder, name)));
}

/** Puts a new wallet in the place of the present one. Running services go on with the former until they restart. */
export async function rotateServiceWallet(
  keysFolder: string,
  world: WorldName,
): Promise<{ readonly wallet: ServiceWallet; readonly former: ServiceWallet }> {
  const before = await readServiceWallet(keysFolder);
  // What an earlier change left is not trusted to be unused.
  if ((await filesOf(keysFolder)).includes(next)) {
    throw new StartupError(`${join(keysFolder, next)} is there: another change of the wallet is under way`);
  }
  await readOrCreateKey(keysFolder, next, makeWalletText);
  const count = (await formerServiceWallets(keysFolder)).length;
  const kept = `service-wallet.former-${count + 1}.${before.ordinary ? 'json' : 'pem'}`;
  await move(keysFolder, before.ordinary ? current : legacy, kept);
  await move(keysFolder, next, current);
  return {
    wallet: await openServiceWallet(keysFolder, world),
    former: await readWalletFile(keysFolder, kept),
  };
}

/** The key that receipts were signed with in folders that had one key for everything. */
export function readLegacyKey(keysFolder: string): Promise<string | undefined> {
  return readKey(join(keysFolder, legacy));
}

async function readWalletFile(folder: string, name: string): Promise<ServiceWallet> {
  const path = join(folder, name);
  const text = await readKey(path);
  if (text === undefined) throw new StartupError(`${path} vanished while it was read`);
  return { key: keyOf(path, text), path, made: false, ordinary: path.endsWith('.json') };
}

function keyOf(path: string, text: string): ArweaveKey {
  try {
    return path.endsWith('.json') ? importJwk(text) : arweaveKey(createPrivateKey(text));
  } catch (error) {
    throw new StartupError(`${path}: ${messageOf(error)}`);
  }
}

async function move(folder: string, from: string, to: string): Promise<void> {
  await rename(join(folder, from), join(folder, to)).catch((error: unknown) => {
    // Another process that starts at the same time has done it.
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  await syncFolder(folder);
}

async function filesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
}

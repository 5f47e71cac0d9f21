/** The keys the service acts with: given by the operator, or made on first start and kept in DATA_DIR/keys. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { makeFastRsaKey } from '../../kernel/fast-rsa-key.ts';
import { makeToken, readOrCreateKey } from '../../kernel/keys.ts';
import type { Logger } from '../../kernel/log.ts';
import { makeSecretKey, parseSecretKey, type SolanaKey } from '../../names/chain/service-key.ts';
import { type ArweaveKey, arweaveKey, importJwk } from '../../wallets/arweave/rsa.ts';
import { formerServiceWallets, openServiceWallet, readLegacyKey } from './service-wallet.ts';

export class ServiceKeys {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #folder: string;
  /** Several surfaces ask for the same key, and it is read or made once. */
  readonly #known = new Map<string, Promise<ArweaveKey>>();

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
    this.#folder = join(config.DATA_DIR, 'keys');
  }

  /** Holds AR: pays for bundles, and payments in AR go to it. It signs nothing but transactions. */
  wallet(): Promise<ArweaveKey> {
    return this.#once('wallet', async () => {
      const given = this.#config.SERVICE_WALLET_FILE;
      if (given !== undefined) return this.#given('SERVICE_WALLET_FILE', given, importJwk);
      const { key, path, made, ordinary } = await openServiceWallet(this.#folder);
      if (made) this.#log.info({ path, address: key.address }, 'made the wallet of the service');
      if (!ordinary) {
        this.#log.warn(
          { path },
          'the service wallet is in a form that other wallets do not open: see "turnpike wallet rotate"',
        );
      }
      return key;
    });
  }

  /** Addresses of earlier wallets, at which payments may still arrive. */
  async formerWallets(): Promise<readonly string[]> {
    const kept = await formerServiceWallets(this.#folder);
    return [...this.#config.FORMER_ARWEAVE_ADDRESSES, ...kept.map(({ key }) => key.address)];
  }

  /** Signs receipts. Four primes sign up to three times as fast as two, and verify everywhere as any RSA key does. */
  receipts(): Promise<ArweaveKey> {
    // One key did both once: receipts of that time stay the same when they are asked for again.
    const make = async () => (await readLegacyKey(this.#folder)) ?? makeFastRsaKey();
    return this.#rsaKey('RECEIPT_KEY_FILE', 'receipt-key.pem', make);
  }

  /** Signs the data of those who pay with x402 and sign no item themselves: strangers choose what it signs. */
  unsignedData(): Promise<ArweaveKey> {
    return this.#rsaKey('DATA_KEY_FILE', 'data-key.pem', makeFastRsaKey);
  }

  /** Pays for names on Solana, buys them and looks after their records. */
  async solana(): Promise<SolanaKey> {
    const given = this.#config.SOLANA_SIGNER_SECRET_KEY;
    return parseSecretKey(given ?? (await this.#kept('solana-key', makeSecretKey)));
  }

  async jwtSecret(): Promise<string> {
    return this.#config.JWT_SECRET ?? (await this.#kept('jwt-secret', makeToken));
  }

  /** Of the gateway's admin routes. */
  async adminKey(): Promise<string> {
    const path = this.#config.ADMIN_API_KEY_FILE;
    if (path !== undefined) return this.#given('ADMIN_API_KEY_FILE', path, (text) => text.trim());
    return this.#config.ADMIN_API_KEY ?? (await this.#kept('admin-api-key', makeToken));
  }

  #rsaKey(
    variable: 'RECEIPT_KEY_FILE' | 'DATA_KEY_FILE',
    name: string,
    make: () => Promise<string>,
  ): Promise<ArweaveKey> {
    return this.#once(name, async () => {
      const given = this.#config[variable];
      if (given !== undefined) return this.#given(variable, given, readRsaKey);
      return readRsaKey(await this.#kept(name, make));
    });
  }

  #once(name: string, open: () => Promise<ArweaveKey>): Promise<ArweaveKey> {
    const known = this.#known.get(name) ?? open();
    this.#known.set(name, known);
    return known;
  }

  #given<T>(variable: string, path: string, read: (text: string) => T): T {
    try {
      if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
        this.#log.warn({ variable, path }, 'a key file is open to other users of this machine');
      }
      return read(readFileSync(path, 'utf8'));
    } catch (error) {
      throw new StartupError(`${variable} ${path}: ${messageOf(error)}`);
    }
  }

  async #kept(name: string, make: () => string | Promise<string>): Promise<string> {
    const { path, text, made } = await readOrCreateKey(this.#folder, name, make);
    if (made) this.#log.info({ path }, 'made a key');
    return text;
  }
}

/** A wallet file, or PEM of any number of primes. */
function readRsaKey(text: string): ArweaveKey {
  return text.trimStart().startsWith('{') ? importJwk(text) : arweaveKey(createPrivateKey(text));
}

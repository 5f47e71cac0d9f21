/**
 * The keys the service acts with: given by the operator, or made on first start and kept in DATA_DIR/keys. RSA keys take
 * seconds to make, so that a new folder of the world `local` gets those that are the same everywhere; any other world
 * refuses them.
 */
import { createPrivateKey } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { readValueFile } from '../../config/value-files.ts';
import type { AnnounceGateway } from '../../config/variables/upload.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { fastRsaKeyOf, makeFastRsaKey } from '../../kernel/fast-rsa-key.ts';
import { makeToken, readOrCreateKey } from '../../kernel/keys.ts';
import type { Logger } from '../../kernel/log.ts';
import { makeSecretKey, parseSecretKey, type SolanaKey } from '../../names/chain/service-key.ts';
import { type ArweaveKey, arweaveKey, importJwk } from '../../wallets/arweave/rsa.ts';
import { isKnownToEveryone, localServicePrimes } from '../../wallets/local-wallets.ts';
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
      const { key, path, made, ordinary } = await openServiceWallet(this.#folder, this.#config.WORLD);
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
    const make = async () => (await readLegacyKey(this.#folder)) ?? this.#makeFastKey('receipt key');
    return this.#rsaKey('RECEIPT_KEY_FILE', 'receipt-key.pem', make);
  }

  /** Signs the data of those who pay with x402 and sign no item themselves: strangers choose what it signs. */
  unsignedData(): Promise<ArweaveKey> {
    return this.#rsaKey('DATA_KEY_FILE', 'data-key.pem', () => this.#makeFastKey('data key'));
  }

  /** Pays for names on Solana, buys them and looks after their records. */
  async solana(): Promise<SolanaKey> {
    const given = this.#config.SOLANA_SIGNER_SECRET_KEY;
    const key = parseSecretKey(given ?? (await this.#kept('solana-key', makeSecretKey)));
    this.#insistOnSecret(key.address);
    return key;
  }

  async jwtSecret(): Promise<string> {
    return this.#config.JWT_SECRET ?? (await this.#kept('jwt-secret', makeToken));
  }

  /** Of the admin routes of gateway, payment and upload. */
  async adminKey(): Promise<string> {
    return this.#config.ADMIN_API_KEY ?? (await this.#kept('admin-api-key', makeToken));
  }

  /** What the admin routes of a gateway elsewhere want. */
  gatewayKey({ key, keyFile = '' }: AnnounceGateway): string {
    return key ?? this.#given('ANNOUNCE_GATEWAYS', keyFile, (text) => text.trim());
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
    const opened =
      this.#known.get(name) ??
      open().then((key) => {
        this.#insistOnSecret(key.address);
        return key;
      });
    this.#known.set(name, opened);
    return opened;
  }

  get #isLocal(): boolean {
    return this.#config.WORLD === 'local';
  }

  async #makeFastKey(name: 'receipt key' | 'data key'): Promise<string> {
    return this.#isLocal ? fastRsaKeyOf(localServicePrimes(name)) : makeFastRsaKey();
  }

  /** A key of the local network is known to everyone: whatever it holds is anybody's. */
  #insistOnSecret(address: string): void {
    if (this.#isLocal || !isKnownToEveryone(address)) return;
    throw new StartupError(
      `the key of ${address} is one of the local network and known to everyone: WORLD=${this.#config.WORLD} needs another`,
    );
  }

  #given<T>(variable: string, path: string, read: (text: string) => T): T {
    const text = this.#givenText(variable, path);
    try {
      return read(text);
    } catch (error) {
      throw new StartupError(`${variable} ${path}: ${messageOf(error)}`);
    }
  }

  /** Whoever deals with real money has nobody else read the keys; others are told. */
  #givenText(variable: string, path: string): string {
    try {
      return readValueFile(path);
    } catch (error) {
      const told = `${variable} ${path} ${messageOf(error)}`;
      if (this.#config.WORLD === 'public') throw new StartupError(told);
      try {
        const text = readValueFile(path, true);
        this.#log.warn(told);
        return text;
      } catch {
        throw new StartupError(told);
      }
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

/** The keys the service acts with: given by the operator, or made on first start and kept in DATA_DIR/keys. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { makeServiceRsaKey, makeToken, readOrCreateKey } from '../../kernel/keys.ts';
import type { Logger } from '../../kernel/log.ts';
import { makeSecretKey, parseSecretKey, type SolanaKey } from '../../names/index.ts';
import { type ArweaveKey, arweaveKey, importJwk } from '../../wallets/arweave/rsa.ts';

export class ServiceKeys {
  readonly #config: Config;
  readonly #log: Logger;

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
  }

  /** Signs receipts and bundle transactions; payments in AR go to it. */
  async arweave(): Promise<ArweaveKey> {
    const path = this.#config.SERVICE_WALLET_FILE;
    if (path !== undefined) {
      try {
        return importJwk(readFileSync(path, 'utf8'));
      } catch (error) {
        throw new StartupError(`SERVICE_WALLET_FILE ${path}: ${messageOf(error)}`);
      }
    }
    // Four primes sign more than three times as fast as two, and verify everywhere as any RSA key does.
    return arweaveKey(createPrivateKey(await this.#kept('service-wallet.pem', makeServiceRsaKey)));
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
    if (path === undefined)
      return this.#config.ADMIN_API_KEY ?? (await this.#kept('admin-api-key', makeToken));
    try {
      return readFileSync(path, 'utf8').trim();
    } catch (error) {
      throw new StartupError(`ADMIN_API_KEY_FILE ${path}: ${messageOf(error)}`);
    }
  }

  async #kept(name: string, make: () => string | Promise<string>): Promise<string> {
    const { path, text, made } = await readOrCreateKey(join(this.#config.DATA_DIR, 'keys'), name, make);
    if (made) this.#log.info({ path }, 'made a key');
    return text;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * For suites written for ArLocal: the same class on this network, so that the import is all that changes.
 *
 *     const arLocal = new ArLocal();
 *     await arLocal.start();
 */
import { resolve } from 'node:path';
import { startTurnpike } from './testing.ts';
import type { Turnpike } from './turnpike.ts';

export default class ArLocal {
  readonly #port: number;
  readonly #showLogs: boolean;
  readonly #dbPath: string;
  readonly #persist: boolean;
  #running: Promise<Turnpike> | undefined;

  /** As there. `fails`, the percentage of transactions that `/mineWithFails` drops, is a query of that route here. */
  constructor(port = 1984, showLogs = true, dbPath = resolve('.db'), persist = false, fails = 0) {
    if (fails !== 0) throw new TypeError(`fails is told to the route: GET /mineWithFails?fails=${fails}`);
    this.#port = port;
    this.#showLogs = showLogs;
    this.#dbPath = resolve(dbPath);
    this.#persist = persist;
  }

  /** Resolves when the network answers. Blocks come only by `/mine`, as suites expect. */
  async start(): Promise<void> {
    this.#running ??= startTurnpike({
      port: this.#port,
      surfaces: ['gateway'],
      mining: 'none',
      log: this.#showLogs ? 'inherit' : 'silent',
      ...(this.#persist ? { dataDir: this.#dbPath } : {}),
    });
    try {
      await this.#running;
    } catch (error) {
      this.#running = undefined;
      throw error;
    }
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await (await running)?.stop();
  }

  /** Where a kept chain is. */
  getDbPath(): string {
    return this.#dbPath;
  }
}

/** An operator who restores the ledger of uploads, so that the chain has bundles that the ledger does not know. */
import { noteRestore } from '../../../src/upload/bundler/after-restore.ts';
import type { SimulatedDatabase } from '../database.ts';
import { skewed } from '../faults.ts';
import { hour, minute, type PersonOptions } from '../person.ts';
import type { Life } from '../process.ts';
import { Restorer } from '../restorer.ts';
import type { UploadProcess } from './installation.ts';

interface UploadRestorerOptions extends PersonOptions {
  readonly ledger: SimulatedDatabase;
  readonly processes: readonly UploadProcess[];
  /** Nothing may be wrong then. */
  readonly isCalm: () => boolean;
}

export class UploadRestorer extends Restorer {
  /** Blobs that the ledger has forgotten. */
  readonly forgotten = new Set<string>();
  readonly #options: UploadRestorerOptions;

  constructor(options: UploadRestorerOptions) {
    super({
      ...options,
      note: async (tx, since, restoredAt) => {
        await tx.run('DELETE FROM upload_leases');
        await noteRestore(tx, { since, restoredAt });
      },
    });
    this.#options = options;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { isDay, isCalm } = this.#options;
    for (;;) {
      while (!isDay() || isCalm()) await life.wait(minute);
      await life.wait(this.world.pace * skewed(this.random, minute, hour));
      const backedUpAt = await this.backUp(life);
      await life.wait(this.world.pace * skewed(this.random, minute, 2 * hour));
      if (!isDay() || isCalm()) continue;
      while (!this.#options.ledger.isQuiet) await life.wait(1);
      for (const digest of this.#blobs()) this.forgotten.add(digest);
      await this.loseAndRestore(backedUpAt);
      while (isDay()) await life.wait(minute);
    }
  };

  #blobs(): string[] {
    const rows = this.#options.ledger.look<{ digest: string }>('SELECT digest FROM upload_blobs');
    return rows.map(({ digest }) => digest);
  }
}

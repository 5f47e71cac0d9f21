/** Blocks as they are kept: idempotent writes, and a counter that tells every process when to look again. */
import type { Block, Blocks } from '../../../formats/gateway-admin-answers.ts';
import type { Sql, SqlExecutor } from '../../../storage/sql/sql.ts';

/** Documentation only: who asked for the block, and why. */
export interface Reason {
  readonly source?: string | undefined;
  readonly notes?: string | undefined;
}

export type BlockKind = 'id' | 'hash' | 'name';

export type BlockTarget = readonly [BlockKind, string];

const versionName = 'blocks';

export class BlockStore {
  readonly #sql: Sql;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number = () => Math.floor(Date.now() / 1000)) {
    this.#sql = sql;
    this.#now = now;
  }

  /** Blocks all of them or none, and says of each whether that is new. What is blocked already stays as it was. */
  async block(what: readonly BlockTarget[], reason: Reason): Promise<boolean[]> {
    const now = this.#now();
    return this.#sql.transaction(async (tx) => {
      const changed: boolean[] = [];
      const source = reason.source === undefined ? null : await sourceKey(tx, reason.source, now);
      for (const [kind, text] of what) {
        const added = await tx.run(
          `INSERT INTO content_blocks (kind, what, source, notes, blocked_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (kind, what) DO NOTHING`,
          kind,
          text,
          source,
          reason.notes ?? null,
          now,
        );
        changed.push(added > 0);
      }
      await bump(tx);
      return changed;
    });
  }

  /** Says of each whether it was blocked. */
  async unblock(what: readonly BlockTarget[]): Promise<boolean[]> {
    return this.#sql.transaction(async (tx) => {
      const changed: boolean[] = [];
      for (const [kind, text] of what) {
        const lifted = await tx.run('DELETE FROM content_blocks WHERE kind = ? AND what = ?', kind, text);
        changed.push(lifted > 0);
      }
      await bump(tx);
      return changed;
    });
  }

  /** Grows with every change. */
  async version(): Promise<number> {
    const row = await this.#sql.get<{ value: number }>(
      'SELECT value FROM chain_state WHERE name = ?',
      versionName,
    );
    return row?.value ?? 0;
  }

  async load(): Promise<Blocks> {
    const rows = await this.#sql.all<{
      kind: BlockKind;
      what: string;
      source: string | null;
      notes: string | null;
      blocked_at: number;
    }>(
      `SELECT b.kind, b.what, s.name AS source, b.notes, b.blocked_at
       FROM content_blocks b LEFT JOIN block_sources s ON s.source = b.source ORDER BY b.kind, b.what`,
    );
    const blocks: Record<BlockKind, Block[]> = { id: [], hash: [], name: [] };
    for (const row of rows) {
      blocks[row.kind].push({
        what: row.what,
        blockedAt: row.blocked_at,
        ...(row.source !== null && { source: row.source }),
        ...(row.notes !== null && { notes: row.notes }),
      });
    }
    return { ids: blocks.id, hashes: blocks.hash, names: blocks.name };
  }
}

async function bump(tx: SqlExecutor): Promise<void> {
  await tx.run(
    `INSERT INTO chain_state (name, value) VALUES (?, 1)
     ON CONFLICT (name) DO UPDATE SET value = chain_state.value + 1`,
    versionName,
  );
}

async function sourceKey(tx: SqlExecutor, name: string, now: number): Promise<number> {
  await tx.run(
    'INSERT INTO block_sources (name, created_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING',
    name,
    now,
  );
  const row = await tx.get<{ source: number }>('SELECT source FROM block_sources WHERE name = ?', name);
  if (row === undefined) throw new Error('a source was not stored');
  return row.source;
}

/**
 * Keys that all processes on one database must have alike: what one signed the others must know as theirs, and what one
 * lets in the others must too. Each process that runs leaves fingerprints of its keys, and a start with another key is
 * refused while it runs. Once all with the old key are gone, a new one may take its place: keys can be changed.
 *
 * A fingerprint is a part of a salted hash: too little to find a key by, enough to tell two apart.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { clocks } from './lease.ts';
import type { Migration, Sql, SqlExecutor } from './sql.ts';

export const sharedKeysMigrations: readonly Migration[] = [
  {
    id: 'shared-keys-001',
    up: `
CREATE TABLE shared_keys_salt (
  only_row BIGINT PRIMARY KEY,
  salt TEXT NOT NULL
);
CREATE TABLE shared_keys (
  process TEXT NOT NULL,
  name TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (process, name)
);
`,
  },
];

/** After a process died, its keys count for so long. */
const livesMs = 30_000;
export const renewSharedKeysMs = 10_000;
const fingerprintLength = 10;

export class SharedKeys {
  readonly #sql: Sql;
  readonly #process = randomUUID();
  #keys: ReadonlyMap<string, string> = new Map();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** By name: the key, or what stands for it. Answers the names of those that others have otherwise; then nothing is kept. */
  async claim(keys: ReadonlyMap<string, string>): Promise<string[]> {
    this.#keys = keys;
    return await this.#sql.transaction(async (tx) => {
      const salt = await lockSalt(tx);
      const now = clocks[tx.engine];
      // One that is further ahead than any process leaves it is of a clock that was wrong.
      await tx.run(`DELETE FROM shared_keys WHERE until < ${now} OR until > ${now} + ?`, 2 * livesMs);
      const others = await tx.all<{ name: string; fingerprint: string }>(
        'SELECT name, fingerprint FROM shared_keys WHERE process <> ?',
        this.#process,
      );
      const own = new Map([...keys].map(([name, key]) => [name, fingerprintOf(salt, name, key)]));
      const differs = others.filter(
        ({ name, fingerprint }) => own.has(name) && own.get(name) !== fingerprint,
      );
      if (differs.length > 0) return [...new Set(differs.map(({ name }) => name))].sort();
      for (const [name, fingerprint] of own) {
        await tx.run(
          `INSERT INTO shared_keys (process, name, fingerprint, until) VALUES (?, ?, ?, ${now} + ?)
           ON CONFLICT (process, name) DO UPDATE SET fingerprint = excluded.fingerprint, until = excluded.until`,
          this.#process,
          name,
          fingerprint,
          livesMs,
        );
      }
      return [];
    });
  }

  /** Says that this process still runs. Answers as `claim`, where it slept for so long that it was taken for dead. */
  async renew(): Promise<string[]> {
    const renewed = await this.#sql.run(
      `UPDATE shared_keys SET until = ${clocks[this.#sql.engine]} + ? WHERE process = ?`,
      livesMs,
      this.#process,
    );
    return renewed === this.#keys.size ? [] : await this.claim(this.#keys);
  }

  async release(): Promise<void> {
    await this.#sql.run('DELETE FROM shared_keys WHERE process = ?', this.#process);
  }
}

/** Of two that start at the same time one sees the other's keys. */
async function lockSalt(tx: SqlExecutor): Promise<string> {
  await tx.run(
    'INSERT INTO shared_keys_salt (only_row, salt) VALUES (1, ?) ON CONFLICT (only_row) DO NOTHING',
    randomBytes(16).toString('base64url'),
  );
  const row = await tx.get<{ salt: string }>(
    `SELECT salt FROM shared_keys_salt WHERE only_row = 1 ${tx.forUpdate}`,
  );
  if (row === undefined) throw new Error('the salt of the shared keys is gone');
  return row.salt;
}

const fingerprintOf = (salt: string, name: string, key: string): string =>
  createHmac('sha256', salt).update(`${name}\n${key}`).digest('base64url').slice(0, fingerprintLength);

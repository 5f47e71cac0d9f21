import type { Migration } from '../../storage/sql/sql.ts';

/** Shared by every surface that takes request signatures. `claim` is null for what may never act. */
export const signatureMigrations: readonly Migration[] = [
  {
    id: 'signatures-001-spent',
    up: `
      CREATE TABLE spent_signatures (
        signer TEXT NOT NULL,
        key TEXT NOT NULL,
        claim TEXT,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (signer, key)
      ) CLUSTERED;
    `,
  },
];

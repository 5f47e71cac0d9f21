/** What a backup says about itself: which program made it, when, and the digest of everything in it. */
import { type Static, Type } from 'typebox';
import { StartupError } from '../../kernel/errors.ts';
import { jsonReader } from '../sql/typed-rows.ts';

/** Another number for backups that an earlier release could not restore. */
const format = 1;

const stored = {
  /** Names the blob. */
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 0 }),
};

const database = Type.Object({
  /** Of the file, `<name>.db`, or of the schema. */
  name: Type.String({ pattern: '^[a-z][a-z0-9_-]{0,47}$' }),
  engine: Type.Enum(['sqlite', 'postgres']),
  /** Of SQLite one file; of PostgreSQL the rows of each table, a line of JSON each. Compressed. */
  parts: Type.Array(Type.Object({ name: Type.String({ pattern: '^[a-z][a-z0-9_]{0,62}$' }), ...stored })),
  /** Rows of each table. */
  rows: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  /** Of PostgreSQL: how far its sequences have come. */
  sequences: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9_]{0,62}$' }), Type.Integer()),
  migrations: Type.Array(Type.String()),
});

const manifest = Type.Object({
  format: Type.Literal(format),
  id: Type.String(),
  version: Type.String(),
  world: Type.String(),
  /** Unix milliseconds, from before the first database was read: whatever is newer may be missing. */
  begunAt: Type.Integer(),
  endedAt: Type.Integer(),
  /** In the order in which they were read. */
  databases: Type.Array(database),
  /** A list of the stored bytes of uploads, `digest size` in each line; undefined where they were left out. */
  blobs: Type.Optional(Type.Object({ ...stored, count: Type.Integer(), bytes: Type.Integer() })),
  /** Blobs that a row needs and that were missing or damaged when the backup was made. */
  missing: Type.Array(Type.String()),
  /** Other files below DATA_DIR. */
  files: Type.Array(Type.Object({ path: Type.String({ minLength: 1, maxLength: 1_024 }), ...stored })),
  /** The keys of the service, sealed; undefined where they were left out. */
  keys: Type.Optional(Type.Object(stored)),
});

export type Manifest = Static<typeof manifest>;
export type DatabaseCopy = Manifest['databases'][number];
export type StoredPart = Readonly<{ digest: string; size: number }>;

const read = jsonReader('the manifest of backup', manifest);

export const newManifest = (fields: Omit<Manifest, 'format'>): Manifest => ({ format, ...fields });

/** Throws `StartupError` for what this release cannot read. */
export function readManifest(text: string, id: string): Manifest {
  try {
    return read(text, id);
  } catch (error) {
    throw new StartupError(`backup ${id} is of another release, or damaged`, { cause: error });
  }
}

/** Everything that a backup needs besides the blobs that its list names. */
export const partsOf = ({ databases, blobs, files, keys }: Manifest): StoredPart[] => [
  ...databases.flatMap(({ parts }) => parts),
  ...(blobs === undefined ? [] : [blobs]),
  ...files,
  ...(keys === undefined ? [] : [keys]),
];

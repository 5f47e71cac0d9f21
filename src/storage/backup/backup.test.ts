/** What a backup is made of: a place, sealed keys, copies of files and blobs. Damage of any of it is found. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { collected } from '../../kernel/collected.ts';
import { StartupError } from '../../kernel/errors.ts';
import { DiskBlobStore } from '../blobs/disk/store.ts';
import { startTestS3 } from '../blobs/s3/testing.ts';
import { openSqliteFile } from '../sql/open.ts';
import { copyBlobs, readList, writeList } from './blob-copies.ts';
import { openBackupPlace } from './place.ts';
import { openKeys, readPassphrase, sealKeys } from './sealed-keys.ts';
import { copySqlite, describeSqlite, putSqlite, restoreSqlite } from './sqlite-copy.ts';
import { BackupDamaged, linesOf, putCompressed, readCompressed } from './stored-bytes.ts';

const random = seededRandom(81);

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function storeFor(t: TestContext): Promise<{ store: DiskBlobStore; folder: string }> {
  const folder = folderFor(t);
  const store = await DiskBlobStore.open({ folder });
  t.after(() => store.close());
  return { store, folder };
}

describe('sealed keys', () => {
  it('are opened by their passphrase and by no other', async (t) => {
    const files = new Map([
      ['wallet.json', Buffer.from('{"kty":"RSA"}')],
      ['admin-api-key', random.bytes(32)],
    ]);
    const sealed = await sealKeys(files, 'correct horse battery');
    assert.ok(!sealed.includes('RSA'));
    assert.deepEqual(await openKeys(sealed, 'correct horse battery'), files);
    await assert.rejects(openKeys(sealed, 'correct horse batterz'), /does not open the keys/);
    await assert.rejects(openKeys(Buffer.from('nothing'), 'correct horse battery'), StartupError);
    const path = join(folderFor(t), 'passphrase');
    writeFileSync(path, 'short\n');
    assert.throws(() => readPassphrase(path), /12 to 1024 characters/);
    assert.throws(() => readPassphrase(`${path}-none`), /cannot be read/);
  });
});

describe('a place for backups', () => {
  const id = '20261116T090000Z-00ff00';

  it('lists what is whole, in a folder and in a bucket', async (t) => {
    const s3 = await startTestS3();
    t.after(() => s3.close());
    for (const target of [join(folderFor(t), 'new'), `${s3.url}/some/prefix`]) {
      const place = await openBackupPlace(target, true);
      try {
        assert.deepEqual(await place.list(), []);
        assert.equal(await place.read(id), undefined);
        const later = id.replace('2026', '2027');
        await place.write(later, 'later');
        await place.write(id, 'earlier');
        assert.deepEqual(await place.list(), [id, later]);
        assert.equal(await place.read(id), 'earlier');
        const { digest } = await place.blobs.put(Buffer.from('some bytes'));
        assert.equal(await place.blobs.size(digest), 10);
        await place.remove(later);
        assert.deepEqual(await place.list(), [id]);
        await assert.rejects(async () => place.read('../../etc/passwd'), /not the id of a backup/);
      } finally {
        await place.close();
      }
    }
  });

  it('is told in one line where there is none', async (t) => {
    await assert.rejects(
      openBackupPlace(join(folderFor(t), 'none'), false),
      /^StartupError: there is no backup in /,
    );
    await assert.rejects(
      openBackupPlace('s3://nobody', false),
      /^StartupError: the place of the backup must be s3/,
    );
  });
});

describe('copies of blobs', () => {
  it('are made once, and tell what the source lacks or has damaged', async (t) => {
    const from = await storeFor(t);
    const to = await storeFor(t);
    const made = [];
    for (const size of [0, 10, 70_000]) made.push(await from.store.put(random.bytes(size)));
    const damaged = await from.store.put(random.bytes(9_000));
    flipByte(from.store.path(damaged.digest));
    const missing = 'ab'.repeat(32);
    const digests = [...made.map(({ digest }) => digest), damaged.digest, missing];
    const first = await copyBlobs(digests, from.store, to.store);
    assert.deepEqual(first.missing.sort(), [damaged.digest, missing].sort());
    assert.equal(first.copied.length, 3);
    assert.equal(await to.store.size(damaged.digest), undefined);
    const second = await copyBlobs(digests, from.store, to.store);
    assert.deepEqual([second.copied.length, second.present.length], [0, 3]);
    const list = await to.store.put(writeList(second.present));
    assert.deepEqual(
      (await readList(to.store, list)).map(({ digest }) => digest),
      made.map(({ digest }) => digest).sort(),
    );
  });

  it('prove their bytes when they are read', async (t) => {
    const { store } = await storeFor(t);
    async function* text() {
      yield Buffer.from('one\ntwö');
      yield Buffer.from('\nthree');
    }
    const part = await putCompressed(store, text());
    assert.deepEqual(await collected(linesOf(readCompressed(store, part))), ['one', 'twö', 'three']);
    const shorter = { ...part, size: part.size - 1 };
    await assert.rejects(collected(readCompressed(store, shorter)), BackupDamaged);
    await store.delete(part.digest);
    await assert.rejects(collected(readCompressed(store, part)), BackupDamaged);
  });
});

describe('a copy of a SQLite file', () => {
  const migrations = [
    { id: 'one', up: 'CREATE TABLE things (id SERIAL_KEY, a BIGINT NOT NULL, b BIGINT NOT NULL)' },
  ];

  it('is of one moment while others write, and comes back with its rows', async (t) => {
    const folder = folderFor(t);
    const { store } = await storeFor(t);
    const path = join(folder, 'things.db');
    const sql = await openSqliteFile(path, migrations);
    t.after(() => sql.close());
    const add = () =>
      sql.transaction(async (tx) => {
        // Two rows that belong together: a copy has both or none.
        for (const value of [1, -1]) await tx.run('INSERT INTO things (a, b) VALUES (?, ?)', value, 7);
      });
    for (let count = 0; count < 50; count += 1) await add();
    let isCopying = true;
    const writing = (async () => {
      while (isCopying) await add();
    })();
    const copy = join(folder, 'copy.db');
    await copySqlite(path, copy);
    isCopying = false;
    await writing;
    const described = await describeSqlite(copy);
    assert.ok((described.rows.things ?? 0) >= 100 && (described.rows.things ?? 0) % 2 === 0);
    assert.deepEqual(described.migrations, ['one']);
    const parts = await putSqlite(store, copy);
    const database = { name: 'things', engine: 'sqlite', parts, sequences: {}, ...described } as const;
    const restored = join(folder, 'restored.db');
    await restoreSqlite(store, database, restored);
    const again = await openSqliteFile(restored, migrations);
    try {
      assert.deepEqual(await again.get('SELECT SUM(a) AS sum, COUNT(*) AS n FROM things'), {
        sum: 0,
        n: described.rows.things,
      });
    } finally {
      await again.close();
    }
    const more = { ...database, rows: { ...database.rows, things: 1 } };
    await assert.rejects(restoreSqlite(store, more, join(folder, 'no.db')), /has \d+ rows and had 1/);
    assert.ok(!readdirSync(folder).includes('no.db'));
  });
});

/**
 * The whole state of a local network in one file that another machine can load: a SQLite file with one row about itself
 * and the state's files in compressed parts, so that no file has to fit into memory.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { hasCode } from '../../kernel/errors.ts';
import { privateFolderMode } from '../../kernel/private-files.ts';
import { version } from '../version.ts';
import { notAStateFile } from './errors.ts';
import { isStateEntry, type StateFolder } from './state-folder.ts';

/** Another number for files that an earlier release could not load. */
const format = 1;
/** "TPst", sqlite.org/fileformat2.html §1.2.13. */
const applicationId = 0x54_50_73_74;
const partBytes = 4 * 1024 * 1024;
const maxFiles = 1_000_000;
const maxDepth = 16;
/** Goes with the state: credits and receipts are signed with them. */
export const keysName = 'keys';
const segment = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$|^\.[A-Za-z0-9_-]{1,100}$/;

/** Writes the state, of which nothing is open, and the keys that were made for it. */
export function writeStateFile(path: string, state: StateFolder): void {
  const file = new DatabaseSync(path);
  try {
    file.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA application_id = ${applicationId};
      CREATE TABLE about (format INTEGER NOT NULL, world TEXT NOT NULL, version TEXT NOT NULL) STRICT;
      CREATE TABLE files (path TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (path, part)) STRICT, WITHOUT ROWID;
      BEGIN`);
    file.prepare('INSERT INTO about VALUES (?, ?, ?)').run(format, 'local', version);
    const insert = file.prepare('INSERT INTO files VALUES (?, ?, ?)');
    for (const name of [...state.lasting(), keysName]) {
      for (const found of filesBelow(state.path, name)) {
        for (const [part, bytes] of partsOf(join(state.path, found))) {
          insert.run(found, part, deflateRawSync(bytes, { level: 1 }));
        }
      }
    }
    file.exec('COMMIT');
  } finally {
    file.close();
  }
}

/** What can be loaded, or throws why not. Nothing outside of the file is touched. */
export function checkStateFile(path: string): void {
  reading(path, (file) => {
    const id = file.prepare('PRAGMA application_id').get()?.application_id;
    if (id !== applicationId) throw notAStateFile('it is none that a local network saved');
    const about = file.prepare('SELECT format, world FROM about').get();
    if (about?.format !== format || about.world !== 'local') {
      throw notAStateFile('another release saved it');
    }
    let count = 0;
    for (const { path: name } of file.prepare('SELECT DISTINCT path FROM files').iterate()) {
      count += 1;
      if (typeof name !== 'string' || !isGoodPath(name) || count > maxFiles) {
        throw notAStateFile('it has files that are no part of a state');
      }
    }
    if (count === 0) throw notAStateFile('it is empty');
  });
}

/** Puts the files where the state was. */
export function unpackStateFile(path: string, folder: string): void {
  reading(path, (file) => {
    let open: { readonly path: string; readonly descriptor: number } | undefined;
    try {
      for (const row of file.prepare('SELECT path, data FROM files ORDER BY path, part').iterate()) {
        const { path: name, data } = row;
        if (typeof name !== 'string' || !isGoodPath(name) || !(data instanceof Uint8Array)) {
          throw notAStateFile('it has files that are no part of a state');
        }
        if (open?.path !== name) {
          if (open !== undefined) closeSync(open.descriptor);
          open = undefined;
          const target = join(folder, ...name.split('/'));
          mkdirSync(dirname(target), { recursive: true, mode: privateFolderMode });
          open = { path: name, descriptor: openSync(target, 'wx', 0o600) };
        }
        writeWhole(open.descriptor, inflateRawSync(data, { maxOutputLength: partBytes }));
      }
    } finally {
      if (open !== undefined) closeSync(open.descriptor);
    }
  });
}

/** The file is a stranger's until it is read. */
function reading(path: string, read: (file: DatabaseSync) => void): void {
  try {
    const file = new DatabaseSync(path, { readOnly: true, allowExtension: false });
    try {
      file.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
      read(file);
    } finally {
      file.close();
    }
  } catch (error) {
    if (hasCode(error, 'ERR_SQLITE_ERROR')) throw notAStateFile('it is damaged, or no SQLite file');
    if (hasCode(error, 'ERR_BUFFER_TOO_LARGE', 'Z_DATA_ERROR', 'Z_BUF_ERROR')) {
      throw notAStateFile('it is damaged');
    }
    throw error;
  }
}

/** Relative, inside, and of the state or its keys. */
function isGoodPath(path: string): boolean {
  const segments = path.split('/');
  const [first = ''] = segments;
  if (!isStateEntry(first) && (first !== keysName || segments.length === 1)) return false;
  return segments.length <= maxDepth && segments.every((one) => segment.test(one));
}

/** Paths with slashes, whatever the machine writes. */
function* filesBelow(root: string, path: string): Generator<string> {
  const stats = statSync(join(root, path), { throwIfNoEntry: false });
  if (stats?.isFile()) yield path;
  if (!stats?.isDirectory()) return;
  for (const name of readdirSync(join(root, path))) yield* filesBelow(root, `${path}/${name}`);
}

/** Numbered; an empty file has one part too. */
function* partsOf(path: string): Generator<[number, Buffer]> {
  const descriptor = openSync(path, 'r');
  try {
    for (let part = 0; ; part += 1) {
      const bytes = Buffer.allocUnsafe(partBytes);
      let length = 0;
      for (let read = -1; read !== 0 && length < partBytes; length += read) {
        read = readSync(descriptor, bytes, length, partBytes - length, null);
      }
      if (length > 0 || part === 0) yield [part, bytes.subarray(0, length)];
      if (length < partBytes) return;
    }
  } finally {
    closeSync(descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

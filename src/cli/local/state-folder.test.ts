import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { StateFolder } from './state-folder.ts';

let path: string;
let folder: StateFolder;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'turnpike-state-folder-'));
  folder = new StateFolder(path);
  mkdirSync(join(path, 'localnet'));
  mkdirSync(join(path, 'keys'));
  for (const name of ['localnet/arweave.db', 'ledger.db', 'keys/admin', 'world', 'package.json'])
    write(name, 'old');
});
afterEach(() => rmSync(path, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(path, name), text);
const read = (name: string) => readFileSync(join(path, name), 'utf8');
const all = () => readdirSync(path).sort();

describe('a state folder', () => {
  test('is replaced without keys, and without what is not the program’s', async () => {
    const { keep } = await folder.replace(async () => write('gateway.db', 'new'));
    await keep();
    assert.deepEqual(all(), ['gateway.db', 'keys', 'package.json', 'world']);
    assert.equal(read('package.json'), 'old');
  });

  test('gets its state back, and what went with it', async () => {
    const before = all();
    const { undo } = await folder.replace(async () => {
      write('ledger.db', 'new');
      write('gateway.db', 'new');
      mkdirSync(join(path, 'keys'));
      write('keys/admin', 'new');
    }, ['keys']);
    undo();
    assert.deepEqual(all(), before);
    assert.deepEqual(
      [read('ledger.db'), read('keys/admin'), read('localnet/arweave.db')],
      ['old', 'old', 'old'],
    );
  });

  test('keeps its state where nothing could be put in its place', async () => {
    const before = all();
    const fails = folder.replace(async () => {
      write('ledger.db', 'half');
      throw new Error('no room');
    });
    await assert.rejects(fails, /no room/);
    assert.deepEqual(all(), before);
    assert.equal(read('ledger.db'), 'old');
  });

  test('has its old state after a change that was cut off, wherever', async () => {
    const before = all();
    // While the state was put aside.
    mkdirSync(join(path, 'replaced'));
    renameSync(join(path, 'ledger.db'), join(path, 'replaced', 'ledger.db'));
    folder.recover();
    assert.deepEqual(all(), before);
    // While the new one started.
    await folder.replace(async () => write('ledger.db', 'new'));
    folder.recover();
    assert.deepEqual(all(), before);
    assert.equal(read('ledger.db'), 'old');
    // While the old one was put back: what is new is gone, the mark too.
    await folder.replace(async () => {});
    rmSync(join(path, 'replaced', '.whole'));
    renameSync(join(path, 'replaced', 'ledger.db'), join(path, 'ledger.db'));
    folder.recover();
    assert.deepEqual(all(), before);
    // While the old one was removed.
    const { keep } = await folder.replace(async () => write('gateway.db', 'new'));
    await keep();
    mkdirSync(join(path, 'discarded'));
    mkdirSync(folder.scratch(), { recursive: true });
    folder.recover();
    assert.ok(existsSync(join(path, 'gateway.db')));
    assert.deepEqual(all(), ['gateway.db', 'keys', 'package.json', 'world']);
  });
});

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createLogger } from '../kernel/log.ts';
import { DiskNearlyFull, DiskSpace, type DiskSpaceOptions } from './disk-space.ts';

/** A disk with a dial, and a clock that stands still but for `pass`. */
function dialled(t: { mock: { method: typeof import('node:test').mock.method } }, floor: number) {
  const disk = {
    free: new Map([
      ['/data', 1_000],
      ['/blobs', 1_000],
    ]),
    questions: 0,
    fails: false,
  };
  let now = 1;
  t.mock.method(performance, 'now', () => now);
  const said: string[] = [];
  const log = createLogger({ level: 'silent', format: 'json', name: 'disk' });
  t.mock.method(log, 'error', (_state: unknown, text: string) => said.push(text));
  t.mock.method(log, 'warn', (_state: unknown, text: string) => said.push(text));
  const open = (changes: Partial<DiskSpaceOptions> = {}) =>
    new DiskSpace({
      dataFolder: '/data',
      bodyFolder: '/blobs',
      minFreeBytes: floor,
      log,
      async freeBytes(folder) {
        disk.questions += 1;
        if (disk.fails) throw new Error('not mounted');
        return disk.free.get(folder) ?? 0;
      },
      ...changes,
    });
  return { disk, said, open, pass: (ms: number) => (now += ms) };
}

test('bodies that are announced count before they are written, and once when they are', async (t) => {
  const { disk, open, pass } = dialled(t, 100);
  const room = open();
  const first = await room.reserve(500);
  const second = await room.reserve(400);
  await assert.rejects(room.reserve(1), DiskNearlyFull);
  first.use(500);
  await assert.rejects(room.reserve(1), DiskNearlyFull, 'written, and not seen by the file system yet');
  disk.free.set('/blobs', 500);
  pass(1_000);
  await assert.rejects(room.reserve(1), DiskNearlyFull, 'seen by the file system, and not counted twice');
  second.release();
  second.release();
  const third = await room.reserve(400);
  await assert.rejects(room.reserve(1), DiskNearlyFull);
  third.use(100);
  third.release();
  first.release();
  assert.equal(room.reservedBytes, 0);
  (await room.reserve(300)).release();
  await assert.rejects(room.reserve(301), DiskNearlyFull);
});

test('a body of unknown length takes room as it comes', async (t) => {
  const { open } = dialled(t, 100);
  const room = open();
  const body = await room.reserve(0);
  body.use(600);
  body.use(300);
  assert.throws(() => body.use(1), DiskNearlyFull);
  body.release();
  assert.equal(room.reservedBytes, 0);
});

test('the disk of the databases keeps its floor too, and bodies that go elsewhere take nothing from it', async (t) => {
  const { disk, open, pass } = dialled(t, 100);
  const room = open({ bodyFolder: undefined });
  (await room.reserve(1_000_000)).release();
  disk.free.set('/data', 99);
  pass(1_000);
  await assert.rejects(room.reserve(0), DiskNearlyFull);
  const apart = open();
  await assert.rejects(apart.reserve(0), DiskNearlyFull, 'though the blobs have room');
});

test('the file system is asked once a second at most', async (t) => {
  const { disk, open, pass } = dialled(t, 100);
  const room = open({ bodyFolder: undefined });
  const all = await Promise.all(Array.from({ length: 20 }, () => room.reserve(1)));
  for (let index = 0; index < 20; index += 1) all[index]?.use(5);
  assert.equal(disk.questions, 1);
  pass(999);
  await room.reserve(1);
  assert.equal(disk.questions, 1);
  pass(1);
  await room.reserve(1);
  assert.equal(disk.questions, 2);
});

test('the log says once when the room ends and once when it is back', async (t) => {
  const { disk, said, open, pass } = dialled(t, 100);
  const room = open();
  await room.start();
  t.after(() => room.stop());
  const look = async () => {
    pass(1_000);
    await room.reserve(0).then(
      (reserved) => reserved.release(),
      () => {},
    );
  };
  disk.free.set('/blobs', 99);
  for (let times = 0; times < 3; times += 1) await look();
  assert.equal(room.isLow, true);
  assert.equal(room.freeBytes, 99);
  disk.free.set('/blobs', 100);
  for (let times = 0; times < 3; times += 1) await look();
  assert.equal(room.isLow, false);
  assert.deepEqual(said, [
    'the disk is nearly full: uploads are refused',
    'the disk has room again: uploads are taken',
  ]);
});

test('a floor of 0 keeps nothing, and a disk that cannot be asked refuses nobody', async (t) => {
  const { disk, open } = dialled(t, 0);
  disk.free.set('/data', 0);
  disk.free.set('/blobs', 0);
  (await open().reserve(1_000)).release();
  disk.fails = true;
  (await open({ minFreeBytes: 100 }).reserve(1_000)).release();
});

test('a real file system is asked for what programs without privileges may use', async () => {
  const log = createLogger({ level: 'silent', format: 'json', name: 'disk' });
  const folders = { dataFolder: tmpdir(), bodyFolder: tmpdir() };
  const room = new DiskSpace({ ...folders, minFreeBytes: 1, log });
  (await room.reserve(1)).release();
  assert.ok(room.freeBytes > 0 && Number.isSafeInteger(room.freeBytes));
  const strict = new DiskSpace({ ...folders, minFreeBytes: Number.MAX_SAFE_INTEGER, log });
  await assert.rejects(strict.reserve(0), DiskNearlyFull);
});

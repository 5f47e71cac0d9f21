import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/support/eventually.ts';
import { ServiceError } from '../../../services/console.ts';
import type { PartsStatus, UploadTerms } from '../../../services/upload.ts';
import { WalletRefused } from '../../../wallet/wallet.ts';
import { afterReload, newEntry, type UploadEntry } from './entry.ts';
import { OtherFile, type QueueDeps, UploadQueue } from './queue.ts';
import { partBytesOf, type UploadService } from './send-parts.ts';

const terms: UploadTerms = { freeBytes: 0, maxItemBytes: 1e12, minPartBytes: 10, maxPartBytes: 10 };
const header = new Uint8Array(4);

interface Session {
  readonly parts: Map<number, number>;
  status: string;
}

/** A service, a wallet and a browser in memory. */
class World implements QueueDeps {
  readonly sessions = new Map<string, Session>();
  readonly kept = new Map<string, UploadEntry>();
  readonly states: string[] = [];
  readonly items: number[] = [];
  signatures = 0;
  asked = 0;
  sleeps = 0;
  online = true;
  /** Called before each request; may throw or wait. */
  before: (what: string, signal: AbortSignal) => Promise<void> | void = () => {};
  wallet: () => Promise<void> = async () => {};
  #waking: (() => void)[] = [];

  readonly service: UploadService = {
    sendItem: async (_token, item, { signal, onSent }) => {
      await this.#ask('item', signal);
      onSent?.(item.size);
      this.items.push(item.size);
      return { id: `id-${await idIn(item)}` };
    },
    beginParts: async (_token, _partBytes, signal) => {
      await this.#ask('begin', signal);
      const id = `session-${this.sessions.size}`;
      this.sessions.set(id, { parts: new Map(), status: 'ASSEMBLING' });
      return id;
    },
    partsThere: async (_token, session, signal) => {
      await this.#ask('there', signal);
      return new Map(this.#session(session).parts);
    },
    sendPart: async (_token, session, start, part, { signal, onSent }) => {
      await this.#ask(`part ${start}`, signal);
      onSent?.(part.size);
      this.#session(session).parts.set(start, part.size);
    },
    finalizeParts: async (_token, session, { signal }) => {
      await this.#ask('finalize', signal);
      const found = this.#session(session);
      if (found.status === 'ASSEMBLING' || found.status === 'UNDERFUNDED') found.status = this.outcome;
    },
    partsStatus: async (_token, session, signal): Promise<PartsStatus> => {
      await this.#ask('status', signal);
      const { status } = this.#session(session);
      return { status, receipt: status === 'FINALIZED' ? { id: 'id-0' } : undefined };
    },
  };
  outcome = 'FINALIZED';

  #session(id: string): Session {
    const session = this.sessions.get(id);
    if (session === undefined) throw new ServiceError(404, 'not found');
    return session;
  }

  async #ask(what: string, signal: AbortSignal): Promise<void> {
    this.asked += 1;
    signal.throwIfAborted();
    if (!this.online) throw new ServiceError(0, 'offline');
    await this.before(what, signal);
    signal.throwIfAborted();
  }

  /** The id is told by the header, so that the service answers the same. */
  async sign(file: Blob, _tags: unknown, { onRead, onSigning }: Parameters<QueueDeps['sign']>[2]) {
    onRead(file.size);
    onSigning();
    await this.wallet();
    const at = this.signatures++;
    const own = Uint8Array.from(header);
    own[0] = at;
    return {
      id: `id-${at}`,
      header: own,
      size: own.length + file.size,
      token: 'arweave' as const,
      owner: 'me',
    };
  }

  terms = async () => terms;
  paidBy = () => [];
  changed({ path, state }: UploadEntry): void {
    const told = `${path} ${state}`;
    if (this.states.at(-1) !== told) this.states.push(told);
  }
  keep(entry: UploadEntry): void {
    this.kept.set(entry.key, entry);
  }
  isOnline = () => this.online;
  whenOnline(signal: AbortSignal): Promise<void> {
    if (this.online) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waking.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  }
  comeOnline(): void {
    this.online = true;
    for (const wake of this.#waking.splice(0)) wake();
  }
  async sleep(_ms: number, signal: AbortSignal): Promise<void> {
    this.sleeps += 1;
    signal.throwIfAborted();
  }
}

const idIn = async (item: Blob): Promise<number> =>
  new Uint8Array(await item.slice(0, 1).arrayBuffer())[0] ?? 0;
const entryOf = (path: string, size: number): UploadEntry =>
  newEntry({ key: path, path, size, type: 'text/plain' });
const fileOf = (size: number, byte = 7): Blob => new Blob([new Uint8Array(size).fill(byte)]);

function add(queue: UploadQueue, path: string, size: number): void {
  queue.add(entryOf(path, size), fileOf(size));
}
const reach = (queue: UploadQueue, path: string, state: UploadEntry['state']) =>
  eventually(`${path} is ${state}`, () => queue.entry(path)?.state === state, 5_000);

/** A promise and how to settle it. */
function gate(): { readonly open: Promise<void>; lift(): void } {
  let lift = (): void => {};
  const open = new Promise<void>((resolve) => {
    lift = resolve;
  });
  return { open, lift };
}

test('small files are signed one after another and sent whole, with a receipt each', async () => {
  const world = new World();
  const queue = new UploadQueue(world);
  for (const path of ['a', 'b', 'c', 'd', 'e']) add(queue, path, 5);
  await eventually('all are sent', () => queue.entries.every(({ state }) => state === 'sent'), 5_000);
  assert.deepEqual(world.items, [9, 9, 9, 9, 9]);
  assert.equal(world.signatures, 5);
  assert.deepEqual(
    world.states.filter((told) => told.startsWith('a ')),
    ['a waiting', 'a reading', 'a signing', 'a sending', 'a sent'],
  );
  for (const { key, receipt } of queue.entries) assert.deepEqual(world.kept.get(key)?.receipt, receipt);
});

test('a large file goes in parts, and after a pause only what is missing', async () => {
  const world = new World();
  const queue = new UploadQueue(world);
  const stuck = gate();
  const sent: string[] = [];
  world.before = async (what, signal) => {
    if (what.startsWith('part')) sent.push(what);
    if (what === 'part 30') await Promise.race([stuck.open, once(signal)]);
  };
  add(queue, 'big', 46);
  await eventually('all other parts', () => world.sessions.get('session-0')?.parts.size === 4, 5_000);
  queue.pause('big');
  assert.equal(queue.entry('big')?.state, 'paused');
  sent.length = 0;
  stuck.lift();
  queue.resume('big');
  await reach(queue, 'big', 'sent');
  assert.deepEqual(sent, ['part 30']);
  assert.equal(world.signatures, 1);
  assert.equal(world.sessions.size, 1);
});

const once = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('after a reload it goes on with the same file, and refuses another', async () => {
  const world = new World();
  const first = new UploadQueue(world);
  const stuck = gate();
  world.before = (what, signal) =>
    what === 'part 20' ? Promise.race([stuck.open, once(signal)]) : undefined;
  add(first, 'big', 46);
  await eventually('all other parts', () => world.sessions.get('session-0')?.parts.size === 4, 5_000);
  const kept = world.kept.get('big');
  assert.ok(kept !== undefined);

  world.before = () => {};
  const second = new UploadQueue(world);
  second.add(afterReload(kept), undefined);
  assert.equal(second.entry('big')?.state, 'paused');
  await assert.rejects(second.giveFile('big', fileOf(46, 8)), OtherFile);
  await assert.rejects(second.giveFile('big', fileOf(45)), OtherFile);
  second.resume('big');
  assert.equal(second.entry('big')?.state, 'waiting', 'it waits for its file');
  await second.giveFile('big', fileOf(46));
  await reach(second, 'big', 'sent');
  assert.equal(world.signatures, 1, 'it is not signed again');
  assert.equal(world.sessions.size, 1);
  first.cancelAll();
});

test('a session that the service finished meanwhile is not sent again, one that it forgot is begun anew', async () => {
  const world = new World();
  const signed = { id: 'id-0', header, size: 50, token: 'arweave' as const, owner: 'me' };
  const begun: UploadEntry = { ...entryOf('big', 46), signed, session: { id: 'session-0', partBytes: 10 } };
  world.sessions.set('session-0', { parts: new Map(), status: 'FINALIZED' });
  const queue = new UploadQueue(world);
  queue.add(begun, fileOf(46));
  await reach(queue, 'big', 'sent');
  assert.equal(world.asked, 1);

  const other = new UploadQueue(world);
  other.add({ ...begun, session: { id: 'gone', partBytes: 10 } }, fileOf(46));
  await reach(other, 'big', 'sent');
  assert.equal(world.sessions.size, 2);
});

test('offline in the middle: nothing is tried until the browser is back, then it goes on', async () => {
  const world = new World();
  const queue = new UploadQueue(world);
  world.before = (what) => {
    if (what !== 'part 20') return;
    world.before = () => {};
    world.online = false;
    throw new ServiceError(0, 'offline');
  };
  add(queue, 'big', 46);
  await eventually('offline', () => !world.online, 5_000);
  const { asked } = world;
  await new Promise(setImmediate);
  assert.ok(world.asked - asked <= 1, 'only what was under way');
  assert.equal(queue.entry('big')?.state, 'sending');
  world.comeOnline();
  await reach(queue, 'big', 'sent');
});

test('a busy service is asked again, a refusal is not; the others go on', async () => {
  const world = new World();
  let busy = 3;
  world.before = () => {
    if (busy-- > 0) throw new ServiceError(503, 'busy');
  };
  const queue = new UploadQueue(world);
  add(queue, 'a', 5);
  await reach(queue, 'a', 'sent');
  assert.equal(world.sleeps, 3);
  world.before = () => {
    world.before = () => {};
    throw new ServiceError(400, 'Invalid Data Item!');
  };
  add(queue, 'b', 5);
  add(queue, 'c', 5);
  await reach(queue, 'c', 'sent');
  assert.deepEqual(queue.entry('b')?.problem, { kind: 'service', text: 'Invalid Data Item!' });
  queue.resume('b');
  await reach(queue, 'b', 'sent');
});

test('a service that stays away fails the file after a few tries, and holds the others', async () => {
  const world = new World();
  world.before = () => {
    throw new ServiceError(0, 'no answer');
  };
  const queue = new UploadQueue(world);
  for (const path of ['a', 'b', 'c', 'd', 'e']) add(queue, path, 5);
  await eventually(
    'all have stopped',
    () => queue.entries.every(({ state }) => state === 'failed' || state === 'paused'),
    5_000,
  );
  assert.ok(queue.entries.some(({ state }) => state === 'paused'));
  world.before = () => {};
  queue.resumeAll();
  await eventually('all are sent', () => queue.entries.every(({ state }) => state === 'sent'), 5_000);
});

test('a refused signature holds the rest, so that nobody is asked again and again', async () => {
  const world = new World();
  let asked = 0;
  world.wallet = async () => {
    asked += 1;
    throw new WalletRefused('no');
  };
  const queue = new UploadQueue(world);
  for (const path of ['a', 'b', 'c', 'd', 'e', 'f']) add(queue, path, 5);
  await reach(queue, 'a', 'failed');
  await eventually('held', () => queue.entries.slice(1).every(({ state }) => state === 'paused'), 5_000);
  assert.equal(queue.entry('a')?.problem?.kind, 'refused');
  assert.equal(asked, 1);
  world.wallet = async () => {};
  queue.resumeAll();
  await eventually('all are sent', () => queue.entries.every(({ state }) => state === 'sent'), 5_000);
});

test('what the wallet signs while the upload is paused is used afterwards', async () => {
  const world = new World();
  const prompt = gate();
  world.wallet = () => prompt.open;
  const queue = new UploadQueue(world);
  add(queue, 'a', 5);
  await reach(queue, 'a', 'signing');
  queue.pause('a');
  queue.resume('a');
  prompt.lift();
  await reach(queue, 'a', 'sent');
  assert.equal(world.signatures, 1);
});

test('without enough credits the parts stay, and the upload ends once there are some', async () => {
  const world = new World();
  world.outcome = 'UNDERFUNDED';
  const queue = new UploadQueue(world);
  add(queue, 'big', 46);
  await reach(queue, 'big', 'failed');
  assert.equal(queue.entry('big')?.problem?.kind, 'credits');
  world.outcome = 'FINALIZED';
  const sent: string[] = [];
  world.before = (what) => {
    if (what.startsWith('part')) sent.push(what);
  };
  queue.resume('big');
  await reach(queue, 'big', 'sent');
  assert.deepEqual(sent, []);
});

test('parts that make no item are signed and sent anew', async () => {
  const world = new World();
  world.outcome = 'INVALID';
  const queue = new UploadQueue(world);
  add(queue, 'big', 46);
  await reach(queue, 'big', 'failed');
  assert.equal(queue.entry('big')?.signed, undefined);
  assert.equal(queue.entry('big')?.session, undefined);
});

test('cancelled ones stop at once and stay so', async () => {
  const world = new World();
  world.before = (_what, signal) => once(signal);
  const queue = new UploadQueue(world);
  add(queue, 'a', 5);
  add(queue, 'big', 46);
  await eventually('both under way', () => world.asked === 2, 5_000);
  queue.cancelAll();
  queue.resumeAll();
  assert.ok(queue.entries.every(({ state }) => state === 'cancelled'));
  assert.deepEqual(world.items, []);
});

test('a file that cannot be read any more is asked for again', async () => {
  const world = new World();
  const gone = fileOf(5);
  Object.defineProperty(gone, 'slice', {
    value: () => {
      throw new DOMException('gone', 'NotReadableError');
    },
  });
  const queue = new UploadQueue(world);
  queue.add(entryOf('a', 5), gone);
  await reach(queue, 'a', 'failed');
  assert.equal(queue.entry('a')?.problem?.kind, 'unreadable');
  assert.equal(queue.file('a'), undefined);
  await queue.giveFile('a', fileOf(5));
  queue.resume('a');
  await reach(queue, 'a', 'sent');
});

test('parts are as small as the service takes, and never too many', () => {
  const real: UploadTerms = { ...terms, minPartBytes: 5 * 1024 ** 2, maxPartBytes: 500 * 1024 ** 2 };
  assert.equal(partBytesOf(30 * 1024 ** 2, real), 5 * 1024 ** 2);
  assert.ok(Math.ceil(1024 ** 4 / partBytesOf(1024 ** 4, real)) <= 10_000);
  assert.ok(partBytesOf(1024 ** 4, real) <= real.maxPartBytes);
});

/**
 * What a machine gives a program beside its memory: time, timers and chance. Code that runs in a simulated process gets
 * them from its world; all other code of this process, such as the test runner, keeps the real ones.
 *
 * Import it before anything of the product: some modules keep a function when they are loaded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto, { type KeyObject } from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';

/** What simulated code asks of its world. All times are milliseconds. */
export interface Machine {
  /** Unix time by the clock on the wall of this process, which may be wrong. */
  now(): number;
  /** By the clock that is never set. */
  steadyNow(): number;
  /** Calls back in this process, after so long. */
  after(milliseconds: number, run: () => void): () => void;
  /** The same for who waits, and goes on in its own context. */
  resume(milliseconds: number, go: () => void): () => void;
  /** 32 random bits. */
  bits(): number;
}

// Files are read by one thread, so that what is asked first is answered first.
process.env.UV_THREADPOOL_SIZE = '1';

export const machines = new AsyncLocalStorage<Machine>();
const load = createRequire(import.meta.url);

/** The real ones, for the world itself. */
export const real = {
  setImmediate: globalThis.setImmediate,
  nextTick: process.nextTick.bind(process),
};

/** What the machine does that the world must know of. */
export const activity = {
  /** Callbacks that were ever put off to the next tick. */
  ticks: 0,
  /** A file may have been asked for since nobody waited for one. */
  hasAskedForFiles: false,
};

const RealDate = Date;
const realPerformanceNow = performance.now.bind(performance);
const realTimers = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  clearImmediate: globalThis.clearImmediate,
};

/**
 * A timer as Node gives it, with what callers use of it. Whoever made it waits in a function of its own, and so its callback
 * runs in the context in which it was made.
 */
class SimulatedTimer {
  readonly #machine: Machine;
  readonly #milliseconds: number;
  readonly #repeats: boolean;
  #cancel: (() => void) | undefined;
  #go = () => {};

  constructor(machine: Machine, run: () => void, milliseconds: number, repeats: boolean) {
    this.#machine = machine;
    this.#milliseconds = milliseconds;
    this.#repeats = repeats;
    void this.#wait(run);
    this.refresh();
  }

  async #wait(run: () => void): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => {
        this.#go = resolve;
      });
      if (this.#repeats) this.refresh();
      run();
    }
  }

  refresh(): this {
    this.close();
    this.#cancel = this.#machine.resume(this.#milliseconds, () => {
      this.#cancel = undefined;
      this.#go();
    });
    return this;
  }

  close(): this {
    this.#cancel?.();
    this.#cancel = undefined;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

type Callback = (...values: unknown[]) => void;

function timerOf(
  machine: Machine,
  run: Callback,
  milliseconds: unknown,
  values: unknown[],
  repeats: boolean,
) {
  const delay = Math.max(1, Number(milliseconds) || 1);
  return new SimulatedTimer(machine, () => run(...values), delay, repeats);
}

function clear(timer: unknown): boolean {
  if (!(timer instanceof SimulatedTimer)) return false;
  timer.close();
  return true;
}

const simulatedTimers = {
  setTimeout(run: Callback, milliseconds?: unknown, ...values: unknown[]): unknown {
    const machine = machines.getStore();
    if (machine === undefined)
      return Reflect.apply(realTimers.setTimeout, globalThis, [run, milliseconds, ...values]);
    return timerOf(machine, run, milliseconds, values, false);
  },
  setInterval(run: Callback, milliseconds?: unknown, ...values: unknown[]): unknown {
    const machine = machines.getStore();
    if (machine === undefined)
      return Reflect.apply(realTimers.setInterval, globalThis, [run, milliseconds, ...values]);
    return timerOf(machine, run, milliseconds, values, true);
  },
  setImmediate(run: Callback, ...values: unknown[]): unknown {
    const machine = machines.getStore();
    if (machine === undefined) return Reflect.apply(realTimers.setImmediate, globalThis, [run, ...values]);
    return new SimulatedTimer(machine, () => run(...values), 0, false);
  },
  clearTimeout(timer: unknown): void {
    if (!clear(timer)) Reflect.apply(realTimers.clearTimeout, globalThis, [timer]);
  },
  clearInterval(timer: unknown): void {
    if (!clear(timer)) Reflect.apply(realTimers.clearInterval, globalThis, [timer]);
  },
  clearImmediate(timer: unknown): void {
    if (!clear(timer)) Reflect.apply(realTimers.clearImmediate, globalThis, [timer]);
  },
};

const now = (): number => machines.getStore()?.now() ?? RealDate.now();

/** `Date` in everything but what time it is. It is asked often, and a proxy of it would answer slowly. */
function SimulatedDate(this: unknown, ...given: unknown[]): unknown {
  if (new.target === undefined) return new RealDate(now()).toString();
  return Reflect.construct(RealDate, given.length === 0 ? [now()] : given, new.target);
}
Object.defineProperties(SimulatedDate, {
  ...Object.getOwnPropertyDescriptors(RealDate),
  now: { value: now, writable: true, configurable: true },
});

/** Resolves after so long, in the process that waits; rejects when the signal aborts. */
function pause(
  machine: Machine,
  milliseconds: number,
  value: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return void reject(aborted(signal));
    const cancel = machine.resume(milliseconds, () => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    });
    const stop = () => {
      cancel();
      reject(aborted(signal));
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function aborted(signal: AbortSignal | undefined): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

interface PauseOptions {
  readonly signal?: AbortSignal;
}

function fillRandom(machine: Machine, bytes: Uint8Array): void {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = machine.bits() >>> 11;
}

/**
 * In a simulated world the signatures of RSA and Ed25519 keys are a hash of the public key and the message: real ones take
 * as long as hundreds or thousands of events, and those of RSA have chance in them.
 */
interface SimulatedKey {
  /** The modulus, or the point, in base64url. */
  readonly open: string;
  readonly signatureBytes: number;
}

const simulatedKeys = new WeakMap<KeyObject, SimulatedKey | null>();

function simulatedKeyOf(given: unknown): SimulatedKey | undefined {
  const key: unknown = given instanceof crypto.KeyObject ? given : Reflect.get(Object(given), 'key');
  if (!(key instanceof crypto.KeyObject)) return undefined;
  let known = simulatedKeys.get(key);
  if (known === undefined) {
    known = readKey(key);
    simulatedKeys.set(key, known);
  }
  return known ?? undefined;
}

function readKey(key: KeyObject): SimulatedKey | null {
  const kind = key.asymmetricKeyType;
  if (kind !== 'rsa' && kind !== 'ed25519') return null;
  const { n, x } = (key.type === 'private' ? crypto.createPublicKey(key) : key).export({ format: 'jwk' });
  if (kind === 'ed25519') return x === undefined ? null : { open: x, signatureBytes: 64 };
  return n === undefined ? null : { open: n, signatureBytes: Math.floor((n.length * 3) / 4) };
}

function simulatedSignature({ open, signatureBytes }: SimulatedKey, message: Uint8Array): Buffer {
  const first = crypto.createHmac('sha512', open).update(message).digest();
  if (signatureBytes === 64) {
    // The second half of such a signature is a number below 2^252 and a little more.
    first[63] = (first[63] ?? 0) & 0x0f;
    return first;
  }
  const parts = [first];
  while (parts.length * 64 < signatureBytes)
    parts.push(crypto.hash('sha512', parts.at(-1) ?? first, 'buffer'));
  return Buffer.concat(parts, signatureBytes);
}

/** Signing takes a thread's time; a verification is over at once. */
const signingMs = 8;
const verifyingMs = 0;

function replaceCrypto(): void {
  const { randomBytes, randomUUID, randomInt, randomFillSync, sign, verify } = crypto;
  const replaced = {
    randomBytes(size: number, done?: (error: Error | null, bytes: Buffer) => void) {
      const machine = machines.getStore();
      if (machine === undefined)
        return Reflect.apply(randomBytes, crypto, done === undefined ? [size] : [size, done]);
      const bytes = Buffer.alloc(size);
      fillRandom(machine, bytes);
      if (done === undefined) return bytes;
      queueMicrotask(() => done(null, bytes));
      return undefined;
    },
    randomUUID(options?: object) {
      const machine = machines.getStore();
      if (machine === undefined) return Reflect.apply(randomUUID, crypto, [options]);
      const bytes = Buffer.alloc(16);
      fillRandom(machine, bytes);
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
      return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    },
    randomInt(...given: unknown[]) {
      const machine = machines.getStore();
      if (machine === undefined) return Reflect.apply(randomInt, crypto, given);
      const [low, high] = typeof given[1] === 'number' ? [Number(given[0]), given[1]] : [0, Number(given[0])];
      const drawn = low + Math.floor((machine.bits() / 2 ** 32) * (high - low));
      const done = given.find(
        (one): one is (error: null, drawn: number) => void => typeof one === 'function',
      );
      if (done === undefined) return drawn;
      queueMicrotask(() => done(null, drawn));
      return undefined;
    },
    randomFillSync(target: NodeJS.ArrayBufferView, ...range: number[]) {
      const machine = machines.getStore();
      if (machine === undefined) return Reflect.apply(randomFillSync, crypto, [target, ...range]);
      const [start = 0, size] = range;
      const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
      fillRandom(machine, bytes.subarray(start, size === undefined ? undefined : start + size));
      return target;
    },
    sign(...given: unknown[]) {
      const machine = machines.getStore();
      const key = machine && simulatedKeyOf(given[2]);
      const done = given[3];
      if (machine === undefined || (key === undefined && typeof done !== 'function'))
        return Reflect.apply(sign, crypto, given);
      const message = given[1];
      const signature =
        key !== undefined && message instanceof Uint8Array
          ? simulatedSignature(key, message)
          : Reflect.apply(sign, crypto, given.slice(0, 3));
      if (typeof done !== 'function') return signature;
      return later(machine, signingMs, () => done(null, signature));
    },
    verify(...given: unknown[]) {
      const machine = machines.getStore();
      const key = machine && simulatedKeyOf(given[2]);
      const done = given[4];
      if (machine === undefined || (key === undefined && typeof done !== 'function'))
        return Reflect.apply(verify, crypto, given);
      const [, message, , signature] = given;
      const isGood =
        key !== undefined && message instanceof Uint8Array && signature instanceof Uint8Array
          ? simulatedSignature(key, message).equals(signature)
          : Reflect.apply(verify, crypto, given.slice(0, 4));
      if (typeof done !== 'function') return isGood;
      return later(machine, verifyingMs, () => done(null, isGood));
    },
  };
  Object.assign(crypto, replaced);
  const realFill = globalThis.crypto.getRandomValues.bind(globalThis.crypto);
  Object.defineProperty(globalThis.crypto, 'getRandomValues', {
    configurable: true,
    value: (target: Uint8Array<ArrayBuffer>) => {
      const machine = machines.getStore();
      if (machine === undefined) return realFill(target);
      fillRandom(machine, new Uint8Array(target.buffer, target.byteOffset, target.byteLength));
      return target;
    },
  });
  Object.defineProperty(globalThis.crypto, 'randomUUID', {
    configurable: true,
    value: () => replaced.randomUUID(),
  });
}

function later(machine: Machine, milliseconds: number, run: () => void): void {
  machine.after(milliseconds, run);
}

function replaceTimers(): void {
  Object.assign(globalThis, simulatedTimers);
  Object.assign(load('node:timers'), simulatedTimers);
  const promises = load('node:timers/promises');
  const { setTimeout: sleep, setImmediate: yieldOnce, setInterval: every } = promises;
  Object.assign(promises, {
    setTimeout(milliseconds = 1, value?: unknown, options: PauseOptions = {}) {
      const machine = machines.getStore();
      if (machine === undefined) return sleep(milliseconds, value, options);
      return pause(machine, Math.max(1, milliseconds), value, options.signal);
    },
    setImmediate(value?: unknown, options: PauseOptions = {}) {
      const machine = machines.getStore();
      return machine === undefined ? yieldOnce(value, options) : pause(machine, 0, value, options.signal);
    },
    async *setInterval(milliseconds = 1, value?: unknown, options: PauseOptions = {}) {
      const machine = machines.getStore();
      if (machine === undefined) return yield* every(milliseconds, value, options);
      for (;;) yield await pause(machine, milliseconds, value, options.signal);
    },
  });
  // One for all: most are aborted when nobody listens any more, and to make an error costs more than all the rest of it.
  const tooLong = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  const realTimeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (milliseconds) => {
    const machine = machines.getStore();
    if (machine === undefined) return realTimeout(milliseconds);
    const controller = new AbortController();
    later(machine, milliseconds, () => controller.abort(tooLong));
    return controller.signal;
  };
}

function replaceTime(): void {
  Object.assign(globalThis, { Date: SimulatedDate });
  RealDate.prototype.constructor = SimulatedDate;
  Object.defineProperty(performance, 'now', {
    configurable: true,
    value: () => machines.getStore()?.steadyNow() ?? realPerformanceNow(),
  });
  const realHrtime = process.hrtime;
  const nanoseconds = (machine: Machine) => BigInt(Math.round(machine.steadyNow() * 1e6));
  const hrtime = (before?: [number, number]): [number, number] => {
    const machine = machines.getStore();
    if (machine === undefined) return realHrtime(before);
    const [seconds, rest] = before ?? [0, 0];
    const passed = nanoseconds(machine) - BigInt(seconds) * 1_000_000_000n - BigInt(rest);
    return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
  };
  process.hrtime = Object.assign(hrtime, {
    bigint: () => {
      const machine = machines.getStore();
      return machine === undefined ? realHrtime.bigint() : nanoseconds(machine);
    },
  });
  const realRandom = Math.random;
  Math.random = () => {
    const machine = machines.getStore();
    return machine === undefined ? realRandom() : machine.bits() / 2 ** 32;
  };
}

/**
 * Counts ticks, and notes when files are asked for: the world goes on when the machine has nothing left to do. Folders are
 * not opened (`opendir`): what is read of them would not be noted.
 */
function watchMachine(): void {
  const { nextTick } = process;
  const countedTick = (...given: unknown[]): void => {
    activity.ticks += 1;
    Reflect.apply(nextTick, process, given);
  };
  Object.assign(process, { nextTick: countedTick });
  const promises = load('node:fs/promises');
  for (const files of [load('node:fs'), promises]) noteCalls(files, Object.keys(files));
  const { open } = promises;
  let isKindNoted = false;
  promises.open = async (...given: unknown[]): Promise<unknown> => {
    const handle = await open(...given);
    const kind = Object.getPrototypeOf(handle);
    if (!isKindNoted) noteCalls(kind, Object.getOwnPropertyNames(kind));
    isKindNoted = true;
    // Each has this one as its own.
    noteCalls(handle, ['close']);
    return handle;
  };
  answerAtOnce(promises);
}

function noteCalls(files: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const call = Object.getOwnPropertyDescriptor(files, name)?.value;
    if (typeof call !== 'function' || name.endsWith('Sync') || !/^(?!constructor$)[a-z]/.test(name)) continue;
    const noted = function (this: unknown, ...given: unknown[]): unknown {
      activity.hasAskedForFiles = true;
      return Reflect.apply(call, this, given);
    };
    Object.defineProperties(noted, Object.getOwnPropertyDescriptors(call));
    files[name] = noted;
  }
}

/** What gateways ask of files again and again: a thread would take no simulated time either, and the world would wait for it. */
function answerAtOnce(promises: Record<string, (...given: unknown[]) => unknown>): void {
  const files = load('node:fs');
  for (const name of ['readdir', 'stat'] as const) {
    const byThread = promises[name];
    promises[name] = async (...given) =>
      machines.getStore() === undefined ? byThread?.(...given) : files[`${name}Sync`](...given);
  }
}

replaceTimers();
replaceTime();
watchMachine();
replaceCrypto();
syncBuiltinESMExports();

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, test } from 'node:test';
import { StartupError } from './errors.ts';
import { startSurfaces } from './lifecycle.ts';
import type { Surface } from './part.ts';
import { silentLog } from './testing.ts';

/** A process whose signals and exit are seen, not done. */
class FakeHost extends EventEmitter<{ SIGINT: []; SIGTERM: []; exit: [number] }> {
  exit(code: number): void {
    this.emit('exit', code);
  }
}

/** A surface that writes down what is done to it. */
function recorded(name: string, journal: string[], change: Partial<Surface> = {}): Surface {
  const note = (what: string) => async () => {
    journal.push(`${what} ${name}`);
  };
  const drain = async () => {
    journal.push(`drain ${name}`);
    return true;
  };
  return { name, url: '', start: note('start'), drain, stop: note('stop'), ...change };
}

function options(host: FakeHost, times: { drainTimeoutMs?: number; timeoutMs?: number } = {}) {
  return { log: silentLog, host, drainTimeoutMs: 60_000, timeoutMs: 120_000, ...times };
}

describe('the life of the program', () => {
  test('starts in order; a signal drains all, stops in the opposite order and exits with 0', async () => {
    const journal: string[] = [];
    const host = new FakeHost();
    const running = await startSurfaces([recorded('a', journal), recorded('b', journal)], options(host));
    const exited = once(host, 'exit');
    host.emit('SIGTERM');
    await running.stopped;
    assert.deepEqual(await exited, [0]);
    assert.deepEqual(journal, ['start a', 'start b', 'drain b', 'drain a', 'stop b', 'stop a']);
    assert.equal(host.listenerCount('SIGTERM') + host.listenerCount('SIGINT'), 0);
  });

  test('drains what leans on others first, within one time for all', async () => {
    const journal: string[] = [];
    const busy = Promise.withResolvers<void>();
    const given: number[] = [];
    const noted = (name: string, work: () => Promise<void>) =>
      recorded(name, journal, {
        async drain(timeoutMs) {
          journal.push(`drain ${name}`);
          given.push(timeoutMs);
          await work();
          journal.push(`drained ${name}`);
          return true;
        },
      });
    const surfaces = [noted('gateway', async () => {}), noted('router', () => busy.promise)];
    const running = await startSurfaces(surfaces, options(new FakeHost(), { drainTimeoutMs: 60_000 }));
    const stopping = running.stop();
    for (let round = 0; round < 5; round += 1) await new Promise(setImmediate);
    assert.deepEqual(journal.slice(2), ['drain router'], 'the gateway still takes its questions');
    busy.resolve();
    await stopping;
    assert.deepEqual(journal.slice(2, 6), [
      'drain router',
      'drained router',
      'drain gateway',
      'drained gateway',
    ]);
    assert.ok(given.every((time) => time > 0 && time <= 60_000));
  });

  test('one that does not get done keeps the others from draining for half of the time only', async () => {
    const journal: string[] = [];
    const given: number[] = [];
    const hanging = (timeoutMs: number) =>
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), timeoutMs));
    const drain = async (timeoutMs: number) => {
      given.push(timeoutMs);
      return true;
    };
    const surfaces = [recorded('a', journal, { drain }), recorded('b', journal, { drain: hanging })];
    const running = await startSurfaces(surfaces, options(new FakeHost(), { drainTimeoutMs: 400 }));
    await running.stop();
    assert.equal(given.length, 1);
    assert.ok((given[0] ?? 0) <= 201, `${given[0]} ms are left`);
  });

  test('a start that fails stops what was started, itself included, and nothing later begins', async () => {
    const journal: string[] = [];
    const failing = recorded('b', journal, {
      start: () => Promise.reject(new StartupError('port 1 is taken')),
    });
    const surfaces = [recorded('a', journal), failing, recorded('c', journal)];
    await assert.rejects(startSurfaces(surfaces, options(new FakeHost())), {
      name: 'StartupError',
      message: 'port 1 is taken',
    });
    assert.deepEqual(journal, ['start a', 'drain b', 'drain a', 'stop b', 'stop a']);
  });

  test('an unexpected start failure names its surface and keeps its cause', async () => {
    const cause = new TypeError('oops');
    const surfaces = [recorded('upload', [], { start: () => Promise.reject(cause) })];
    await assert.rejects(startSurfaces(surfaces, options(new FakeHost())), {
      message: 'upload did not start: oops',
      cause,
    });
  });

  test('a second signal exits at once', async () => {
    const host = new FakeHost();
    const held = Promise.withResolvers<boolean>();
    await startSurfaces([recorded('a', [], { drain: () => held.promise })], options(host));
    host.emit('SIGINT');
    const exited = once(host, 'exit');
    host.emit('SIGINT');
    assert.deepEqual(await exited, [1]);
    held.resolve(true);
  });

  test('a drain that had to cut requests exits with 1, once everything is stopped', async () => {
    const journal: string[] = [];
    const host = new FakeHost();
    const cut = recorded('a', journal, { drain: async () => false });
    const running = await startSurfaces([cut, recorded('b', journal)], options(host));
    const exited = once(host, 'exit');
    host.emit('SIGTERM');
    assert.deepEqual(await exited, [1]);
    await running.stopped;
    assert.deepEqual(journal.slice(2), ['drain b', 'stop b', 'stop a']);
  });

  test('a stop that hangs is ended by force', async () => {
    const host = new FakeHost();
    const hanging = recorded('a', [], { stop: () => new Promise(() => {}) });
    await startSurfaces([hanging], options(host, { drainTimeoutMs: 1, timeoutMs: 20 }));
    const exited = once(host, 'exit');
    const alive = setInterval(() => {}, 5);
    host.emit('SIGTERM');
    assert.deepEqual(await exited, [1]);
    clearInterval(alive);
  });

  test('a surface that fails to drain or stop does not keep the others from it', async () => {
    const journal: string[] = [];
    const broken = recorded('b', journal, {
      drain: () => Promise.reject(new Error('drain')),
      stop: () => Promise.reject(new Error('stop')),
    });
    const running = await startSurfaces([recorded('a', journal), broken], options(new FakeHost()));
    await running.stop();
    assert.deepEqual(journal, ['start a', 'start b', 'drain a', 'stop a']);
  });

  test('a signal during the start keeps later surfaces from starting', async () => {
    const journal: string[] = [];
    const host = new FakeHost();
    const started = Promise.withResolvers<void>();
    const slow = recorded('a', journal, { start: () => started.promise });
    const starting = startSurfaces([slow, recorded('b', journal)], options(host));
    const exited = once(host, 'exit');
    host.emit('SIGTERM');
    started.resolve();
    await (await starting).stopped;
    assert.deepEqual(await exited, [0]);
    assert.deepEqual(journal, ['drain a', 'stop a']);
  });
});

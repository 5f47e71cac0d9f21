import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { rememberingLog, silentLog } from '../testing.ts';
import {
  createPool,
  type Pool,
  PoolBusy,
  PoolClosed,
  type PoolOptions,
  TaskFailed,
  ThreadDied,
} from './pool.ts';

const module = new URL(`./testing-tasks${extname(import.meta.filename)}`, import.meta.url);
type Tasks = typeof import('./testing-tasks.ts');

const open: Pool<Tasks>[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

function pool(options: Partial<PoolOptions> = {}): Pool<Tasks> {
  const made = createPool<Tasks>({ module, size: 2, maxQueued: 10, log: silentLog, ...options });
  open.push(made);
  return made;
}

/** A task that is running until `let go` is called. */
function held(target: Pool<Tasks>): { result: Promise<number>; letGo: () => void } {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return {
    result: target.run('hold', cell),
    letGo() {
      Atomics.store(cell, 0, 1);
      Atomics.notify(cell, 0);
    },
  };
}

describe('the pool', { timeout: 300_000 }, () => {
  test('runs tasks on threads, started only when there is work', async () => {
    const threads = pool();
    assert.equal(threads.threads, 0);
    assert.equal(await threads.run('double', 21), 42);
    assert.equal(threads.threads, 1);
    const doubled: number[] = await Promise.all([1, 2, 3, 4, 5].map((value) => threads.run('double', value)));
    assert.deepEqual(doubled, [2, 4, 6, 8, 10]);
    assert.ok(threads.threads <= 2);
  });

  test('moves buffers instead of copying them, both ways', async () => {
    const buffer = new Uint8Array(1024);
    const filled = await pool().run('fill', { buffer, value: 7 }, [buffer.buffer]);
    assert.equal(buffer.byteLength, 0);
    assert.ok(filled.length === 1024 && filled.every((byte) => byte === 7));
  });

  test('a task that throws fails alone, with its own words', async () => {
    const threads = pool({ size: 1 });
    await assert.rejects(threads.run('refuse', 'too large'), (error) => {
      assert.ok(error instanceof TaskFailed);
      assert.deepEqual([error.message, error.errorName], ['too large', 'RangeError']);
      assert.match(error.stack ?? '', /testing-tasks/);
      return true;
    });
    assert.equal(await threads.run('double', 1), 2);
    assert.equal(threads.threads, 1);
  });

  test('what cannot be cloned fails its task, not the thread', async () => {
    const threads = pool({ size: 1 });
    await assert.rejects(threads.run('unclonable', null), TaskFailed);
    const bad: object = { buffer: () => {}, value: 1 };
    await assert.rejects(Reflect.apply(threads.run, threads, ['fill', bad]), { name: 'DataCloneError' });
    assert.equal(await threads.run('double', 2), 4);
  });

  test('a name that the module has not is a failure', async () => {
    await assert.rejects(Reflect.apply(pool().run, undefined, ['missing', 1]), /no task "missing"/);
  });
});

describe('back-pressure', { timeout: 300_000 }, () => {
  test('when as many wait as may wait, another is refused and nothing is lost', async () => {
    const threads = pool({ size: 1, maxQueued: 2 });
    const first = held(threads);
    const rest = [1, 2, 3].map((value) => threads.run('double', value));
    assert.equal(threads.waiting, 2);
    await assert.rejects(threads.run('double', 9), PoolBusy);
    first.letGo();
    assert.equal(await first.result, 1);
    assert.deepEqual(await Promise.all(rest), [2, 4, 6]);
    assert.equal(await threads.run('double', 9), 18);
  });

  test('without a queue, threads are still given work', async () => {
    const threads = pool({ size: 1, maxQueued: 0 });
    assert.equal(await threads.run('double', 4), 8);
  });
});

describe('crashes', { timeout: 300_000 }, () => {
  test('a thread that dies fails its running task; the task behind it runs on a new thread', async () => {
    const { log, lines } = rememberingLog();
    const threads = pool({ size: 1, log });
    const [dying, next, later] = [threads.run('die', 3), threads.run('double', 5), threads.run('double', 6)];
    await assert.rejects(dying, ThreadDied);
    assert.deepEqual(await Promise.all([next, later]), [10, 12]);
    assert.equal(threads.threads, 1);
    assert.deepEqual(
      lines.map((line) => line.msg),
      ['a pool thread died'],
    );
  });

  test('a task whose buffers went down with the thread fails instead of running without them', async () => {
    const threads = pool({ size: 1 });
    const buffer = new Uint8Array(8);
    const dying = threads.run('die', 1);
    const lost = threads.run('fill', { buffer, value: 1 }, [buffer.buffer]);
    await assert.rejects(dying, ThreadDied);
    await assert.rejects(lost, ThreadDied);
    assert.equal(await threads.run('double', 1), 2);
  });

  test('many crashes among many tasks fail exactly the tasks that crash', async () => {
    const threads = pool({ size: 2, maxQueued: 1_000 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        index % 20 === 7 ? threads.run('die', 1) : threads.run('double', index),
      ),
    );
    outcomes.forEach((outcome, index) => {
      assert.equal(outcome.status, index % 20 === 7 ? 'rejected' : 'fulfilled', String(index));
      if (outcome.status === 'fulfilled') assert.equal(outcome.value, index * 2);
    });
  });

  test('a task that never ends takes its thread down after its time, not the others', async () => {
    const threads = pool({ size: 2, taskTimeoutMs: 1_000 });
    const endless = held(threads);
    assert.equal(await threads.run('double', 1), 2);
    await assert.rejects(endless.result, (error) => {
      assert.ok(error instanceof ThreadDied);
      assert.match(error.message, /longer than 1000 ms/);
      return true;
    });
    assert.equal(await threads.run('double', 2), 4);
  });

  test('a module that cannot be loaded fails the tasks, each with the reason', async () => {
    const threads = pool({ module: new URL('./no-such-module.ts', import.meta.url) });
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(threads.run('double', 1), /no-such-module/);
    }
  });
});

describe('the end', { timeout: 300_000 }, () => {
  test('closing fails what runs and what waits, and refuses what comes after', async () => {
    const threads = pool({ size: 1 });
    const tasks = [held(threads).result, threads.run('double', 1), threads.run('double', 2)];
    const settled = Promise.allSettled(tasks);
    await threads.close();
    for (const outcome of await settled) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof PoolClosed);
    }
    await assert.rejects(threads.run('double', 1), PoolClosed);
    assert.equal(threads.threads, 0);
  });

  test('idle threads do not keep the process alive, running ones do', async () => {
    const source = `
      import { createPool } from ${JSON.stringify(new URL(`./pool${extname(import.meta.filename)}`, import.meta.url).href)};
      const log = { error() {} };
      const pool = createPool({ module: new URL(${JSON.stringify(module.href)}), size: 2, maxQueued: 9, log });
      await pool.run('double', 1);
      pool.run('spin', 50).then(() => console.log('finished'));
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, 'close');
    assert.deepEqual([code, output], [0, 'finished\n']);
  });
});

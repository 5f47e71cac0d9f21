import assert from 'node:assert/strict';
import { extname } from 'node:path';
import { test } from 'node:test';
import { createLogger } from '../log.ts';
import { createPool } from './pool.ts';

const module = new URL(`./testing-tasks${extname(import.meta.filename)}`, import.meta.url);
const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
type Tasks = typeof import('./testing-tasks.ts');

test('a task runs on a thread and answers with its value', async () => {
  const pool = createPool<Tasks>({ module, size: 2, maxQueued: 10, log });
  try {
    const doubled: number[] = await Promise.all([1, 2, 3, 4, 5].map((value) => pool.run('double', value)));
    assert.deepEqual(doubled, [2, 4, 6, 8, 10]);
    assert.equal(pool.threads, 2);
  } finally {
    await pool.close();
  }
});

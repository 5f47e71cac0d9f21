import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { until } from '../support/local-gateway.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

describe('turnpike start gateway --workers 2', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack({ only: ['gateway', '--workers', '2'] });
  });
  after(() => stack.stop());

  /** A connection of its own each time, so that the next may reach another process. */
  async function ask(path: string): Promise<{ status: number; text: string }> {
    const answer = await request(`${stack.urls.gateway}${path}`, { reset: true });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
  const importedIn = (text: string): number[] =>
    [...text.matchAll(/^blocks_imported_total\{worker="\d"\} (\d+)$/gm)].map(([, count]) => Number(count));
  const workers = (): number[] => {
    const { pid } = stack.process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  };

  test('both processes answer, on one index that one of them fills', async () => {
    await (await request(`${stack.urls.arweave}/mine/3`)).body.dump();
    for (let seen = 0; seen < 20; ) seen = (await ask('/height')).text === '3' ? seen + 1 : 0;
    // Figures of a process that does not tell them in time are left out.
    const text = await until('both tell their figures', async () => {
      const answer = await ask('/gw/__gateway_metrics');
      const told = [0, 1].every((worker) => answer.text.includes(`{worker="${worker}"`));
      return told && importedIn(answer.text).reduce((sum, count) => sum + count, 0) >= 4 && answer.text;
    });
    for (const worker of [0, 1]) {
      const served = `http_request_duration_seconds_count\\{worker="${worker}",route="/height".*\\} [1-9]`;
      assert.match(text, new RegExp(served), `worker ${worker} answered`);
    }
    assert.deepEqual(importedIn(text).sort(), [0, 4], 'each block was imported once');
  });

  test('followers of events are told the same by both, whichever imports', async () => {
    const followers = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const url = `${stack.urls.gateway}/gw/events?types=block.new`;
        const { body } = await request(url, { reset: true });
        let text = '';
        body.setEncoding('utf8').on('data', (more: string) => {
          text += more;
        });
        body.on('error', () => {});
        return { read: () => /^data: .*$/m.exec(text)?.[0], leave: () => body.destroy() };
      }),
    );
    await until('both have followers', async () => {
      const { text } = await ask('/gw/__gateway_metrics');
      return [0, 1].every((worker) =>
        new RegExp(`^events_readers\\{worker="${worker}"\\} [1-8]$`, 'm').test(text),
      );
    });
    await (await request(`${stack.urls.arweave}/mine`)).body.dump();
    await until('all are told', () => followers.every(({ read }) => read() !== undefined));
    assert.equal(new Set(followers.map(({ read }) => read())).size, 1, 'with one id');
    for (const { leave } of followers) leave();
  });

  test('a process that dies is replaced, and the other answers meanwhile', async () => {
    const [victim = 0] = workers();
    process.kill(victim, 'SIGKILL');
    for (let replaced = false; !replaced; ) {
      // Connections that waited for the victim are reset; a new one reaches the other.
      const answer = await ask('/gw/__gateway_metrics').catch(() => undefined);
      if (answer === undefined) continue;
      assert.equal(answer.status, 200);
      const { text } = answer;
      const alive = [...text.matchAll(/^process_start_time_seconds\{/gm)].length;
      replaced = alive === 2 && !workers().includes(victim);
      await sleep(50);
    }
    await until('the log tells', async () => stack.log().includes('a worker died and is replaced'));
  });

  test('SIGTERM ends all of them', async () => {
    const running = workers();
    assert.equal(running.length, 2);
    assert.equal(await stack.end('SIGTERM'), 0);
    for (const pid of running) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});

test('a number that is none, or another surface, is refused', () => {
  for (const args of [
    ['gateway', '--workers', '0'],
    ['gateway', '--workers', '1e1'],
    ['--workers', '2'],
    ['upload', '--workers', '2'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, ['bin/turnpike.js', 'start', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 64, args.join(' '));
    assert.match(stderr, /^--workers /);
  }
});

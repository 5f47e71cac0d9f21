/** Test runs that are killed, or forget to stop their network, leave nothing behind. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { isGone } from '../support/is-gone.ts';

async function miniature(...args: string[]): Promise<{ run: ChildProcess; url: string; dataDir: string }> {
  const run = spawn(process.execPath, [resolve(import.meta.dirname, '../support/kit-process.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await Promise.race([
    once(createInterface({ input: run.stdout }), 'line'),
    once(run, 'exit'),
  ]);
  const { url, dataDir }: Record<string, string> = JSON.parse(String(line));
  return { run, url: url ?? '', dataDir: dataDir ?? '' };
}

test('a killed test run leaves neither a process nor a folder', async () => {
  const { run, url, dataDir } = await miniature('wait');
  assert.equal(await isGone(url), false);
  run.kill('SIGKILL');
  await eventually('the program is gone', () => isGone(url));
  await eventually('its folder is gone', () => !existsSync(dataDir));
});

for (const run of ['process', 'thread']) {
  test(`a test run that forgets to stop it ends, and leaves nothing (${run})`, async () => {
    const forgetful = await miniature('end', run);
    if (forgetful.run.exitCode === null) await once(forgetful.run, 'exit');
    assert.equal(forgetful.run.exitCode, 0);
    await eventually('the program is gone', () => isGone(forgetful.url));
    await eventually('its folder is gone', () => !existsSync(forgetful.dataDir));
  });
}

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { freePorts } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

test('the packed package installs in an empty folder and starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-pack-'));
  try {
    execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: root, stdio: 'ignore' });
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
    assert.ok(tarball !== undefined);
    execFileSync('npm', ['init', '-y'], { cwd: folder, stdio: 'ignore' });
    execFileSync('npm', ['install', '--no-audit', '--no-fund', `./${tarball}`], {
      cwd: folder,
      stdio: 'ignore',
    });
    const installed = readdirSync(join(folder, 'node_modules/@turnpike-network/turnpike'), {
      recursive: true,
    }).map(String);
    assert.deepEqual(
      installed.filter((file) => /\.test\.|testing/.test(file)),
      [],
      'no test module and no test key is shipped',
    );
    const child = spawn(process.execPath, ['node_modules/.bin/turnpike', 'start', '--json'], {
      cwd: folder,
      env: { ...process.env, ...freePorts(), LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    assert.match(String(line), /"name":"arweave"/);
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findAddress, findProcesses, runFile } from './run-file.ts';

const addresses = [{ name: 'gateway', url: 'http://127.0.0.1:4000', what: 'content' }];

test('what runs on a folder is found while it runs, and not after', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-run-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  assert.deepEqual(findProcesses(dataDir), { running: [], gone: [] });

  const file = runFile({ DATA_DIR: dataDir, WORLD: 'local' }, () => addresses);
  await file.start();
  const [running, ...others] = findProcesses(dataDir).running;
  assert.equal(running?.pid, process.pid);
  assert.equal(running?.world, 'local');
  assert.deepEqual(running?.addresses, addresses);
  assert.deepEqual(others, []);
  assert.equal(findAddress(dataDir, 'gateway'), 'http://127.0.0.1:4000');
  assert.equal(findAddress(dataDir, 'router'), undefined);

  await file.stop();
  assert.deepEqual(findProcesses(dataDir), { running: [], gone: [] });
  assert.deepEqual(readdirSync(join(dataDir, 'run')), []);
});

test('what a killed process left counts as gone, whoever has its id now, and the next start removes it', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-run-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const file = runFile({ DATA_DIR: dataDir, WORLD: 'local' }, () => addresses);
  await file.start();
  await file.stop();
  const left = JSON.stringify({
    pid: process.ppid,
    addresses,
    startedAt: '2020',
    version: '1',
    world: 'local',
  });
  writeFileSync(join(dataDir, 'run', `${process.ppid}.json`), left);
  writeFileSync(join(dataDir, 'run', `${process.ppid}.json.lock`), '');
  assert.deepEqual(findProcesses(dataDir), { running: [], gone: [process.ppid] });
  assert.equal(findAddress(dataDir, 'gateway'), undefined);
  await file.start();
  assert.deepEqual(findProcesses(dataDir).gone, []);
  await file.stop();
});

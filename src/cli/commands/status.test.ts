import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runFile } from '../run-file.ts';
import { status } from './status.ts';

test('tells what is wrong with a service that serves, and only one that does not is a failure', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-status-'));
  const answers = { plain: 200, strict: 503 };
  const server = createServer((request, response) => {
    const isStrict = request.url?.endsWith('?strict=true') === true;
    response.statusCode = isStrict ? answers.strict : answers.plain;
    response.end(response.statusCode === 200 ? 'OK' : 'No node answers.\nWallet runs dry.');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const running = runFile({ DATA_DIR: folder, WORLD: 'local' }, () => [
    { name: 'upload', url, what: 'uploads' },
  ]);
  await running.start();
  const { DATA_DIR } = process.env;
  process.env.DATA_DIR = folder;
  t.after(async () => {
    if (DATA_DIR === undefined) delete process.env.DATA_DIR;
    else process.env.DATA_DIR = DATA_DIR;
    await running.stop();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = async () => {
    const lines: unknown[] = [];
    const log = t.mock.method(console, 'log', (line: unknown) => void lines.push(line));
    const code = await status.run([]);
    log.mock.restore();
    return { code, out: lines.join('\n') };
  };

  const dry = await run();
  assert.equal(dry.code, 0);
  assert.match(
    dry.out,
    /^ {2}upload {2}\S+ {2}healthy\n +but: No node answers\.\n +but: Wallet runs dry\.$/m,
  );
  answers.strict = 200;
  const well = await run();
  assert.equal(well.code, 0);
  assert.doesNotMatch(well.out, /but:/);
  answers.plain = 503;
  const away = await run();
  assert.equal(away.code, 1);
  assert.match(away.out, / {2}No node answers\.; Wallet runs dry\.$/m);
});

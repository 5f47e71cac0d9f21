/** `turnpike local` against a stack as a person starts it, and a stack that is stopped while it changes. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CommandResult, startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-local-command-'));
let stack: RunningStack;
const commands = startCommands();

before(async () => {
  stack = await startStack({ dataDir: join(folder, 'data') });
});
after(async () => {
  commands.stop();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const local = (...args: string[]): Promise<CommandResult> =>
  commands.run(['local', ...args], {
    DATA_DIR: join(folder, 'data'),
    LOCAL_ARWEAVE_PORT: new URL(stack.urls.arweave ?? '').port,
  });

const height = async () => Number(await (await fetch(`${stack.urls.arweave}/height`)).text());

describe('turnpike local', () => {
  test('takes the network back and forth', async () => {
    const made = await local('snapshot', 'start', '--json');
    assert.equal(made.code, 0, made.error);
    assert.equal(JSON.parse(made.out).name, 'start');
    const before = await height();
    assert.equal((await local('mine', '3')).out, `height ${before + 3}\n`);
    const moved = await local('advance', '2h', '--json');
    assert.equal(JSON.parse(moved.out).offsetSeconds, 7_200, moved.error);
    const file = join(folder, 'state.turnpike');
    assert.equal((await local('save', file)).code, 0);
    assert.match((await local('revert')).out, /^back to start {2}height/);
    assert.ok((await height()) < before + 3);
    assert.equal((await local('load', file)).code, 0);
    const info = JSON.parse((await local('info', '--json')).out);
    assert.ok(info.height >= before + 3);
    assert.equal(info.clock.offsetSeconds, 7_200);
    assert.equal(info.snapshots[0].name, 'start');
  });

  test('says in a line what it does not do', async () => {
    for (const [args, status, said] of [
      [['revert', 'nothing'], 1, /^There is no snapshot nothing\n$/],
      [['load', join(folder, 'nothing')], 1, /^there is no file /],
      [['advance', 'soon'], 64, /a span is/],
      [['fly'], 64, /there is no "local fly"/],
    ] as const) {
      const { code, error } = await local(...args);
      assert.equal(code, status, error);
      assert.match(error, said);
    }
  });
});

test('nothing is pulled from under another process of the folder', async () => {
  const before = await height();
  const other = await startStack({
    dataDir: join(folder, 'data'),
    only: ['router'],
    environment: { GATEWAY_URL: stack.urls.gateway ?? '' },
  });
  try {
    const answer = await fetch(`${stack.urls.arweave}/local/reset`, { method: 'POST' });
    assert.equal(answer.status, 409);
    assert.match(await answer.text(), new RegExp(`stop them first: ${other.process.pid}`));
    assert.ok((await height()) >= before);
  } finally {
    await other.end();
  }
});

describe('a stack that is stopped while it changes', () => {
  test('exits cleanly and goes on with one of the two states', async () => {
    await local('snapshot', 'end');
    // Answered or cut off, whichever comes first.
    const resetting = fetch(`${stack.urls.arweave}/local/reset`, { method: 'POST' }).catch(() => undefined);
    await fetch(`${stack.urls.arweave}/local/snapshots`);
    assert.equal(await stack.end('SIGTERM'), 0, stack.log());
    await resetting;
    stack = await startStack({ dataDir: join(folder, 'data') });
    assert.ok((await height()) >= 0);
    assert.ok(!existsSync(join(folder, 'data', 'replaced')));
    assert.equal((await fetch(`${stack.urls.gateway}/ar-io/healthcheck`)).status, 200);
  });
});

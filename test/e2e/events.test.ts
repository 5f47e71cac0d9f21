/** Events as a person and a script follow them: the commands of docs/events.md, and what they do when things go wrong. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { type CommandShell, startCommandShell } from '../support/command-shell.ts';
import { freePort } from '../support/free-port.ts';
import { type CommandResult, startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

describe('events', () => {
  let stack: RunningStack;
  let shell: CommandShell;
  const commands = startCommands();
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-events-'));
  const owner = localWallets(1).solana[0]!;

  before(async () => {
    shell = await startCommandShell(commands);
    stack = await startStack({
      environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '100', BUNDLE_MAX_WAIT_MS: '500' },
    });
  });
  after(async () => {
    shell?.stop();
    commands.stop();
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The key of the wallet comes from the environment, as in CI. */
  const turnpike = (...args: string[]): Promise<CommandResult> =>
    commands.run(args, { DATA_DIR: stack.dataDir, TURNPIKE_WALLET: JSON.stringify(owner.bytes) });

  test('the commands of the page run one after the other', async () => {
    const page = readFileSync(join(root, 'docs/events.md'), 'utf8');
    const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    assert.ok(blocks.length >= 5);
    const script = blocks
      .join('\n')
      .replaceAll('http://127.0.0.1:4000', stack.urls.gateway ?? '')
      .replaceAll('8899', String(await freePort()));
    const { code, out, error } = await shell.run(`trap 'kill $RECEIVER 2>/dev/null' EXIT\n${script}`, {
      cwd: folder,
      environment: { DATA_DIR: stack.dataDir },
    });
    assert.equal(code, 0, error);
    assert.match(out, /^\d\d:\d\d:\d\d {2}item\.mined +[\w-]{43} {2}height=\d+/m);
    assert.match(out, /"type":"upload\.receipt"/);
    assert.match(out, /^event: block\.new$/m);
    assert.match(out, /^hook_\S+ {2}active {3}http:\S+\/chain {2}\d+ events/m);
    assert.match(out, /^secret whsec_\S+ \(it is not shown again\)$/m);
    assert.match(out, /^removed$/m);
  });

  test('what makes no sense is refused, in the words of the service where it is the one that refuses', async () => {
    const code = async (...args: string[]) => (await turnpike(...args)).code;
    assert.equal(await code('events', '--count', '0'), 64);
    assert.equal(await code('events', '--filter', '{'), 64);
    assert.equal(await code('events', '--mine', '--filter', '{}'), 64);
    assert.equal(await code('hook'), 64);
    assert.equal(await code('hook', 'show'), 64);
    for (const [words, ...args] of [
      ['400: .*is not a type', 'events', '--types', 'item.eaten'],
      ['400: Invalid cursor', 'events', '--after', 'yesterday'],
      ['400: .*no type', 'events', '--mine', '--types', 'item.new'],
      ['404: No such hook', 'hook', 'show', 'hook_none'],
      ['404: No such hook', 'hook', 'pause', 'hook_none', '--mine'],
      ['400: Invalid hook - url', 'hook', 'add', 'ftp://example.com/'],
      [
        '400: Invalid hook - .*no type',
        'hook',
        'add',
        'http://127.0.0.1:1/',
        '--mine',
        '--types',
        'item.new',
      ],
    ] as const) {
      const { code: exit, error } = await turnpike(...args);
      assert.deepEqual([exit, new RegExp(words).test(error)], [1, true], `${args.join(' ')}: ${error}`);
    }
    const { out } = await turnpike('hook', 'list', '--mine', '--json');
    assert.deepEqual(JSON.parse(out), []);
  });

  test('a hook that fails says why, and is changed, paused and resumed by its wallet', async () => {
    let status = 500;
    const receiver = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end());
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const made = await turnpike('hook', 'add', url, '--mine', '--types', 'credits', '--json');
      assert.equal(made.code, 0, made.error);
      const { id, secret } = JSON.parse(made.out);
      assert.match(secret, /^whsec_/);
      const shown = async () => JSON.parse((await turnpike('hook', 'show', id, '--mine', '--json')).out);
      while ((await shown()).lastStatus !== 500);
      assert.equal((await shown()).lastError, 'it answered 500');
      status = 204;
      const changed = await turnpike('hook', 'change', id, `${url}other`, '--mine', '--description', 'mine');
      assert.match(changed.out, /^url +http:\S+\/other$/m);
      assert.match((await turnpike('hook', 'pause', id, '--mine')).out, /^state +paused$/m);
      assert.match((await turnpike('hook', 'resume', id, '--mine')).out, /^state +active$/m);
      await turnpike('hook', 'ping', id, '--mine');
      while ((await shown()).lastStatus !== 204);
      const { query, description } = await shown();
      assert.deepEqual([query, description], [{ types: ['credits'] }, 'mine']);
      assert.equal((await turnpike('hook', 'list')).out.includes(id), false, 'the operator has others');
      assert.equal((await turnpike('hook', 'remove', id, '--mine')).code, 0);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });
});

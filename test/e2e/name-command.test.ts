import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CommandResult, startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

describe('turnpike name', () => {
  let stack: RunningStack;
  const commands = startCommands();
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-name-'));
  const wallet = join(folder, 'wallet.json');
  const owner = join(folder, 'owner.json');
  before(async () => {
    stack = await startStack();
  });
  after(async () => {
    commands.stop();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs the program as a person does, told where the stack listens. */
  function turnpike(...args: string[]): Promise<CommandResult> {
    const port = (name: string) => new URL(stack.urls[name] ?? '').port;
    return commands.run(args, {
      DATA_DIR: stack.dataDir,
      PAYMENT_PORT: port('payment'),
      UPLOAD_PORT: port('upload'),
      LOCAL_SOLANA_PORT: port('solana'),
      LOCAL_ARWEAVE_PORT: port('arweave'),
    });
  }

  async function opened(host: string): Promise<number> {
    const { port } = new URL(stack.urls.gateway ?? '');
    return new Promise((done, failed) => {
      const headers = { host: `${host}.localhost:${port}` };
      get({ host: '127.0.0.1', port, path: '/', headers }, (answer) => {
        answer.resume();
        done(answer.statusCode ?? 0);
      }).on('error', failed);
    });
  }

  test('a name is priced, bought, pointed, listed and handed over', { timeout: 600_000 }, async () => {
    await turnpike('wallet', 'create', wallet);
    const address = (await turnpike('wallet', 'address', wallet)).out.trim();
    const made = await turnpike('name', 'key', owner);
    assert.equal(made.code, 0, made.error);
    assert.equal(statSync(owner).mode & 0o777, 0o600);
    assert.match((await turnpike('name', 'key', owner)).error, /exists already/);
    const [ownerAddress = ''] = made.out.split('\n');

    assert.match(
      (await turnpike('name', 'price', 'my-first-name')).out,
      /^\d+\.\d+ credits: the name 0\.384, its token/,
    );
    const poor = await turnpike('name', 'buy', 'my-first-name', '--wallet', wallet, '--owner', owner);
    assert.equal(poor.code, 1);
    assert.match(poor.error, /Insufficient balance/);

    assert.equal((await turnpike('ledger', 'credit', address, '20', '--id', 'test')).code, 0);
    const bought = await turnpike('name', 'buy', 'my-first-name', '--wallet', wallet, '--owner', owner);
    assert.equal(bought.code, 0, bought.error);
    assert.match(bought.out, new RegExp(`my-first-name belongs to ${ownerAddress}`));
    assert.match((await turnpike('name', 'list')).out, /^my-first-name {2}until \d{4}-\d\d-\d\d/);
    assert.match((await turnpike('name', 'list', wallet)).out, /^my-first-name/);
    assert.match((await turnpike('name', 'list', owner)).out, /^my-first-name/);

    for (const key of [wallet, owner]) {
      const told = await turnpike(
        'events',
        '--wallet',
        key,
        '--after',
        '0',
        '--types',
        'name.bought',
        '--count',
        '1',
        '--json',
      );
      assert.equal(told.code, 0, told.error);
      const { type, data } = JSON.parse(told.out);
      assert.deepEqual([type, data.name, data.owner], ['name.bought', 'my-first-name', ownerAddress]);
    }

    const id = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
    const set = await turnpike('name', 'set', 'docs_my-first-name', id, '--wallet', wallet, '--owner', owner);
    assert.equal(set.code, 0, set.error);
    // What it points at is not stored here, so nothing opens; a name nobody has is not found either.
    assert.notEqual(await opened('docs_my-first-name'), 200);

    const where = JSON.parse((await turnpike('name', 'where', 'docs_my-first-name', '--json')).out);
    assert.deepEqual([where.target, where.stale], [id, []]);
    assert.deepEqual([where.gateways[0]?.state, where.gateways[0]?.target], ['current', id]);
    assert.match(
      (await turnpike('name', 'where', 'nobody-has-it')).out,
      /points at nothing\n.* shows nothing$/m,
    );

    const own = ['--wallet', wallet, '--owner', owner];
    const said = async (words: RegExp, ...args: string[]): Promise<void> => {
      const { code, out, error } = await turnpike('name', ...args, ...own);
      assert.equal(code, 0, error);
      assert.match(out, words);
    };
    const shown = async (which: string) => JSON.parse((await turnpike('name', 'show', which, '--json')).out);
    assert.equal((await shown('docs_my-first-name')).ttlSeconds, 900, 'readers keep a name for so long');
    const lease = await shown('my-first-name');
    await said(/is leased for 2 more years/, 'extend', 'my-first-name', '--years', '2');
    await said(/has room for 5 more undernames/, 'limit', 'my-first-name', '--by', '5');
    await said(/is described/, 'describe', 'my-first-name', '--title', 'Mine', '--keywords', 'a,b');
    const service = lease.controllers.find((one: string) => one !== ownerAddress);
    await said(/may no longer be set by the service/, 'controller', 'my-first-name', 'remove');
    assert.ok(!(await shown('my-first-name')).controllers.includes(service));
    await said(/may be set by .* too/, 'controller', 'my-first-name', 'add', service);
    await said(/docs_my-first-name points nowhere/, 'remove', 'docs_my-first-name');
    const now = await shown('my-first-name');
    assert.equal(Date.parse(now.until) - Date.parse(lease.until), 2 * 365 * 86_400_000);
    assert.equal(now.undernameLimit, lease.undernameLimit + 5);
    assert.ok(now.controllers.includes(service));
    assert.deepEqual(now.undernames, []);
    await said(/is permanent/, 'upgrade', 'my-first-name');
    assert.equal((await shown('my-first-name')).until, null);
    assert.match((await turnpike('name', 'show', 'my-first-name')).out, /^until +for ever$/m);

    const friend = join(folder, 'friend.json');
    const [friendAddress = ''] = (await turnpike('name', 'key', friend)).out.split('\n');
    const moved = await turnpike(
      'name',
      'transfer',
      'my-first-name',
      friend,
      '--wallet',
      wallet,
      '--owner',
      owner,
    );
    assert.match(moved.out, new RegExp(`belongs to ${friendAddress}`), moved.error);
    const late = await turnpike('name', 'set', 'my-first-name', id, '--wallet', wallet, '--owner', owner);
    assert.match(late.error, /Invalid or unbound signature/);
  });

  test('wrong arguments are told in a line', async () => {
    for (const [args, words] of [
      [['name'], /there is no "name "/],
      [['name', 'sell'], /there is no "name sell"/],
      [['name', 'price'], /say which name/],
      [['name', 'price', 'Not A Name'], /cannot be a name/],
      [['name', 'price', 'x', '--years', '6'], /--years is 1 to 5/],
      [['name', 'buy', 'x'], /--wallet is missing/],
      [['name', 'extend', 'docs_x'], /docs_x is an undername/],
      [['name', 'limit', 'x'], /say how many more/],
      [['name', 'describe', 'x'], /say what: --title/],
      [['name', 'controller', 'x', 'ask'], /say "add" or "remove"/],
      [['name', 'show', 'x', 'y', 'z'], /too much at once/],
      [['name', 'set', 'x'], /say what the name shall point at/],
      [['name', 'transfer', 'x'], /say to whom/],
    ] as const) {
      const { code, error } = await turnpike(...args);
      assert.equal(code, 64, args.join(' '));
      assert.match(error, words);
    }
  });
});

/** `turnpike deploy` as a person and a script run it: only what is new is sent and paid, and the name leads to it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { type CommandShell, runScript, startCommandShell } from '../support/command-shell.ts';
import { program } from '../support/program.ts';
import { type CommandResult, runCommand, startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

interface Deployed {
  readonly id: string;
  readonly url: string;
  readonly newFiles: number;
  readonly newItems: number;
  readonly newBytes: number;
  readonly winc: string;
  readonly storageWinc: string;
  readonly balance: string;
}

const root = resolve(import.meta.dirname, '../..');

describe('turnpike deploy', () => {
  let stack: RunningStack;
  let many: CommandShell;
  const commands = startCommands();
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-deploy-'));
  const site = join(folder, 'site');
  const { solana, ethereum, arweave } = localWallets(3);
  const owner = solana[0]!;
  const name = 'my-site';

  before(async () => {
    mkdirSync(join(site, 'assets'), { recursive: true });
    writeFileSync(join(site, 'index.html'), '<h1>first</h1>');
    // Larger than what is free.
    writeFileSync(join(site, 'assets', 'picture.png'), Buffer.alloc(200_000, 7));
    writeFileSync(join(site, 'assets', 'copy.png'), Buffer.alloc(200_000, 7));
    stack = await startStack({
      environment: {
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '100',
        BUNDLE_MAX_WAIT_MS: '200',
        BUNDLE_POLL_MS: '50',
      },
    });
    many = await startCommandShell(commands);
    const bought = await turnpike('name', 'buy', name);
    assert.equal(bought.code, 0, bought.error);
  });
  after(async () => {
    many?.stop();
    commands.stop();
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Keys come from the environment, as in CI: the owner of the name pays. */
  function turnpike(...args: string[]): Promise<CommandResult> {
    return commands.run(args, { DATA_DIR: stack.dataDir, TURNPIKE_WALLET: JSON.stringify(owner.bytes) });
  }
  const deployed = async (...args: string[]): Promise<Deployed> => {
    const { code, out, error } = await turnpike('deploy', site, '--json', ...args);
    assert.equal(code, 0, error);
    return JSON.parse(out);
  };
  const balance = async (address: string): Promise<bigint> => {
    const answer = await fetch(`${stack.urls.payment}/v1/account/balance?address=${address}`);
    return BigInt(answer.status === 404 ? 0 : ((await answer.json()) as { winc: string }).winc);
  };
  const shownId = async (host: string): Promise<string> => {
    const answer = await fetch(`${stack.urls.gateway}/ar-io/resolver/${host}`);
    return ((await answer.json()) as { txId: string }).txId;
  };

  test('what a dry run tells is charged, what did not change is not sent, and the name leads to it', async () => {
    const planned = await deployed('--name', name, '--dry-run');
    assert.deepEqual([planned.newFiles, planned.newItems], [3, 3], 'the copy is the same item');
    const before = await balance(owner.address);
    assert.equal(before, BigInt(planned.balance), 'a dry run costs nothing');

    const first = await deployed('--name', name);
    assert.equal(first.id, planned.id);
    assert.equal(first.winc, planned.winc);
    assert.ok(BigInt(first.storageWinc) > 0n);
    assert.equal(before - (await balance(owner.address)), BigInt(planned.winc), 'to the winc');
    assert.equal(await shownId(name), first.id);

    const second = await deployed('--name', name);
    assert.deepEqual([second.newBytes, second.newItems, second.winc], [0, 0, '0']);
    assert.equal(second.id, first.id);

    writeFileSync(join(site, 'index.html'), '<h1>First</h1>');
    const third = await deployed('--name', name);
    assert.deepEqual([third.newFiles, third.newItems], [1, 2], 'the file and the manifest');
    assert.notEqual(third.id, first.id);
    assert.equal(await shownId(name), third.id);
  });

  test('people read what is new, what it costs and what they have', async () => {
    const { code, out, error } = await turnpike(
      'deploy',
      site,
      '--name',
      `docs_${name}`,
      '--fallback',
      'index.html',
    );
    assert.equal(code, 0, error);
    assert.match(out, /^ {2}new +0 files and the manifest, .* bytes$/m);
    assert.match(out, /^ {2}unchanged +3 files$/m);
    assert.match(
      out,
      /^ {2}price +0\.\d+ credits to store it, 0\.\d+ to point the name at it \(\d+ winc\)$/m,
    );
    assert.match(out, new RegExp(`^ {2}balance +[\\d.]+ credits of ${owner.address}$`, 'm'));
    assert.match(out, new RegExp(`^docs_${name} points at [\\w-]{43}$`, 'm'));
    assert.match(out, /^http.* shows it$/m);
    const unknown = await fetch(`${stack.urls.gateway}/raw/${out.trim().slice(-43)}`);
    assert.match(await unknown.text(), /"fallback"/);
  });

  test('without credits nothing is sent, and price, balance and the way to more are told', async () => {
    const poor = join(folder, 'poor.json');
    assert.equal((await turnpike('name', 'key', poor)).code, 0);
    writeFileSync(join(site, 'assets', 'more.png'), Buffer.alloc(200_000, 8));
    const { code, error, out } = await turnpike('deploy', site, '--wallet', poor, '--json');
    assert.equal(code, 2);
    assert.match(
      error,
      /[\d.]+ credits are needed, and \w+ has 0\nto get more: turnpike faucet \w+ 1 credits/,
    );
    const told: Deployed = JSON.parse(out);
    const status = await fetch(`${stack.urls.upload}/v1/tx/${told.id}/status`);
    assert.equal(status.status, 404);
  });

  test('keys of every chain sign, from a file or from the environment', async () => {
    const files = {
      'arweave.json': JSON.stringify(arweave[0]!.jwk),
      'ethereum.txt': ethereum[0]!.privateKey,
      'solana.txt': solana[1]!.secretKey,
    };
    const ids = new Set<string>();
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(folder, file), text);
      const { id, url } = await deployed('--wallet', join(folder, file), '--wait', 'permanent');
      ids.add(id);
      assert.equal(url, `${stack.urls.gateway}/${id}`);
      assert.equal((await fetch(`${stack.urls.gateway}/raw/${id}`)).status, 200);
      const status = await fetch(`${stack.urls.upload}/v1/tx/${id}/status`);
      assert.equal(((await status.json()) as { status: string }).status, 'FINALIZED');
    }
    assert.equal(ids.size, 3);
  });

  test('a gateway that does not show the name in time is told, with a code of its own', async () => {
    writeFileSync(join(site, 'index.html'), '<h1>Second</h1>');
    const closed = 'http://127.0.0.1:1';
    const gateways = ['--gateway', stack.urls.gateway ?? '', '--gateway', closed];
    const { code, error } = await turnpike('deploy', site, '--name', name, ...gateways, '--timeout', '1');
    assert.equal(code, 3, error);
    assert.match(error, new RegExp(`^${closed} does not show it yet`, 'm'));
    assert.doesNotMatch(error, new RegExp(`^${stack.urls.gateway}`, 'm'));
  });

  test('broken off by Ctrl-C, it sends only what is left the next time', async (t) => {
    const large = join(folder, 'large');
    mkdirSync(large);
    for (let count = 0; count < 9; count += 1) {
      writeFileSync(join(large, `${count}.bin`), Buffer.alloc(110_000, count));
    }
    const passed = 3;
    const proxy = await holdBack(stack.urls.upload ?? '', passed);
    t.after(proxy.stop);
    const whole: Deployed = JSON.parse((await turnpike('deploy', large, '--dry-run', '--json')).out);
    const before = await balance(owner.address);
    const environment = { DATA_DIR: stack.dataDir, TURNPIKE_WALLET: JSON.stringify(owner.bytes) };
    const first = await runCommand(
      process.execPath,
      [program, 'deploy', large, '--url', proxy.url],
      { cwd: root, env: { ...process.env, ...environment } },
      (child) => void proxy.isHolding.then(() => child.kill('SIGINT')),
    );
    assert.equal(first.code, 130, first.error);
    assert.match(first.error, /broken off: the same command goes on where this one was/);
    const { code, out, error } = await turnpike('deploy', large, '--json');
    assert.equal(code, 0, error);
    const second: Deployed = JSON.parse(out);
    assert.equal(second.newItems, 10 - passed, 'nine files and the manifest');
    const third: Deployed = JSON.parse((await turnpike('deploy', large, '--json')).out);
    assert.deepEqual([third.newItems, third.winc], [0, '0']);
    assert.equal(before - (await balance(owner.address)), BigInt(whole.winc), 'each item was paid once');
  });

  test('what makes no sense is refused before anything is read', async () => {
    const code = async (...args: string[]): Promise<number | null> =>
      (await turnpike('deploy', ...args)).code;
    assert.equal(await code(), 64);
    assert.equal(await code(site, '--name', 'not a name'), 64);
    assert.equal(await code(site, '--wait', 'a while'), 64);
    assert.equal(await code(site, '--undername', 'docs'), 64);
    assert.equal(await code(join(folder, 'nowhere')), 1);
    assert.equal(await code(site, '--name', 'nobody-has-this'), 1);
    const stranger = join(folder, 'stranger.json');
    await turnpike('name', 'key', stranger);
    const refused = await turnpike('deploy', site, '--name', name, '--owner', stranger);
    assert.equal(refused.code, 1);
    assert.match(refused.error, new RegExp(`${name} belongs to ${owner.address}`));
  });

  /** As CI runs it: in a process of its own for each command, or where there are many in one for all. */
  const shell = (
    script: string,
    environment: Readonly<Record<string, string>> = {},
    ownProcesses = false,
  ): Promise<CommandResult> =>
    (ownProcesses ? runScript : many.run)(script, {
      cwd: folder,
      environment: { DATA_DIR: stack.dataDir, ...environment },
    });

  test('the commands of the page run one after the other', async () => {
    const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
    const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    assert.ok(blocks.length >= 4);
    const { code, error, out } = await shell(blocks.join('\n'));
    assert.equal(code, 0, error);
    assert.match(out, /^my-name belongs to \w+$/m);
  });

  test('the action for GitHub deploys, and says what became of it', async () => {
    const action = readFileSync(join(root, 'examples/deploy/github/action.yml'), 'utf8');
    const [, block = ''] = /^ +run: \|\n((?: {8}.*\n|\n)+)/m.exec(action) ?? [];
    const [outputs, summary] = [join(folder, 'outputs'), join(folder, 'summary')];
    const inputs = {
      FOLDER: site,
      NAME: name,
      UPLOAD: stack.urls.upload ?? '',
      PAYMENT: stack.urls.payment ?? '',
      MORE: '--fallback index.html --tag App-Name=my-site',
      TURNPIKE_WALLET: JSON.stringify(owner.bytes),
      TURNPIKE_OWNER: '',
      SOLANA_RPC_URL: stack.urls.solana ?? '',
      GITHUB_OUTPUT: outputs,
      GITHUB_STEP_SUMMARY: summary,
    };
    const { code, error } = await shell(block.replaceAll(/^ {8}/gm, ''), inputs, true);
    assert.equal(code, 0, error);
    const id = await shownId(name);
    assert.match(readFileSync(outputs, 'utf8'), new RegExp(`^id=${id}\nurl=http.*/${id}\n$`));
    assert.match(readFileSync(summary, 'utf8'), /^\d+ new files for \d+ winc/);
  });

  test('the job for GitLab deploys', async () => {
    const job = readFileSync(join(root, 'examples/deploy/gitlab/deploy.gitlab-ci.yml'), 'utf8');
    const [, line = ''] = /^ {2}script:\n {4}- (.*)$/m.exec(job) ?? [];
    const { code, error } = await shell(line, {
      FOLDER: site,
      NAME: `gitlab_${name}`,
      UPLOAD: stack.urls.upload ?? '',
      PAYMENT: stack.urls.payment ?? '',
      TURNPIKE_WALLET: JSON.stringify(owner.bytes),
    });
    assert.equal(code, 0, error);
    assert.equal(
      JSON.parse(readFileSync(join(folder, 'deployed.json'), 'utf8')).id,
      await shownId(`gitlab_${name}`),
    );
  });
});

/** In front of the upload service: lets so many items through, and holds the others. */
async function holdBack(upload: string, passed: number) {
  let [posted, answered] = [0, 0];
  const holding = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    // The command was broken off while it sent.
    if (body === undefined) return;
    const isItem = request.method === 'POST' && request.url?.startsWith('/v1/tx') === true;
    if (isItem) posted += 1;
    if (isItem && posted > passed) return;
    const answer = await fetch(`${upload}${request.url}`, {
      method: request.method ?? 'GET',
      headers: { 'content-type': request.headers['content-type'] ?? 'application/octet-stream' },
      ...(body.length > 0 && { body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(Buffer.from(await answer.arrayBuffer()));
    if (isItem) answered += 1;
    if (answered === passed) holding.resolve();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, isHolding: holding.promise, stop };
}

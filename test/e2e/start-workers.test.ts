import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePort } from '../support/free-port.ts';
import { makeTransaction, until } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

describe('turnpike start gateway --workers 2', () => {
  let stack: RunningStack;
  /** Sells names, and has the ledger that they are on; its router reads from the gateway. */
  let names: RunningStack;
  const commands = startCommands();
  const MODERATION_ADMIN_TOKEN = 'token-of-the-router';
  before(async () => {
    const port = String(await freePort());
    const ADMIN_API_KEY = 'the same for both of them';
    names = await startStack({
      only: ['payment', 'router'],
      environment: {
        ADMIN_API_KEY,
        MODERATION_ADMIN_TOKEN,
        GATEWAY_URL: `http://127.0.0.1:${port}`,
        ANNOUNCE_GATEWAYS: JSON.stringify([{ url: `http://localhost:${port}`, key: ADMIN_API_KEY }]),
      },
    });
    const SOLANA_RPC_URL = names.urls.solana ?? '';
    const environment = { ADMIN_API_KEY, GATEWAY_PORT: port, SOLANA_RPC_URL };
    stack = await startStack({ only: ['gateway', '--workers', '2'], environment });
  });
  after(async () => {
    commands.stop();
    await Promise.all([stack.stop(), names.stop()]);
  });

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

  test('a name that is changed elsewhere shows at once in every process, and in the router', async () => {
    const port = (name: string) => new URL(names.urls[name] ?? '').port;
    const turnpike = async (...args: string[]): Promise<string> => {
      const { code, out, error } = await commands.run(args, {
        DATA_DIR: names.dataDir,
        PAYMENT_PORT: port('payment'),
        LOCAL_SOLANA_PORT: port('solana'),
        LOCAL_ARWEAVE_PORT: port('arweave'),
      });
      assert.equal(code, 0, error);
      return out.trim();
    };
    const file = (name: string) => join(names.dataDir, name);
    const keys = ['--wallet', file('wallet.json'), '--owner', file('owner.json')];
    await turnpike('wallet', 'create', file('wallet.json'));
    const wallet = await turnpike('wallet', 'address', file('wallet.json'));
    await turnpike('ledger', 'credit', wallet, '20', '--id', 'names');
    await turnpike('name', 'key', file('owner.json'));
    const node = stack.urls.arweave ?? '';
    const stored = async (text: string): Promise<string> => {
      const { transaction, post } = await makeTransaction(node, Buffer.from(text), []);
      await post();
      await (await request(`${node}/mine`)).body.dump();
      const id = transaction.id.toString('base64url');
      await until('it is there', async () => (await ask(`/raw/${id}`)).text === text);
      return id;
    };
    const [first, second] = [await stored('first'), await stored('second')];
    await turnpike('name', 'buy', 'over-there', '--target', first, ...keys);
    const shown = async (): Promise<string> => {
      const told = await Promise.all(Array.from({ length: 16 }, () => ask('/gw/resolver/over-there')));
      return [...new Set(told.map(({ text }) => String(JSON.parse(text).txId)))].join();
    };
    const router = async (): Promise<string> => {
      const headers = { host: `over-there.localhost:${port('router')}` };
      const answer = await request(names.urls.router ?? '', { method: 'HEAD', headers });
      return String(answer.headers['x-arns-resolved-id']);
    };
    assert.equal(await shown(), first, 'each process keeps it for 900 seconds');
    await turnpike('name', 'set', 'over-there', second, ...keys);
    assert.deepEqual([await shown(), await router()], [second, second]);
    await turnpike('name', 'set', 'over-there', first, ...keys);
    assert.deepEqual([await shown(), await router()], [first, first]);
    assert.equal((await turnpike('name', 'where', 'over-there')).match(/ shows it$/gm)?.length, 2);
    assert.doesNotMatch(names.log(), /was not told of a changed name/);
    // A router elsewhere is told with its token.
    const tell = async (token: string, body: unknown): Promise<number> => {
      const answer = await request(`${names.urls.router}/router/names/changed`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      await answer.body.dump();
      return answer.statusCode;
    };
    const change = [{ name: 'over-there', undername: '@' }];
    assert.deepEqual([await tell(MODERATION_ADMIN_TOKEN, change), await tell('wrong', change)], [200, 403]);
    assert.equal(await tell(MODERATION_ADMIN_TOKEN, [{ name: 'Not A Name' }]), 400);
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
        const read = (height: number) =>
          new RegExp(`^data: .*"height":${height}[,}].*$`, 'm').exec(text)?.[0];
        return { read, leave: () => body.destroy() };
      }),
    );
    await until('both have followers', async () => {
      const { text } = await ask('/gw/__gateway_metrics');
      return [0, 1].every((worker) =>
        new RegExp(`^events_readers\\{worker="${worker}"\\} [1-8]$`, 'm').test(text),
      );
    });
    const { body } = await request(`${stack.urls.arweave}/mine`);
    const { height } = (await body.json()) as { height: number };
    // Who began before the last block was told there hears of that one too.
    const told = () => followers.map(({ read }) => read(height));
    await until('all are told', () => told().every((line) => line !== undefined));
    assert.equal(new Set(told()).size, 1, 'with one id');
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
    const { status, stderr } = spawnSync(process.execPath, [program, 'start', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 64, args.join(' '));
    assert.match(stderr, /^--workers /);
  }
});

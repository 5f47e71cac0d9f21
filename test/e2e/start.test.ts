import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import type { ConsoleSettings, LiveState } from '../../src/console/api.ts';
import { program } from '../support/program.ts';
import { freePorts, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'turnpike-start-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function heightOf(url: string | undefined): Promise<number> {
  return Number(await (await fetch(`${url}/height`)).text());
}

/** Files and folders that others than their owner may use; Windows has no modes. */
function openToOthers(dataDir: string): string[] {
  if (process.platform === 'win32') return [];
  const paths = readdirSync(dataDir, { recursive: true }).map((path) => join(dataDir, String(path)));
  assert.ok(paths.some((path) => path.endsWith('ledger.db')));
  return [dataDir, ...paths].filter((path) => (statSync(path).mode & 0o077) !== 0);
}

function turnpike(args: string[], environment: Record<string, string> = {}) {
  return spawnSync(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...process.env, DATA_DIR: join(folder, 'cli'), LOG_LEVEL: 'warn', ...environment },
    encoding: 'utf8',
    timeout: 120_000,
  });
}

describe('turnpike start', () => {
  test('two stacks run side by side; what they write is private; a second start continues where the first was', async () => {
    const dataDir = join(folder, 'continued');
    // As loose as it gets: what is written is for the user that runs it alone all the same.
    const umask = process.umask(0);
    const first = await startStack({ dataDir }).finally(() => process.umask(umask));
    const other = await startStack({ only: ['upload'] });
    try {
      await fetch(`${first.urls.arweave}/mine/3`);
      const height = await heightOf(first.urls.arweave);
      assert.ok(height >= 3);
      assert.ok((await heightOf(other.urls.arweave)) < height, 'the other stack has a chain of its own');
      const page = await (await fetch(`${first.urls.admin}/`)).text();
      assert.match(page, /<title>Router<\/title>/, 'the table tells where the admin page is');
      assert.equal(await first.end('SIGINT'), 0, 'Ctrl-C is a clean exit');

      assert.deepEqual(openToOthers(dataDir), []);

      const again = await startStack({ dataDir, only: ['upload'] });
      try {
        assert.ok((await heightOf(again.urls.arweave)) >= height);
      } finally {
        await again.stop();
      }
    } finally {
      await first.stop();
      await other.stop();
    }
  });

  test('what cannot be started with is one line that names its variable', () => {
    const free = freePorts();
    for (const [surface, name, value] of [
      ['payment', 'STATIC_RATES', '{"arweave":{"usd":6}}'],
      ['upload', 'BLOCK_LISTED_ADDRESSES', 'somebody'],
      ['router', 'CONTENT_CACHE_PATH', join(root, 'package.json')],
    ] as const) {
      const { status, stderr } = turnpike(['start', surface], { ...free, LOG_LEVEL: 'error', [name]: value });
      assert.equal(status, 1, name);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.match(stderr, new RegExp(name));
    }
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  );
  test('a stack on IPv6 finds its own parts', { skip: !hasIpv6 && 'no IPv6 here' }, async () => {
    const stack = await startStack({ environment: { HOST: '::1' }, only: ['payment'] });
    try {
      const wallet = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
      const quote = `${stack.urls.payment}/v1/top-up/checkout-session/${wallet}/usd/1000`;
      assert.equal((await fetch(quote)).status, 200, 'the card provider was asked');
    } finally {
      await stack.stop();
    }
  });

  test('a console alone brings nothing along, and says of services that are away just that', async () => {
    const away = 'http://127.0.0.1:9';
    const environment = { GATEWAY_URL: away, PAYMENT_URL: away, UPLOAD_URL: away, ROUTER_URL: away };
    const stack = await startStack({ environment: { ...environment, WORLD: 'testnet' }, only: ['console'] });
    try {
      assert.deepEqual(Object.keys(stack.urls), ['console']);
      const settings = (await (await fetch(`${stack.urls.console}/api/settings`)).json()) as ConsoleSettings;
      assert.deepEqual(Object.values(settings.services), Array(4).fill(away));
      const answer = await fetch(`${stack.urls.console}/api/live`, {
        headers: { 'x-turnpike-console': '1' },
      });
      const { value } = (await answer.body?.getReader().read()) ?? {};
      const state: LiveState = JSON.parse(/^data: (.*)$/m.exec(String(Buffer.from(value ?? [])))?.[1] ?? '');
      assert.ok(Object.values(state.services).every(({ up }) => !up));
    } finally {
      await stack.stop();
    }
  });

  test('a router alone brings no local network along, and finds the gateway of another process', async () => {
    const environment = { GATEWAY_URL: 'http://127.0.0.1:9' };
    const stack = await startStack({ environment, only: ['router'] });
    try {
      assert.deepEqual(Object.keys(stack.urls), ['router', 'admin']);
      const list = await (await fetch(`${stack.urls.router}/router/stats/gateways/list`)).json();
      assert.deepEqual(list, { gateways: ['http://127.0.0.1:9'], count: 1 });
    } finally {
      await stack.stop();
    }
  });

  test('a taken port is one line that names the variable that moves it', async () => {
    const stack = await startStack({ only: ['upload'] });
    try {
      const { port } = new URL(stack.urls.arweave ?? '');
      const second = turnpike(['start', 'upload'], { ...freePorts(), LOCAL_ARWEAVE_PORT: port });
      assert.equal(second.status, 1);
      assert.equal(second.stderr, `port ${port} is taken: set LOCAL_ARWEAVE_PORT to another\n`);
    } finally {
      await stack.stop();
    }
  });

  test('wrong values stop the start with one line each', () => {
    const wrong = turnpike(['start'], { GATEWAY_PORT: 'abc', LOG_LEVEL: 'loud' });
    assert.equal(wrong.status, 1);
    assert.equal(wrong.stdout, '');
    assert.equal(wrong.stderr.trim().split('\n').length, 2);
    // Before anything is opened, and all at once.
    const never = join(folder, 'never');
    const odd = turnpike(['start'], { DATA_DIR: never, APEX_TX_ID: 'short', ANS104_INDEX_FILTER: '{}' });
    assert.equal(odd.status, 1);
    assert.deepEqual(
      odd.stderr
        .trim()
        .split('\n')
        .map((line) => /APEX_TX_ID|ANS104_INDEX_FILTER/.exec(line)?.[0])
        .sort(),
      ['ANS104_INDEX_FILTER', 'APEX_TX_ID'],
    );
    assert.ok(!existsSync(never));
  });

  test('an unknown surface or command is refused with the usage', () => {
    assert.equal(turnpike(['start', 'moon']).status, 64);
    const unknown = turnpike(['fly']);
    assert.equal(unknown.status, 64);
    assert.match(unknown.stderr, /there is no command "fly"/);
  });
});

describe('turnpike wallet and post', () => {
  test('the tour of the README: make a wallet, fund it, post a file, read it back', async () => {
    const stack = await startStack({ only: ['upload'] });
    try {
      const environment = { LOCAL_ARWEAVE_PORT: new URL(stack.urls.arweave ?? '').port };
      const wallet = join(folder, 'wallet.json');
      const made = turnpike(['wallet', 'create', wallet]);
      assert.equal(made.status, 0, made.stderr);
      assert.equal(turnpike(['wallet', 'create', wallet]).status, 1, 'a wallet is never overwritten');
      assert.equal(turnpike(['wallet', 'fund', wallet, '1.5'], environment).stdout, '1.5 AR\n');

      const posted = turnpike(
        ['post', join(root, 'LICENSE'), '--wallet', wallet, '--type', 'text/plain', '--tag', 'App-Name=tour'],
        environment,
      );
      assert.equal(posted.status, 0, posted.stderr);
      const [id = '', address = ''] = posted.stdout.trim().split('\n');
      await fetch(`${stack.urls.arweave}/mine`);
      const status = await (await fetch(`${stack.urls.arweave}/tx/${id}/status`)).json();
      assert.ok((status as { number_of_confirmations: number }).number_of_confirmations >= 1);
      const data = Buffer.from(await (await fetch(address)).text(), 'base64url').toString();
      assert.match(data, /Apache License/);
    } finally {
      await stack.stop();
    }
  });
});

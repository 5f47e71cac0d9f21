/**
 * docs/apps.md as an app developer follows it: every block is run as it stands there, with the packed package installed,
 * against a network that was started as a person starts one.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { delimiter, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { packageName, packTurnpike } from '../support/pack.ts';
import { runCommand } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import { bundleForPage, noChromium, openChromium, secureUrl, serveSite } from './chromium.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/apps.md'), 'utf8');

let stack: RunningStack;
let folder: string;
let environment: NodeJS.ProcessEnv;

before(async () => {
  stack = await startStack();
  // Below the published clients, so that the snippets find them.
  folder = mkdtempSync(join(import.meta.dirname, '.guide-'));
  installPackage(folder);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = join(folder, 'node_modules', packageName, 'bin/turnpike.js');
  writeFileSync(join(bin, 'turnpike'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  });
  const port = (name: string) => new URL(stack.urls[name] ?? '').port;
  // Within a test, `node --test` would run nothing.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  environment = {
    ...inherited,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    DATA_DIR: stack.dataDir,
    LOCAL_ARWEAVE_PORT: port('arweave'),
    LOCAL_CARD_PORT: port('card'),
    PAYMENT_PORT: port('payment'),
    UPLOAD_PORT: port('upload'),
    LOCAL_SOLANA_PORT: port('solana'),
  };
});
after(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As `npm install` of the packed file does it, with the dependencies that are here already. */
function installPackage(into: string): void {
  const place = join(into, 'node_modules', packageName);
  mkdirSync(place, { recursive: true });
  execFileSync('tar', ['-xzf', packTurnpike(into), '-C', place, '--strip-components=1']);
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { code, out, error } = await runCommand(command, args, { cwd: folder, env: environment });
  assert.equal(code, 0, `${command} ${args.join(' ')} ended with ${code}\n${out}\n${error}`);
  return out;
}

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocks: Block[] = [...guide.matchAll(/^```(\w+(?: page)?)\n(.*?)^```$/gms)].map(
  ([, language = '', text = '']) => ({
    language,
    text,
  }),
);

/** Done before the blocks, in the way of a test. */
const doneAlready = [
  'npx @turnpike-network/turnpike start',
  'npm install --save-dev @turnpike-network/turnpike',
];

/** What snippets are given as their argument, and what they print. */
const scripts: Record<string, { argument?: () => Promise<string>; prints: RegExp }> = {
  'arweave.js': { prints: /^hello$/m },
  'turbo.js': { prints: /^\d+ http:\/\/\S+\/[\w-]{43}$/m },
  'card.js': { argument: walletAddress, prints: /^http:\/\/\S+\/c\/pay\/cs_test_\w+$/m },
  'wayfinder.js': { argument: storedId, prints: /^hello$/m },
  'x402.js': { prints: /creditedWinc/ },
  'solana.js': { argument: solanaAddress, prints: /^\d{10,}$/m },
};

let stored = '';
async function storedId(): Promise<string> {
  return stored;
}
async function walletAddress(): Promise<string> {
  return (await run('turnpike', ['wallet', 'address', 'wallet.json'])).trim();
}
async function solanaAddress(): Promise<string> {
  const [first] = JSON.parse(await run('turnpike', ['wallets', 'solana', '--json']));
  return first.address;
}

/** On a page of another origin, with the addresses that this network has. */
async function runInPage(text: string): Promise<void> {
  const file = join(folder, 'page.mjs');
  const services = { 4001: 'payment', 4002: 'upload' };
  let code = text;
  for (const [port, name] of Object.entries(services)) {
    assert.ok(code.includes(`https://localhost:${port}`), `the snippet names ${name}`);
    code = code.replaceAll(`https://localhost:${port}`, secureUrl(stack.urls[name] ?? ''));
  }
  writeFileSync(file, code);
  const wallet = readFileSync(join(folder, 'wallet.json'), 'utf8');
  const html = `<!doctype html><textarea id="wallet">${wallet}</textarea><script type="module" src="app.js"></script>`;
  const site = await serveSite(html, { '/app.js': await bundleForPage(file) });
  const browser = await openChromium(stack.dataDir);
  try {
    const page = await browser.context.newPage();
    page.on('pageerror', (error) => assert.fail(error));
    await page.goto(site.url);
    await page.waitForFunction(() => document.title.length === 43, undefined, { timeout: 60_000 });
    const read = await fetch(`${stack.urls.gateway}/raw/${await page.title()}`);
    assert.equal(await read.text(), 'hello from a page');
  } finally {
    await browser.close();
    site.close();
  }
}

test('every block of the guide runs', { timeout: 600_000 }, async (t) => {
  for (const { language, text } of blocks) {
    if (language === 'sh') {
      for (const line of text.split('\n')) {
        const command = line.replace(/\s+#.*$/, '').trim();
        if (command === '' || doneAlready.includes(command)) continue;
        await t.test(command, () => run('sh', ['-uc', command]));
      }
      continue;
    }
    if (language === 'js page') {
      await t.test('a page uploads by its defaults', { skip: noChromium }, () => runInPage(text));
      continue;
    }
    assert.equal(language, 'js', `a block of ${language}`);
    const name = /^\/\/ (\S+)\n/.exec(text)?.[1] ?? '';
    assert.match(name, /^[a-z0-9.-]+\.js$/, `no name in the first line of\n${text}`);
    await t.test(name, async () => {
      const file = name.replace(/\.js$/, '.mjs');
      writeFileSync(join(folder, file), text);
      if (name.endsWith('.test.js')) {
        assert.match(await run(process.execPath, ['--test', file]), /^ℹ pass 1$/m);
        return;
      }
      const script = scripts[name];
      assert.ok(script !== undefined, `nothing is expected of ${name}`);
      const given = script.argument === undefined ? [] : [await script.argument()];
      const out = await run(process.execPath, ['--env-file=.env', file, ...given]);
      assert.match(out, script.prints);
      stored = /\/([\w-]{43})$/m.exec(out)?.[1] ?? stored;
    });
  }
});

test('the tour of the README ends at an address that opens', { timeout: 120_000 }, async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, tour = ''] = /^```sh\n(turnpike\(\).*?)^```$/ms.exec(readme) ?? [];
  const port = (name: string) => new URL(stack.urls[name] ?? '').port;
  // The installed command, and the ports that this network has.
  const script = tour
    .replace(/^turnpike\(\).*\n/, '')
    .replace('examples/site', join(root, 'examples/site'))
    .replace('localhost:3000', `localhost:${port('router')}`)
    .replace('localhost:4000', `localhost:${port('gateway')}`);
  const out = await run('sh', ['-euc', script]);
  assert.match(out, /<!doctype html>/, 'the router shows it');
  const address = /open (http:\S+)/.exec(out)?.[1] ?? '';
  assert.match(await opened(address), /It is on the road/);
});

/** Hosts below localhost are this machine's, whatever the resolver says. */
function opened(address: string): Promise<string> {
  const { hostname, port, host } = new URL(address);
  assert.match(hostname, /\.localhost$/);
  return new Promise((done, failed) => {
    get({ host: '127.0.0.1', port, path: '/', headers: { host } }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      answer.on('end', () => done(body));
    }).on('error', failed);
  });
}

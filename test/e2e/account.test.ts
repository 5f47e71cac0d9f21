/** Nobody loses sight of their money: `turnpike account`, every form of an address, payments by id, and every 402. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formsOfEthereumKey, formsOfSolanaKey } from '../../src/wallets/address-forms.ts';
import { ethereumSigner, signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { publicKeyOf } from '../../src/wallets/ethereum/secp256k1.ts';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { ed25519PrivateKey } from '../../src/wallets/solana/ed25519.ts';
import { eventually } from '../support/eventually.ts';
import { program } from '../support/program.ts';
import { type CommandResult, runCommand, startCommands } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

describe('an account', () => {
  let stack: RunningStack;
  const commands = startCommands();
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-account-'));
  const { solana, ethereum, arweave } = localWallets(3);

  before(async () => {
    stack = await startStack({
      only: ['payment', 'upload', 'gateway'],
      environment: {
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '100',
        PAYMENT_PAGE_URL: 'https://pay.test/?wallet={address}',
      },
    });
  });
  after(async () => {
    commands.stop();
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const turnpike = (
    args: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<CommandResult> => commands.run([...args], { DATA_DIR: stack.dataDir, ...environment });
  const json = async (...args: string[]) => {
    const { code, out, error } = await turnpike([...args, '--json']);
    assert.equal(code, 0, error);
    return JSON.parse(out);
  };
  const balanceOf = async (address: string): Promise<string> => {
    const answer = await fetch(`${stack.urls.payment}/v1/account/balance?address=${address}`);
    return answer.status === 404 ? 'none' : ((await answer.json()) as { winc: string }).winc;
  };
  const upload = (item: Uint8Array, path = '/v1/tx') =>
    fetch(`${stack.urls.upload}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: item,
    });

  test('of a Solana or Ethereum key is the same by every form, and its uploads are paid from all of it', async () => {
    const solanaKey = Buffer.from(solana[2]!.bytes);
    const secret = Buffer.from(ethereum[2]!.privateKey.slice(2), 'hex');
    const wallets = [
      [solanaSigner(ed25519PrivateKey(solanaKey.subarray(0, 32))), formsOfSolanaKey(solanaKey.subarray(32))],
      [ethereumSigner(secret), formsOfEthereumKey(publicKeyOf(secret))],
    ] as const;
    for (const [signer, { wallet, others }] of wallets) {
      const before = BigInt(await balanceOf(wallet.address));
      for (const form of others) await json('faucet', form, '1', 'credits');
      const item = await signItem({ data: Buffer.alloc(200_000, 3) }, signer);
      const receipt = (await (await upload(item)).json()) as { winc: string };
      const expected = before + BigInt(others.length) * 10n ** 12n - BigInt(receipt.winc);
      for (const form of [wallet.address, ...others])
        assert.equal(await balanceOf(form), `${expected}`, form);
      const told = await json('account', others[0] ?? '');
      assert.equal(told.address, wallet.address);
      assert.deepEqual([...told.otherForms].sort(), [...others].sort());
    }
  });

  test('that is short is told price, balance and where to pay, with or without x402', async () => {
    const secret = Buffer.alloc(32, 9);
    const signer = ethereumSigner(secret);
    const { wallet } = formsOfEthereumKey(publicKeyOf(secret));
    await json('faucet', wallet.address, '0.000001', 'credits');
    const item = await signItem({ data: Buffer.alloc(300_000, 4) }, signer);
    const answer = await upload(item);
    assert.equal(answer.status, 402);
    const body = (await answer.json()) as Record<string, string>;
    assert.equal(Object.keys(body)[0], 'error');
    assert.equal(body.error, 'Insufficient balance');
    const topUp = `https://pay.test/?wallet=${wallet.address}`;
    assert.deepEqual([body.balance, body.topUp], ['1000000', topUp]);
    assert.equal(BigInt(body.price ?? '0') - BigInt(body.balance ?? '0'), BigInt(body.missing ?? '0'));
    const { winc } = (await (await fetch(`${stack.urls.payment}/v1/price/bytes/${item.length}`)).json()) as {
      winc: string;
    };
    assert.equal(body.price, winc, 'the price that everybody is told');
    assert.equal(answer.headers.get('link'), `<${topUp}>; rel="payment"`);
    assert.equal(answer.headers.get('x-missing-winc'), body.missing);

    const created = (await (
      await fetch(`${stack.urls.upload}/v1/chunks/ethereum/-1/-1?chunkSize=5242880`)
    ).json()) as { id: string };
    const part = await upload(item, `/v1/chunks/ethereum/${created.id}/0`);
    assert.equal(part.status, 200);
    const finished = await fetch(`${stack.urls.upload}/v1/chunks/ethereum/${created.id}/-1`, {
      method: 'POST',
    });
    assert.equal(finished.status, 402);
    assert.equal(
      await finished.json(),
      `Insufficient balance: it costs ${winc} winc, the wallet has 1000000, ${body.missing} are missing; to top up: ${topUp}`,
    );
  });

  test('shows its payments, what it spent, and finds a deposit that nobody reported', async () => {
    const file = join(folder, 'arweave.json');
    writeFileSync(file, JSON.stringify(arweave[2]!.jwk));
    const service = (await json('account', 'top-up', '--wallet', file)).coins.find(
      ({ token }: { token: string }) => token === 'arweave',
    );
    assert.match(service.amount, /^[0-9.]+$/);
    const sent = await json('wallet', 'send', file, service.address, '2');
    const seen = await eventually('the payment is credited', async () => {
      const { code, out } = await turnpike(['account', 'payment', sent.id, '--json']);
      const payment = JSON.parse(out);
      assert.equal(
        code,
        { credited: 0, pending: 3, 'not-mined': 3, 'not-found': 4 }[payment.state as 'credited'],
      );
      return payment.state === 'credited' ? payment : undefined;
    });
    assert.deepEqual([seen.address, seen.sender], [arweave[2]!.address, arweave[2]!.address]);
    const told = await json('account', '--wallet', file, '--bytes', '5000');
    assert.equal(told.payments[0].transactionId, sent.id);
    assert.equal(told.nextUpload.bytes, 5_000);

    const poor = await turnpike(['account', 'payment', `${'n'.repeat(42)}A`]);
    assert.equal(poor.code, 4);
    assert.match(poor.out, /^state +not-found: No payment here has this id/m);
    const another = await turnpike(['account', solana[0]!.address, '--wallet', file]);
    assert.equal(another.code, 1);
    assert.match(another.error, /which is another wallet than/);
    assert.equal((await turnpike(['account', 'not-an-address'])).code, 64);
  });

  test('is told to people in lines that can be read, and its commands on the page run', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    const command = `exec "${process.execPath}" "${program}"`;
    writeFileSync(join(bin, 'turnpike'), `#!/bin/sh\n${command} "$@"\n`);
    writeFileSync(join(bin, 'node'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`);
    for (const file of ['turnpike', 'node']) chmodSync(join(bin, file), 0o755);
    const page = readFileSync(join(root, 'docs/account.md'), 'utf8');
    const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    assert.ok(blocks.length >= 4);
    const { code, out, error } = await runCommand('bash', ['-eo', 'pipefail', '-c', blocks.join('\n')], {
      cwd: folder,
      env: { ...process.env, DATA_DIR: stack.dataDir, PATH: `${bin}${delimiter}${process.env.PATH}` },
    });
    assert.equal(code, 0, error);
    assert.match(out, /^account +[\w-]{43}$/m);
    assert.match(out, /^balance +10 credits \(10000000000000 winc\)$/m);
    assert.match(out, /^ +[\w-]{43} leads here too$/m);
    assert.match(out, /^ +[0-9.]+ arweave to [\w-]{43}$/m);
    assert.match(out, /credits for [\w-]{43}: pay at\nhttp/);
    assert.match(out, /^state +credited: The payment has arrived/m);
    assert.match(out, /^paid +\d{4}-\d\d-\d\d \d\d:\d\d {2}[0-9.]+ credits for 2 arweave, [\w-]{43}$/m);
    assert.match(out, /^spent +nothing in 30 days$/m);
    assert.match(out, /^1\.532 credits would be taken, and 2000000000000 base units of arweave would go to/m);
    assert.match(out, /^return [\w-]{36}: 2000000000000 base units .* sent back, [\w-]{43}$/m);
  });
});

/** The published SDK, unmodified, uploads to a local stack with wallets of three chains. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ArweaveToken,
  createChainFolderIndex,
  TurboFactory,
  WinstonToTokenAmount,
  X402Funding,
} from '@ardrive/turbo-sdk/node';
import { deepHash, getCryptoDriver, stringToBuffer } from '@dha-team/arbundles';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { resolveManifestPath } from '../../src/formats/manifest/manifest.ts';
import { parseManifest } from '../../src/formats/manifest/reader.ts';
import { ed25519RawPublicKey } from '../../src/wallets/solana/ed25519.ts';
import { testEd25519Key, testEthereumKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { fetchAsPage } from '../support/page-fetch.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const oneAr = 1_000_000_000_000;
const random = seededRandom(2_026);

describe('@ardrive/turbo-sdk on the upload service', () => {
  let stack: RunningStack;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-turbo-'));

  const services = () => ({
    paymentServiceConfig: { url: stack.urls.payment ?? '' },
    uploadServiceConfig: { url: stack.urls.upload ?? '' },
  });
  const arweave = () =>
    TurboFactory.authenticated({
      ...services(),
      privateKey: arweaveTestKey,
      token: 'arweave',
      tokenTools: new ArweaveToken({
        gatewayUrl: stack.urls.gateway ?? '',
        pollingOptions: { maxAttempts: 100, pollingIntervalMs: 100, initialBackoffMs: 0 },
      }),
    });
  const ethereum = () =>
    TurboFactory.authenticated({
      ...services(),
      privateKey: `0x${testEthereumKey.toString('hex')}`,
      token: 'ethereum',
    });
  const solana = () => {
    const seed = testEd25519Key.export({ format: 'jwk' }).d ?? '';
    const secret = Buffer.concat([Buffer.from(seed, 'base64url'), ed25519RawPublicKey(testEd25519Key)]);
    return TurboFactory.authenticated({ ...services(), privateKey: encodeBase58(secret), token: 'solana' });
  };
  type Turbo = ReturnType<typeof arweave>;

  /** The receipt is signed by the wallet that `/info` names, as the public library and its users check it. */
  const assertPromised = async (receipt: object): Promise<void> => {
    const field = (name: string) => String(Reflect.get(receipt, name));
    const fields = ['Bundlr', field('version'), field('id'), field('deadlineHeight'), field('timestamp')];
    const message = await deepHash(fields.map((text) => stringToBuffer(text)));
    const signature = Buffer.from(field('signature'), 'base64url');
    assert.equal(await getCryptoDriver().verify(field('public'), message, signature), true);
    const signer = createHash('sha256')
      .update(Buffer.from(field('public'), 'base64url'))
      .digest('base64url');
    const info: unknown = await (await fetch(`${stack.urls.upload}/v1/info`)).json();
    assert.ok(JSON.stringify(info).includes(`"receiptSigner":{"address":"${signer}"`));
    const height = Number(await (await fetch(`${stack.urls.arweave}/height`)).text());
    const deadline = Number(field('deadlineHeight'));
    assert.ok(deadline > height && deadline <= height + 200, `by ${deadline} at ${height}`);
  };

  /** What the service holds of an item: its payload. */
  const stored = async (id: string): Promise<Buffer> => {
    const answer = await fetch(`${stack.urls.upload}/v1/data-item/${id}`);
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer()).subarray(Number(answer.headers.get('x-payload-offset')));
  };
  /** What readers get: from the service at once, from the chain later. */
  const served = async (id: string): Promise<Buffer> => {
    const answer = await fetch(`${stack.urls.gateway}/raw/${id}`);
    assert.equal(answer.status, 200, `the gateway answered ${answer.status} for ${id}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const permanent = async (id: string): Promise<void> => {
    for (let waited = 0; ; waited += 100) {
      const answer = await fetch(`${stack.urls.upload}/v1/tx/${id}/status`);
      if ((await answer.text()).includes('FINALIZED')) return;
      assert.ok(waited < 60_000, stack.log());
      await sleep(100);
    }
  };
  const uploadBytes = (turbo: Turbo, data: Buffer, options: { paidBy?: string[]; chunk?: boolean } = {}) =>
    turbo.uploadFile({
      fileStreamFactory: () => data,
      fileSizeFactory: () => data.length,
      dataItemOpts: {
        tags: [{ name: 'Content-Type', value: 'application/octet-stream' }],
        ...(options.paidBy === undefined ? {} : { paidBy: options.paidBy }),
      },
      ...(options.chunk === true ? { chunkingMode: 'force' as const, chunkByteCount: 5 * 1024 * 1024 } : {}),
    });
  const wincOf = async (turbo: Turbo) => BigInt((await turbo.getBalance()).winc);

  before(async () => {
    stack = await startStack({
      environment: {
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '50',
        PENDING_PAYMENT_RECHECK_MS: '200',
        BUNDLE_MAX_WAIT_MS: '200',
        BUNDLE_POLL_MS: '50',
      },
    });
    await fetch(`${stack.urls.arweave}/mint/${arweaveTestAddress}/${100 * oneAr}`);
    const turbo = arweave();
    const { id } = await turbo.topUpWithTokens({ tokenAmount: WinstonToTokenAmount(10 * oneAr) });
    while ((await wincOf(turbo)) === 0n) {
      await turbo.submitFundTransaction({ txId: id });
      await sleep(200);
    }
  });
  after(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('uploads 1 KiB with an Arweave wallet, charged what was quoted', async () => {
    const turbo = arweave();
    const before = await wincOf(turbo);
    const data = random.bytes(1_024);
    const receipt = await uploadBytes(turbo, data);
    assert.equal(receipt.owner, arweaveTestAddress);
    assert.ok(BigInt(receipt.winc) > 0n);
    assert.equal(await wincOf(turbo), before - BigInt(receipt.winc));
    await assertPromised(receipt);
    assert.ok((await stored(receipt.id)).equals(data));
    assert.ok((await served(receipt.id)).equals(data), 'readable at once');
    await permanent(receipt.id);
    assert.ok((await served(receipt.id)).equals(data), 'and when it is permanent');
  });

  test('uploads 20 MiB in chunks', async () => {
    const data = random.bytes(20 * 1024 * 1024);
    const receipt = await uploadBytes(arweave(), data, { chunk: true });
    assert.ok((await served(receipt.id)).equals(data));
    await permanent(receipt.id);
    assert.ok((await served(receipt.id)).equals(data));
  });

  for (const [name, wallet] of [
    ['Ethereum', ethereum],
    ['Solana', solana],
  ] as const) {
    test(`shares credits with a wallet of ${name}, which uploads with them until they are revoked`, async () => {
      const payer = arweave();
      const borrower = wallet();
      const approvedAddress = await borrower.signer.getNativeAddress();
      const approval = await payer.shareCredits({
        approvedAddress,
        approvedWincAmount: 500_000_000_000,
        expiresBySeconds: 3_600,
      });
      assert.equal(approval.approvedAddress, approvedAddress);
      const data = random.bytes(1_024);
      const receipt = await uploadBytes(borrower, data, { paidBy: [arweaveTestAddress] });
      assert.ok((await served(receipt.id)).equals(data));
      const { givenApprovals } = await payer.getBalance();
      assert.equal(
        givenApprovals.find((given) => given.approvedAddress === approvedAddress)?.usedWincAmount,
        receipt.winc,
      );
      const large = random.bytes(11 * 1024 * 1024);
      const chunked = await uploadBytes(borrower, large, { paidBy: [arweaveTestAddress], chunk: true });
      assert.ok((await stored(chunked.id)).equals(large));
      const revoked = await payer.revokeCredits({ revokedAddress: approvedAddress });
      assert.equal(revoked.length, 1);
      await assert.rejects(uploadBytes(borrower, random.bytes(10), { paidBy: [arweaveTestAddress] }));
    });
  }

  test('says what is wrong in the words that it and its users look for', async () => {
    const stranger = TurboFactory.authenticated({
      ...services(),
      privateKey: `0x${'5a'.repeat(32)}`,
      token: 'ethereum',
    });
    await assert.rejects(
      uploadBytes(stranger, random.bytes(200_000)),
      /Status 402\): \{"error":"Insufficient balance","price":"\d+","balance":"0","missing":"\d+","topUp":"http/,
    );
    const approvedAddress = 'A'.repeat(43);
    await assert.rejects(arweave().revokeCredits({ revokedAddress: approvedAddress }), {
      message: new RegExp(
        `Unable to revoke delegated payment approval : No valid approvals found for approved address '${approvedAddress}' and paying address '${arweaveTestAddress}'`,
      ),
    });
    const unowned = '43CharArweaveStubAddress1234567890123456789';
    assert.equal((await TurboFactory.unauthenticated(services()).getBalance(unowned)).winc, '0');
  });

  test('shows the same for every form of a wallet, and what is shared with one form is spent by the wallet', async () => {
    const wallet = solana();
    const native = await wallet.signer.getNativeAddress();
    const hashed = createHash('sha256')
      .update(await wallet.signer.getPublicKey())
      .digest('base64url');
    await arweave().shareCredits({ approvedAddress: hashed, approvedWincAmount: 100_000_000_000 });
    const { effectiveBalance } = await wallet.getBalance();
    assert.equal(effectiveBalance, '100000000000');
    for (const form of [native, hashed]) {
      const seen = await TurboFactory.unauthenticated(services()).getBalance(form);
      assert.equal(seen.effectiveBalance, effectiveBalance, form);
    }
    const { winc } = await uploadBytes(wallet, random.bytes(200_000), { paidBy: [arweaveTestAddress] });
    const left = (await TurboFactory.unauthenticated(services()).getBalance(hashed)).effectiveBalance;
    assert.equal(BigInt(left), 100_000_000_000n - BigInt(winc));
    await arweave().revokeCredits({ revokedAddress: native });
    assert.equal((await wallet.getBalance()).effectiveBalance, '0');
  });

  test('knows what a token buys, also the one that has two chains', async () => {
    const bought = (token: 'ario' | 'base-ario') =>
      TurboFactory.unauthenticated({ ...services(), token }).getWincForToken({ tokenAmount: 1_000_000_000 });
    const { winc } = await bought('ario');
    assert.ok(BigInt(winc) > 0n);
    assert.equal((await bought('base-ario')).winc, winc);
  });

  test('pays for raw data and for an upload in chunks with x402, in a page too', async (t) => {
    const turbo = TurboFactory.authenticated({
      ...services(),
      privateKey: `0x${testEthereumKey.toString('hex')}`,
      token: 'base-usdc',
    });
    const payer = await turbo.signer.getNativeAddress();
    await fetch(`${stack.urls.x402}/mint`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ address: payer, amount: '1000000000' }),
    });
    t.mock.method(globalThis, 'fetch', fetchAsPage(fetch));
    const data = random.bytes(3_000);
    const raw = await turbo.uploadRawX402Data({
      data,
      tags: [{ name: 'Content-Type', value: 'image/png' }],
      maxMUSDCAmount: 1_000_000,
    });
    assert.ok((await served(raw.id)).equals(data));
    const large = random.bytes(11 * 1024 * 1024);
    const chunked = await turbo.uploadFile({
      fileStreamFactory: () => large,
      fileSizeFactory: () => large.length,
      chunkingMode: 'force',
      fundingMode: new X402Funding({ maxMUSDCAmount: 100_000_000 }),
    });
    assert.ok((await served(chunked.id)).equals(large));
  });

  test('uploads a folder with a manifest', async () => {
    const site = join(folder, 'site');
    mkdirSync(join(site, 'css'), { recursive: true });
    writeFileSync(join(site, 'index.html'), '<h1>hello</h1>');
    writeFileSync(join(site, 'css', 'site.css'), 'h1 { color: red }');
    const { manifest, manifestResponse, fileResponses, errors } = await arweave().uploadFolder({
      folderPath: site,
    });
    assert.deepEqual(errors ?? [], []);
    assert.equal(fileResponses.length, 2);
    assert.equal(Object.keys(manifest?.paths ?? {}).length, 2);
    const parsed = parseManifest(await stored(manifestResponse?.id ?? ''));
    assert.ok(parsed !== undefined);
    const page = resolveManifestPath(parsed, '');
    assert.equal((await stored(page?.id ?? '')).toString(), '<h1>hello</h1>');
    const read = async (path: string) =>
      (await fetch(`${stack.urls.gateway}/${manifestResponse?.id}${path}`)).text();
    assert.equal(await read('/'), '<h1>hello</h1>');
    assert.equal(await read('/css/site.css'), 'h1 { color: red }');
    await permanent(manifestResponse?.id ?? '');
    assert.equal(await read('/css/site.css'), 'h1 { color: red }');
  });

  test('uploads of a folder only what changed, by an index that a machine without one reads from the gateway', async () => {
    const site = join(folder, 'indexed');
    mkdirSync(site);
    // More than is free.
    for (const name of ['one', 'two', 'three'])
      writeFileSync(join(site, `${name}.bin`), random.bytes(150_000));
    const turbo = arweave();
    const upload = async () => {
      const before = await wincOf(turbo);
      const { fileResponses, folderIndexSummary, manifestResponse, errors } = await turbo.uploadFolder({
        folderPath: site,
        folderIndex: createChainFolderIndex({
          owner: await turbo.signer.getPublicKey(),
          gatewayUrl: stack.urls.gateway ?? '',
        }),
      });
      assert.deepEqual(errors ?? [], []);
      const manifest = BigInt(manifestResponse?.winc ?? 0);
      return {
        ids: fileResponses.map(({ id }) => id),
        reused: folderIndexSummary?.reusedFiles,
        winc: before - (await wincOf(turbo)) - manifest,
      };
    };
    const isIndexed = async (id: string): Promise<boolean> => {
      const answer = await fetch(`${stack.urls.gateway}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: `{ transaction(id: "${id}") { id } }` }),
      });
      return (await answer.text()).includes(id);
    };
    const first = await upload();
    assert.deepEqual([first.ids.length, first.reused], [3, 0]);
    assert.ok(first.winc > 0n);
    // Another machine has nothing but the gateway, which is told of the items a moment after their receipts.
    for (const id of first.ids) await eventually('the gateway knows the item', () => isIndexed(id));
    assert.deepEqual(await upload(), { ids: [], reused: 3, winc: 0n });
    writeFileSync(join(site, 'two.bin'), random.bytes(150_000));
    const third = await upload();
    assert.deepEqual([third.ids.length, third.reused], [1, 2]);
    assert.equal(third.winc * 3n, first.winc);
  });
});

/** `turnpike check` and `turnpike reseed`: what is missing is told to the byte, and only the right file mends it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { dataTreeOf } from '../../src/formats/arweave/data-root.ts';
import { newTransaction } from '../../src/formats/arweave/transaction.ts';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../src/formats/arweave/transaction-signature.ts';
import { toTxId } from '../../src/formats/base64url.ts';
import { importJwk } from '../../src/wallets/arweave/rsa.ts';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { eventually } from '../support/eventually.ts';
import { chunkBody, NodeClient, startLocalArweave } from '../support/local-arweave.ts';
import { type CommandResult, startCommands } from '../support/run-command.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

interface Checked {
  readonly kind: string;
  readonly final: boolean;
  readonly verifiedBy?: string;
  readonly bundles: readonly string[];
  readonly chunks: readonly { readonly nodes: readonly string[] }[];
  readonly missing: readonly { readonly start: number; readonly end: number }[];
  readonly gateways: readonly { readonly state: string }[];
  readonly block: { readonly confirmations: number };
}

interface Proof {
  receipt: { deadlineHeight: number };
  bundle: {
    offset: number;
    chunks: unknown[];
    transaction: { reward: string };
    block: { txRoot: string };
  };
}

const chunkBytes = 262_144;

describe('turnpike check', () => {
  let stack: RunningStack;
  const commands = startCommands();
  let node: NodeClient;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-check-'));
  const data = seededRandom(31).bytes(10 * chunkBytes);
  const file = join(folder, 'data');
  const wallet = join(folder, 'wallet.json');
  const { jwk } = localWallets(1).arweave[0]!;

  before(async () => {
    writeFileSync(file, data);
    writeFileSync(wallet, JSON.stringify(jwk));
    stack = await startStack({
      environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0', BUNDLE_MAX_WAIT_MS: '200' },
    });
    node = new NodeClient(stack.urls.arweave ?? '');
  });
  after(async () => {
    commands.stop();
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const turnpike = (...args: string[]): Promise<CommandResult> =>
    commands.run(args, { DATA_DIR: stack.dataDir });
  const checked = async (
    id: string,
    ...more: string[]
  ): Promise<Checked & { readonly code: number | null }> => {
    const { code, out, error } = await turnpike('check', id, '--json', ...more);
    assert.ok(code === 0 || code === 3, error);
    return { ...JSON.parse(out), code };
  };

  test('chunks that nobody has are told, another file is refused, and the right one mends it at every node', async (t) => {
    // A second node of the same history: neither has all that the other has.
    const { client: other, stop } = await startLocalArweave();
    t.after(stop);
    const both = ['--node', node.url, '--node', other.url];
    const key = importJwk(JSON.stringify(jwk));
    await other.text(`/mint/${key.address}/1000000000000`);
    const tree = dataTreeOf(data);
    const unsigned = newTransaction({
      // The wallet's first transaction needs no anchor, so that it fits both.
      lastTx: Buffer.alloc(0),
      reward: BigInt(await node.text(`/price/${data.length}`)),
      dataSize: data.length,
      dataRoot: tree.root,
    });
    const transaction = await signTransactionAsync(unsigned, key.privateKey);
    const id = toTxId(transaction.id);
    assert.equal((await checked(id, ...both)).kind, 'unknown');
    const post = async (to: NodeClient, indexes: readonly number[]): Promise<void> => {
      assert.equal((await to.post('/tx', transactionToJson(transaction, 'header'))).status, 200);
      for (const index of indexes) {
        const { start, end, offset, dataPath } = tree.proof(index);
        const body = chunkBody(data.subarray(start, end), tree, offset, dataPath);
        assert.equal((await to.post('/chunk', body)).status, 200);
      }
      await to.text('/mine');
    };
    await post(node, [0, 4]);
    await post(other, [4, 9]);

    const before = await checked(id, ...both);
    assert.equal(before.code, 3);
    assert.equal(before.final, false);
    assert.deepEqual(
      before.chunks.map(({ nodes }) => nodes.length),
      [1, 0, 0, 0, 2, 0, 0, 0, 0, 1],
    );
    assert.deepEqual([before.chunks[0]?.nodes, before.chunks[9]?.nodes], [[node.url], [other.url]]);
    assert.deepEqual(
      before.missing.map(({ start }) => start / chunkBytes),
      [1, 2, 3, 5, 6, 7, 8],
    );
    const told = await turnpike('check', id, ...both);
    assert.match(told.out, /^ {2}chunks +3 of 10, each at 0 to 2 of 2 nodes$/m);
    assert.match(told.out, new RegExp(`^ {2}missing +bytes ${chunkBytes} to ${2 * chunkBytes - 1}$`, 'm'));

    const wrong = join(folder, 'wrong');
    writeFileSync(wrong, Buffer.from(data).fill(0, 100, 200));
    assert.match(
      (await turnpike('reseed', id, wrong, ...both)).error,
      /is another file: its bytes do not lead to the data root/,
    );
    writeFileSync(wrong, data.subarray(1));
    assert.match((await turnpike('reseed', id, wrong, ...both)).error, /is another file: it has \d+ bytes/);
    assert.deepEqual((await checked(id, ...both)).chunks, before.chunks, 'nothing was sent');

    const mended = await turnpike('reseed', id, file, ...both);
    assert.equal(mended.code, 0, mended.error);
    assert.match(mended.out, /^16 chunks were given/);
    const after = await checked(id, ...both);
    assert.deepEqual(
      [after.missing.length, after.verifiedBy, after.final, after.code],
      [0, 'data root', true, 0],
    );
    assert.ok(after.chunks.every(({ nodes }) => nodes.length === 2));
    assert.match((await turnpike('check', id, ...both)).out, /^ {2}chunks +10 of 10, each at 2 of 2 nodes$/m);
    const deeper = String(after.block.confirmations + 3);
    assert.equal((await checked(id, '--depth', deeper)).final, false);
    await node.text('/mine/3');
    assert.equal((await checked(id, '--depth', deeper)).final, true);
    assert.match((await turnpike('reseed', id, file, ...both)).out, /^0 chunks were given/);
  });

  test('a data item is found in its bundle, proven by its signature, and compared with what gateways answer', async () => {
    const stored = await turnpike('upload', file, '--wallet', wallet, '--json');
    assert.equal(stored.code, 0, stored.error);
    const { id } = JSON.parse(stored.out);
    const early = await checked(id);
    assert.equal(early.final, false);
    const promised = await fetch(`${stack.urls.upload}/v1/tx/${id}/proof`);
    assert.equal(((await promised.json()) as { bundle?: unknown }).bundle, undefined);
    const found = await eventually('the item is permanent', async () => {
      await node.text('/mine');
      const now = await checked(
        id,
        '--gateway',
        stack.urls.gateway ?? '',
        '--gateway',
        stack.urls.router ?? '',
      );
      return now.final && now.gateways.every(({ state }) => state === 'right') ? now : undefined;
    });
    assert.deepEqual([found.kind, found.verifiedBy, found.bundles.length], ['data item', 'signature', 1]);
    assert.equal(found.gateways.length, 2);
    const proof = join(folder, 'proof.json');
    const answer = await fetch(`${stack.urls.upload}/v1/tx/${id}/proof`);
    assert.equal(answer.status, 200);
    const told = await answer.text();
    writeFileSync(proof, told);
    const states = async (...args: string[]) => {
      const { code, out, error } = await turnpike('verify', ...args, '--json');
      assert.ok(code === 0 || code === 3, error);
      const findings: { what: string; state: string }[] = JSON.parse(out);
      return [code, ...findings.map(({ what, state }) => `${what} ${state}`)];
    };
    const all = ['receipt proven', 'item proven', 'bundle proven', 'block proven'];
    assert.deepEqual(await states(proof, file), [0, ...all]);
    assert.deepEqual(await states(proof), [0, 'receipt proven', 'item not checked', 'bundle not checked']);
    const other = join(folder, 'other');
    writeFileSync(other, Buffer.from(data).fill(1, 5, 6));
    assert.deepEqual(await states(proof, other), [3, 'receipt proven', 'item wrong']);
    // Whatever is changed in it is found.
    const changes: [(proof: Proof) => unknown, string][] = [
      [
        ({ receipt }) => Object.assign(receipt, { deadlineHeight: receipt.deadlineHeight + 1 }),
        'receipt wrong',
      ],
      [({ bundle }) => Object.assign(bundle, { offset: bundle.offset + 1 }), 'bundle wrong'],
      [({ bundle }) => bundle.chunks.pop(), 'bundle wrong'],
      [({ bundle }) => Object.assign(bundle.transaction, { reward: '1' }), 'bundle wrong'],
      [
        ({ bundle: { block } }) => Object.assign(block, { txRoot: `A${block.txRoot.slice(1)}` }),
        'block wrong',
      ],
    ];
    for (const [change, expected] of changes) {
      const changed: Proof = JSON.parse(told);
      change(changed);
      writeFileSync(proof, JSON.stringify(changed));
      const found = await states(proof, file);
      assert.equal(found[0], 3, expected);
      assert.ok(found.includes(expected), found.join());
    }
    const [bundle = ''] = found.bundles;
    const permanent = new RegExp(`^Bundle ${bundle} is permanent since .*\\.$`, 'm');
    await eventually('the bundler looked at it again', async () =>
      permanent.test((await turnpike('admin', 'bundles', 'permanent')).out),
    );
    assert.equal((await turnpike('admin', 'bundles', 'damaged')).out, 'there are none\n');
    const { host } = new URL(stack.urls.gateway ?? '');
    const listening = await turnpike('admin', 'announcements');
    assert.equal(listening.out, `${host} listens: 0 items wait for it, 0 were given up\n`);
    const bundled = await turnpike('reseed', id, file);
    assert.match(bundled.error, /of a data item the bundle is seeded/);
  });

  test('what makes no sense is refused', async () => {
    assert.equal((await turnpike('check', 'short')).code, 64);
    assert.equal((await turnpike('check')).code, 64);
    assert.equal((await turnpike('reseed', 'A'.repeat(43))).code, 64);
    assert.equal((await turnpike('verify')).code, 64);
    assert.match((await turnpike('verify', wallet)).error, /this is no proof of an item/);
    assert.equal((await fetch(`${stack.urls.upload}/v1/tx/${'A'.repeat(43)}/proof`)).status, 404);
    assert.equal((await fetch(`${stack.urls.upload}/v1/tx/short/proof`)).status, 400);
    assert.equal((await checked('A'.repeat(43))).kind, 'unknown');
    const away = await turnpike('check', 'A'.repeat(43), '--node', 'http://127.0.0.1:1');
    assert.equal(away.code, 1);
    assert.match(away.error, /could not be checked/);
  });
});

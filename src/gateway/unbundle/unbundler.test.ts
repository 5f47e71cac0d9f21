/** Bundles on the real local node, from the block to the answer of GraphQL. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  engines,
  type Inside,
  type LocalStack,
  type LocalStackOptions,
  makeTransaction,
  send,
  startLocalStack,
  text,
  until,
} from '../../../test/support/local-gateway.ts';
import { bundleTags } from '../../formats/ans104/bundle-header.ts';
import { parseItem } from '../../formats/ans104/item.ts';
import { ed25519Signer, type ItemContents, signItem } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { gatewayMigrations } from '../migrations.ts';
import { indexAnnounced, parseAnnounced } from './optimistic.ts';
import { BundleQueue } from './queue.ts';
import { bundleStatus } from './status.ts';

let stack: LocalStack | undefined;
let onEngine: LocalStackOptions = {};
afterEach(async () => {
  await stack?.stop();
  stack = undefined;
});
async function start(options: LocalStackOptions = {}): Promise<LocalStack> {
  stack = await startLocalStack({ ...onEngine, ...options });
  return stack;
}
const inside = (): Inside => {
  assert.ok(stack);
  return stack.inside;
};

const signer = ed25519Signer(ed25519TestKey('unbundle'));
const makeItem = (contents: ItemContents) => signItem(contents, signer);
function idOf(item: Buffer): string {
  const parsed = parseItem(item);
  assert.ok(typeof parsed !== 'string');
  return parsed.header.id;
}
function bundleOf(items: readonly Buffer[]): Buffer {
  // By hand, since the writer of bundles refuses what the chain is known to hold.
  const header = Buffer.alloc(32 + 64 * items.length);
  header.writeUInt32LE(items.length, 0);
  items.forEach((item, index) => {
    header.writeUInt32LE(item.length, 32 + 64 * index);
    header.set(Buffer.from(idOf(item), 'base64url'), 64 + 64 * index);
  });
  return Buffer.concat([header, ...items]);
}
async function postBundle(running: LocalStack, bundle: Buffer): Promise<string> {
  const { transaction, post } = await makeTransaction(running.node.url, bundle, [...bundleTags]);
  await post();
  await text(`${running.node.url}/mine`);
  return transaction.id.toString('base64url');
}

const node = `id bundledIn { id } block { height } data { size type } tags { name value } owner { address key } signature`;
const find = async (running: LocalStack, id: string) =>
  JSON.parse(
    await send(`${running.gateway.url}/graphql`, { query: `{ transaction(id: "${id}") { ${node} } }` }),
  ).data.transaction;
const completeness = async (running: LocalStack) => {
  const fields =
    'complete everything ranges { min max } unreadBundles { id state } leftOutBundles { id state }';
  const query = `{ completeness { ${fields} } }`;
  return JSON.parse(await send(`${running.gateway.url}/graphql`, { query })).data.completeness;
};
const finished = (id: string) =>
  until(`bundle ${id} is done`, async () => {
    const status = await bundleStatus(inside().index.sql, id);
    return status !== undefined && ['unbundled', 'failed', 'skipped'].includes(status.state) && status;
  });

for (const engine of engines)
  describe(`the unbundler on ${engine.name}`, () => {
    beforeEach(() => {
      onEngine = engine.options;
    });

    it('is well again once the queue can be read again, though no bundle comes', async (t) => {
      const claim = t.mock.method(BundleQueue.prototype, 'claim', async () => {
        throw new Error('the database is away');
      });
      const running = await start({ overrides: { ANS104_UNBUNDLE_WORKERS: '1' } });
      const complains = async () => {
        inside().queue.wake();
        const answer = await fetch(`${running.gateway.url}/gw/healthcheck?strict=true`);
        return (await answer.text()).includes('The job \\"unbundle 1\\" failed');
      };
      await until('it complains', complains);
      claim.mock.restore();
      await until('it is well', async () => !(await complains()));
    });

    it('indexes items at every depth with their places, hashes and tags', async () => {
      const running = await start();
      const inner = await makeItem({ data: Buffer.from('innermost'), tags: [{ name: 'Depth', value: '3' }] });
      const middle = await makeItem({ data: bundleOf([inner]), tags: [...bundleTags] });
      const outer = await makeItem({
        data: bundleOf([middle]),
        tags: [...bundleTags, { name: 'Depth', value: '1' }],
      });
      const plain = await makeItem({
        data: Buffer.alloc(300_000, 7),
        tags: [{ name: 'Content-Type', value: 'text/plain' }],
      });
      const bundle = bundleOf([plain, outer]);
      const root = await postBundle(running, bundle);
      await until('the innermost item is indexed', () => find(running, idOf(inner)));

      const shown = await find(running, idOf(plain));
      assert.equal(shown.bundledIn.id, root);
      assert.equal(shown.block.height, 1);
      assert.deepEqual(shown.data, { size: '300000', type: 'text/plain' });
      assert.equal(shown.owner.address, hash('sha256', signer.owner, 'base64url'));
      assert.equal((await find(running, idOf(inner))).bundledIn.id, idOf(middle));

      for (const [item, payload] of [
        [plain, Buffer.alloc(300_000, 7)],
        [inner, Buffer.from('innermost')],
      ] as const) {
        const located = await inside().index.locate(idOf(item));
        const place = located?.placement;
        assert.ok(located !== undefined && place !== undefined);
        assert.equal(place.root, root);
        const at = place.dataOffsetInRoot;
        assert.deepEqual(bundle.subarray(at, at + located.size), payload);
        const start = place.itemOffsetInRoot;
        assert.deepEqual(bundle.subarray(start, start + place.itemSize), item);
        assert.equal(located.hash, hash('sha256', payload, 'base64url'));
        assert.equal(located.verified, true);
      }
      const record = JSON.parse(await text(`${running.gateway.url}/tx/${idOf(plain)}`));
      assert.deepEqual(
        [record.id, record.root_transaction_id, record.data_size],
        [idOf(plain), root, '300000'],
      );
      assert.equal(JSON.parse(await text(`${running.gateway.url}/tx/${idOf(inner)}/status`)).block_height, 1);
    });

    it('skips broken, false and repeated items without losing the others, and counts them', async () => {
      const running = await start();
      const good = await makeItem({ data: Buffer.from('good') });
      const forged = await makeItem({ data: Buffer.from('forged') });
      forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
      const nonsense = await makeItem({ data: Buffer.from('nonsense') });
      const last = await makeItem({ data: Buffer.from('last') });
      const bundle = bundleOf([good, forged, nonsense, good, last]);
      // An unknown signature type, after the header has been made from the good one.
      const at = bundle.indexOf(nonsense);
      bundle.writeUInt16LE(999, at);
      const root = await postBundle(running, bundle);
      const status = await finished(root);
      assert.deepEqual(
        [
          status.state,
          status.dataItemCount,
          status.matchedDataItemCount,
          status.duplicatedDataItemCount,
          status.invalidDataItemCount,
        ],
        ['unbundled', 5, 2, 1, 2],
      );
      assert.ok(await find(running, idOf(good)));
      assert.ok(await find(running, idOf(last)));
      assert.equal(await find(running, idOf(forged)), null);
    });

    it('reads what a careless writer left: bytes after the last item, and items that are cut off', async () => {
      const running = await start();
      const item = await makeItem({ data: Buffer.from('careless') });
      const trailing = await finished(
        await postBundle(running, Buffer.concat([bundleOf([item]), Buffer.alloc(64, 1)])),
      );
      const counts = (status: typeof trailing) => [
        status.state,
        status.dataItemCount,
        status.matchedDataItemCount,
        status.invalidDataItemCount,
        status.remark,
        status.lastError,
      ];
      assert.deepEqual(counts(trailing), ['unbundled', 1, 1, 0, '64 bytes after the last item', null]);
      assert.ok(await find(running, idOf(item)));
      const whole = await makeItem({ data: Buffer.from('whole') });
      const rest = await makeItem({ data: Buffer.from('cut off') });
      const cut = await finished(await postBundle(running, bundleOf([whole, rest]).subarray(0, -3)));
      const remark = 'items from number 2 on reach beyond the end of the bundle';
      assert.deepEqual(counts(cut), ['unbundled', 2, 1, 1, remark, null]);
      assert.ok(await find(running, idOf(whole)));
    });

    it('reads bundles again that an earlier version gave up for such a thing', async () => {
      const running = await start();
      const item = await makeItem({ data: Buffer.from('given up') });
      const { sql } = inside().index;
      const root = await postBundle(running, Buffer.concat([bundleOf([item]), Buffer.from('x')]));
      await finished(root);
      await sql.run(
        "UPDATE bundles SET state = 'failed', remark = NULL, last_error = 'there are bytes after the last item'",
      );
      const again = gatewayMigrations.find(({ id }) => id === 'gateway-unbundle-read-again');
      await sql.run(again?.up ?? '');
      await until('it is read again', async () => (await bundleStatus(sql, root))?.state === 'unbundled');
    });

    it('gives up bytes that are no bundle, whatever they claim', async () => {
      const running = await start();
      const item = await makeItem({ data: Buffer.from('x') });
      const lies: Buffer[] = [];
      const huge = bundleOf([item]);
      huge.writeUInt32LE(0xffffffff, 0);
      lies.push(huge);
      const longer = bundleOf([item]);
      longer.writeUInt32LE(item.length + 50, 32);
      lies.push(longer, Buffer.from('short'));
      for (const lie of lies) {
        const status = await finished(await postBundle(running, lie));
        assert.deepEqual([status.state, status.retryAttemptCount], ['failed', 1]);
        assert.ok(status.lastError);
      }
      assert.equal((await completeness(running)).everything, true, 'what is no bundle lacks nothing');
      const empty = await finished(await postBundle(running, Buffer.alloc(32)));
      assert.deepEqual([empty.state, empty.dataItemCount, empty.matchedDataItemCount], ['unbundled', 0, 0]);
    });

    it('keeps to the filters, and looks again when they change', async () => {
      const running = await start({
        overrides: {
          ANS104_UNBUNDLE_FILTER: '{"never":true}',
          ANS104_INDEX_FILTER: '{"tags":[{"name":"Keep","value":"yes"}]}',
        },
      });
      const kept = await makeItem({ data: Buffer.from('kept'), tags: [{ name: 'Keep', value: 'yes' }] });
      const left = await makeItem({ data: Buffer.from('left') });
      const root = await postBundle(running, bundleOf([kept, left]));
      const skipped = await finished(root);
      assert.deepEqual(
        [skipped.state, skipped.firstQueuedAt, skipped.importAttemptCount],
        ['skipped', null, 1],
      );
      assert.ok(skipped.firstSkippedAt);
      const told = await completeness(running);
      assert.deepEqual([told.complete, told.everything], [true, false]);
      assert.deepEqual(told.leftOutBundles, [{ id: root, state: 'SKIPPED' }]);

      await running.restartGateway({ ANS104_UNBUNDLE_FILTER: '{"always":true}' });
      const status = await until('it is read', async () => {
        const now = await finished(root);
        return now.state === 'unbundled' && now;
      });
      assert.deepEqual([status.dataItemCount, status.matchedDataItemCount], [2, 1]);
      assert.equal(status.previousUnbundleFilterId, skipped.unbundleFilterId);
      assert.ok(await find(running, idOf(kept)));
      assert.equal(await find(running, idOf(left)), null);

      await running.restartGateway({
        ANS104_UNBUNDLE_FILTER: '{"always":true}',
        ANS104_INDEX_FILTER: '{"always":true}',
      });
      await until('the other item is indexed', () => find(running, idOf(left)));
    });

    it('tries again when chunks are missing or wrong, and ends right', async () => {
      const running = await start();
      const item = await makeItem({ data: Buffer.from('late') });
      await send(`${running.node.url}/faults`, { wrongChunks: true, path: '/chunk/' });
      const root = await postBundle(running, bundleOf([item]));
      const waiting = await until('it failed once', async () => {
        const status = await bundleStatus(inside().index.sql, root);
        return status?.state === 'queued' && status.retryAttemptCount > 0 && status;
      });
      assert.ok(waiting.firstRetriedAt);
      assert.equal(await find(running, idOf(item)), null);
      const late = await completeness(running);
      assert.deepEqual([late.complete, late.unreadBundles], [false, [{ id: root, state: 'QUEUED' }]]);
      assert.deepEqual(late.ranges, [{ min: 0, max: 0 }]);
      // A fork takes its block back, and the new branch mines it again, higher.
      await send(`${running.node.url}/fork`, { depth: 1, blocks: 2 });
      await until('it is on the new branch', async () => {
        await text(`${running.node.url}/mine`);
        const { ranges, complete } = await completeness(running);
        return !complete && ranges[0].max >= 2;
      });
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });
      await inside().index.sql.run('UPDATE bundles SET next_try_at = 0');
      assert.equal((await finished(root)).state, 'unbundled');
      assert.ok(await find(running, idOf(item)));
      assert.equal((await completeness(running)).everything, true);
    });

    it('upgrades announced items, and moves them with their root when a fork comes', async () => {
      const running = await start();
      await text(`${running.node.url}/mine/3`);
      const item = await makeItem({ data: Buffer.from('soon'), tags: [{ name: 'A', value: 'b' }] });
      const parsed = parseItem(item);
      assert.ok(typeof parsed !== 'string');
      const announced = parseAnnounced({
        id: idOf(item),
        owner: parsed.header.owner.toString('base64url'),
        owner_address: parsed.header.ownerAddress,
        signature: parsed.header.signature.toString('base64url'),
        data_size: 4,
        tags: [
          { name: Buffer.from('A').toString('base64url'), value: Buffer.from('b').toString('base64url') },
        ],
      });
      assert.ok(announced);
      assert.equal(await indexAnnounced(inside().index, [announced, announced]), 1);
      assert.deepEqual(
        [(await find(running, idOf(item))).block, (await find(running, idOf(item))).bundledIn],
        [null, null],
      );
      const root = await postBundle(running, bundleOf([item]));
      await finished(root);
      assert.equal(await indexAnnounced(inside().index, [announced]), 0);
      const mined = await find(running, idOf(item));
      assert.deepEqual([mined.block.height, mined.bundledIn.id], [4, root]);

      await send(`${running.node.url}/fork`, { depth: 1, blocks: 2 });
      await until('it waits again', async () => (await find(running, idOf(item))).block === null);
      await text(`${running.node.url}/mine`);
      await until('it is mined again', async () => (await find(running, idOf(item))).block?.height === 6);
    });

    it('believes of announcements what fits together, and refuses those that are none', () => {
      const signature = Buffer.alloc(64, 1);
      const owner = Buffer.alloc(32, 2);
      const right = {
        id: hash('sha256', signature, 'base64url'),
        owner: owner.toString('base64url'),
        owner_address: hash('sha256', owner, 'base64url'),
        signature: signature.toString('base64url'),
        data_size: 1,
      };
      const address = hash('sha256', owner, 'buffer');
      assert.deepEqual(parseAnnounced(right)?.signature, signature);
      assert.deepEqual(parseAnnounced(right)?.ownerAddress, address);
      const wrong = hash('sha256', 'x', 'base64url');
      assert.equal(parseAnnounced({ ...right, id: wrong })?.signature, null);
      assert.deepEqual(parseAnnounced({ ...right, owner_address: wrong })?.ownerAddress, address);
      for (const change of [
        { id: 'x'.repeat(43) },
        { signature: '' },
        { owner: '' },
        { data_size: -1 },
        { data_size: 1.5 },
        { target: 'A'.repeat(100) },
        { tags: [{ name: '=', value: '' }] },
      ]) {
        assert.equal(parseAnnounced({ ...right, ...change }), undefined, JSON.stringify(change));
      }
    });
  });

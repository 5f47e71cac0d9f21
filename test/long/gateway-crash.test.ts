/** `kill -9` at any moment of import and unbundling, forks in between: the index is in the end what the chain says. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { type MadeItem, makeItem } from '../support/admin-gateway.ts';
import { startLocalArweave } from '../support/local-arweave.ts';
import { makeTransaction, send, text, until } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const random = seededRandom(18_18);
const kills = 6;
const tag = { name: 'Test', value: 'crash' };

interface Shown {
  readonly id: string;
  readonly block: { readonly id: string; readonly height: number } | null;
  readonly bundledIn: { readonly id: string } | null;
}

/** What the index must know of an id: the transaction it came with, and what it lies in. */
interface Expected {
  readonly root: string;
  readonly bundledIn: string | undefined;
}

function bundleOf(items: readonly MadeItem[]): Buffer {
  const header = encodeBundleHeader(
    items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
  );
  return Buffer.concat([header, ...items.map(({ bytes }) => bytes)]);
}

const makeItems = (count: number) =>
  Promise.all(Array.from({ length: count }, () => makeItem({ tags: [tag], data: random.bytes(40) })));

/** All records with the tag, page by page. */
async function shownBy({ urls }: RunningStack, sort: string): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let after = ''; ; ) {
    const answer = await send(`${urls.gateway}/graphql`, {
      query: `query($after: String) { transactions(first: 90, after: $after, sort: ${sort},
        tags: [{ name: "Test", values: ["crash"] }]) {
          pageInfo { hasNextPage } edges { cursor node { id block { id height } bundledIn { id } } } } }`,
      variables: { after },
    });
    const { edges, pageInfo } = JSON.parse(answer).data.transactions;
    for (const { node } of edges) shown.push(node);
    if (!pageInfo.hasNextPage) return shown;
    after = edges.at(-1).cursor;
  }
}

test('a gateway that is killed again and again has in the end what the chain has', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-gateway-crash-'));
  const node = await startLocalArweave();
  const nodeUrl = node.client.url;
  const expected = new Map<string, Expected>();
  let running: RunningStack | undefined;
  const start = async () => {
    running = await startStack({
      dataDir,
      only: ['gateway'],
      environment: { ARWEAVE_NODE_URLS: nodeUrl, GATEWAY_POLL_INTERVAL_MS: '20', LOG_LEVEL: 'fatal' },
    });
    return running;
  };

  async function postBundle(stack: RunningStack): Promise<void> {
    const inner = await makeItems(8);
    const nested = await makeItem({ tags: [tag, ...bundleTags], data: bundleOf(inner) });
    const items = [...(await makeItems(random.between(5, 300))), nested];
    const made = await makeTransaction(nodeUrl, bundleOf(items), [tag, ...bundleTags]);
    const root = made.transaction.id.toString('base64url');
    expected.set(root, { root, bundledIn: undefined });
    for (const { id } of items) expected.set(id, { root, bundledIn: root });
    for (const { id } of inner) expected.set(id, { root, bundledIn: nested.id });
    // Some are announced before they are on the chain.
    const key = readFileSync(join(dataDir, 'keys', 'admin-api-key'), 'utf8').trim();
    const announced = items.slice(0, 10).map(({ header }) => header);
    await fetch(`${stack.urls.gateway}/gw/admin/queue-data-item`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(announced),
    }).then((answer) => answer.arrayBuffer());
    await made.post();
  }

  try {
    // Deep enough for every fork.
    await text(`${nodeUrl}/mine/4`);
    for (let round = 0; round < kills; round += 1) {
      const stack = await start();
      for (let count = random.between(1, 3); count > 0; count -= 1) await postBundle(stack);
      await text(`${nodeUrl}/mine/${random.between(1, 4)}`);
      await sleep(random.below(400));
      if (random.below(2) === 0) await send(`${nodeUrl}/fork`, { depth: random.between(1, 4) });
      await sleep(random.below(200));
      await stack.end('SIGKILL');
    }
    const stack = await start();
    await text(`${nodeUrl}/mine/25`);
    const shown = await until(
      'everything is indexed',
      async () => {
        const { current } = JSON.parse(await text(`${nodeUrl}/info`));
        const { indep_hash } = JSON.parse(await text(`${stack.urls.gateway}/block/current`));
        const all = await shownBy(stack, 'HEIGHT_ASC');
        return indep_hash === current && all.length >= expected.size && all.every((one) => one.block) && all;
      },
      300_000,
    );
    assert.deepEqual(new Set(shown.map(({ id }) => id)), new Set(expected.keys()));
    assert.equal(shown.length, expected.size, 'nothing twice');
    const places = new Map<string, { block_height: number; block_indep_hash: string }>();
    for (const { id, block, bundledIn } of shown) {
      const { root, bundledIn: parent } = expected.get(id) ?? assert.fail();
      if (!places.has(root)) places.set(root, JSON.parse(await text(`${nodeUrl}/tx/${root}/status`)));
      assert.equal(bundledIn?.id, parent);
      assert.equal(block?.height, places.get(root)?.block_height);
      assert.equal(block?.id, places.get(root)?.block_indep_hash);
    }
    const backwards = await shownBy(stack, 'HEIGHT_DESC');
    assert.deepEqual(backwards.reverse(), shown);
  } finally {
    await running?.stop();
    await node.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

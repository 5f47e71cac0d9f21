/** The importer against the real local node: forks, outages, restarts, holes, pending transactions. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  engines,
  type LocalStack,
  type LocalStackOptions,
  makeTransaction,
  send,
  startLocalStack,
  text,
  until,
} from '../../../test/support/local-gateway.ts';
import { EventLog } from '../../events/event-log.ts';
import { unpackChanges } from '../chain-index/event-batch.ts';
import { entry, header } from '../chain-index/testing.ts';
import { fetchTransaction } from './fetch-block.ts';

let stack: LocalStack | undefined;
let onEngine: LocalStackOptions = {};
afterEach(async () => {
  await stack?.stop();
  stack = undefined;
});
async function start(options?: LocalStackOptions): Promise<LocalStack> {
  stack = await startLocalStack({ ...onEngine, ...options });
  return stack;
}

interface Shown {
  id: string;
  block: { height: number; id: string } | null;
}

const query = async (running: LocalStack, args = ''): Promise<Shown[]> => {
  const answer = await send(`${running.gateway.url}/graphql`, {
    query: `{ transactions(first: 1000, sort: HEIGHT_ASC ${args}) { edges { node { id block { height id } } } } }`,
  });
  return JSON.parse(answer).data.transactions.edges.map((edge: { node: Shown }) => edge.node);
};
const blocks = async (running: LocalStack): Promise<{ height: number; id: string }[]> => {
  const answer = await send(`${running.gateway.url}/graphql`, {
    query: '{ blocks(first: 1000, sort: HEIGHT_ASC) { edges { node { height id } } } }',
  });
  return JSON.parse(answer).data.blocks.edges.map(
    (edge: { node: { height: number; id: string } }) => edge.node,
  );
};
const nodeHeight = async (running: LocalStack) => Number(await text(`${running.node.url}/height`));
const caughtUp = (running: LocalStack) =>
  until('the gateway has the chain', async () => {
    const imported = await blocks(running);
    const info = JSON.parse(await text(`${running.node.url}/info`));
    const head = imported.at(-1);
    return head !== undefined && head.id === info.current && imported;
  });
const post = async (running: LocalStack, data = randomBytes(20)) => {
  const { transaction, post } = await makeTransaction(running.node.url, data, [
    { name: 'Test', value: 'yes' },
  ]);
  await post();
  return transaction.id.toString('base64url');
};

for (const engine of engines)
  describe(`the importer on ${engine.name}`, () => {
    beforeEach(() => {
      onEngine = engine.options;
    });

    it('imports every block from the first on, and every transaction with its block', async () => {
      const running = await start();
      const ids: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        ids.push(await post(running));
        await text(`${running.node.url}/mine`);
      }
      const imported = await caughtUp(running);
      assert.deepEqual(
        imported.map(({ height }) => height),
        Array.from({ length: (await nodeHeight(running)) + 1 }, (_, height) => height),
      );
      const shown = await query(running, ', tags: [{ name: "Test", values: ["yes"] }]');
      assert.deepEqual(
        shown.map(({ id }) => id),
        ids,
      );
      for (const { block } of shown) {
        assert.equal(imported[block?.height ?? -1]?.id, block?.id);
      }
    });

    it('shows pending transactions, and upgrades them when they are mined', async () => {
      const running = await start();
      const id = await post(running);
      await until('the pending one is seen', async () =>
        (await query(running)).some((one) => one.id === id && one.block === null),
      );
      await text(`${running.node.url}/mine`);
      await until('it is mined', async () => {
        const shown = (await query(running)).filter((one) => one.id === id);
        assert.equal(shown.length, 1);
        return shown[0]?.block !== null;
      });
    });

    it('follows a fork of depth 18 and its transactions back into the new branch', async () => {
      const running = await start();
      await text(`${running.node.url}/mine/5`);
      const kept = await post(running);
      await text(`${running.node.url}/mine`);
      const moved = await post(running);
      await text(`${running.node.url}/mine/18`);
      const before = await caughtUp(running);
      const heightBefore = (await query(running)).find(({ id }) => id === moved)?.block?.height;
      await send(`${running.node.url}/fork`, { depth: 18 });
      const after = await caughtUp(running);
      assert.equal(after.length, before.length + 1);
      assert.deepEqual(after.slice(0, -19), before.slice(0, -18));
      assert.notDeepEqual(after.at(-19), before.at(-18));
      await until(
        'the transaction waits again',
        async () => (await query(running)).find(({ id }) => id === moved)?.block === null,
      );
      await text(`${running.node.url}/mine`);
      const mined = await until('it is mined again', async () =>
        (await query(running)).find(({ id, block }) => id === moved && block !== null),
      );
      assert.notEqual(mined.block?.height, heightBefore);
      assert.notEqual((await query(running)).find(({ id }) => id === kept)?.block, null);
      const metrics = await text(`${running.gateway.url}/gw/__gateway_metrics`);
      assert.match(metrics, /^last_fork_depth 18$/m);
    });

    it('does not follow a deeper fork by itself, says so, and does when told', async () => {
      const running = await start({ overrides: { GATEWAY_MAX_FORK_DEPTH: '3' } });
      await text(`${running.node.url}/mine/10`);
      const before = await caughtUp(running);
      await send(`${running.node.url}/fork`, { depth: 6 });
      await until('it says why it is unhealthy', async () => {
        const health = JSON.parse(await text(`${running.gateway.url}/gw/healthcheck`));
        return health.status === 'unhealthy' && health.reasons.join().includes('Fork deeper than 3 blocks');
      });
      assert.equal((await fetch(`${running.gateway.url}/gw/healthcheck?strict=true`)).status, 503);
      assert.deepEqual((await blocks(running)).slice(0, 5), before.slice(0, 5));
      // Nor where it may, down to what was moved to the history.
      await running.inside.index.sql.run(
        `INSERT INTO history_batches (batch, state, items, records, pruned, pruned_pos, pruned_tie, first_height,
           last_height, made_at) VALUES (1, 'moved', 1, ?, 1, 0, 0, 0, 10, 0)`,
        Buffer.alloc(0),
      );
      await running.restartGateway({ GATEWAY_MAX_FORK_DEPTH: '18' });
      await until('it says what the fork reaches', async () => {
        const { reasons } = JSON.parse(await text(`${running.gateway.url}/gw/healthcheck`));
        return reasons.join().includes('up to height 10 were moved to the history, which no fork may reach');
      });
      assert.deepEqual((await blocks(running)).slice(0, 5), before.slice(0, 5));
      await running.inside.index.sql.run('DELETE FROM history_batches');
      await caughtUp(running);
    });

    it('survives an outage and goes on where it was', async () => {
      const running = await start();
      await text(`${running.node.url}/mine/3`);
      await caughtUp(running);
      await send(`${running.node.url}/faults`, { status: 500 });
      await until(
        'it notices',
        async () => JSON.parse(await text(`${running.gateway.url}/gw/healthcheck`)).status === 'unhealthy',
      );
      assert.match(await text(`${running.gateway.url}/height`), /^[0-9]+$/);
      assert.match(await text(`${running.gateway.url}/block/height/2`), /"height":2/);
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });
      await text(`${running.node.url}/mine/3`);
      await caughtUp(running);
      await until(
        'it is well again',
        async () => JSON.parse(await text(`${running.gateway.url}/gw/healthcheck`)).status === 'ok',
      );
    });

    it('says that it does not get on where it is behind for long, not where no block came for long', async (t) => {
      const now = performance.now.bind(performance);
      let passedMs = 0;
      t.mock.method(performance, 'now', () => now() + passedMs);
      const running = await start();
      await text(`${running.node.url}/mine/3`);
      const imported = await caughtUp(running);
      const stuck = async (): Promise<string | undefined> => {
        const { reasons = [] } = JSON.parse(await text(`${running.gateway.url}/gw/healthcheck`));
        return reasons.find((reason: string) => reason.startsWith('No block imported'));
      };
      /** Time in which the importer looks at the chain at least once. */
      const passes = async (ms: number) => {
        const { mock } = t.mock.method(running.inside.nodes, 'check');
        passedMs += ms;
        await until('the importer has looked', () => mock.callCount() > 2);
        mock.restore();
      };
      const isBehind = () => running.inside.nodes.height > running.inside.index.height;

      await passes(600_000);
      await send(`${running.node.url}/faults`, { hang: true, path: '/block' });
      await text(`${running.node.url}/mine`);
      await until('the chain is seen to have grown', isBehind);
      assert.equal(await stuck(), undefined);
      passedMs += 400_000;
      assert.match((await stuck()) ?? '', /^No block imported for 4\d\d seconds, 1 behind\.$/);
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });

      await running.restartGateway({ STOP_HEIGHT: String(imported.length) });
      await text(`${running.node.url}/mine/2`);
      await until('all that is wanted is there', () => running.inside.index.height === imported.length);
      await until('the chain is seen to go on', isBehind);
      await passes(600_000);
      assert.equal(await stuck(), undefined, 'blocks that nobody wants are not missed');
    });

    it('restarts where it stopped, and fills what lies before when it is told to begin earlier', async () => {
      const running = await start({ overrides: { START_HEIGHT: '6' } });
      const early = await post(running);
      await text(`${running.node.url}/mine/9`);
      const before = await caughtUp(running);
      assert.equal(before[0]?.height, 6);
      const told = JSON.parse(await text(`${running.gateway.url}/gw/completeness?max=20`));
      assert.deepEqual(told.missingBlocks[0], { min: 0, max: 5 });
      assert.deepEqual(told.ranges, [{ min: 6, max: before.at(-1)?.height }]);
      await text(`${running.node.url}/mine/2`);
      await running.restartGateway();
      await caughtUp(running);
      await running.restartGateway({ START_HEIGHT: '0' });
      await until(
        'the beginning is there',
        async () => (await blocks(running)).length === (await nodeHeight(running)) + 1,
      );
      assert.equal((await query(running)).find(({ id }) => id === early)?.block?.height, 1);
    });

    it('shares one database between gateways: one imports, all answer, another takes over', async () => {
      const running = await start();
      const other = await running.addGateway();
      const importing = async () => {
        const states: string[] = [];
        for (const { url } of [running.gateway, other]) {
          const metrics = await text(`${url}/gw/__gateway_metrics`);
          states.push(/^block_importer_running (\d)/m.exec(metrics)?.[1] ?? '');
        }
        return states.join('');
      };
      const id = await post(running);
      await text(`${running.node.url}/mine`);
      await caughtUp(running);
      await until('one of the two imports', async () => ['10', '01'].includes(await importing()));
      const asked = { query: `{ transaction(id: "${id}") { block { height } } }` };
      for (const { url } of [running.gateway, other]) {
        await until(
          'it answers',
          async () => JSON.parse(await send(`${url}/graphql`, asked)).data.transaction?.block,
        );
      }
      await running.gateway.stop();
      await text(`${running.node.url}/mine/3`);
      const head = await text(`${running.node.url}/height`);
      await until('the other goes on', async () => (await text(`${other.url}/height`)) === head);
    });

    it('undoes what a crash left of a block that was not finished', async () => {
      const running = await start();
      await text(`${running.node.url}/mine/2`);
      const imported = await caughtUp(running);
      const { index } = running.inside;
      const half = entry(header('half written'), { height: imported.length, blockIndex: 0 });
      const prepared = await index.writer.prepare([half]);
      await index.sql.transaction((tx) => index.writer.put(tx, prepared));
      const id = half.header.id.toString('base64url');
      assert.equal((await index.locate(id))?.height, imported.length);
      await running.restartGateway();
      await until('it is taken back', async () =>
        (await query(running)).some((one) => one.id === id && one.block === null),
      );
      await text(`${running.node.url}/mine/2`);
      await caughtUp(running);
      assert.equal((await running.inside.index.locate(id))?.height, undefined);
    });

    it('goes on with a block that a crash left half written, and tells nobody that it was taken back', async () => {
      const running = await start();
      await text(`${running.node.url}/mine/2`);
      await caughtUp(running);
      await running.restartGateway({ START_WRITERS: 'false' });
      const id = await post(running);
      await text(`${running.node.url}/mine`);
      const { index, nodes } = running.inside;
      const found = await fetchTransaction(nodes, id, 'tx', { lane: 'import' });
      assert.ok(found !== undefined);
      const prepared = await index.writer.prepare([
        entry(found, { height: index.height + 1, blockIndex: 0 }),
      ]);
      await index.sql.transaction((tx) => index.writer.put(tx, prepared));
      await running.restartGateway();
      await caughtUp(running);
      await text(`${running.node.url}/mine`);
      await caughtUp(running);
      const { sql } = running.inside.index;
      const log = new EventLog(sql);
      await log.number();
      const states = (await log.read(0)).flatMap(unpackChanges).map(({ state }) => state);
      assert.equal(states.includes('reverted'), false);
      assert.equal((await query(running)).filter((one) => one.id === id && one.block !== null).length, 1);
    });

    it('answers 504 while the node hangs, and goes on after', async () => {
      const running = await start({ overrides: { GATEWAY_NODE_TIMEOUT_MS: '150' } });
      await text(`${running.node.url}/mine/2`);
      await caughtUp(running);
      await send(`${running.node.url}/faults`, { hang: true });
      assert.equal((await fetch(`${running.gateway.url}/price/1`)).status, 504);
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });
      await text(`${running.node.url}/mine/2`);
      await caughtUp(running);
    });

    it('keeps a block whose transaction cannot be had, and adds the transaction later', async () => {
      const running = await start({ overrides: { ENABLE_MEMPOOL_WATCHER: 'false' } });
      await text(`${running.node.url}/mine/2`);
      await caughtUp(running);
      const id = await post(running);
      await send(`${running.node.url}/faults`, { status: 404, path: `/tx/${id}` });
      await text(`${running.node.url}/mine`);
      const imported = await caughtUp(running);
      const completeness = async () => JSON.parse(await text(`${running.gateway.url}/gw/completeness`));
      const height = imported.at(-1)?.height;
      assert.deepEqual((await completeness()).missingTransactions, [{ id, height }]);
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });
      const shown = await until('the transaction came after', async () =>
        (await query(running)).find((one) => one.id === id && one.block !== null),
      );
      assert.equal(shown.block?.id, imported.at(-1)?.id);
      assert.equal((await completeness()).complete, true);
    });

    it('puts a transaction that waited to be mined into its block where no node gives it any more', async () => {
      const running = await start();
      const id = await post(running);
      await until('the pending one is seen', async () =>
        (await query(running)).some((one) => one.id === id && one.block === null),
      );
      await send(`${running.node.url}/faults`, { status: 404, path: `/tx/${id}` });
      await text(`${running.node.url}/mine`);
      const imported = await caughtUp(running);
      const shown = (await query(running)).find((one) => one.id === id);
      assert.equal(shown?.block?.id, imported.at(-1)?.id);
    });

    it('puts a transaction that was missing into its block as soon as somebody has asked for it', async () => {
      const running = await start({ overrides: { ENABLE_MEMPOOL_WATCHER: 'false' } });
      const data = randomBytes(20);
      const id = await post(running, data);
      await send(`${running.node.url}/faults`, { status: 404, path: `/tx/${id}` });
      await text(`${running.node.url}/mine`);
      const imported = await caughtUp(running);
      const { sql } = running.inside.index;
      const bytes = Buffer.from(id, 'base64url');
      const attempts = async () => {
        const row = await sql.get<{ attempts: number }>(
          'SELECT attempts FROM missing_transactions WHERE id = ?',
          bytes,
        );
        return row?.attempts;
      };
      await until('it was looked for', attempts);
      const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;
      await sql.run('UPDATE missing_transactions SET next_try_at = ? WHERE id = ?', inAnHour, bytes);
      await fetch(`${running.node.url}/faults`, { method: 'DELETE' });
      const answer = await fetch(`${running.gateway.url}/raw/${id}`);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), data);
      const shown = await until('it is in its block', async () =>
        (await query(running)).find((one) => one.id === id && one.block !== null),
      );
      assert.equal(shown.block?.id, imported.at(-1)?.id);
      assert.equal(await attempts(), undefined);
    });
  });

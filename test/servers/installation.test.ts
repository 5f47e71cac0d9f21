/**
 * The whole installation under the published clients, while each of its pieces is killed in turn: nothing that was
 * acknowledged is lost, nothing is doubled, and no answer is wrong. TEST_DATABASE_URL is not used: it has a cluster of its
 * own.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { eventually } from '../support/eventually.ts';
import { installClients } from '../support/install-clients.ts';
import { dollarsEach, type Installation, startInstallation, type Traffic } from '../support/installation.ts';
import { runTurnpike } from '../support/run-command.ts';
import { haproxyProgram } from '../support/servers/haproxy.ts';
import { pgbouncerProgram } from '../support/servers/pgbouncer.ts';
import { postgresPrograms } from '../support/servers/postgres-cluster.ts';
import { skipWithout } from '../support/servers/programs.ts';
import { startSwift, swiftPrograms } from '../support/servers/swift.ts';
import { freePorts } from '../support/stack.ts';

const oneCredit = 10n ** 12n;
/** On cores that others use too. */
const patiently: typeof eventually = (what, ask) => eventually(what, ask, 300_000);
const programs = { ...haproxyProgram, ...pgbouncerProgram, ...postgresPrograms, ...swiftPrograms };

test('an installation whose pieces are killed in turn', {
  skip: skipWithout(programs) ?? false,
}, async (t) => {
  installClients();
  // By address: types are checked without the clients, which are installed only now.
  const { startTraffic } = (await import(
    new URL('../clients/installation-clients.ts', import.meta.url).href
  )) as { startTraffic: (installation: Installation) => Traffic };
  const installation = await startInstallation({
    startObjectStore: startSwift,
    environment: { FREE_UPLOAD_LIMIT: '0' },
  });
  t.after(() => installation.stop());
  const { urls, pieces, processes, world } = installation;
  const balance = async (address: string): Promise<bigint> => {
    const answer = await fetch(`${urls.payment}/v1/account/balance?address=${address}`);
    if (answer.status === 404) return 0n;
    const told: { winc: string } = JSON.parse(await answer.text());
    return BigInt(told.winc);
  };
  const { ethereum, arweave } = localWallets();
  const before = await Promise.all([ethereum[0], arweave[1]].map((wallet) => balance(wallet?.address ?? '')));
  const traffic = startTraffic(installation);
  t.after(() => {
    traffic.abandon();
    for (const [what, why] of traffic.refusals) t.diagnostic(`${what} failed last with: ${why}`);
  });

  await patiently(
    'there is something to lose',
    () => traffic.items.length > 5 && traffic.cardPayments.length > 1,
  );
  for (const piece of pieces) {
    const [items, began] = [traffic.items.length, performance.now()];
    await piece.kill();
    // Long enough for requests to meet the hole.
    await sleep(1_000);
    await piece.restore();
    await patiently(`uploads go on after ${piece.name}`, () => traffic.items.length > items + 1);
    t.diagnostic(`${piece.name}: back and used again after ${Math.round(performance.now() - began)} ms`);
  }
  await traffic.stop();
  assert.deepEqual(traffic.wrong, [], 'no answer was wrong');
  assert.ok(traffic.reads.right > 100, `${traffic.reads.right} bodies were compared`);

  const stored = [...traffic.items, ...traffic.parted];
  await patiently('every item is permanent', async () => {
    for (const { id } of stored) {
      const status = await fetch(`${urls.upload}/v1/tx/${id}/status`);
      if (!(await status.text()).includes('FINALIZED')) return false;
    }
    return true;
  });
  await patiently('every gateway has the whole chain', async () => {
    const height = Number(await (await fetch(`${world.arweaveUrl}/height`)).text());
    const seen = processes
      .filter(({ surface }) => surface === 'gateway')
      .map(async ({ url }) => Number(await (await fetch(`${url}/height`)).text()));
    return (await Promise.all(seen)).every((at) => at >= height - 3);
  });

  const bundled = await bundledItems(installation);
  for (const { id } of stored) assert.equal(bundled.get(id), 1, `${id} is in one bundle`);
  for (const [id, times] of bundled) assert.equal(times, 1, `${id} is not in two bundles`);
  for (const { surface, url, name } of processes) {
    if (surface !== 'gateway' && surface !== 'router') continue;
    for (const { id, data } of [...stored, ...traffic.transactions]) {
      await patiently(`${name} has ${id}`, async () => {
        const answer = await fetch(`${url}/raw/${id}`);
        const body = Buffer.from(await answer.arrayBuffer());
        if (answer.status !== 200) return false;
        assert.ok(body.equals(data), `${name} has other bytes of ${id}`);
        return true;
      });
    }
  }
  const found = await taggedItems(urls.gateway, 'Installation');
  assert.deepEqual(found.sort(), traffic.items.map(({ id }) => id).sort(), 'GraphQL has each once');

  const spent = traffic.items.reduce((sum, { winc }) => sum + winc, 0n);
  assert.equal(await balance(traffic.uploader), (before[0] ?? 0n) - spent, 'each item was paid once');
  for (const { address, winc } of traffic.cardPayments) {
    await patiently(`${address} is credited`, async () => (await balance(address)) === winc);
  }
  for (const address of traffic.dollarPayers) {
    await patiently(`${address} has what it paid for`, async () => {
      const hasPaid = (await world.dollarsOf(address)) < dollarsEach;
      const credited = await balance(address);
      // A cent's fraction more than one credit: prices are rounded up.
      return hasPaid ? credited / oneCredit === 1n : credited === 0n;
    });
  }
  const coins = traffic.coinPayments.reduce((sum, winc) => sum + winc, 0n);
  assert.equal(await balance(traffic.coinPayer), (before[1] ?? 0n) + coins, 'each payment in AR counts once');
  for (const { name, target } of traffic.names) {
    const answer = await fetch(`${urls.gateway}/ar-io/resolver/${name}`);
    assert.ok((await answer.text()).includes(target), `${name} leads to ${target}`);
  }
  const ledger = await runTurnpike(['ledger', 'check'], {
    ...freePorts(),
    ...installation.environment,
    DATA_DIR: installation.operatorFolder,
  });
  assert.equal(ledger.code, 0, ledger.out + ledger.error);
  t.diagnostic(
    `${traffic.items.length} items, ${traffic.parted.length} in parts, ${traffic.transactions.length} transactions, ` +
      `${traffic.cardPayments.length} card, ${traffic.dollarPayers.length} x402, ${traffic.coinPayments.length} AR payments, ` +
      `${traffic.names.length} names; ${traffic.reads.right} reads right, ${traffic.reads.refused} refused`,
  );
});

/** How often each item is in a bundle of the chain. */
async function bundledItems({ world }: Installation): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  const ask = async (path: string) => fetch(`${world.arweaveUrl}${path}`);
  const height = Number(await (await ask('/height')).text());
  for (let at = 0; at <= height; at += 1) {
    const block: { txs: string[] } = JSON.parse(await (await ask(`/block/height/${at}`)).text());
    for (const id of block.txs) {
      const tx: { tags: { name: string; value: string }[] } = JSON.parse(
        await (await ask(`/tx/${id}`)).text(),
      );
      const isBundle = tx.tags.some(({ name }) =>
        Buffer.from(name, 'base64url').equals(Buffer.from('Bundle-Format')),
      );
      if (!isBundle) continue;
      const bytes = Buffer.from(await (await ask(`/${id}`)).arrayBuffer());
      const header = parseBundleHeader(bytes, bytes.length);
      assert.ok(typeof header === 'object', `bundle ${id}: ${String(header)}`);
      for (let index = 0; index < header.count; index += 1) {
        times.set(header.id(index), (times.get(header.id(index)) ?? 0) + 1);
      }
    }
  }
  return times;
}

async function taggedItems(gateway: string, tag: string): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const query = `{ transactions(tags: [{ name: "${tag}", values: ["whole"] }], first: 100, after: "${after}") {
      pageInfo { hasNextPage } edges { cursor node { id } } } }`;
    const answer = await fetch(`${gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data }: Found = JSON.parse(await answer.text());
    for (const { node } of data.transactions.edges) ids.push(node.id);
    if (!data.transactions.pageInfo.hasNextPage) return ids;
    after = data.transactions.edges.at(-1)?.cursor ?? '';
  }
}

interface Found {
  readonly data: {
    readonly transactions: {
      readonly pageInfo: { readonly hasNextPage: boolean };
      readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[];
    };
  };
}

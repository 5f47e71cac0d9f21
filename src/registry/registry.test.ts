import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { antBuilder } from '../formats/solana/instructions-ant.ts';
import { namePrograms } from '../formats/solana/programs.ts';
import { memo, transferLamports } from '../formats/solana/system.ts';
import {
  registerName,
  secondAntProgram,
  signatureOf,
  signed,
  TestLedger,
  wallet,
} from '../localnet/solana/testing.ts';
import { createNameChain, type NameChain } from './chain.ts';
import { ChainRefused, ChainUnavailable } from './errors.ts';
import { createNameRegistry, indexOf, type NameRegistry } from './name-registry.ts';
import { configuredPrograms } from './programs.ts';

const programs = namePrograms.mainnet;
const service = wallet('service');
const owner = wallet('owner');
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
let ledger: TestLedger;
let chain: NameChain;
let registry: NameRegistry;

before(async () => {
  ledger = await TestLedger.start({ fund: [service.address] });
  // The first node is not there: every call must find the second.
  chain = createNameChain({ urls: ['http://127.0.0.1:1', ledger.local.url], timeoutMs: 60_000 });
  registry = createNameRegistry(chain, programs, () => Math.floor(ledger.time / 1000));
});
after(async () => {
  await chain.close();
  await ledger.stop();
});

function record(undername: string, priority: number | undefined) {
  return {
    undername,
    target,
    protocol: 0,
    ttlSeconds: 120,
    priority,
    recordOwner: undefined,
  };
}

test('a registered name resolves to its target, an unknown one to nothing', async () => {
  const asset = await registerName(ledger, service, owner, 'resolve-me', target);
  assert.deepEqual(await registry.resolve('resolve-me'), {
    name: 'resolve-me',
    undername: '@',
    antId: asset.address,
    antProgram: programs.ant,
    target,
    protocol: 'arweave',
    ttlSeconds: 900,
    undernameLimit: 10,
    recordIndex: 0,
    expiresAt: Math.floor(ledger.time / 1000) + (365 + 14) * 86_400,
  });
  for (const name of ['nobody-has-it', 'Not A Name', 'x'.repeat(43)]) {
    assert.equal(await registry.resolve(name), undefined);
  }
  assert.equal(await registry.resolve('resolve-me', 'docs'), undefined);
  const ant = antBuilder(programs);
  const set = (name: string, priority?: number) =>
    ledger.send([ant.setRecord(asset.address, service.address, record(name, priority))], service);
  await set('zebra');
  await set('docs');
  await set('first', 1);
  const docs = await registry.resolve('resolve-me', 'docs');
  assert.deepEqual([docs?.recordIndex, docs?.ttlSeconds], [2, 120]);
  assert.equal((await registry.resolve('resolve-me', 'first'))?.recordIndex, 1);
  assert.equal((await registry.resolve('resolve-me', 'zebra'))?.recordIndex, 3);
  const records = await registry.records(asset.address);
  assert.equal(records.length, 4);
  assert.equal(indexOf(records, '@'), 0);
  assert.deepEqual(
    (await registry.names()).map(({ name }) => name),
    ['resolve-me'],
  );
});

test('a token of another program is read where that program keeps it', async () => {
  const second = { ...programs, ant: secondAntProgram };
  const asset = await registerName(ledger, service, owner, 'second-program', target, second);
  const found = await registry.resolve('second-program');
  assert.deepEqual([found?.target, found?.antProgram], [target, secondAntProgram]);
  await ledger.send(
    [antBuilder(second).setRecord(asset.address, service.address, record('docs', undefined))],
    service,
  );
  const docs = await registry.resolve('second-program', 'docs');
  assert.deepEqual([docs?.target, docs?.recordIndex], [target, 1]);
  const token = await registry.ant(asset.address);
  assert.deepEqual([token?.owner, token?.program], [owner.address, secondAntProgram]);
  const state = await registry.antRecord(asset.address, 'docs');
  assert.deepEqual([state?.ant.program, state?.record?.target], [secondAntProgram, target]);
  assert.equal((await registry.records(asset.address)).length, 2);
  assert.deepEqual(await registry.namesOf(asset.address), ['second-program']);
  // A list of owned tokens is kept by each program: only those that are trusted are asked for theirs.
  const owned = async (from: NameRegistry) =>
    (await from.ownedNames(owner.address)).some(({ record: { name } }) => name === 'second-program');
  const trusting = createNameRegistry(chain, { ...programs, otherAnts: [secondAntProgram] });
  assert.deepEqual([await owned(registry), await owned(trusting)], [false, true]);
});

test('a name and its token are read with everything that decides about them', async () => {
  const asset = await registerName(ledger, service, owner, 'read-me');
  const state = await registry.name('read-me');
  assert.equal(state.record?.ant, asset.address);
  assert.deepEqual([state.returned, state.reserved], [undefined, undefined]);
  assert.equal((await registry.name('www')).reserved?.name, 'www');
  const ant = await registry.ant(asset.address);
  assert.deepEqual([ant?.owner, ant?.controllers], [owner.address, [owner.address, service.address]]);
  assert.equal(await registry.ant(owner.address), undefined);
  assert.equal(await registry.metadata(asset.address, '@'), undefined);
  assert.equal((await registry.demand()).factor, 1_000_000n);
});

test('a lease that ran out stops resolving after its grace period', async () => {
  await registerName(ledger, service, owner, 'grace');
  ledger.skipSeconds((365 + 13) * 86_400);
  assert.ok(await registry.resolve('grace'));
  ledger.skipSeconds(2 * 86_400);
  assert.equal(await registry.resolve('grace'), undefined);
});

test('transactions are sent, simulated and found again', async () => {
  const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
  assert.equal(lastValidBlockHeight, (await chain.finalized()).height + 150);
  assert.equal(await chain.blockTime(), Math.floor(ledger.time / 1000));
  const wire = signed(blockhash, [memo('hello')], service);
  assert.equal((await chain.simulate(wire)).err, null);
  assert.equal(await chain.status(signatureOf(wire)), undefined);
  assert.equal(await chain.send(wire, true), signatureOf(wire));
  const status = await chain.status(signatureOf(wire));
  assert.deepEqual([status?.err, status?.finalized], [null, true]);
  const failing = signed(blockhash, [transferLamports(service.address, owner.address, 1n)], service);
  assert.notEqual((await chain.simulate(failing)).err, null);
  await assert.rejects(chain.send(failing, true), (error) => {
    assert.ok(error instanceof ChainRefused);
    assert.equal(error.code, -32002);
    return true;
  });
  assert.equal((await chain.genesisHash()).length > 40, true);
  assert.equal(await chain.balance(owner.address), 0n);
});

test('a chain that cannot be read is not a chain without the name', async () => {
  const dead = createNameChain({ urls: ['http://127.0.0.1:1'], timeoutMs: 60_000 });
  await assert.rejects(createNameRegistry(dead, programs).resolve('resolve-me'), ChainUnavailable);
  await dead.close();
  const answers = [
    'not json',
    '5',
    '{}',
    '{"result":{"value":5}}',
    '{"error":{"code":-32005,"message":"behind"}}',
  ];
  let answer = '';
  const server = createServer((_request, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const broken = createNameChain({
    urls: [`http://127.0.0.1:${address.port}`],
    timeoutMs: 60_000,
    maxBytes: 1_000,
  });
  for (answer of [...answers, 'x'.repeat(2_000)]) {
    await assert.rejects(
      createNameRegistry(broken, programs).resolve('resolve-me'),
      ChainUnavailable,
      answer,
    );
  }
  await broken.close();
  server.close();
});

test('a node that speaks of itself and not of the call is passed over', async () => {
  for (const [status, body] of [
    [200, '{"error":{"code":-32429,"message":"too many requests"}}'],
    [200, '{"error":{"code":-32601,"message":"method not found"}}'],
    [200, '{"error":{"code":-32011,"message":"no history"}}'],
    [403, '{"error":{"code":-32002,"message":"no such key"}}'],
  ] as const) {
    const server = createServer((_request, response) => {
      response.statusCode = status;
      response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const urls = [`http://127.0.0.1:${address.port}`, ledger.local.url];
    const both = createNameChain({ urls, timeoutMs: 60_000 });
    try {
      assert.equal(await both.balance(owner.address), 0n, body);
    } finally {
      await both.close();
      server.closeAllConnections();
      server.close();
    }
  }
});

test('the programs are those of the configured cluster', () => {
  const config = {
    ARNS_PROGRAM_CLUSTER: 'custom',
    ARNS_PROGRAM_ID: programs.arns,
    ANT_PROGRAM_ID: programs.ant,
    ARNS_TOKEN_MINT: programs.mint,
    ANT_PROGRAMS_TRUSTED: [secondAntProgram],
  } as const;
  const otherAnts = [secondAntProgram];
  assert.deepEqual(configuredPrograms(config), { ...programs, otherAnts });
  assert.deepEqual(configuredPrograms({ ...config, ARNS_PROGRAM_CLUSTER: 'devnet' }), {
    ...namePrograms.devnet,
    otherAnts,
  });
  assert.throws(() => configuredPrograms({ ...config, ANT_PROGRAMS_TRUSTED: ['x'] }), /ANT_PROGRAMS_TRUSTED/);
  assert.throws(() => configuredPrograms({ ...config, ANT_PROGRAM_ID: 'nowhere' }), /ANT_PROGRAM_ID/);
});

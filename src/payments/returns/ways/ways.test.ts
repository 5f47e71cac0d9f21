/** Each way back on the local network's own ledgers: what is signed arrives once, also when it is sent again. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext, test } from 'node:test';
import { startLocalArweave, TestWallet } from '../../../../test/support/local-arweave.ts';
import { readConfig } from '../../../config/config.ts';
import { winc } from '../../../credits/credits.ts';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { namePrograms } from '../../../formats/solana/programs.ts';
import { TestLedger, wallet } from '../../../localnet/solana/testing.ts';
import { startFacilitator } from '../../../localnet/x402/testing.ts';
import { evmCallErrors, JsonRpcPool, solanaCallErrors } from '../../../outside/json-rpc.ts';
import { startTestNode } from '../../../outside/testing.ts';
import type { Token } from '../../../pricing/pricing.ts';
import { signEd25519 } from '../../../wallets/solana/ed25519.ts';
import { moreArweaveKeys, testArweaveKey } from '../../../wallets/testing/keys.ts';
import { usdcContracts } from '../../chain/accepted-tokens.ts';
import type { AcceptedToken, ChainReader } from '../../chain/chain.ts';
import { evmReader } from '../../chain/evm.ts';
import { solanaReader, tokenReader } from '../../chain/solana.ts';
import { CannotSend, type CreditReturn, type SentReturn, type WayBack } from '../returns.ts';
import { arweaveWay } from './arweave.ts';
import { evmWay } from './evm.ts';
import { solanaWay } from './solana.ts';
import { createWaysBack, parseEvmKey, type WaysWorld } from './ways.ts';

const order = (recipient: string, amount: bigint, id = 'one'): CreditReturn => ({
  ...{ id, address: 'anna', addressType: 'arweave', kind: 'chain', payment: 'payment', quoteId: undefined },
  ...{ chain: 'test', token: 'test', winc: winc(1n), amount, recipient, state: 'due', reference: undefined },
  ...{ reason: undefined, createdAt: 0, changedAt: 0 },
});

async function prepared(way: WayBack, made: CreditReturn): Promise<SentReturn> {
  const transfer = await way.prepare(made);
  assert.ok(transfer !== undefined);
  return { ...made, state: 'sent', ...transfer };
}

test('AR goes back by a transaction that is good for fifty blocks', async () => {
  await using node = await startLocalArweave();
  const { client } = node;
  const to = new TestWallet().address;
  const way = arweaveWay({ nodes: [client.url], key: testArweaveKey, minConfirmations: 2 });
  await assert.rejects(way.prepare(order(to, 5_000n)), (error) => error instanceof CannotSend);
  await client.text(`/mint/${testArweaveKey.address}/10000000000000`);
  const sent = await prepared(way, order(to, 5_000n));
  assert.equal((await way.deliver(sent)).state, 'waiting');
  assert.equal((await way.deliver(sent)).state, 'waiting');
  await client.text('/mine/1');
  assert.equal((await way.deliver(sent)).state, 'waiting');
  await client.text('/mine/1');
  assert.equal((await way.deliver(sent)).state, 'confirmed');
  assert.equal(await client.text(`/wallet/${to}/balance`), '5000');
  // One that was never sent, and whose time is over.
  const late = await prepared(way, order(to, 7_000n, 'two'));
  await client.text('/mine/80');
  assert.equal((await way.deliver(late)).state, 'void');
  assert.equal(await client.text(`/wallet/${to}/balance`), '5000');
  await way.close?.();
});

describe('on Solana', () => {
  const service = wallet('service');
  const payer = wallet('payer');
  const { mint } = namePrograms.mainnet;
  const key = {
    address: service.address,
    sign: (message: Uint8Array) => signEd25519(service.privateKey, message),
  };
  let ledger: TestLedger;
  let endpoints: JsonRpcPool;
  before(async () => {
    ledger = await TestLedger.start();
    await ledger.rpc('requestAirdrop', payer.address, 5_000_000_000);
    await ledger.local.fund(service.address);
    endpoints = new JsonRpcPool({
      urls: [ledger.local.url],
      timeoutMs: 60_000,
      callErrors: solanaCallErrors,
    });
  });
  after(async () => {
    await endpoints.close();
    await ledger.stop();
  });

  /** Delivers until it is final, whatever number of times that takes. */
  async function finish(way: WayBack, sent: SentReturn): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) {
      const { state } = await way.deliver(sent);
      if (state === 'confirmed') return;
      ledger.skip(40);
    }
    assert.fail('it does not become final');
  }

  it('lamports go back to who sent them', async () => {
    const way = solanaWay({ endpoints, key });
    const before = ledger.balance(payer);
    const sent = await prepared(way, order(payer.address, 1_500_000n));
    await finish(way, sent);
    assert.equal(ledger.balance(payer), before + 1_500_000n);
    const found = await solanaReader(endpoints, payer.address).read(sent.reference ?? '');
    assert.ok('transfer' in found);
    assert.deepEqual([found.state, found.transfer.quantity], ['confirmed', 1_500_000n]);
    await assert.rejects(
      way.prepare(order(payer.address, 10n ** 18n)),
      (error) => error instanceof CannotSend,
    );
  });

  it('tokens go to the account of who sent them, which is opened if need be', async () => {
    const way = solanaWay({ endpoints, key, mint });
    const sent = await prepared(way, order(payer.address, 2_000_000n, 'three'));
    await finish(way, sent);
    const found = await tokenReader(endpoints, payer.address, mint).read(sent.reference ?? '');
    assert.ok('transfer' in found);
    const { sender, recipient, quantity } = found.transfer;
    assert.deepEqual([sender, recipient, quantity], [service.address, payer.address, 2_000_000n]);
  });

  it('what was not sent in its time never will be', async () => {
    const way = solanaWay({ endpoints, key });
    const sent = await prepared(way, order(payer.address, 3n, 'four'));
    ledger.skip(400);
    assert.equal((await way.deliver(sent)).state, 'void');
  });
});

test('dollars of x402 go back by a transaction of the address that was paid', async (t) => {
  const { facilitator, mint, balance } = await startFacilitator(t);
  const payer = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
  const contract = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
  const endpoints = new JsonRpcPool({
    ...{ urls: [facilitator.rpcUrls['eip155:84532'] ?? ''], timeoutMs: 60_000, callErrors: evmCallErrors },
  });
  t.after(() => endpoints.close());
  const key = parseEvmKey(facilitator.payeeKey);
  assert.equal(key.address, facilitator.payTo);
  const way = evmWay({ endpoints, chain: 'eip155:84532', key, minConfirmations: 1, contract });
  await assert.rejects(way.prepare(order(payer, 400n)), (error) => error instanceof CannotSend);
  await mint(key.address, 1_000n);
  const sent = await prepared(way, order(payer, 400n));
  // Two with the same number: only one of them can be, and the other is proven void.
  const rival = await prepared(way, order(payer, 500n, 'rival'));
  assert.equal((await way.deliver(sent)).state, 'waiting');
  assert.equal((await way.deliver(sent)).state, 'confirmed');
  assert.equal((await way.deliver(rival)).state, 'waiting');
  const next = await prepared(way, order(payer, 100n, 'next'));
  await way.deliver(next);
  assert.equal((await way.deliver(rival)).state, 'void');
  assert.equal(await balance(payer), '500');
  const reader = evmReader({ endpoints, minConfirmations: 1, erc20: { contract, wallet: payer } });
  const found = await reader.read(sent.reference ?? '');
  assert.ok('transfer' in found);
  assert.deepEqual(
    [found.state, found.transfer.sender, found.transfer.quantity],
    ['confirmed', key.address, 400n],
  );
});

describe('which way a return goes', () => {
  const away = 'http://127.0.0.1:1';
  const [evmKey, otherKey] = [parseEvmKey('11'.repeat(32)), parseEvmKey('22'.repeat(32))];
  const solana = wallet('service');
  const x402 = {
    payTo: evmKey.address,
    rpcUrls: { 'base-sepolia': `${away}, ${away}`, 'eip155:8453': away },
  };
  const config = readConfig({ ETHEREUM_RPC_URL: away, MATIC_RPC_URL: away, BASE_RPC_URL: away });
  const reader: ChainReader = { parseId: () => 'ours', read: async () => ({ state: 'not-found' }) };
  const accepted = (token: Token, chain: string, paidTo: string): AcceptedToken => ({
    ...{ token, chain, wallet: paidTo, addressKind: 'ethereum', reader },
    history: async function* () {},
    ...(token === 'usdc' && { readerTo: (to: string) => ({ ...reader, parseId: () => to }) }),
  });
  const world = (more: Partial<WaysWorld> = {}, paidTo = evmKey.address): WaysWorld => ({
    tokens: new Map(
      [
        accepted('arweave', 'arweave', testArweaveKey.address),
        accepted('solana', 'solana', solana.address),
        accepted('ario', 'solana', solana.address),
        accepted('kyve', 'kyve', 'kyve1service'),
        accepted('ethereum', 'ethereum', paidTo),
        accepted('usdc', 'ethereum', paidTo),
        accepted('pol', 'polygon', paidTo),
        accepted('base-eth', 'base', paidTo),
      ].map((token) => [token.token, token]),
    ),
    cards: { refundReturn: async () => ({ state: 'made', reference: 're_1' }) },
    ...{ arweaveNodes: [away], arweaveKey: testArweaveKey, solanaRpcUrls: [away] },
    solanaKey: { address: solana.address, sign: () => Buffer.alloc(64) },
    ...{ arioMint: namePrograms.mainnet.mint, evmKey, x402 },
    ...more,
  });
  const opened = (t: TestContext, made: WaysWorld) => {
    const ways = createWaysBack(config, made);
    t.after(() => ways.close());
    return ways;
  };
  const orders = [
    { kind: 'card', chain: undefined, token: 'usd' },
    { kind: 'x402', chain: 'eip155:84532', token: 'usdc' },
    { kind: 'x402', chain: 'eip155:8453', token: 'usdc' },
    { kind: 'chain', chain: 'arweave', token: 'arweave' },
    { kind: 'chain', chain: 'solana', token: 'solana' },
    { kind: 'chain', chain: 'solana', token: 'ario' },
    { kind: 'chain', chain: 'ethereum', token: 'ethereum' },
    { kind: 'chain', chain: 'ethereum', token: 'usdc' },
    { kind: 'chain', chain: 'polygon', token: 'pol' },
    { kind: 'chain', chain: 'base', token: 'base-eth' },
  ] as const;
  const sent = (ways: ReturnType<typeof createWaysBack>) =>
    orders.filter((one) => ways.wayOf(one) !== undefined).map(({ kind, token }) => `${kind} ${token}`);

  it('is by the service from the wallet that was paid, and by nobody else', async (t) => {
    const all = orders.map(({ kind, token }) => `${kind} ${token}`);
    const ways = opened(t, world());
    assert.deepEqual(sent(ways), all);
    assert.equal(ways.wayOf({ kind: 'chain', chain: 'kyve', token: 'kyve' }), undefined);
    assert.equal(ways.wayOf({ kind: 'chain', chain: 'arweave', token: 'unknown' }), undefined);
    assert.equal(ways.wayOf({ kind: 'x402', chain: 'eip155:1', token: 'usdc' }), undefined, 'no endpoint');
    assert.equal(ways.wayOf(orders[0]), ways.wayOf(orders[0]), 'made once');
    assert.deepEqual(
      orders.map((one) => ways.wayOf(one)?.queue),
      [
        undefined,
        ...[`eip155:84532:${evmKey.address}`, `eip155:8453:${evmKey.address}`],
        ...[undefined, undefined, undefined],
        ...[`eip155:1:${evmKey.address}`, `eip155:1:${evmKey.address}`],
        ...[`eip155:137:${evmKey.address}`, `eip155:8453:${evmKey.address}`],
      ],
    );
    const card = await ways
      .wayOf(orders[0])
      ?.deliver({ ...order('card', 5n), quoteId: 'quote', wire: undefined, validUntil: undefined });
    assert.equal(card?.state, 'confirmed');
    const nameless = { ...order('card', 5n), wire: undefined, validUntil: undefined };
    await assert.rejects(Promise.resolve(ways.wayOf(orders[0])?.deliver(nameless)), /names no quote/);
    assert.deepEqual(sent(opened(t, world({ cards: undefined }))), all.slice(1));
    const withoutEvm = ['card usd', 'chain arweave', 'chain solana', 'chain ario'];
    assert.deepEqual(sent(opened(t, world({ evmKey: undefined }))), withoutEvm);
    assert.deepEqual(sent(opened(t, world({ evmKey: otherKey }))), withoutEvm);
    assert.deepEqual(sent(opened(t, world({}, otherKey.address))), [
      ...['card usd', 'x402 usdc', 'x402 usdc', 'chain arweave', 'chain solana', 'chain ario'],
    ]);
    assert.deepEqual(sent(opened(t, world({ x402: { ...x402, payTo: otherKey.address } }))).slice(0, 2), [
      ...['card usd', 'chain arweave'],
    ]);
    const { second: arweaveKey } = moreArweaveKeys;
    assert.ok(!sent(opened(t, world({ arweaveKey }))).includes('chain arweave'));
    const moved = { ...world().solanaKey, address: wallet('another').address };
    assert.ok(!sent(opened(t, world({ solanaKey: moved }))).some((way) => /solana|ario/.test(way)));
  });

  it('is of the token that was paid, and waits for as many blocks as its chain needs', async (t) => {
    const calls: { to?: string }[] = [];
    const node = await startTestNode(t, (method, [first]) => {
      if (method === 'eth_estimateGas') calls.push(first as { to?: string });
      if (method === 'eth_blockNumber') return '0x10';
      if (method === 'eth_getTransactionByHash')
        return { from: evmKey.address, to: evmKey.address, value: '0x5' };
      if (method === 'eth_getTransactionReceipt') return { blockNumber: '0x10', status: '0x1', logs: [] };
      return method === 'eth_getBalance' ? `0x${'f'.repeat(30)}` : '0x1';
    });
    const at = (more: object) =>
      readConfig({ ETHEREUM_RPC_URL: node.url, ETHEREUM_MIN_CONFIRMATIONS: '1', ...more });
    const local = { ...x402, rpcUrls: { 'base-sepolia': node.url } };
    const open = (settings: object) => {
      const ways = createWaysBack(at(settings), world({ x402: local }));
      t.after(() => ways.close());
      return ways;
    };
    const recipient = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
    const ways = open({});
    for (const [kind, chain, token] of [
      ['chain', 'ethereum', 'ethereum'],
      ['chain', 'ethereum', 'usdc'],
      ['x402', 'eip155:84532', 'usdc'],
    ] as const) {
      await ways.wayOf({ kind, chain, token })?.prepare(order(recipient, 5n));
    }
    assert.deepEqual(
      calls.map(({ to }) => to),
      [recipient, usdcContracts.ethereum, '0x036CbD53842c5426634e7929541eC2318f3dCF7e'],
    );
    const read = async (settings: object) => {
      const reader = open(settings).readerOf({
        ...order(recipient, 5n),
        kind: 'x402',
        chain: 'eip155:84532',
      });
      return (await reader?.read(`0x${'ab'.repeat(32)}`))?.state;
    };
    assert.equal(await read({ WORLD: 'local' }), 'confirmed');
    assert.equal(await read({ WORLD: 'public' }), 'pending');
  });

  it('on Solana is in lamports or in the token, as it was paid', async (t) => {
    const simulated: Buffer[] = [];
    const node = await startTestNode(t, (method, [wire]) => {
      if (method === 'simulateTransaction') simulated.push(Buffer.from(String(wire), 'base64'));
      const blockhash = solana.address;
      return { value: { err: null, blockhash, lastValidBlockHeight: 5 } };
    });
    const ways = opened(t, world({ solanaRpcUrls: [node.url] }));
    for (const token of ['solana', 'ario'])
      await ways.wayOf({ kind: 'chain', chain: 'solana', token })?.prepare(order(solana.address, 5n));
    const mint = tryDecodeBase58(namePrograms.mainnet.mint);
    assert.ok(mint !== undefined);
    assert.deepEqual(
      simulated.map((wire) => wire.includes(mint)),
      [false, true],
    );
  });

  it('is read by hand where its chain is configured', (t) => {
    const ways = opened(t, world());
    const idOf = (kind: CreditReturn['kind'], chain: string, token: string) =>
      ways.readerOf({ ...order('payer', 5n), kind, chain, token })?.parseId(`0x${'AB'.repeat(32)}`);
    assert.equal(idOf('card', '', 'usd'), undefined);
    assert.equal(idOf('chain', 'arweave', 'arweave'), 'ours');
    assert.equal(idOf('chain', 'ethereum', 'usdc'), 'payer', 'by a reader of transfers to the payer');
    assert.equal(idOf('chain', 'nowhere', 'unknown'), undefined);
    assert.equal(idOf('x402', 'eip155:84532', 'usdc'), `0x${'ab'.repeat(32)}`);
    assert.equal(idOf('x402', 'eip155:1', 'usdc'), undefined);
    assert.equal(idOf('x402', 'nowhere', 'usdc'), undefined);
  });

  it('a key is 64 hex digits that are a key', () => {
    assert.equal(parseEvmKey(` 0x${'11'.repeat(32)} `).address, evmKey.address);
    assert.throws(() => parseEvmKey('11'.repeat(31)), /RETURN_EVM_KEY must be 64 hex digits/);
    assert.throws(() => parseEvmKey('00'.repeat(32), 'A_KEY'), /A_KEY is no private key/);
  });
});

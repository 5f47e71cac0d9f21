import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { encodeBase58 } from '../../formats/base58.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import { startTestNode } from '../../outside/testing.ts';
import { publicKeyOf } from '../../wallets/ethereum/secp256k1.ts';
import { kyveAddress } from '../../wallets/kyve-address.ts';
import { testEthereumKey } from '../../wallets/testing/keys.ts';
import { acceptedTokens, type ChainWorld } from './accepted-tokens.ts';
import type { ChainTransaction } from './chain.ts';

const away = 'http://127.0.0.1:1';
const address = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const hash = `0x${'ab'.repeat(32)}`;
const signature = encodeBase58(Buffer.alloc(64, 7));

function tokensOf(t: TestContext, environment: Record<string, string>, world: Partial<ChainWorld> = {}) {
  const tokens = acceptedTokens(readConfig(environment), { arweaveNodes: [], ...world });
  t.after(() => Promise.all([...tokens.values()].map(({ reader }) => reader.close?.())));
  return {
    tokens,
    names: [...tokens.keys()],
    read: (token: string, id: string): Promise<ChainTransaction | undefined> =>
      tokens.get(token)?.reader.read(id) ?? Promise.resolve(undefined),
  };
}

test('every endpoint of an EVM chain is used, and one alone is written as before', async (t) => {
  const node = await startTestNode(t, (method) => (method === 'eth_blockNumber' ? '0x60' : null));
  for (const variable of ['ETHEREUM', 'MATIC', 'BASE']) {
    const wallets = { [`${variable === 'BASE' ? 'BASE_ETH' : variable}_ADDRESS`]: address };
    const one = tokensOf(t, { ...wallets, [`${variable}_RPC_URL`]: node.url });
    const [coin = '', usdc = ''] = [one.names[0], one.names.at(-1)];
    for (const token of [coin, usdc]) {
      assert.deepEqual(await one.read(token, hash), { state: 'not-found', at: 96 });
      const two = tokensOf(t, { ...wallets, [`${variable}_RPC_URL`]: `${away}, ${node.url}` });
      assert.equal((await two.read(token, hash))?.state, 'not-known', 'the first was asked too');
    }
  }
  assert.deepEqual(tokensOf(t, { ETHEREUM_ADDRESS: address }).names, []);
});

test('every Solana node is used', async (t) => {
  const node = await startTestNode(t, (method) =>
    method === 'getSignatureStatuses' ? { context: { slot: 5 }, value: [null] } : null,
  );
  const solanaAddress = wallet('service').address;
  const read = (...solanaRpcUrls: string[]) =>
    tokensOf(t, {}, { solanaAddress, solanaRpcUrls }).read('solana', signature);
  assert.deepEqual(await read(node.url), { state: 'not-found', at: 5 });
  assert.equal((await read(away, node.url))?.state, 'not-known');
  assert.equal(await read(), undefined);
});

test('a token is taken where its wallet and its chain are configured, and only there', (t) => {
  const [own, former] = ['A'.repeat(43), 'B'.repeat(42).concat('A')];
  const kyve = kyveAddress(publicKeyOf(testEthereumKey));
  const environment = {
    ...{ ARWEAVE_ADDRESS: own, SOLANA_ADDRESS: wallet('service').address, KYVE_ADDRESS: kyve },
    ...{ ETHEREUM_ADDRESS: address, MATIC_ADDRESS: address, BASE_ETH_ADDRESS: address },
    ...{ ETHEREUM_RPC_URL: away, MATIC_RPC_URL: away, BASE_RPC_URL: away, KYVE_API_URL: away },
  };
  const world = {
    ...{ arweaveNodes: [away], solanaRpcUrls: [away], formerArweaveAddresses: [former] },
    arioMint: wallet('mint').address,
  };
  const { tokens } = tokensOf(t, environment, world);
  assert.deepEqual(
    [...tokens].map(([name, { token, chain, addressKind }]) => `${name} ${token} ${chain} ${addressKind}`),
    [
      'arweave arweave arweave arweave',
      ...['solana solana solana solana', 'ed25519 ed25519 solana solana', 'ario ario solana solana'],
      'kyve kyve kyve kyve',
      ...['ethereum ethereum ethereum ethereum', 'usdc usdc ethereum ethereum'],
      ...[
        'matic matic polygon ethereum',
        'pol pol polygon ethereum',
        'polygon-usdc polygon-usdc polygon ethereum',
      ],
      ...['base-eth base-eth base ethereum', 'base-usdc base-usdc base ethereum'],
    ],
  );
  assert.deepEqual([tokens.get('arweave')?.wallet, tokens.get('arweave')?.formerWallets], [own, [former]]);
  assert.deepEqual(tokensOf(t, environment).names.includes('arweave'), false);
  assert.deepEqual(tokensOf(t, {}, { ...world, arioMint: undefined }).names, []);
  const some = tokensOf(t, { KYVE_API_URL: away }, { ...world, arioMint: undefined, arweaveAddress: own });
  assert.deepEqual(some.names, ['arweave']);
  assert.throws(
    () => tokensOf(t, { ...environment, ARWEAVE_ADDRESS: 'nobody' }, world),
    /ARWEAVE_ADDRESS is not an address of arweave: nobody/,
  );
  assert.throws(
    () => tokensOf(t, environment, { ...world, formerArweaveAddresses: ['nobody'] }),
    /FORMER_ARWEAVE_ADDRESSES/,
  );
});

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { WalletRefused } from '../wallet.ts';
import { findArweaveWallet } from './arweave.ts';
import type { InjectedWallet } from './injected.ts';

const address = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
const page = globalThis as { window?: EventTarget & { arweaveWallet?: object } };

afterEach(() => {
  delete page.window;
});

function found(provider: object): InjectedWallet {
  page.window = new EventTarget();
  const wallets: InjectedWallet[] = [];
  findArweaveWallet((wallet) => wallets.push(wallet));
  assert.equal(wallets.length, 0);
  page.window.arweaveWallet = provider;
  // Extensions load after pages.
  page.window.dispatchEvent(new Event('arweaveWalletLoaded'));
  const [wallet] = wallets;
  assert.ok(wallet);
  return wallet;
}

const connecting = { silent: false, onChange: () => {} };
const whole = {
  walletName: 'ArConnect',
  connect: async () => {},
  getActiveAddress: async () => address,
  getActivePublicKey: async () => 'AQAB',
  signature: async (data: Uint8Array) => data,
};

test('a wallet that loads late is found under the name that people know', async () => {
  const wallet = await found(whole).connect(connecting);
  assert.deepEqual([wallet?.label, wallet?.address, wallet?.kind], ['Wander', address, 'arweave']);
  assert.deepEqual(await wallet?.publicKey(), Uint8Array.of(1, 0, 1));
  assert.deepEqual(await wallet?.signItem(Uint8Array.of(7)), Uint8Array.of(7));
});

test('the silent way asks nobody', async () => {
  const connect = () => assert.fail('asked the person');
  const shy = found({ ...whole, connect, getPermissions: async () => ['ACCESS_ADDRESS'] });
  assert.equal(await shy.connect({ ...connecting, silent: true }), undefined);
});

test('a refusal is one, and a missing method is named', async () => {
  const refusing = found({ ...whole, connect: () => Promise.reject('User cancelled the AuthRequest') });
  await assert.rejects(refusing.connect(connecting), WalletRefused);
  const { signature: _, ...less } = whole;
  const wallet = await found(less).connect(connecting);
  await assert.rejects(
    async () => wallet?.signItem(Uint8Array.of(7)),
    /Wander cannot do this: it has no “signature”/,
  );
  await assert.rejects(found({}).connect(connecting), /no “connect”/);
});

test('where only messages can be signed, requests still can', async () => {
  const { signature: _, ...less } = whole;
  const signMessage = async () => Uint8Array.of(9);
  const wallet = await found({ ...less, signMessage }).connect(connecting);
  assert.deepEqual(await wallet?.signText('hello'), Uint8Array.of(9));
});

test('another account of the wallet is told, and that there is none', async () => {
  const listeners = new Map<string, (value: unknown) => void>();
  const events = {
    on: (event: string, listener: (value: unknown) => void) => listeners.set(event, listener),
  };
  let active = address;
  const heard: (string | undefined)[] = [];
  const injected = found({ ...whole, events, getActiveAddress: async () => active });
  await injected.connect({ silent: false, onChange: (next) => heard.push(next?.address) });
  active = `${address.slice(0, 42)}U`;
  listeners.get('activeAddress')?.(active);
  await new Promise(setImmediate);
  listeners.get('disconnect')?.(undefined);
  assert.deepEqual(heard, [active, undefined]);
});

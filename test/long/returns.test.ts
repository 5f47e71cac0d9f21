/** A whole stack: what was paid in AR, SOL, ARIO, dollars of x402 and by card goes back, also over a kill. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Stripe from 'stripe';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { memberOf } from '../../src/formats/json.ts';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import type { Instruction } from '../../src/formats/solana/message.ts';
import { namePrograms } from '../../src/formats/solana/programs.ts';
import { transferLamports } from '../../src/formats/solana/system.ts';
import { associatedTokenAddress, transferToken } from '../../src/formats/solana/token.ts';
import { parseTransaction } from '../../src/formats/solana/transaction.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { keypairOf } from '../../src/localnet/solana/genesis.ts';
import { signed } from '../../src/localnet/solana/testing.ts';
import { signPayment } from '../../src/localnet/x402/testing.ts';
import { personalMessageHash, signEthereumDigest } from '../../src/wallets/ethereum/personal-message.ts';
import { publicKeyOf } from '../../src/wallets/ethereum/secp256k1.ts';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { ed25519RawPublicKey, signEd25519 } from '../../src/wallets/solana/ed25519.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { NodeClient, TestWallet } from '../support/local-arweave.ts';
import {
  arweavePayer,
  contentDigest,
  ethereumPayer,
  type RequestSigner,
  signedHeaders,
} from '../support/request-signers.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const oneAr = 1_000_000_000_000n;
const path = '/v1/account/returns';
const { mint } = namePrograms.mainnet;

/** The first wallet of the local network, which begins with SOL and ARIO. */
const solanaKey = keypairOf(Buffer.from((localWallets(1).solana[0]?.bytes ?? []).slice(0, 32)));
const solanaOwner: RequestSigner = {
  ...{ kind: 'solana', address: solanaKey.address, signatureType: '4' },
  publicKey: ed25519RawPublicKey(solanaKey.privateKey),
  sign: async (text) => signEd25519(solanaKey.privateKey, Buffer.from(text)),
};
const dollarOwner: RequestSigner = {
  ...{ kind: 'ethereum', address: examplePayment.payer, signatureType: '3' },
  publicKey: Buffer.from(publicKeyOf(examplePayment.privateKey)),
  sign: async (text) => signEthereumDigest(personalMessageHash(Buffer.from(text)), examplePayment.privateKey),
};

describe('returning what was paid, on a whole stack', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-returns-'));
  const environment = { PENDING_PAYMENT_RECHECK_MS: '100', PAYMENT_TX_POLLING_WAIT_TIME_MS: '20' };
  let stack: RunningStack;
  let node: NodeClient;
  let service: string;
  const start = async () => {
    stack = await startStack({ dataDir, environment, only: ['payment'] });
    node = new NodeClient(stack.urls.arweave ?? '');
    const addresses = memberOf(await read('/v1/info'), 'addresses');
    service = String(memberOf(addresses, 'arweave'));
    return addresses;
  };
  let addresses: unknown;
  before(async () => {
    addresses = await start();
  });
  after(async () => {
    await stack.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function ask(url: string, init?: RequestInit): Promise<unknown> {
    const answer = await fetch(url, init);
    const text = await answer.text();
    assert.ok(answer.ok, `${answer.status} ${text}`);
    return JSON.parse(text);
  }
  const read = (at: string, init?: RequestInit) => ask(`${stack.urls.payment}${at}`, init);
  const rpc = async (method: string, ...params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json' };
    return memberOf(await ask(stack.urls.solana ?? '', { method: 'POST', headers, body }), 'result');
  };
  const credited = (token: string, id: string) =>
    eventually(`the credit of ${id}`, async () => {
      const body = JSON.stringify({ tx_id: id });
      const answer = await fetch(`${stack.urls.payment}/v1/account/balance/${token}`, {
        method: 'POST',
        body,
      });
      return answer.status === 200;
    });
  const own = async (signer: RequestSigner) => {
    const nonce = randomBytes(16).toString('hex');
    return read(path, { headers: await signedHeaders(signer, nonce) });
  };
  const only = (list: unknown): unknown => {
    assert.ok(Array.isArray(list) && list.length === 1, JSON.stringify(list));
    return list[0];
  };

  /** Asks for all that is left of the wallet's only payment; answers what will go back. */
  async function giveBack(signer: RequestSigner): Promise<bigint> {
    const payment = only(memberOf(await own(signer), 'payments'));
    assert.equal(memberOf(payment, 'byHand'), false);
    const body = JSON.stringify({ payment: memberOf(payment, 'payment') });
    const boundTo = { service, method: 'POST', path, contentDigest: contentDigest(body) };
    const headers = {
      'content-type': 'application/json',
      ...(await signedHeaders(signer, randomUUID(), boundTo)),
    };
    const made = await read(path, { method: 'POST', headers, body });
    assert.equal(memberOf(made, 'amount'), memberOf(payment, 'amount'));
    return BigInt(String(memberOf(made, 'amount')));
  }
  const confirmed = (signer: RequestSigner) =>
    eventually('the end of the return', async () => {
      const made = only(memberOf(await own(signer), 'returns'));
      return memberOf(made, 'state') === 'confirmed';
    });

  test('AR goes back to the wallet that sent it', async () => {
    const payer = new TestWallet(testArweaveKey.privateKey);
    await node.text(`/mint/${payer.address}/${10n * oneAr}`);
    // The service pays what the network asks.
    await node.text(`/mint/${service}/${oneAr}`);
    const transaction = await payer.transaction(node, { target: service, quantity: 2n * oneAr });
    await node.postTx(transaction);
    await credited('arweave', transactionToJson(transaction, 'with data').id);
    const had = BigInt(await node.text(`/wallet/${payer.address}/balance`));
    assert.equal(await giveBack(arweavePayer), 2n * oneAr);
    await confirmed(arweavePayer);
    assert.equal(BigInt(await node.text(`/wallet/${payer.address}/balance`)), had + 2n * oneAr);
  });

  test('SOL and ARIO go back, each as it came', async () => {
    const target = parseSolanaAddress(String(memberOf(addresses, 'ario')));
    assert.equal(memberOf(addresses, 'solana'), target);
    const send = async (...instructions: Instruction[]) => {
      const latest = memberOf(await rpc('getLatestBlockhash'), 'value');
      const wire = signed(String(memberOf(latest, 'blockhash')), instructions, solanaKey);
      await rpc('sendTransaction', wire.toString('base64'), { encoding: 'base64' });
      return encodeBase58(parseTransaction(wire).signatures[0] ?? new Uint8Array());
    };
    const tokens = associatedTokenAddress(solanaKey.address, mint);
    const held = async () => {
      const amount = memberOf(memberOf(await rpc('getTokenAccountBalance', tokens), 'value'), 'amount');
      return BigInt(String(amount));
    };
    const service = associatedTokenAddress(target, mint);
    const had = await held();
    await credited('ario', await send(transferToken(tokens, service, solanaKey.address, 4_000_000n)));
    assert.equal(await giveBack(solanaOwner), 4_000_000n);
    await confirmed(solanaOwner);
    assert.equal(await held(), had);
    // A payment in SOL beside it: lamports, and nothing of the tokens again.
    await credited('solana', await send(transferLamports(solanaKey.address, target, 1_000_000_000n)));
    const payments = memberOf(await own(solanaOwner), 'payments');
    assert.ok(Array.isArray(payments));
    assert.deepEqual(
      payments.map((payment) => [memberOf(payment, 'token'), memberOf(payment, 'amount')]),
      [
        ['solana', '1000000000'],
        ['ario', '0'],
      ],
    );
  });

  test('dollars of x402 go back to who signed for them', async () => {
    const x402 = (at: string, init?: RequestInit) => ask(`${stack.urls.x402}${at}`, init);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ address: examplePayment.payer, amount: '100000000' });
    await x402('/mint', { method: 'POST', headers, body });
    const at = '/v1/x402/top-up?type=credits&qty=1';
    const asked: unknown = await (await fetch(`${stack.urls.payment}${at}`)).json();
    const { paymentPayload } = signPayment({
      payTo: String(memberOf(asked, 'payTo')),
      value: BigInt(String(memberOf(asked, 'maxAmountRequired'))),
    });
    await read(at, { headers: { 'x-payment': encodeHeader(paymentPayload) } });
    await giveBack(dollarOwner);
    await confirmed(dollarOwner);
    assert.equal(memberOf(await x402(`/balance/${examplePayment.payer}`), 'balance'), '100000000');
  });

  test('a card is refunded once, when the service is killed as soon as it was asked', async () => {
    const owner = ethereumPayer('card');
    const quoted = await read(`/v1/top-up/payment-intent/${owner.address}/usd/1000?token=ethereum`);
    const intent = String(memberOf(memberOf(quoted, 'paymentSession'), 'id'));
    const stripe = () => {
      const key = readFileSync(join(dataDir, 'keys', 'local-card-secret-key'), 'utf8').trim();
      const { hostname, port } = new URL(stack.urls.card ?? '');
      return new Stripe(key, {
        ...{ host: hostname, port, protocol: 'http', maxNetworkRetries: 0, telemetry: false },
      });
    };
    await stripe().paymentIntents.confirm(intent, { payment_method: 'pm_card_visa' });
    await eventually('the credit', async () => {
      const payments = memberOf(await own(owner), 'payments');
      return Array.isArray(payments) && payments.length === 1;
    });
    assert.equal(await giveBack(owner), 1_000n);
    await stack.end('SIGKILL');
    // What the killed process was working on is taken up when its lease is over.
    await start();
    await eventually('the refund', async () => {
      const { data } = await stripe().refunds.list({ payment_intent: intent });
      return data.length > 0;
    });
    await confirmed(owner);
    const { data } = await stripe().refunds.list({ payment_intent: intent });
    assert.deepEqual(
      data.map(({ amount, status }) => [amount, status]),
      [[1_000, 'succeeded']],
    );
    const balance = await read(`/v1/account/balance?address=${owner.address}`);
    assert.equal(memberOf(balance, 'winc'), '0');
  });
});

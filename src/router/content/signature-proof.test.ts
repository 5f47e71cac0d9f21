import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { parseItem } from '../../formats/ans104/item.ts';
import { dataRootOf } from '../../formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import {
  signTransactionAsync,
  signTransactionEcdsa,
  verifyTransactionAsync,
} from '../../formats/arweave/transaction-signature.ts';
import { isTxId } from '../../formats/base64url.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey, testEthereumKey } from '../../wallets/testing/keys.ts';
import { Gateway } from '../gateways/gateway.ts';
import { signatureProof } from './signature-proof.ts';

const limits = {
  failureThreshold: 100,
  resetMs: 1_000,
  connections: 4,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};

async function gatewayOf(t: TestContext, answer: RequestListener): Promise<Gateway> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gateway = new Gateway(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, limits, () => {});
  t.after(async () => {
    await gateway.close();
    server.close();
  });
  return gateway;
}

/** What a gateway that hands over this transaction can prove with it. */
async function proofFrom(t: TestContext, transaction: Transaction) {
  const gateway = await gatewayOf(t, (request, response) => {
    if (request.url?.startsWith('/tx/') === true) {
      response.end(JSON.stringify(transactionToJson(transaction, 'with data')));
    } else response.writeHead(404).end();
  });
  const id = transaction.id.toString('base64url');
  assert.ok(isTxId(id));
  return await signatureProof(gateway, id);
}

test('the index tells the type of a signature where its length does not', async (t) => {
  const signed = await signItem({ data: Buffer.from('new'), tags: [] }, solanaSigner(ed25519TestKey('new')));
  const item = parseItem(signed);
  assert.ok(typeof item !== 'string');
  const { id, anchor, owner, signature } = item.header;
  assert.ok(isTxId(id));
  for (const knowsTypes of [true, false]) {
    const gateway = await gatewayOf(t, async (request, response) => {
      if (request.method === 'HEAD') return response.writeHead(200).end();
      if (request.url !== '/graphql') return response.writeHead(404).end();
      const asked = Buffer.concat(await request.toArray()).toString();
      if (!knowsTypes && asked.includes('signatureType')) return response.writeHead(400).end('{"errors":[]}');
      const transaction = {
        id,
        anchor: anchor.toString('base64url'),
        signature: signature.toString('base64url'),
        recipient: '',
        owner: { key: owner.toString('base64url') },
        tags: [],
        ...(knowsTypes && { signatureType: 4 }),
      };
      return response.end(JSON.stringify({ data: { transaction } }));
    });
    const proof = await signatureProof(gateway, id);
    assert.ok(proof !== undefined && 'item' in proof.of);
    assert.equal(proof.of.item.id, id);
    if (knowsTypes) assert.equal(proof.of.item.signatureType, 4);
  }
});

const right = Buffer.from('what was signed');
const wrong = Buffer.from('what never was!');
const version2 = (data: Buffer) =>
  newTransaction({
    reward: 1_000n,
    tags: [],
    dataSize: data.length,
    dataRoot: dataRootOf(data),
  });

test('a transaction whose owner is signed proves its bytes', async (t) => {
  const transaction = await signTransactionAsync(version2(right), testArweaveKey.privateKey);
  assert.equal((await proofFrom(t, transaction))?.binds, true);
  const forged = { ...transaction, dataRoot: dataRootOf(wrong) };
  assert.equal(await proofFrom(t, forged), undefined);
});

test('an ECDSA signature without an owner fits any root, so it binds none', async (t) => {
  const transaction = signTransactionEcdsa(version2(right), testEthereumKey);
  assert.equal((await proofFrom(t, transaction))?.binds, false);
  const forged = { ...transaction, dataRoot: dataRootOf(wrong) };
  assert.ok(await verifyTransactionAsync(forged), 'a key can be found for it');
  assert.equal((await proofFrom(t, forged))?.binds, false);
});

test('version 1 signs its fields without bounds, so it binds none of them', async (t) => {
  const whole = Buffer.from('the first thirty-two bytes of it, and what comes after them');
  const transaction = await signTransactionAsync(
    { ...newTransaction({ reward: 1_234n }), format: 1, data: whole, dataSize: whole.length },
    testArweaveKey.privateKey,
  );
  assert.equal((await proofFrom(t, transaction))?.binds, false);
  const data = whole.subarray(32);
  const forged = { ...transaction, target: whole.subarray(0, 32), data, dataSize: data.length };
  assert.ok(await verifyTransactionAsync(forged), 'bytes were moved from one field to another');
  assert.equal((await proofFrom(t, forged))?.binds, false);
  const changed = { ...transaction, data: Buffer.from(whole).fill('x', 0, 1) };
  assert.equal(await proofFrom(t, changed), undefined, 'but nothing else can be put into them');
});

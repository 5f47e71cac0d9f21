/** The browser's own checks agree with what the services make, for every kind of key, and refuse what was changed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { dataRootOf } from '../../../../formats/arweave/data-root.ts';
import { newTransaction } from '../../../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../../../formats/arweave/transaction-signature.ts';
import { receiptMessage } from '../../../../formats/receipt.ts';
import { signPss } from '../../../../wallets/arweave/rsa.ts';
import { itemOwner } from '../../../../wallets/data-items/owner.ts';
import {
  aptosSigner,
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  multiAptosSigner,
  signItem,
  solanaSigner,
  typedEthereumSigner,
} from '../../../../wallets/data-items/signer.ts';
import {
  ed25519TestKey,
  testArweaveKey,
  testEd25519Key,
  testEthereumKey,
} from '../../../../wallets/testing/keys.ts';
import { checkItem } from './item.ts';
import { ownerForms } from './owner-forms.ts';
import { readReceipt } from './receipt.ts';
import { isReceiptSigned } from './receipt-signature.ts';
import { checkTransaction, hasDataRoot } from './transaction.ts';

const signers = {
  arweave: arweaveSigner(testArweaveKey),
  'arweave without salt': arweaveSigner(testArweaveKey, { saltLength: 0 }),
  ed25519: ed25519Signer(testEd25519Key),
  ethereum: ethereumSigner(testEthereumKey),
  solana: solanaSigner(testEd25519Key),
  aptos: aptosSigner(testEd25519Key),
  'several aptos keys': multiAptosSigner([testEd25519Key, ed25519TestKey('b')], 2),
  'typed ethereum': typedEthereumSigner(testEthereumKey),
};

const contents = {
  data: Buffer.from('hello, permaweb'),
  tags: [{ name: 'Content-Type', value: 'text/plain' }],
  target: Buffer.alloc(32, 7),
};
const copy = (bytes: Buffer) => new Uint8Array(bytes);

describe('a data item', () => {
  for (const [name, signer] of Object.entries(signers)) {
    test(`signed by ${name} is good; with another byte, or under another id, it is not`, async () => {
      const bytes = await signItem(contents, signer);
      const length =
        signer.signatureType === 6
          ? 2_052
          : signer.signatureType === 1
            ? 512
            : signer.signatureType % 4 === 3
              ? 65
              : 64;
      const id = createHash('sha256')
        .update(bytes.subarray(2, 2 + length))
        .digest('base64url');
      assert.equal(await checkItem(id, copy(bytes)), 'good');
      const changed = copy(bytes);
      changed[bytes.length - 1] = 0;
      assert.equal(await checkItem(id, changed), 'bad signature');
      assert.equal(await checkItem('A'.repeat(43), copy(bytes)), 'other item');
      const { wallet } = itemOwner(signer.signatureType, signer.owner);
      const forms = ownerForms(signer.signatureType, signer.owner);
      if (wallet.kind !== 'arweave') assert.equal(forms.native.toLowerCase(), wallet.address.toLowerCase());
      assert.equal(forms.normalized, createHash('sha256').update(signer.owner).digest('base64url'));
    });
  }

  test('that ends in the middle of its header is not readable', async () => {
    const bytes = await signItem(contents, signers.ethereum);
    const id = createHash('sha256').update(bytes.subarray(2, 67)).digest('base64url');
    assert.equal(await checkItem(id, copy(bytes.subarray(0, 150))), 'not readable');
    assert.equal(await checkItem(id, new Uint8Array([9, 9, 9])), 'unknown type');
    assert.equal(await checkItem(id, new Uint8Array(0)), 'not readable');
  });
});

describe('a transaction', () => {
  for (const format of [1, 2] as const) {
    test(`of version ${format} is good; with another reward it is not`, async () => {
      const data = Buffer.from('some data');
      const unsigned = newTransaction({
        format,
        owner: testArweaveKey.modulus,
        reward: 12n,
        tags: [{ name: 'a', value: 'b' }],
        data,
        ...(format === 2 && { dataRoot: dataRootOf(data) }),
      });
      const signed = await signTransactionAsync(unsigned, testArweaveKey.privateKey);
      const json = transactionToJson(signed, 'with data') as unknown as Record<string, unknown>;
      assert.equal(await checkTransaction(signed.id.toString('base64url'), json), 'good');
      assert.equal(
        await checkTransaction(signed.id.toString('base64url'), { ...json, reward: '13' }),
        'bad signature',
      );
      assert.equal(await checkTransaction('A'.repeat(43), json), 'other transaction');
    });
  }

  test('has the data root of its bytes, however they were cut', () => {
    for (const size of [1, 262_144, 262_145, 524_288, 700_000]) {
      const data = Buffer.alloc(size, 5);
      for (const split of [
        { style: 'balanced', zeroLeaf: true },
        { style: 'fixed', zeroLeaf: false },
      ] as const) {
        assert.equal(
          hasDataRoot(data, dataRootOf(data, split).toString('base64url')),
          true,
          `${size} ${split.style}`,
        );
      }
      assert.equal(hasDataRoot(Buffer.alloc(size, 6), dataRootOf(data).toString('base64url')), false);
    }
  });
});

describe('a receipt', () => {
  const id = `${'B'.repeat(42)}A`;
  async function receipt(change: Record<string, unknown> = {}) {
    const signature = await signPss(
      testArweaveKey.privateKey,
      receiptMessage(id, 1_200, 1_700_000_000_000),
      0,
    );
    return JSON.stringify({
      id,
      timestamp: 1_700_000_000_000,
      version: '0.2.0',
      deadlineHeight: 1_200,
      public: testArweaveKey.modulus.toString('base64url'),
      signature: signature.toString('base64url'),
      ...change,
    });
  }

  test('is good as the service makes it, and not with another deadline', async () => {
    const good = readReceipt(await receipt());
    assert.ok(good);
    assert.equal(await isReceiptSigned(good), true);
    const moved = readReceipt(await receipt({ deadlineHeight: 9_999 }));
    assert.ok(moved);
    assert.equal(await isReceiptSigned(moved), false);
  });

  test('is found inside what was kept with it, and nothing else passes for one', async () => {
    assert.equal(readReceipt(`{"receipt":${await receipt()}}`)?.id, id);
    for (const text of [
      '',
      '[]',
      'null',
      '{"id":"x"}',
      await receipt({ id: 'javascript:alert(1)' }),
      await receipt({ timestamp: -1 }),
    ]) {
      assert.equal(readReceipt(text), undefined);
    }
  });
});

/** What keys of the page sign is what the product's own verifiers take. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { parseTransactionJson } from '../../../formats/arweave/transaction-json.ts';
import { verifyTransactionAsync } from '../../../formats/arweave/transaction-signature.ts';
import { deepHash as productDeepHash } from '../../../formats/deep-hash.ts';
import { parseTransaction } from '../../../formats/solana/transaction.ts';
import { findX402Network } from '../../../formats/x402/networks.ts';
import { decodePayment } from '../../../formats/x402/payment.ts';
import { itemOwner } from '../../../wallets/data-items/owner.ts';
import { isSignedByHolder } from '../../../wallets/ethereum/transfer-authorization.ts';
import { localWallets } from '../../../wallets/local-wallets.ts';
import { verifyRequestSignatureAsync } from '../../../wallets/request-signature.ts';
import { ed25519PublicKey, verifyEd25519 } from '../../../wallets/solana/ed25519.ts';
import { decodeBase58, decodeHex } from '../../services/encoding.ts';
import { deepHash } from '../deep-hash.ts';
import { signedHeaders } from '../request.ts';
import { signTransfer } from '../send/arweave.ts';
import { messageOf, solTransferWith, withSignature } from '../send/solana.ts';
import { authorizationTypedData, newAuthorization, paymentHeader } from '../x402.ts';
import { arweaveAddressOf, arweaveSigner, importArweaveKey, modulusOf } from './arweave-key.ts';
import {
  checksummed,
  ethereumAddressOf,
  ethereumPublicKey,
  ethereumSigner,
  recoverKey,
} from './ethereum-key.ts';
import type { KeySigner } from './key-signer.ts';
import { importSolanaKey, solanaPublicKey, solanaSigner } from './solana-key.ts';

const local = localWallets(1);

describe('keys of the page', () => {
  let signers: { readonly address: string; readonly signer: KeySigner }[];
  const [arweave] = local.arweave;
  const [ethereum] = local.ethereum;
  const [solana] = local.solana;
  assert.ok(arweave && ethereum && solana);
  const secret = decodeHex(ethereum.privateKey) ?? new Uint8Array();
  const seed = Uint8Array.from(solana.bytes.slice(0, 32));

  before(async () => {
    const jwk = { ...arweave.jwk } as JsonWebKey;
    const publicKey = await solanaPublicKey(seed);
    signers = [
      { address: arweave.address, signer: arweaveSigner(await importArweaveKey(jwk), modulusOf(jwk)) },
      {
        address: ethereum.address,
        signer: ethereumSigner(ethereumPublicKey(secret), async () => secret.slice()),
      },
      { address: solana.address, signer: solanaSigner(await importSolanaKey(seed), publicKey) },
      // As in browsers without Ed25519.
      { address: solana.address, signer: solanaSigner(seed, publicKey) },
    ];
  });

  test('have the addresses that the product gives them', async () => {
    assert.equal(await arweaveAddressOf(modulusOf({ ...arweave.jwk } as JsonWebKey)), arweave.address);
    assert.equal(ethereumAddressOf(ethereumPublicKey(secret)), ethereum.address);
    assert.equal(checksummed(ethereum.address.toLowerCase()), ethereum.address);
    assert.deepEqual(await solanaPublicKey(seed), decodeBase58(solana.address));
  });

  test('sign items of their type', async () => {
    const message = randomBytes(48);
    for (const { signer, address } of signers) {
      const owner = itemOwner(signer.signatureType, Buffer.from(signer.publicKey));
      const signature = Buffer.from(await signer.signItem(message));
      assert.equal(owner.verify(message, signature), true, signer.kind);
      assert.equal(owner.verify(randomBytes(48), signature), false, signer.kind);
      assert.equal(owner.wallet.address, address);
    }
  });

  test('sign requests, bound to one and not', async () => {
    const boundTo = { service: arweave.address, method: 'POST', path: '/v1/x?y=1', body: '{"a":1}' };
    for (const { signer, address } of signers) {
      const asked = { ...signer, publicKey: async () => signer.publicKey };
      for (const bound of [undefined, boundTo]) {
        const nonce = randomUUID();
        const headers = await signedHeaders(
          asked,
          bound === undefined ? { nonce } : { nonce, boundTo: bound },
        );
        const wallet = await verifyRequestSignatureAsync({
          publicKey: headers['x-public-key'] ?? '',
          signature: headers['x-signature'] ?? '',
          nonce: headers['x-nonce'] ?? '',
          signatureType: headers['x-signature-type'],
          boundTo: bound && {
            service: bound.service,
            method: bound.method,
            path: bound.path,
            contentDigest: headers['content-digest'] ?? '',
          },
        });
        assert.equal(wallet?.address, address);
      }
    }
  });

  test('sign AR transfers that a node takes', async () => {
    const signer = signers[0]?.signer;
    assert.ok(signer);
    const unsigned = {
      format: 2,
      id: '',
      last_tx: randomBytes(48).toString('base64url'),
      owner: '',
      tags: [{ name: 'YQ', value: 'Yg' }],
      target: randomBytes(32).toString('base64url'),
      quantity: '12345678901234',
      data: '',
      data_size: '0',
      data_root: '',
      reward: '1000',
      signature: '',
    } as const;
    const signed = await signTransfer(unsigned, signer.publicKey, (message) => signer.signBytes(message));
    const read = parseTransactionJson({ ...signed, data_tree: [] });
    assert.equal(await verifyTransactionAsync(read), true);
    assert.equal(read.quantity, 12_345_678_901_234n);
    assert.equal(await verifyTransactionAsync({ ...read, quantity: 1n }), false);
  });

  test('sign SOL transfers in their place', async () => {
    const signer = signers[2]?.signer;
    assert.ok(signer);
    const to =
      local.solana[0]?.address === solana.address ? 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB' : '';
    const unsigned = solTransferWith(to, { from: solana.address, to, lamports: 2n ** 40n });
    const signed = withSignature(unsigned, signer.publicKey, await signer.signBytes(messageOf(unsigned)));
    const { message, signatures, messageBytes } = parseTransaction(signed);
    assert.deepEqual(message.keys, [solana.address, to, '11111111111111111111111111111111']);
    assert.equal(message.instructions[0]?.data.readBigUInt64LE(4), 2n ** 40n);
    const key = ed25519PublicKey(signer.publicKey);
    assert.ok(key);
    assert.equal(verifyEd25519(key, messageBytes, signatures[0] ?? Buffer.alloc(0)), true);
    assert.throws(() => withSignature(unsigned, randomBytes(32), randomBytes(64)), /not a signer/);
    assert.throws(() => messageOf(Uint8Array.of(1, 2, 3)), /no Solana transaction/);
  });

  test('sign x402 payments that a server reads', async () => {
    const signer = signers[1]?.signer;
    assert.ok(signer?.signTypedData);
    const requirement = {
      scheme: 'exact',
      network: 'base-sepolia',
      maxAmountRequired: '8159269',
      payTo: '0x92622450b29a8A5204FCE41fb1873343F93d722C',
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      maxTimeoutSeconds: 300,
      extra: { name: 'USDC', version: '2' },
    };
    const authorization = newAuthorization(requirement, ethereum.address, 1_900_000_000);
    const signature = await signer.signTypedData(authorizationTypedData(requirement, authorization));
    const read = decodePayment(paymentHeader(requirement, authorization, signature));
    const network = findX402Network('base-sepolia');
    assert.ok(network);
    assert.equal(isSignedByHolder(read.authorization, read.signature, network), true);
    assert.equal(isSignedByHolder({ ...read.authorization, value: 1n }, read.signature, network), false);
    assert.equal(read.authorization.validBefore, 1_900_000_300n);
  });

  test('are recovered from one signature where the wallet does not tell them', async () => {
    const signer = signers[1]?.signer;
    assert.ok(signer);
    const signature = await signer.signText('hello');
    assert.deepEqual(recoverKey(Buffer.from('hello'), signature), signer.publicKey);
    assert.equal(recoverKey(Buffer.from('hello'), randomBytes(64)), undefined);
  });

  test('hash as the product does', async () => {
    const input = ['2', randomBytes(600), [[Buffer.from('a'), 'b'], []], ''] as const;
    assert.deepEqual(Buffer.from(await deepHash(input)), productDeepHash(input));
  });
});

/** The inputs that fuzzing keeps, read by published libraries too: the same verdict and the same values. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DataItem } from '@dha-team/arbundles';
import { VersionedTransaction } from '@solana/web3.js';
import bencode from 'bencode';
import { parseTransaction as parseEvmTransaction } from 'viem';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { FormatError } from '../../src/formats/format-error.ts';
import { parseTransaction, transactionId } from '../../src/formats/solana/transaction.ts';
import { bdecode } from '../../src/formats/torrent/bencode.ts';
import { readTransfer } from '../../src/wallets/ethereum/transaction.ts';
import { keptInputs } from '../fuzz/corpus.ts';
import { readOrRefused } from '../fuzz/target.ts';

const items = keptInputs('ans104-item').map((input) => input.subarray(1));

describe('what fuzzing keeps reads alike', () => {
  it('as data items with arbundles', () => {
    let compared = 0;
    for (const bytes of items) {
      const item = parseItem(bytes);
      if (typeof item === 'string') continue;
      const other = new DataItem(bytes);
      const { header, data } = item;
      assert.equal(other.signatureType, header.signatureType);
      assert.deepEqual(other.rawSignature, header.signature);
      assert.deepEqual(other.rawOwner, header.owner);
      assert.deepEqual(other.rawTarget, header.target);
      assert.deepEqual(other.rawAnchor, header.anchor);
      assert.deepEqual(other.rawData, data);
      assert.deepEqual(other.tags, header.tags);
      assert.equal(other.id, header.id);
      compared += 1;
    }
    assert.ok(compared > 3, `${compared} compared`);
  });

  it('as Solana transactions with web3.js', () => {
    let compared = 0;
    for (const bytes of keptInputs('solana-transaction')) {
      const read = readOrRefused([FormatError], () => parseTransaction(bytes));
      if (read === undefined) continue;
      const other = VersionedTransaction.deserialize(bytes);
      assert.deepEqual(
        other.signatures.map((signature) => Buffer.from(signature)),
        read.signatures,
      );
      assert.deepEqual(Buffer.from(other.message.serialize()), read.messageBytes, transactionId(read));
      compared += 1;
    }
    assert.ok(compared > 3, `${compared} compared`);
  });

  it('as bencoded values with bencode', () => {
    let compared = 0;
    for (const bytes of keptInputs('bencode')) {
      const value = readOrRefused([FormatError], () => bdecode(bytes));
      // That library reads keys as UTF-8.
      if (value === undefined || bytes.some((byte) => byte > 0x7f)) continue;
      assert.deepEqual(plain(bencode.decode(bytes)), plain(value));
      compared += 1;
    }
    assert.ok(compared > 3, `${compared} compared`);
  });

  it('as Ethereum transactions with viem', () => {
    let compared = 0;
    for (const input of keptInputs('ethereum-transaction')) {
      const raw = input.toString('latin1');
      const read = readTransfer(raw);
      // There is no chain 0, and that library says so; here the caller compares the chain.
      if (read === undefined || read.chainId === 0) continue;
      const other = parseEvmTransaction(raw as `0x02${string}`);
      assert.equal(other.to?.toLowerCase(), read.to);
      assert.equal(other.value ?? 0n, read.value);
      assert.equal(BigInt(other.nonce ?? 0), read.nonce);
      assert.equal(other.chainId, read.chainId);
      assert.equal(other.gas ?? 0n, read.gasLimit);
      compared += 1;
    }
    assert.ok(compared > 0, `${compared} compared`);
  });
});

/** Numbers, hex texts, lists and sorted pairs. */
function plain(value: unknown): unknown {
  if (typeof value === 'number') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  const { members } = value as { members?: unknown };
  const pairs = members instanceof Map ? [...members] : Object.entries(value as object);
  return pairs
    .map(([key, member]) => [String(key), plain(member)])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

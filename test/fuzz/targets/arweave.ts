/** What the chain's nodes and publishers send: transactions, blocks, chunks and their proofs. */
import assert from 'node:assert/strict';
import clientDeepHash from 'arweave/node/lib/deepHash.js';
import { validatePath } from 'arweave/node/lib/merkle.js';
import { dataRootOf } from '../../../src/formats/arweave/data-root.ts';
import { leafId, MerkleTree, note, sha256 } from '../../../src/formats/arweave/merkle.ts';
import { claimedEnd, type ProofRules, verifyPath } from '../../../src/formats/arweave/proof.ts';
import { parseTransactionJson, transactionToJson } from '../../../src/formats/arweave/transaction-json.ts';
import { signatureData, transactionOwner } from '../../../src/formats/arweave/transaction-signature.ts';
import { type DeepHashInput, deepHash } from '../../../src/formats/deep-hash.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { tryParseJson } from '../../../src/formats/json.ts';
import { parseBlock } from '../../../src/gateway/import/fetch-block.ts';
import { parseAnnounced } from '../../../src/gateway/unbundle/optimistic.ts';
import { parseChunk } from '../../../src/localnet/arweave/chain/chunks.ts';
import { NodeError } from '../../../src/localnet/arweave/errors.ts';
import { optionsOf, readOrRefused, type Target } from '../target.ts';

const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';
const chunkBytes = 256 * 1024;
const rules: readonly ProofRules[] = ['basic', 'borders', 'strict', 'rebase'];

const transaction = {
  format: 2,
  id,
  last_tx: '',
  owner: 'AQAB',
  tags: [{ name: 'QQ', value: 'Qg' }],
  target: '',
  quantity: '0',
  data: '',
  data_size: '3',
  data_root: id,
  reward: '10',
  signature: 'AQAB',
};

/** A tree over three chunks, of which the proofs are right; the bytes of each chunk are its number. */
function provenPaths(): { readonly root: Buffer; readonly size: number; readonly paths: Buffer[] } {
  const ends = [chunkBytes, 2 * chunkBytes, 2 * chunkBytes + 100];
  const hashes = ends.map((_, index) => sha256(Buffer.from([index])));
  const tree = new MerkleTree({
    ids: Buffer.concat(ends.map((end, index) => leafId(hashes[index]!, end))),
    ends: Float64Array.from(ends),
  });
  const paths = ends.map((end, index) => Buffer.concat([tree.branches(index), hashes[index]!, note(end)]));
  return { root: tree.root, size: ends.at(-1)!, paths };
}
const proven = provenPaths();

/** Bytes as a list of lists: 0 opens, 1 closes, another number is the length of a text that follows. */
function nested(input: Buffer): DeepHashInput[] {
  const root: DeepHashInput[] = [];
  const stack: DeepHashInput[][] = [root];
  for (let at = 0; at < input.length; ) {
    const byte = input[at]!;
    at += 1;
    if (byte === 0 && stack.length < 40) {
      const list: DeepHashInput[] = [];
      stack.at(-1)!.push(list);
      stack.push(list);
    } else if (byte === 1) {
      if (stack.length > 1) stack.pop();
    } else {
      stack.at(-1)!.push(input.subarray(at, at + byte));
      at += byte;
    }
  }
  return root;
}

export const targets: readonly Target[] = [
  {
    name: 'transaction-json',
    seeds: () => [
      JSON.stringify(transaction),
      JSON.stringify({ ...transaction, format: 1, data: 'QUJD', data_root: '' }),
      JSON.stringify({ ...transaction, owner: '', denomination: '2', target: id, quantity: '7' }),
    ],
    run(input) {
      const json = tryParseJson(input.toString('utf8'));
      if (json === undefined) return;
      const read = readOrRefused([FormatError], () => parseTransactionJson(json));
      if (read === undefined) return;
      const written = transactionToJson(read, 'with data');
      assert.deepEqual(parseTransactionJson(JSON.parse(JSON.stringify(written))), read);
      assert.ok(signatureData(read).length > 0 || read.format === 1);
      const owner = transactionOwner(read);
      if (read.owner.length > 0) assert.deepEqual(owner, read.owner);
    },
  },
  {
    name: 'chain-json',
    seeds: () => [
      JSON.stringify({
        height: 5,
        timestamp: 1_700_000_000,
        indep_hash: 'A'.repeat(64),
        previous_block: 'A'.repeat(64),
        txs: [id],
        block_size: '100',
        weave_size: 200,
      }),
      JSON.stringify({ data_root: id, data_size: '3', data_path: 'QUJD', chunk: 'QUJD', offset: '2' }),
      JSON.stringify({
        id,
        signature: 'AQAB',
        owner: 'AQAB',
        data_size: 3,
        tags: [{ name: 'QQ', value: 'Qg' }],
        target: id,
        content_type: 'text/plain',
      }),
    ],
    run(input) {
      const block = parseBlock(input);
      if (block !== undefined) {
        assert.equal(block.txCount, block.txs.length);
        assert.match(block.weaveSize, /^[0-9]+$/);
      }
      const json = tryParseJson(input.toString('utf8'));
      const chunk = readOrRefused([NodeError], () => parseChunk(json));
      if (chunk !== undefined) assert.ok(chunk.dataSize >= 0n);
      // The route's schema gives these members their types.
      if (isAnnouncement(json)) parseAnnounced(json);
    },
  },
  {
    name: 'merkle-proof',
    seeds: () =>
      proven.paths.flatMap((path, index) =>
        rules.map((_, rule) => Buffer.concat([Buffer.from([index + 4 * rule]), path])),
      ),
    async run(input) {
      const { bits, rest } = optionsOf(input);
      const rule = rules[(bits >> 2) & 3]!;
      const offset = Math.min((bits & 3) * chunkBytes, proven.size - 1);
      claimedEnd(rest);
      const leaf = verifyPath(proven.root, offset, proven.size, rest, rule);
      // Whatever is taken was in the tree: nobody finds another path to the root.
      if (leaf !== undefined) {
        assert.ok(leaf.start <= offset && offset < leaf.end && leaf.end <= proven.size);
        assert.ok(proven.paths.some((path) => path.includes(leaf.data)));
      }
      if (rule !== 'basic' || rest.length > 4_096) return;
      const client = await validatePath(proven.root, offset, 0, proven.size, rest).catch(() => false);
      assert.equal(leaf !== undefined, client !== false && client !== null, 'the published client agrees');
    },
  },
  {
    name: 'deep-hash',
    longest: 600,
    seeds: () => [Buffer.from([3, 1, 2, 3, 0, 2, 9, 9, 1, 4, 1, 2, 3, 4]), Buffer.from([0, 0, 1, 1])],
    async run(input) {
      const list = nested(input);
      // biome-ignore lint/suspicious/noExplicitAny: the client's type leaves out that lists are read-only
      const client = await clientDeepHash.default(list as any);
      assert.deepEqual(deepHash(list), Buffer.from(client));
    },
  },
  {
    name: 'data-root',
    seeds: () => ['', 'abc'],
    longest: 300,
    run(input) {
      assert.equal(dataRootOf(input).length, input.length === 0 ? 0 : 32);
    },
  },
];

type Announced = Parameters<typeof parseAnnounced>[0];

function isAnnouncement(json: unknown): json is Announced {
  if (typeof json !== 'object' || json === null) return false;
  const {
    id: name,
    signature,
    owner,
    data_size,
    tags,
    target,
    anchor,
    content_type,
    signature_type,
  } = json as Record<string, unknown>;
  const areTags =
    tags === undefined ||
    (Array.isArray(tags) &&
      tags.every((tag: unknown) => {
        const { name: key, value } = (tag ?? {}) as Record<string, unknown>;
        return typeof key === 'string' && typeof value === 'string';
      }));
  const texts = [target, anchor, content_type].every(
    (text) => text === undefined || typeof text === 'string',
  );
  return (
    [name, signature, owner].every((text) => typeof text === 'string') &&
    typeof data_size === 'number' &&
    areTags &&
    texts &&
    (signature_type === undefined || Number.isInteger(signature_type))
  );
}

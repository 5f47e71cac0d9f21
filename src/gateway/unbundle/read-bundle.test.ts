import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { parseItem } from '../../formats/ans104/item.ts';
import { createLogger } from '../../kernel/log.ts';
import { createPool } from '../../kernel/pool/pool.ts';
import {
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  type ItemSigner,
  signItem,
} from '../../wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../../wallets/testing/keys.ts';
import { BadBundle, type ReadItem, readBundle, type UnbundleTasks } from './read-bundle.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const pool = createPool<UnbundleTasks>({
  module: new URL(`./tasks${extname(import.meta.filename)}`, import.meta.url),
  size: 2,
  maxQueued: 64,
  log,
});
after(() => pool.close());

const signer = ed25519Signer(ed25519TestKey('read'));
async function make(
  payloads: readonly Buffer[],
  signers: readonly [ItemSigner, ...ItemSigner[]] = [signer],
): Promise<{ bundle: Buffer; items: Buffer[]; ids: Buffer[] }> {
  const items: Buffer[] = [];
  for (const [at, data] of payloads.entries()) {
    const tags = [{ name: 'n', value: String(at) }];
    items.push(await signItem({ data, tags }, signers[at % signers.length] ?? signers[0]));
  }
  const ids = items.map((item) => {
    const parsed = parseItem(item);
    assert.ok(typeof parsed !== 'string');
    return parsed.header.idBytes;
  });
  const header = encodeBundleHeader(items.map((item, at) => ({ size: item.length, id: ids[at] ?? item })));
  return { bundle: Buffer.concat([header, ...items]), items, ids };
}

async function* cut(bytes: Buffer, size: () => number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const piece = bytes.subarray(at, at + size());
    at += piece.length;
    yield piece;
  }
}

async function read(bundle: Buffer, size: () => number, stated = bundle.length) {
  const items: ReadItem[] = [];
  const summary = await readBundle(cut(bundle, size), {
    pool,
    size: stated,
    items: async (some) => {
      items.push(...some);
    },
  });
  return { items, summary };
}

describe('reading a bundle', () => {
  it('finds every item at its place whatever the pieces, large ones too', async () => {
    const next = seededRandom(7).fraction;
    const payloads = [
      Buffer.from('first'),
      Buffer.alloc(9 * 1024 * 1024, 'large'),
      ...Array.from({ length: 300 }, (_, at) => Buffer.alloc(Math.floor(next() * 3_000), at)),
      Buffer.alloc(0),
    ];
    const { bundle, items, ids } = await make(payloads);
    for (const size of [() => 262_144, () => 1 + Math.floor(next() * 400_000), () => 10_000_000]) {
      const { items: found, summary } = await read(bundle, size);
      assert.deepEqual(
        found.map((item) => item.header.id),
        ids,
      );
      assert.deepEqual(
        [summary.itemCount, summary.invalidCount, summary.duplicatedCount],
        [items.length, 0, 0],
      );
      assert.deepEqual(summary.hash, hash('sha256', bundle, 'buffer'));
      for (const [at, item] of found.entries()) {
        const payload = payloads[at] ?? Buffer.alloc(0);
        assert.deepEqual(item.payloadHash, hash('sha256', payload, 'buffer'));
        assert.equal(item.header.dataSize, payload.length);
        assert.ok(
          bundle.subarray(item.itemOffset, item.itemOffset + item.itemSize).equals(items[at] ?? payload),
        );
        assert.equal(bundle[item.dataOffset], payload.length === 0 ? bundle[item.dataOffset] : payload[0]);
      }
    }
  });

  it('never takes a damaged item for a good one, wherever the damage is', async () => {
    const next = seededRandom(11).fraction;
    const { bundle, ids } = await make(Array.from({ length: 20 }, (_, at) => Buffer.alloc(50, at)));
    const start = 32 + 64 * ids.length;
    for (let round = 0; round < 40; round += 1) {
      const damaged = Buffer.from(bundle);
      const at = start + Math.floor(next() * (bundle.length - start));
      damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(next() * 8));
      const { items, summary } = await read(damaged, () => 262_144);
      assert.equal(items.length + summary.invalidCount, ids.length);
      // Presence bytes and the number of tags are not signed; all else is.
      assert.ok(summary.invalidCount <= 1);
      for (const item of items) assert.ok(ids.some((id) => id.equals(item.header.id)));
    }
  });

  it('finds the bad ones among items of many keys that are verified together', async () => {
    const one = ethereumSigner(ethereumTestKey('one'));
    const signers = [
      one,
      one,
      ethereumSigner(ethereumTestKey('two')),
      signer,
      arweaveSigner(testArweaveKey),
      one,
    ];
    const { bundle, items, ids } = await make(
      Array.from({ length: 120 }, (_, at) => Buffer.alloc(40, at)),
      [one, ...signers],
    );
    const bad = new Set([0, 1, 17, 63, 64, 119]);
    const damaged = Buffer.from(bundle);
    let end = bundle.length;
    for (let at = items.length - 1; at >= 0; at -= 1) {
      // The last byte of the payload: the item stays well formed and keeps its id.
      if (bad.has(at)) damaged[end - 1] = (damaged[end - 1] ?? 0) ^ 1;
      end -= items[at]?.length ?? 0;
    }
    const { items: found, summary } = await read(damaged, () => 262_144);
    assert.equal(summary.invalidCount, bad.size);
    assert.deepEqual(
      found.map((item) => item.header.id),
      ids.filter((_, at) => !bad.has(at)),
    );
    assert.equal((await read(bundle, () => 262_144)).summary.invalidCount, 0);
  });

  it('refuses a bundle that ends early, goes on too long, or is not the stated size', async () => {
    const { bundle } = await make([Buffer.from('one'), Buffer.from('two')]);
    const size = () => 100;
    await assert.rejects(read(bundle.subarray(0, -1), size, bundle.length), BadBundle);
    await assert.rejects(read(bundle.subarray(0, 40), size, bundle.length), BadBundle);
    await assert.rejects(read(Buffer.concat([bundle, Buffer.from('x')]), size, bundle.length), BadBundle);
    await assert.rejects(read(bundle, size, bundle.length + 1), BadBundle);
    await assert.rejects(read(Buffer.concat([bundle, Buffer.alloc(9)]), size, bundle.length + 10), BadBundle);
    await assert.rejects(read(Buffer.alloc(0), size, 0), BadBundle);
  });

  it('stops the source when the items cannot be written', async () => {
    const { bundle } = await make(Array.from({ length: 400 }, () => Buffer.alloc(10)));
    let closed = false;
    async function* source() {
      try {
        yield* cut(bundle, () => 1_000);
      } finally {
        closed = true;
      }
    }
    const failing = readBundle(source(), {
      pool,
      size: bundle.length,
      items: async () => {
        throw new Error('disk full');
      },
    });
    await assert.rejects(failing, /disk full/);
    assert.equal(closed, true);
  });

  it('hands over two batches at a time and no third, and ends when both are written', async () => {
    const { bundle, ids } = await make(Array.from({ length: 700 }, () => Buffer.alloc(10)));
    const open: (() => void)[] = [];
    let written = 0;
    let ended = false;
    const reading = readBundle(
      cut(bundle, () => 262_144),
      {
        pool,
        size: bundle.length,
        items: async (items) => {
          await new Promise<void>((resolve) => open.push(resolve));
          written += items.length;
        },
      },
    ).finally(() => {
      ended = true;
    });
    for (let batches = 0; written < ids.length; ) {
      await eventually('two batches are at work', () => open.length === 2 || batches + open.length === 6);
      assert.ok(open.length <= 2);
      assert.equal(ended, false);
      batches += 1;
      open.shift()?.();
      await eventually('one is written', () => written === Math.min(batches * 128, ids.length));
    }
    assert.equal((await reading).itemCount, ids.length);
  });

  it('fails when one of two batches does, after the other was written', async () => {
    const { bundle } = await make(Array.from({ length: 700 }, () => Buffer.alloc(10)));
    let calls = 0;
    let other = false;
    const failing = readBundle(
      cut(bundle, () => 262_144),
      {
        pool,
        size: bundle.length,
        items: async () => {
          calls += 1;
          if (calls === 1) throw new Error('disk full');
          await new Promise((resolve) => setImmediate(resolve));
          other = true;
        },
      },
    );
    await assert.rejects(failing, /disk full/);
    assert.deepEqual([calls, other], [2, true]);
  });
});

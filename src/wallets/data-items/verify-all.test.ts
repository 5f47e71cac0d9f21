import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { encodeBundleHeader, parseBundleHeader, parseItemHeader } from '../../formats/ans104/index.ts';
import { createLogger } from '../../kernel/log.ts';
import { createPool } from '../../kernel/pool/pool.ts';
import { ed25519TestKey, ethereumTestKey } from '../testing/keys.ts';
import { ethereumSigner, signItem, solanaSigner } from './signer.ts';
import { problemOf, type VerifyTasks, verifyAll, verifyTasksModule } from './verify-all.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-verify-'));
const log = createLogger({ level: 'silent', format: 'json', name: 'test' });
const pool = createPool<VerifyTasks>({
  module: verifyTasksModule,
  size: 2,
  maxQueued: 100,
  log,
});
after(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

/** A bundle of 300 items in shared memory; item 7 is not signed, item 200 has another id, item 210 is broken. */
async function makeBundle() {
  const signers = [solanaSigner(ed25519TestKey('tasks')), ethereumSigner(ethereumTestKey('tasks'))];
  const items: Buffer[] = [];
  for (let i = 0; i < 300; i++) {
    const data = Buffer.alloc(i === 100 ? 3_000_000 : i, i);
    items.push(await signItem({ data, tags: [{ name: 'n', value: String(i) }] }, signers[i % 2]!));
  }
  const entries = items.map((item) => {
    const header = parseItemHeader(item);
    assert.ok(typeof header !== 'string');
    return { id: header.idBytes, size: item.length };
  });
  const bundle = Buffer.concat([encodeBundleHeader(entries), ...items]);
  const header = parseBundleHeader(bundle);
  assert.ok(typeof header !== 'string');
  bundle[header.offsets[8]! - 1]! ^= 1;
  bundle[32 + 200 * 64 + 40]! ^= 1;
  bundle.writeUInt16LE(77, header.offsets[210]!);
  const ids = Buffer.concat(entries.map((_, i) => header.idBytes(i)));
  const shared = new Uint8Array(new SharedArrayBuffer(bundle.length));
  shared.set(bundle);
  return { shared, bundle, header, ids };
}

describe('items verified on threads', async () => {
  const { shared, bundle, header, ids } = await makeBundle();
  const places = { offsets: header.offsets.slice(0, header.count), sizes: header.sizes, ids };

  function check(verdicts: Uint8Array) {
    assert.equal(verdicts.length, 300);
    const wrong = [...verdicts].flatMap((verdict, index) =>
      verdict === 0 ? [] : [[index, problemOf(verdict)]],
    );
    assert.deepEqual(wrong, [
      [7, 'signature'],
      [200, 'id-mismatch'],
      [210, 'unknown-signature-type'],
    ]);
  }

  test('in shared memory', async () => {
    check(await verifyAll(pool, { ...places, bytes: shared }));
  });

  test('in a file', async () => {
    const path = join(folder, 'bundle');
    writeFileSync(path, bundle);
    check(await verifyAll(pool, { ...places, path }));
    writeFileSync(path, bundle.subarray(0, bundle.length - 1));
    const verdicts = await verifyAll(pool, { ...places, path });
    assert.equal(problemOf(verdicts[299]!), 'truncated');
  });
});

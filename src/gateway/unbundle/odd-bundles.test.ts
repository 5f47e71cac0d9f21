/** Odd bundles, read as the reference library reads them: what it made of each is kept beside the cases. */
import assert from 'node:assert/strict';
import { extname } from 'node:path';
import { after, test } from 'node:test';
import { type OddBundle, oddBundles } from '../../../test/support/odd-bundles/cases.ts';
import { fingerprint, keptFingerprints } from '../../../test/support/odd-bundles/kept.ts';
import { differences, type FoundItem, type Reading } from '../../../test/support/odd-bundles/reading.ts';
import { createPool } from '../../kernel/pool/pool.ts';
import { silentLog } from '../../kernel/testing.ts';
import { BadBundle, readBundle, type UnbundleTasks } from './read-bundle.ts';

const pool = createPool<UnbundleTasks>({
  module: new URL(`./tasks${extname(import.meta.filename)}`, import.meta.url),
  size: 1,
  maxQueued: 64,
  log: silentLog,
});
after(() => pool.close());

async function read({ bytes }: OddBundle): Promise<Reading> {
  const found: FoundItem[] = [];
  async function* stream() {
    yield bytes;
  }
  try {
    await readBundle(stream(), {
      pool,
      size: bytes.length,
      items: async (items) => {
        for (const { header, payloadHash } of items) {
          found.push({
            id: header.id.toString('base64url'),
            tags: header.tags.map(({ name, value }) => [text(name), text(value)] as const),
            payload: payloadHash.toString('base64url'),
          });
        }
      },
    });
    return found;
  } catch (error) {
    if (error instanceof BadBundle) return 'no bundle';
    throw error;
  }
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

test('every odd bundle is read as the reference reads it, but for what differs on purpose', async () => {
  const cases = await oddBundles();
  const kept = keptFingerprints(cases);
  const differing = new Set<string>();
  for (const [at, odd] of cases.entries()) {
    const here = fingerprint(await read(odd));
    if (Object.hasOwn(differences, odd.kind)) {
      if (here !== kept[at]) differing.add(odd.kind);
      continue;
    }
    assert.equal(here, kept[at], `${odd.kind} (${at})`);
  }
  // None is listed that does not differ.
  assert.deepEqual([...differing].sort(), Object.keys(differences).sort());
});

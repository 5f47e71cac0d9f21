/** Bands made of names, and what a publisher signs of them, for tests. */
import { createHash, createPrivateKey } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeRootEntry } from '../../src/formats/cdb64/root-entry.ts';
import { rootIndex } from '../../src/gateway/published-indexes/bands/build.ts';
import type { BandRecord } from '../../src/gateway/published-indexes/bands/source.ts';
import { writeBand } from '../../src/gateway/published-indexes/bands/write.ts';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import { type Observer, observerOf } from '../../src/gateway/published-indexes/publication/observer.ts';
import { Publisher } from '../../src/gateway/published-indexes/publication/publisher.ts';
import { Subscriber } from '../../src/gateway/published-indexes/subscriber/subscriber.ts';
import { silentLog } from '../../src/kernel/testing.ts';

/** Always the same key, so that several processes can be one publisher. */
export const testObserver: Observer = observerOf(
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
    format: 'der',
    type: 'pkcs8',
  }),
);

export function itemId(name: string): Buffer {
  return createHash('sha256').update(name).digest();
}

/**
 * Builds the band of these items in a data folder; it replaces all bands that are there. With a prefix all ids begin
 * with that byte: one large file instead of many.
 */
export async function buildTestBand(
  dataDir: string,
  names: readonly string[],
  prefix?: number,
): Promise<string> {
  const indexFolder = join(indexFolders(dataDir).published, rootIndex.name);
  const there = safeNames(indexFolder).filter((name) => !name.endsWith('.tmp'));
  const ids = names.map(itemId);
  if (prefix !== undefined) for (const id of ids) id[0] = prefix;
  const sorted = ids.sort(Buffer.compare);
  async function* records(): AsyncGenerator<BandRecord[]> {
    yield sorted.map((key, at) => ({
      key,
      value: encodeRootEntry({ path: [itemId('root')], offsets: { item: at, data: at + 100, size: 200 } }),
    }));
  }
  const { id } = await writeBand({
    indexFolder,
    heightRange: [0, null],
    kind: 'd',
    tag: 'test',
    supersedes: there,
    existing: [],
    createdAt: '2026-01-01T00:00:00.000Z',
    records: records(),
  });
  return id;
}

/** `torrentsAt` is the address of its web seed. */
export function testPublisher(dataDir: string, torrentsAt = 'http://127.0.0.1:1'): Publisher {
  return new Publisher({
    dataDir,
    observer: testObserver,
    publisher: undefined,
    ttlSeconds: 86_400,
    filter: { always: true },
    torrentsAt,
  });
}

/** Everything below a folder, by path, with its bytes. */
export function filesBelow(folder: string): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      found.set(path.slice(folder.length + 1), readFileSync(path));
    }
  return found;
}

function safeNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Looks at the test publisher's publication once; answers what came of it. */
export async function pollOnce(dataDir: string, url: string): Promise<string> {
  const subscriber = new Subscriber({
    folders: indexFolders(dataDir),
    log: silentLog,
    concurrency: 2,
    maxDiskBytes: undefined,
    changed: async () => {},
  });
  const key = testObserver.address;
  const { outcome, reason } = await subscriber.poll({ publisher: key, key, url, names: undefined });
  await subscriber.close();
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

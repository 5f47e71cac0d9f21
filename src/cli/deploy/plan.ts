/** What a deployment would send and cost, before a byte is sent. */
import { severalAtOnce } from '../several-at-once.ts';
import type { UploadItem } from '../upload/file-item.ts';
import type { FolderItems } from '../upload/folder.ts';
import { isStored, type UploadClient } from '../upload/upload-client.ts';

const asksAtOnce = 16;

export interface DeployPlan {
  /** Of the whole folder, the manifest aside. */
  readonly files: number;
  /** Items that the service does not have, each once: the manifest, where it is new, is the last. */
  readonly missing: readonly UploadItem[];
  /** Files among them. */
  readonly newFiles: number;
  readonly newBytes: number;
  /** What storing them costs. */
  readonly winc: bigint;
  /** What the folder's address leads to. */
  readonly id: string;
}

/** The same bytes at two paths are one item, which is sent and paid once. */
export async function planDeployment(
  client: UploadClient,
  { files, manifest }: FolderItems,
): Promise<DeployPlan> {
  const items = new Map([...files.map(({ item }) => item), manifest].map((item) => [item.id, item]));
  const missing = new Set<string>();
  await severalAtOnce([...items.keys()], asksAtOnce, async (id) => {
    if (!isStored(await client.status(id))) missing.add(id);
  });
  const sent = [...items.values()].filter(({ id }) => missing.has(id));
  return {
    files: files.length,
    missing: sent,
    newFiles: files.filter(({ item }) => missing.has(item.id)).length,
    newBytes: sent.reduce((sum, { size }) => sum + size, 0),
    winc: await priceOf(client, sent),
    id: manifest.id,
  };
}

/** As the service charges it: each item by its size, small ones nothing. */
async function priceOf(client: UploadClient, items: readonly UploadItem[]): Promise<bigint> {
  const free = await client.freeBytes();
  const sizes = new Map<number, number>();
  for (const { size } of items) if (size > free) sizes.set(size, (sizes.get(size) ?? 0) + 1);
  let winc = 0n;
  await severalAtOnce([...sizes], asksAtOnce, async ([size, count]) => {
    const price = await client.price(size);
    winc += price * BigInt(count);
  });
  return winc;
}

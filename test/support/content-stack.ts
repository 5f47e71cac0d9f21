/** A whole stack to put content into, by the chain and by the upload service, and to read it from once it is placed. */
import assert from 'node:assert/strict';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { makeTransaction, text, until } from './local-gateway.ts';
import { type RunningStack, startStack } from './stack.ts';

export interface ContentStack {
  readonly stack: RunningStack;
  /** A transaction of its own, mined; answers its id. */
  post(data: Buffer, type: string): Promise<string>;
  /** A data item by the upload service; answers its id. */
  upload(data: Buffer, type: string): Promise<string>;
  /** Until the gateway has all of it: each transaction, and each item with its place in its bundle. */
  placed(): Promise<void>;
}

export async function startContentStack(
  owner: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ContentStack> {
  const stack = await startStack({
    environment: {
      FREE_UPLOAD_LIMIT: '10000000',
      BUNDLE_MAX_WAIT_MS: '0',
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      GATEWAY_POLL_INTERVAL_MS: '50',
      ...environment,
    },
  });
  const { arweave: node = '', gateway, upload: uploads } = stack.urls;
  const signer = solanaSigner(ed25519TestKey(owner));
  const typed = (value: string) => [{ name: 'Content-Type', value }];
  const transactions: string[] = [];
  const items: string[] = [];
  const head = (id: string) => fetch(`${gateway}/raw/${id}`, { method: 'HEAD' });
  return {
    stack,
    async post(data, type) {
      const made = await makeTransaction(node, data, typed(type));
      await made.post();
      await text(`${node}/mine`);
      const id = made.transaction.id.toString('base64url');
      transactions.push(id);
      return id;
    },
    async upload(data, type) {
      const item = await signItem({ data, tags: typed(type) }, signer);
      await text(`${uploads}/v1/tx/solana`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(item),
      });
      const parsed = parseItem(item);
      assert.ok(typeof parsed !== 'string');
      items.push(parsed.header.id);
      return parsed.header.id;
    },
    async placed() {
      await until('all is mined and placed', async () => {
        await text(`${node}/mine`);
        const [mined, bundled] = await Promise.all([
          Promise.all(transactions.map(head)),
          Promise.all(items.map(head)),
        ]);
        return (
          mined.every(({ ok }) => ok) &&
          bundled.every(({ headers }) => headers.has('x-ar-io-root-transaction-id'))
        );
      });
    },
  };
}

/** Three gateways of ours in processes of their own over one local Arweave, each behind a proxy that can lie. */
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { buyName } from './buy-name.ts';
import { makeTransaction, text, until } from './local-gateway.ts';
import { type RunningStack, startStack } from './stack.ts';
import { TamperingProxy } from './tampering-proxy.ts';

const signer = solanaSigner(ed25519TestKey('three gateways'));

export interface ThreeGateways {
  readonly proxies: readonly TamperingProxy[];
  /** Posts a transaction; answers its id. */
  post(data: Buffer, type: string): Promise<string>;
  /** Uploads a data item; answers its id. */
  upload(data: Buffer, type: string): Promise<string>;
  /** Buys a name that points at the id. */
  buyName(name: string, id: string): Promise<void>;
  /** Mines until every gateway has all of these. */
  everywhere(...ids: string[]): Promise<void>;
  /** Has every gateway read these, so that it can tell their hashes. */
  warm(...ids: string[]): Promise<void>;
  /** The router as a process of its own before the proxies. */
  startRouter(environment?: Readonly<Record<string, string>>, dataDir?: string): Promise<RunningStack>;
  stop(): Promise<void>;
}

export async function startThreeGateways(): Promise<ThreeGateways> {
  const shared = { GATEWAY_POLL_INTERVAL_MS: '50', ARWEAVE_MIN_CONFIRMATIONS: '1', WORKER_THREADS: '1' };
  const main = await startStack({
    only: ['gateway', 'payment', 'upload'],
    environment: {
      ...shared,
      FREE_UPLOAD_LIMIT: '10000000',
      BUNDLE_MAX_WAIT_MS: '0',
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
    },
  });
  const node = main.urls.arweave ?? '';
  const outside = { ARWEAVE_NODE_URLS: node, SOLANA_RPC_URL: main.urls.solana ?? '' };
  const others = await Promise.all(
    [1, 2].map(() => startStack({ only: ['gateway'], environment: { ...shared, ...outside } })),
  );
  const stacks = [main, ...others];
  const gateways = stacks.map(({ urls }) => urls.gateway ?? '');
  const proxies = await Promise.all(gateways.map((url) => new TamperingProxy(url).start()));

  return {
    proxies,
    async post(data, type) {
      const made = await makeTransaction(node, data, [{ name: 'Content-Type', value: type }]);
      await made.post();
      await text(`${node}/mine`);
      return made.transaction.id.toString('base64url');
    },
    async upload(data, type) {
      const item = await signItem({ data, tags: [{ name: 'Content-Type', value: type }] }, signer);
      const receipt: unknown = JSON.parse(
        await text(`${main.urls.upload}/v1/tx/solana`, {
          method: 'POST',
          headers: { 'content-type': 'application/octet-stream' },
          body: new Uint8Array(item),
        }),
      );
      if (typeof receipt !== 'object' || receipt === null || !('id' in receipt))
        throw new Error('no receipt');
      return String(receipt.id);
    },
    buyName: (name, id) => buyName(main, name, id),
    async everywhere(...ids) {
      const has = async (gateway: string, id: string) => {
        const query = { query: `{ transaction(id: "${id}") { id block { height } } }` };
        const answer = await fetch(`${gateway}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(query),
        });
        return (await answer.text()).includes('"height"');
      };
      for (const gateway of gateways) {
        for (const id of ids) {
          await until(`${id} at ${gateway}`, async () => {
            if (await has(gateway, id)) return true;
            await text(`${node}/mine`);
            return false;
          });
          await until(`the bytes of ${id} at ${gateway}`, async () => {
            const head = await fetch(`${gateway}/raw/${id}`, { method: 'HEAD' });
            return head.ok;
          });
        }
      }
    },
    async warm(...ids) {
      for (const gateway of gateways) {
        for (const id of ids) {
          await until(`the hash of ${id} at ${gateway}`, async () => {
            await text(`${gateway}/raw/${id}`);
            const head = await fetch(`${gateway}/raw/${id}`, { method: 'HEAD' });
            return head.headers.get('x-ar-io-digest');
          });
        }
      }
    },
    startRouter: (environment, dataDir) =>
      startStack({
        only: ['router'],
        ...(dataDir === undefined ? {} : { dataDir }),
        environment: {
          ...outside,
          ROUTING_STATIC_GATEWAYS: proxies.map(({ url }) => url).join(','),
          PING_ENABLED: 'false',
          ...environment,
        },
      }),
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await Promise.all(others.map((stack) => stack.stop()));
      await main.stop();
    },
  };
}

/** What a web application does with the published clients, as it would be written; bundled into the page of the test. */
import { createWayfinderClient, StaticRoutingStrategy } from '@ar.io/wayfinder-core';
import { TurboFactory } from '@ardrive/turbo-sdk/web';
import type ArweaveClient from 'arweave';

/** Of arweave-js's own bundle for pages. */
declare const Arweave: typeof ArweaveClient;

export interface Services {
  readonly payment: string;
  readonly upload: string;
  readonly gateway: string;
  readonly arweave: string;
}

type Jwk = Parameters<ArweaveClient['wallets']['jwkToAddress']>[0] & object;

function turboOf({ payment, upload }: Services, privateKey: Jwk) {
  return TurboFactory.authenticated({
    privateKey,
    token: 'arweave',
    paymentServiceConfig: { url: payment },
    uploadServiceConfig: { url: upload },
  });
}

const fileOf = (size: number, name = 'file.bin', type = 'application/octet-stream'): File =>
  new File([new Uint8Array(size).fill(7)], name, { type });

const app = {
  async uploadFile(services: Services, key: Jwk, size: number) {
    return await turboOf(services, key).uploadFile({ file: fileOf(size) });
  },
  async uploadStream(services: Services, key: Jwk, size: number) {
    const file = fileOf(size);
    return await turboOf(services, key).uploadFile({
      fileStreamFactory: () => file.stream(),
      fileSizeFactory: () => file.size,
      chunkingMode: 'disabled',
    });
  },
  async upload(services: Services, key: Jwk, text: string) {
    return await turboOf(services, key).upload({
      data: text,
      dataItemOpts: { tags: [{ name: 'Content-Type', value: 'text/plain' }] },
    });
  },
  async uploadFolder(services: Services, key: Jwk) {
    return await turboOf(services, key).uploadFolder({
      files: [
        new File(['<h1>here</h1>'], 'index.html', { type: 'text/html' }),
        new File(['body { color: red }'], 'style/site.css', { type: 'text/css' }),
      ],
      manifestOptions: { indexFile: 'index.html' },
    });
  },
  async postTransaction({ arweave: address }: Services, key: Jwk, text: string) {
    const { hostname, port, protocol } = new URL(address);
    const arweave = Arweave.init({ host: hostname, port, protocol: protocol.slice(0, -1) });
    const transaction = await arweave.createTransaction({ data: text }, key);
    await arweave.transactions.sign(transaction, key);
    const { status } = await arweave.transactions.post(transaction);
    return { id: transaction.id, status };
  },
  async read({ gateway }: Services, id: string) {
    const wayfinder = createWayfinderClient({
      // Its own default calls the page's `fetch` without the page, which browsers refuse.
      fetch: (...request) => fetch(...request),
      routingSettings: { strategy: new StaticRoutingStrategy({ gateway }) },
    });
    return await (await wayfinder.request(`ar://${id}`)).text();
  },
};

export type App = typeof app;
Object.assign(globalThis, { app });

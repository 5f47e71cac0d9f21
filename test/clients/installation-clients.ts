/**
 * Published clients at work on an installation, again and again until they are told to stop: the turbo SDK, the reference
 * library of data items, arweave-js and x402-fetch. Whatever is in doubt is repeated until it is acknowledged, and what was
 * acknowledged is kept, to be looked for at the end. Readers compare each body that they get.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { solanaOwnerSigner, TurboFactory, USD } from '@ardrive/turbo-sdk/node';
import { createData, EthereumSigner } from '@dha-team/arbundles/node';
import { Keypair } from '@solana/web3.js';
import Arweave from 'arweave';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSigner, wrapFetchWithPayment } from 'x402-fetch';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { dollarsEach, type Installation, type Traffic } from '../support/installation.ts';
import { seededRandom } from '../support/seeded-random.ts';

const random = seededRandom(1_717);

export function startTraffic({ urls, world }: Pick<Installation, 'urls' | 'world'>): Traffic {
  const services = {
    paymentServiceConfig: { url: urls.payment },
    uploadServiceConfig: { url: urls.upload },
  };
  const { ethereum, arweave: arweaveWallets } = localWallets();
  const [uploaderKey, partsKey, namesKey] = ethereum.map(({ privateKey }) => privateKey);
  const [, coinWallet, dataWallet] = arweaveWallets;
  if (!uploaderKey || !partsKey || !namesKey || !coinWallet || !dataWallet)
    throw new Error('too few wallets');
  const gateway = new URL(urls.gateway);
  const arweave = Arweave.init({ host: gateway.hostname, port: Number(gateway.port), protocol: 'http' });
  const turboOf = (privateKey: string) =>
    TurboFactory.authenticated({ ...services, privateKey, token: 'ethereum' });

  // What it would tell of outages is expected here.
  TurboFactory.setLogLevel('none');
  let [stopped, abandoned] = [false, false];
  const traffic: Omit<Traffic, 'stop' | 'abandon'> = {
    items: [],
    uploader: ethereum[0]?.address ?? '',
    parted: [],
    transactions: [],
    cardPayments: [],
    dollarPayers: [],
    coinPayments: [],
    coinPayer: coinWallet.address,
    names: [],
    wrong: [],
    refusals: new Map(),
    reads: { right: 0, refused: 0 },
  };

  /** Until it succeeds: outages pass. */
  const insistently = async <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    const deadline = Date.now() + 300_000;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        traffic.refusals.set(what, String(error));
        if (abandoned || Date.now() > deadline) throw new Error(`${what} never succeeded`, { cause: error });
        await sleep(250);
      }
    }
  };

  const uploadItems = async () => {
    const turbo = turboOf(uploaderKey);
    const signer = new EthereumSigner(uploaderKey.replace(/^0x/, ''));
    const sizes = [700, 40_000, 9_000, 300_000, 15_000];
    for (let count = 0; !stopped; count += 1) {
      const data = random.bytes(sizes[count % sizes.length] ?? 1_000);
      const item = createData(data, signer, { tags: [{ name: 'Installation', value: 'whole' }] });
      await item.sign(signer);
      const raw = item.getRaw();
      const receipt = await insistently('an upload', () =>
        turbo.uploadSignedDataItem({
          dataItemStreamFactory: () => raw,
          dataItemSizeFactory: () => raw.length,
        }),
      );
      if (receipt.id !== item.id) traffic.wrong.push(`the receipt of ${item.id} is for ${receipt.id}`);
      traffic.items.push({ id: item.id, data, winc: BigInt(receipt.winc) });
      await sleep(300);
    }
  };

  const uploadInParts = async () => {
    const turbo = turboOf(partsKey);
    while (!stopped) {
      const data = random.bytes(6 * 1024 * 1024);
      const { id } = await insistently('an upload in parts', () =>
        turbo.uploadFile({
          fileStreamFactory: () => data,
          fileSizeFactory: () => data.length,
          chunkingMode: 'force',
          chunkByteCount: 5 * 1024 * 1024,
        }),
      );
      traffic.parted.push({ id, data });
      await sleep(8_000);
    }
  };

  const postTransactions = async () => {
    const { jwk } = dataWallet;
    while (!stopped) {
      const data = random.bytes(400_000);
      const made = await insistently('a transaction', () => arweave.createTransaction({ data }, jwk));
      await arweave.transactions.sign(made, jwk);
      await insistently('posting a transaction', async () => {
        const uploader = await arweave.transactions.getUploader(made, data);
        while (!uploader.isComplete) await uploader.uploadChunk();
      });
      traffic.transactions.push({ id: made.id, data });
      await sleep(2_000);
    }
  };

  const payByCard = async () => {
    const turbo = TurboFactory.unauthenticated({ ...services, token: 'ethereum' });
    while (!stopped) {
      const { address } = privateKeyToAccount(generatePrivateKey());
      const session = await insistently('a checkout', () =>
        turbo.createCheckoutSession({ amount: USD(10), owner: address }),
      );
      await fetch(session.url ?? '', {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ number: '4242424242424242', expiry: '12/40', cvc: '123', name: 'Ada' }),
      });
      traffic.cardPayments.push({ address, winc: BigInt(session.winc) });
      await sleep(1_000);
    }
  };

  const payWithDollars = async () => {
    while (!stopped) {
      const key = generatePrivateKey();
      const { address } = privateKeyToAccount(key);
      await world.mintDollars(address, dollarsEach);
      traffic.dollarPayers.push(address);
      const pay = wrapFetchWithPayment(fetch, await createSigner('base-sepolia', key), 20_000_000n);
      // Once: who hears nothing does not pay again before looking.
      await pay(`${urls.payment}/v1/x402/top-up?type=credits&qty=1`)
        .then((answer) => answer.arrayBuffer())
        .catch(() => undefined);
      await sleep(1_000);
    }
  };

  const payInCoins = async () => {
    const { jwk } = coinWallet;
    const turbo = TurboFactory.authenticated({ ...services, privateKey: jwk, token: 'arweave' });
    while (!stopped) {
      const to = await insistently('the address to pay', async () => {
        const info: { addresses: { arweave: string } } = JSON.parse(
          await (await fetch(`${urls.payment}/v1/info`)).text(),
        );
        return info.addresses.arweave;
      });
      const made = await insistently('a payment', () =>
        arweave.createTransaction({ target: to, quantity: '20000000000' }, jwk),
      );
      await arweave.transactions.sign(made, jwk);
      await insistently('sending a payment', async () => {
        const { status } = await arweave.transactions.post(made);
        if (status !== 200 && status !== 208) throw new Error(`status ${status}`);
      });
      const winc = await insistently('the credit', async () => {
        const told = await turbo.submitFundTransaction({ txId: made.id });
        if (told.status !== 'confirmed') throw new Error(told.status);
        return BigInt(told.winc);
      });
      traffic.coinPayments.push(winc);
      await sleep(1_000);
    }
  };

  const buyNames = async () => {
    const turbo = turboOf(namesKey);
    for (let count = 0; !stopped; count += 1) {
      const name = `whole-${count}`;
      const owner = solanaOwnerSigner(Keypair.generate().secretKey);
      const bought = await turbo.buyArNSName({ name, owner, type: 'lease', years: 1 }).catch(() => undefined);
      const target = traffic.items.at(-1)?.id;
      if (bought?.status === 'completed' && bought.antId !== undefined && target !== undefined) {
        const { antId } = bought;
        await insistently('pointing a name', () =>
          turbo.setArNSRecord({ antId, owner, transactionId: target, ttlSeconds: 60 }),
        );
        traffic.names.push({ name, target });
      }
      await sleep(3_000);
    }
  };

  const read = async (url: string) => {
    while (!stopped) {
      await sleep(100);
      const known = [...traffic.items, ...traffic.parted];
      const wanted = known[random.below(Math.max(1, known.length))];
      if (wanted === undefined) continue;
      const path = `${url}/raw/${wanted.id}`;
      try {
        const answer = await fetch(path, { signal: AbortSignal.timeout(30_000) });
        const body = Buffer.from(await answer.arrayBuffer());
        if (answer.status === 200 && body.equals(wanted.data)) traffic.reads.right += 1;
        else if (answer.status >= 500) traffic.reads.refused += 1;
        else traffic.wrong.push(`${path}: ${answer.status}, ${body.length} of ${wanted.data.length} bytes`);
      } catch {
        traffic.reads.refused += 1;
      }
    }
  };

  const all = Promise.all([
    uploadItems(),
    uploadInParts(),
    postTransactions(),
    payByCard(),
    payWithDollars(),
    payInCoins(),
    buyNames(),
    read(urls.gateway),
    read(urls.router),
  ]);
  all.catch(() => {}); // it is awaited at the end
  return {
    ...traffic,
    async stop() {
      stopped = true;
      await all;
    },
    abandon() {
      [stopped, abandoned] = [true, true];
    },
  };
}

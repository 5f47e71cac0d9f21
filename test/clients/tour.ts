/**
 * The whole road on a fresh stack, with the published SDK: pay by card, share credits, upload a folder, buy a name,
 * point it at the folder, open it by name through the router, find it by GraphQL. `npm run tour` prints it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { solanaOwnerSigner, TurboFactory, USD } from '@ardrive/turbo-sdk/node';
import { Keypair } from '@solana/web3.js';
import { testEthereumKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

export async function tour(print: (line: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tour-'));
  print('Starting a fresh stack …');
  const stack = await startStack({
    environment: { BUNDLE_MAX_WAIT_MS: '500', LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '200' },
  });
  try {
    for (const [name, url] of Object.entries(stack.urls)) print(`  ${name.padEnd(8)} ${url}`);
    await walk(stack, folder, print);
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function walk(stack: RunningStack, folder: string, print: (line: string) => void): Promise<void> {
  const services = {
    paymentServiceConfig: { url: stack.urls.payment ?? '' },
    uploadServiceConfig: { url: stack.urls.upload ?? '' },
  };
  const turbo = TurboFactory.authenticated({ ...services, privateKey: arweaveTestKey, token: 'arweave' });
  const friend = TurboFactory.authenticated({
    ...services,
    privateKey: `0x${testEthereumKey.toString('hex')}`,
    token: 'ethereum',
  });

  const session = await turbo.createCheckoutSession({ amount: USD(100), owner: arweaveTestAddress });
  print(`\n1. Buy credits: 100 USD by card at ${session.url}`);
  await fetch(session.url ?? '', {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ number: '4242424242424242', expiry: '12/40', cvc: '123', name: 'Ada' }),
  });
  const credited = await eventually('the credits', async () => {
    const { winc } = await turbo.getBalance();
    return BigInt(winc) > 0n ? winc : undefined;
  });
  print(`   ${credited} winc arrived for ${arweaveTestAddress}`);

  const friendAddress = await friend.signer.getNativeAddress();
  await turbo.shareCredits({ approvedAddress: friendAddress, approvedWincAmount: 1_000_000_000 });
  const { receivedApprovals } = await friend.getBalance();
  assert.equal(receivedApprovals[0]?.payingAddress, arweaveTestAddress);
  print(
    `2. Share credits: ${friendAddress} may spend ${receivedApprovals[0]?.approvedWincAmount} winc of them`,
  );

  mkdirSync(join(folder, 'css'));
  writeFileSync(
    join(folder, 'index.html'),
    '<link rel="stylesheet" href="css/site.css"><h1>Hello, tour</h1>\n',
  );
  writeFileSync(join(folder, 'css', 'site.css'), 'h1 { color: teal }\n');
  const uploaded = await friend.uploadFolder({
    folderPath: folder,
    dataItemOpts: { paidBy: [arweaveTestAddress], tags: [{ name: 'App-Name', value: 'tour' }] },
    manifestOptions: { indexFile: 'index.html' },
  });
  const site = uploaded.manifestResponse?.id ?? '';
  assert.match(site, /^[A-Za-z0-9_-]{43}$/);
  print(`3. Upload a folder, paid by the share: ${uploaded.fileResponses.length} files, manifest ${site}`);

  const name = 'a-tour';
  const owner = solanaOwnerSigner(Keypair.generate().secretKey);
  const price = await turbo.getArNSPriceForName({ intent: 'Buy-Name', name, type: 'lease', years: 1 });
  const bought = await turbo.buyArNSName({ name, owner, type: 'lease', years: 1 });
  assert.equal(bought.status, 'completed');
  print(
    `4. Buy a name: ${name} for a year, ${price.wincTotalWithAntSpawn ?? price.winc} winc, token ${bought.antId}`,
  );

  const set = await turbo.setArNSRecord({
    antId: bought.antId ?? '',
    owner,
    transactionId: site,
    ttlSeconds: 60,
  });
  assert.equal(set.status, 'completed');
  print(`5. Point it at the folder: ${name} -> ${site}`);

  const { port } = new URL(stack.urls.router ?? '');
  const page = await eventually('the page', async () => {
    const answer = await readHost(port, `${name}.localhost`, '/');
    return answer.status === 200 ? answer : undefined;
  });
  assert.match(page.text, /Hello, tour/);
  assert.equal(page.headers['x-router-verified'], 'true');
  const style = await readHost(port, `${name}.localhost`, '/css/site.css');
  assert.match(style.text, /teal/);
  print(
    `6. Open http://${name}.localhost:${port}/ through the router: verified by ${page.headers['x-router-verification-method']}`,
  );

  const query =
    '{ transactions(tags: [{ name: "App-Name", values: ["tour"] }]) { edges { node { id block { height } } } } }';
  const found = await eventually('the items', async () => {
    const answer = await fetch(`${stack.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data } = (await answer.json()) as {
      data: { transactions: { edges: { node: { id: string; block: { height: number } | null } }[] } };
    };
    const nodes = data.transactions.edges.map(({ node }) => node);
    return nodes.length > 0 && nodes.every(({ block }) => block !== null) ? nodes : undefined;
  });
  print(`7. Find it by GraphQL: ${found.length} items, mined at height ${found[0]?.block?.height}`);
}

/** What a browser sees at a host below localhost, whether or not the resolver here knows such hosts. */
function readHost(
  port: string,
  host: string,
  path: string,
): Promise<{ status: number; headers: Record<string, string | string[] | undefined>; text: string }> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers: { host: `${host}:${port}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    }).on('error', reject);
  });
}

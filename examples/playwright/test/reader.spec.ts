import { solanaOwnerSigner } from '@ardrive/turbo-sdk';
import { expect, test } from './network.ts';

test('a page is opened by the name that was bought for it', async ({ page, turnpike }) => {
  const turbo = await turnpike.clients.turbo();
  const { id } = await turbo.upload({
    data: '<!doctype html><title>Hello</title><h1>Hello from the permanent web</h1>',
    dataItemOpts: { tags: [{ name: 'Content-Type', value: 'text/html' }] },
  });
  const [wallet] = turnpike.wallets.solana;
  const owner = solanaOwnerSigner(Uint8Array.from(wallet?.bytes ?? []));
  const { antId = '' } = await turbo.buyArNSName({ name: 'hello-page', owner, type: 'lease', years: 1 });
  await turbo.setArNSRecord({ antId, owner, transactionId: id, ttlSeconds: 60 });

  const { port } = new URL(turnpike.urls.gateway);
  await page.goto(`http://hello-page.localhost:${port}/`);
  await expect(page.getByRole('heading')).toHaveText('Hello from the permanent web');
});

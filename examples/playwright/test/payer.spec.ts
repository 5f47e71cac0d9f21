import { expect, test } from './network.ts';

test('a person pays by card, and the credits arrive', async ({ page, turnpike, request }) => {
  const { address } = turnpike.wallets.ethereum[0] ?? { address: '' };
  const balance = async (): Promise<bigint> => {
    const answer = await request.get(`${turnpike.urls.payment}/v1/account/balance?address=${address}`);
    return BigInt((await answer.json()).winc);
  };
  const before = await balance();
  const quote = await request.get(
    `${turnpike.urls.payment}/v1/top-up/checkout-session/${address}/usd/1000?token=ethereum`,
  );
  const { paymentSession } = await quote.json();

  await page.goto(paymentSession.url);
  await page.getByLabel('Card number').pressSequentially('4242424242424242');
  await page.getByLabel('Expiry date').pressSequentially('1240');
  await page.getByRole('textbox', { name: 'Security code' }).pressSequentially('123');
  await page.getByLabel('Name on card').fill('Ada Lovelace');
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await expect.poll(balance).toBeGreaterThan(before);
});

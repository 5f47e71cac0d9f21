const { connectTurnpike } = require('@turnpike-network/turnpike/testing');

let turnpike;
beforeAll(async () => {
  turnpike = await connectTurnpike(JSON.parse(process.env.TURNPIKE));
});

const ask = async (path) => (await fetch(`${turnpike.urls.payment}${path}`)).json();

test('credits are bought with a card', async () => {
  const { address } = turnpike.wallets.arweave[9];
  const balance = async () => BigInt((await ask(`/v1/account/balance?address=${address}`)).winc);
  const before = await balance();
  const { paymentSession } = await ask(`/v1/top-up/payment-intent/${address}/usd/1000`);
  const stripe = await turnpike.clients.stripe();
  const paid = await stripe.paymentIntents.confirm(paymentSession.id, { payment_method: 'pm_card_visa' });
  expect(paid.status).toBe('succeeded');

  // The provider tells the service by a webhook, a moment later.
  const deadline = Date.now() + 30_000;
  while ((await balance()) === before && Date.now() < deadline)
    await new Promise((done) => setTimeout(done, 20));
  expect((await balance()) > before).toBe(true);
});

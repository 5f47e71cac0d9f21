/**
 * The local network in a process of its own, for an installation that uses it as the outside world. It tells its parent
 * where it is and with which keys, and lets the card provider send its events where the parent says.
 */
import { createStack } from '../../src/cli/stack.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { nobody } from '../../src/localnet/arweave/readers.ts';
import { localServiceWallet } from '../../src/wallets/local-wallets.ts';

const config = readConfig(process.env);
const surfaces = ['payment', 'upload', 'gateway'];
const stack = createStack(config, silentLog, {
  only: surfaces,
  elsewhere: { surfaces, addresses: () => [], readers: nobody },
});
for (const surface of stack.surfaces) await surface.start();
const { arweave, solana, card, facilitator } = stack.network;
if (!arweave || !solana || !card || !facilitator) throw new Error('the local network is not whole');
await arweave.fund(localServiceWallet().address, 10n ** 18n);
process.on('message', async (message: { readonly deliverTo: string }) => {
  await card.deliverTo(message.deliverTo);
  process.send?.({ delivers: true });
});
process.on('disconnect', () => process.exit());
process.send?.({
  ARWEAVE_NODE_URLS: arweave.url,
  SOLANA_RPC_URL: solana.url,
  STRIPE_SECRET_KEY: card.secretKey,
  STRIPE_WEBHOOK_SECRET: card.webhookSecret,
  STRIPE_API_URL: card.url,
  X402_FACILITATOR_URL: facilitator.url,
  X402_PAYMENT_ADDRESS: facilitator.payTo,
  X402_RPC_URLS: JSON.stringify(facilitator.rpcUrls),
});

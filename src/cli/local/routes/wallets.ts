/** `/local/wallets` and `/local/faucet`: the wallets that everybody knows, and money for any address. */
import { Type } from 'typebox';
import type { Config } from '../../../config/config.ts';
import type { App } from '../../../kernel/http/server.ts';
import { localWallets } from '../../../wallets/local-wallets.ts';
import { coinNames } from '../coins.ts';
import type { LocalControl } from '../control.ts';
import { giveCoins } from '../faucet.ts';

const FaucetBody = Type.Object(
  {
    address: Type.String({ maxLength: 100, description: 'of a chain that has the coin; any for credits' }),
    coin: Type.String({ maxLength: 20, description: coinNames.join(', ') }),
    amount: Type.String({ maxLength: 64, description: 'in whole coins, as decimal text: "0.25"' }),
  },
  { additionalProperties: false },
);

export function walletRoutes(app: App, control: LocalControl, config: Pick<Config, 'LOCAL_WALLETS'>): void {
  app.get(
    '/local/wallets',
    { schema: { summary: 'The wallets of the local network, with their keys' } },
    () => localWallets(config.LOCAL_WALLETS),
  );
  app.post(
    '/local/faucet',
    { schema: { summary: 'Give an address so much of a coin; answers its balance', body: FaucetBody } },
    ({ body }) => control.use((stack) => giveCoins(stack, body)),
  );
}

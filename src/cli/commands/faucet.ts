import { readProcessConfig } from '../../config/config.ts';
import { tryParseJson } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { coinNames, coins, parseCoin, unitsOf } from '../local/coins.ts';
import { localNetworkClient } from '../local/local-client.ts';
import { addressOfAnyWallet } from '../wallet-file.ts';

export const faucet: Command = {
  usage: `turnpike faucet <address | wallet file | key file> <amount> <coin> [--url <local network>] [--json]

Gives money of the local network: ${coinNames.join(', ')}. The amount is in whole coins, for example 0.25.
Credits are for every kind of wallet, the others for the wallets of their chain.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { url: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [holder, amount, name, ...rest] = positionals;
    if (holder === undefined || amount === undefined || name === undefined || rest.length > 0) {
      throw new UsageError('say who gets how much of which coin');
    }
    const coin = parseCoin(name);
    if (coin === undefined)
      throw new UsageError(`there is no coin "${name}"; there are ${coinNames.join(', ')}`);
    const units = unitsOf(coin, amount);
    if (typeof units === 'string') throw new UsageError(units);
    const address = addressOfAnyWallet(holder);
    const { status, text } = await localNetworkClient(readProcessConfig(), values.url).call(
      '/local/faucet',
      { method: 'POST' },
      { address, coin, amount },
    );
    const given = tryParseJson(text);
    if (status >= 400) throw new StartupError(String(given ?? text).slice(0, 1_000));
    if (values.json) printJson(given);
    else console.log(`${address} has ${String(Reflect.get(Object(given), 'balance'))} ${coins[coin].label}`);
    return 0;
  },
};

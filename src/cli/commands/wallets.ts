import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type LocalWallets, localWallets } from '../../wallets/local-wallets.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { describeWallets } from '../local/describe-wallets.ts';

const kinds = ['arweave', 'ethereum', 'solana'] as const;
type Kind = (typeof kinds)[number];

export const wallets: Command = {
  usage: `turnpike wallets                  the wallets of the local network, with their keys
turnpike wallets <kind>           those of one kind: ${kinds.join(', ')}
turnpike wallets <kind> <n>       the key of one, as its chain's tools keep it in a file:
                                  turnpike wallets arweave 0 > key.json

  --json  for machines

LOCAL_WALLETS says how many there are. Everybody knows their keys, and no other world takes them.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [kindText, place, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const { WORLD, LOCAL_WALLETS } = readProcessConfig();
    if (WORLD !== 'local') throw new StartupError(`WORLD=${WORLD} has no wallets that everybody knows`);
    const all = localWallets(LOCAL_WALLETS);
    if (kindText === undefined) {
      if (values.json) printJson(all);
      else console.log(describeWallets(all));
      return 0;
    }
    const kind = kinds.find((name) => name === kindText);
    if (kind === undefined)
      throw new UsageError(`there is no kind "${kindText}"; there are ${kinds.join(', ')}`);
    if (place === undefined) {
      if (values.json) printJson(all[kind]);
      else for (const { address } of all[kind]) console.log(address);
      return 0;
    }
    const wallet = /^[0-9]$/.test(place) ? all[kind][Number(place)] : undefined;
    if (wallet === undefined) {
      throw new UsageError(`there is no ${kind} wallet ${place}: they are 0 to ${LOCAL_WALLETS - 1}`);
    }
    if (values.json) printJson(wallet);
    else console.log(keyText[kind](all, Number(place)));
    return 0;
  },
};

const keyText: Readonly<Record<Kind, (all: LocalWallets, place: number) => string>> = {
  arweave: ({ arweave }, place) => JSON.stringify(arweave[place]?.jwk),
  ethereum: ({ ethereum }, place) => ethereum[place]?.privateKey ?? '',
  solana: ({ solana }, place) => JSON.stringify(solana[place]?.bytes),
};

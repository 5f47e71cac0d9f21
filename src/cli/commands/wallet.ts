import { readProcessConfig } from '../../config/config.ts';
import { type Command, UsageError } from '../command.ts';
import { NodeClient } from '../node-client.ts';
import { addressOfWallet, createWallet } from '../wallet-file.ts';

const winstonPerAr = 1_000_000_000_000n;

export const wallet: Command = {
  usage: `turnpike wallet create <file>               a new key, readable by you only
turnpike wallet address <file>
turnpike wallet balance <file | address>    in AR, from the node
turnpike wallet fund <file | address> <AR>  on the local network only`,
  async run([action, subject, amount, ...rest]) {
    if (subject === undefined || rest.length > 0) throw new UsageError('say what to do with which wallet');
    switch (action) {
      case 'create': {
        const made = await createWallet(subject);
        console.log(`${made.address}\nkept in ${subject}: whoever has the file has the wallet`);
        return 0;
      }
      case 'address':
        console.log(addressOfWallet(subject));
        return 0;
      case 'balance': {
        const node = new NodeClient(readProcessConfig());
        console.log(`${inAr(BigInt(await node.get(`/wallet/${addressOfWallet(subject)}/balance`)))} AR`);
        return 0;
      }
      case 'fund': {
        const winston = parseAr(amount ?? '');
        const node = new NodeClient(readProcessConfig());
        const balance = await node.get(`/mint/${addressOfWallet(subject)}/${winston}`);
        console.log(`${inAr(BigInt(balance))} AR`);
        return 0;
      }
      default:
        throw new UsageError(`there is no "wallet ${action}"`);
    }
  },
};

function parseAr(text: string): bigint {
  const match = /^(\d{1,9})(?:\.(\d{1,12}))?$/.exec(text);
  const winston = match === null ? 0n : BigInt(`${match[1]}${(match[2] ?? '').padEnd(12, '0')}`);
  if (winston === 0n) throw new UsageError('the amount is in AR, for example 1 or 0.25');
  return winston;
}

function inAr(winston: bigint): string {
  const fraction = String(winston % winstonPerAr)
    .padStart(12, '0')
    .replace(/0+$/, '');
  return `${winston / winstonPerAr}${fraction === '' ? '' : `.${fraction}`}`;
}

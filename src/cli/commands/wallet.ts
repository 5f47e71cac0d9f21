import { join } from 'node:path';
import { readProcessConfig, type WorldName } from '../../config/config.ts';
import { isArweaveAddress } from '../../formats/base64url.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { inAr } from '../amounts.ts';
import { type Command, printResult, readArguments, UsageError } from '../command.ts';
import { NodeClient } from '../node-client.ts';
import { sendAr } from '../send-ar.ts';
import {
  formerServiceWallets,
  readServiceWallet,
  rotateServiceWallet,
  type ServiceWallet,
} from '../stack/service-wallet.ts';
import { addressOfWallet, createWallet, readWallet } from '../wallet-file.ts';

export const wallet: Command = {
  usage: `turnpike wallet create <file>                       a new key, readable by you only
turnpike wallet address <file>
turnpike wallet balance <file | address>            in AR, from the node
turnpike wallet fund <file | address> <AR>          on the local network only
turnpike wallet send <file> <address> <AR | all>    moves AR to another wallet

The wallet of the service, which pays for bundles and is paid in AR:
turnpike wallet service                             its file, address and AR, and earlier ones
turnpike wallet send service <address> <AR | all>
turnpike wallet rotate                              puts a new wallet in its place and keeps the former

  --json  for machines; amounts are in winston`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [action, ...rest] = positionals;
    const run = action === undefined ? undefined : actions[action];
    if (run === undefined) throw new UsageError(`there is no "wallet ${action ?? ''}"`);
    const { parameters, work } = run;
    if (rest.length !== parameters) throw new UsageError('say what to do with which wallet');
    const { value, text } = await work(rest);
    printResult(values.json, value, text);
    return 0;
  },
};

interface Action {
  /** How many arguments it takes. */
  readonly parameters: number;
  readonly work: (args: string[]) => Promise<Result>;
}

interface Result {
  /** For machines. */
  readonly value: unknown;
  readonly text: string;
}

const actions: Readonly<Record<string, Action>> = {
  create: {
    parameters: 1,
    async work([file = '']) {
      const made = await createWallet(file);
      const text = `${made.address}\nkept in ${file}: whoever has the file has the wallet`;
      return { value: { address: made.address, file }, text };
    },
  },
  address: {
    parameters: 1,
    async work([file = '']) {
      const address = addressOfWallet(file);
      return { value: { address }, text: address };
    },
  },
  balance: {
    parameters: 1,
    async work([subject = '']) {
      const address = addressOfWallet(subject);
      const winston = await balanceOf(node(), address);
      return { value: { address, winston }, text: `${inAr(winston)} AR` };
    },
  },
  fund: {
    parameters: 2,
    async work([subject = '', amount = '']) {
      const winston = parseAr(amount);
      const address = addressOfWallet(subject);
      const balance = BigInt(await node().get(`/mint/${address}/${winston}`));
      return { value: { address, winston: balance }, text: `${inAr(balance)} AR` };
    },
  },
  send: {
    parameters: 3,
    async work([from = '', to = '', amount = '']) {
      if (!isArweaveAddress(to)) throw new UsageError(`"${to}" is no address of a wallet`);
      const winston = amount === 'all' ? 'all' : parseAr(amount);
      const key = from === 'service' ? await serviceWallet() : readWallet(from);
      const sent = await sendAr(node(), key, to, winston);
      const text = `${sent.id}\n${inAr(sent.winston)} AR to ${to}, for a fee of ${inAr(sent.fee)} AR`;
      return { value: { ...sent, from: key.address, to }, text };
    },
  },
  service: {
    parameters: 0,
    async work() {
      const chain = node();
      const given = readProcessConfig().SERVICE_WALLET_FILE;
      const wallets =
        given === undefined
          ? [await readServiceWallet(keysFolder()), ...(await formerServiceWallets(keysFolder()))]
          : [{ key: readWallet(given), path: given, ordinary: true }];
      const found = await Promise.all(
        wallets.map(async ({ key: { address }, path, ordinary }, index) => {
          return { now: index === 0, address, winston: await balanceOf(chain, address), path, ordinary };
        }),
      );
      const lines = found.map(({ now, address, winston, path, ordinary }) => {
        const form = ordinary ? '' : '  (other wallets do not open it: "turnpike wallet rotate")';
        return `${now ? 'now   ' : 'former'}  ${address}  ${inAr(winston)} AR  ${path}${form}`;
      });
      return { value: found, text: lines.join('\n') };
    },
  },
  rotate: {
    parameters: 0,
    async work() {
      const given = readProcessConfig().SERVICE_WALLET_FILE;
      if (given !== undefined) {
        throw new StartupError(
          `SERVICE_WALLET_FILE names ${given}: make another with "turnpike wallet create", name that one, and put the former address into FORMER_ARWEAVE_ADDRESSES`,
        );
      }
      const { wallet: made, former } = await rotateServiceWallet(keysFolder(), world());
      const text = `${made.key.address}  ${made.path}\nformer: ${former.key.address}  ${former.path}

1. restart the service: it pays from, and is paid at, the new wallet; payments to the former are still taken
2. turnpike wallet send ${former.path} ${made.key.address} all`;
      const told = ({ key, path }: ServiceWallet) => ({ address: key.address, path });
      return { value: { now: told(made), former: told(former) }, text };
    },
  },
};

const node = (): NodeClient => new NodeClient(readProcessConfig());

const world = (): WorldName => readProcessConfig().WORLD;

const keysFolder = (): string => join(readProcessConfig().DATA_DIR, 'keys');

async function serviceWallet(): Promise<ArweaveKey> {
  const given = readProcessConfig().SERVICE_WALLET_FILE;
  return given === undefined ? (await readServiceWallet(keysFolder())).key : readWallet(given);
}

async function balanceOf(chain: NodeClient, address: string): Promise<bigint> {
  return BigInt(await chain.get(`/wallet/${address}/balance`));
}

function parseAr(text: string): bigint {
  const match = /^(\d{1,9})(?:\.(\d{1,12}))?$/.exec(text);
  const winston = match === null ? 0n : BigInt(`${match[1]}${(match[2] ?? '').padEnd(12, '0')}`);
  if (winston === 0n) throw new UsageError('the amount is in AR, for example 1 or 0.25');
  return winston;
}

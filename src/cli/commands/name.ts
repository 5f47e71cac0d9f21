import { type Config, readProcessConfig } from '../../config/config.ts';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { isArnsName, isUndername, rootUndername } from '../../formats/solana/name-rules.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createNameChain } from '../../registry/chain.ts';
import { createNameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { inCredits } from '../amounts.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { NamesClient } from '../names/names-client.ts';
import { createOwnerKey, type OwnerKey, ownerAddress, readOwnerKey } from '../names/owner-key.ts';
import { serviceUrl } from '../service-url.ts';
import { addressOfAnyWallet, readWallet } from '../wallet-file.ts';

export const name: Command = {
  usage: `turnpike name key <file>                       a new Solana key to own names with; it needs no SOL
turnpike name price <name> [--years <1-5> | --permanent]
turnpike name buy <name> --wallet <file> --owner <key file> [--years <1-5> | --permanent] [--target <id>]
turnpike name set <name> <id> --wallet <file> --owner <key file> [--ttl <seconds>]
turnpike name transfer <name> <Solana address> --wallet <file> --owner <key file>
turnpike name list [<address | wallet file | key file>]

Names are bought for the owner's key and paid with the credits of the wallet. \`set\` also takes an undername,
written before the name with an underscore: docs_my-name. Without an address \`list\` shows every name there is.

  --url   the name service (default: the local one)
  --json  for machines; prices are in winc`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        wallet: { type: 'string' },
        owner: { type: 'string' },
        years: { type: 'string' },
        permanent: { type: 'boolean' },
        target: { type: 'string' },
        ttl: { type: 'string' },
        url: { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [action = '', subject, object, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('that is too much at once');
    const run = actions[action];
    if (run === undefined) throw new UsageError(`there is no "name ${action}"`);
    const config = readProcessConfig();
    const client = new NamesClient(serviceUrl(values.url, config.HOST, config.PAYMENT_PORT));
    await run({ config, client, subject, object, ...values });
    return 0;
  },
};

interface Order {
  readonly config: Config;
  readonly client: NamesClient;
  readonly subject: string | undefined;
  readonly object: string | undefined;
  readonly wallet?: string | undefined;
  readonly owner?: string | undefined;
  readonly years?: string | undefined;
  readonly permanent?: boolean | undefined;
  readonly target?: string | undefined;
  readonly ttl?: string | undefined;
  readonly json?: boolean | undefined;
}

const actions: Readonly<Record<string, (order: Order) => Promise<void>>> = {
  key,
  price,
  buy,
  set,
  transfer,
  list,
};

async function key({ subject, json }: Order): Promise<void> {
  if (subject === undefined) throw new UsageError('say where to keep the key');
  const made = createOwnerKey(subject);
  const text = `${made.address}\nkept in ${subject}: whoever has the file has the names`;
  printResult(json, { address: made.address, file: subject }, text);
}

async function price(order: Order): Promise<void> {
  const found = await order.client.get(`/arns/price/buy-name/${nameOf(order)}?${termsOf(order).query}`);
  const total = BigInt(String(found.wincTotalWithAntSpawn));
  const token = BigInt(String(found.antSpawnSurchargeWinc));
  printResult(
    order.json,
    { name: nameOf(order), winc: total, nameWinc: total - token, tokenWinc: token },
    `${inCredits(total)} credits: the name ${inCredits(total - token)}, its token ${inCredits(token)}`,
  );
}

async function buy(order: Order): Promise<void> {
  const owner = ownerOf(order);
  const { target } = order;
  const bought = await order.client.act(
    'buy-name',
    {
      name: nameOf(order),
      ownerAddress: owner.address,
      ...termsOf(order).body,
      ...(target !== undefined && { antState: { transactionId: target } }),
    },
    payerOf(order),
    owner,
  );
  printResult(
    order.json,
    { name: nameOf(order), owner: owner.address, antId: bought.antId, winc: bought.wincQty },
    `${nameOf(order)} belongs to ${owner.address}\ntoken ${String(bought.antId)}, ${spent(bought)}`,
  );
}

async function set(order: Order): Promise<void> {
  const { object: transactionId } = order;
  if (transactionId === undefined) throw new UsageError('say what the name shall point at');
  const owner = ownerOf(order);
  const { base, undername } = splitName(order);
  const antId = await antOf(order.config, base);
  const ttl = order.ttl ?? '3600';
  const done = await order.client.act(
    'set-record',
    { antId, ownerAddress: owner.address, undername, transactionId, ttlSeconds: ttl },
    payerOf(order),
    owner,
    [antId, undername, transactionId, ttl],
  );
  printResult(
    order.json,
    { name: base, undername, transactionId, antId, winc: done.wincQty },
    `${order.subject} points at ${transactionId}\n${spent(done)}`,
  );
}

async function transfer(order: Order): Promise<void> {
  const { object } = order;
  if (object === undefined) throw new UsageError('say to whom');
  const owner = ownerOf(order);
  const target = ownerAddress(object);
  const antId = await antOf(order.config, nameOf(order));
  const done = await order.client.act(
    'transfer',
    { antId, ownerAddress: owner.address, target },
    payerOf(order),
    owner,
  );
  printResult(
    order.json,
    { name: nameOf(order), owner: target, antId, winc: done.wincQty },
    `${nameOf(order)} belongs to ${target}\n${spent(done)}`,
  );
}

async function list(order: Order): Promise<void> {
  if (order.subject === undefined) {
    await withRegistry(order.config, async (registry) => {
      const all = await registry.names();
      if (order.json === true) printJson(all);
      for (const { name: text, type, end, ant } of order.json === true ? [] : all) {
        const until = end === undefined ? type : `until ${new Date(end * 1000).toISOString().slice(0, 10)}`;
        console.log(`${text}  ${until}  ${ant}`);
      }
    });
    return;
  }
  const { names } = await order.client.get(`/arns/my-names/${addressOfAnyWallet(order.subject)}`);
  if (order.json === true) {
    printJson(names);
    return;
  }
  for (const entry of Array.isArray(names) ? names : []) {
    const { name: text, antId, purchaseDate, custodial }: Record<string, unknown> = { ...entry };
    const kept = custodial === true ? '  held by the service' : '';
    console.log(`${String(text)}  ${String(purchaseDate).slice(0, 10)}  ${String(antId)}${kept}`);
  }
}

function nameOf({ subject }: Order): string {
  if (subject === undefined) throw new UsageError('say which name');
  const text = asciiLowerCase(subject);
  if (!isArnsName(text)) throw new UsageError(`${subject} cannot be a name`);
  return text;
}

/** `docs_my-name` is the undername docs of my-name: names have no underscore. */
function splitName({ subject = '' }: Order): { base: string; undername: string } {
  const text = asciiLowerCase(subject);
  const split = text.lastIndexOf('_');
  const [undername, base] = split < 0 ? [rootUndername, text] : [text.slice(0, split), text.slice(split + 1)];
  if (!isArnsName(base) || !isUndername(undername)) throw new UsageError(`${subject} cannot be a name`);
  return { base, undername };
}

function termsOf({ years, permanent }: Order): { query: string; body: Record<string, unknown> } {
  if (permanent === true) {
    if (years !== undefined) throw new UsageError('a permanent name has no years');
    return { query: 'type=permabuy', body: { type: 'permabuy' } };
  }
  const lease = years ?? '1';
  if (!/^[1-5]$/.test(lease)) throw new UsageError('--years is 1 to 5');
  return { query: `type=lease&years=${lease}`, body: { type: 'lease', years: Number(lease) } };
}

function payerOf({ wallet }: Order): ArweaveKey {
  if (wallet === undefined) throw new UsageError('--wallet is missing: whose credits pay');
  return readWallet(wallet);
}

function ownerOf({ owner }: Order): OwnerKey {
  if (owner === undefined) throw new UsageError('--owner is missing: a key file, see "turnpike name key"');
  return readOwnerKey(owner);
}

/** The token of a registered name, from the chain. */
function antOf(config: Config, base: string): Promise<SolanaAddress> {
  return withRegistry(config, async (registry) => {
    const { record } = await registry.name(base);
    if (record === undefined) throw new StartupError(`nobody has the name ${base}`);
    return record.ant;
  });
}

async function withRegistry<T>(
  config: Config,
  work: (registry: ReturnType<typeof createNameRegistry>) => Promise<T>,
): Promise<T> {
  const local = serviceUrl(undefined, config.LOCAL_NETWORK_HOST, config.LOCAL_SOLANA_PORT);
  const urls = config.SOLANA_RPC_URL.length > 0 ? config.SOLANA_RPC_URL : [local];
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  try {
    return await work(createNameRegistry(chain, configuredPrograms(config)));
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`the name chain at ${urls.join(', ')} does not answer`, { cause: error });
  } finally {
    await chain.close();
  }
}

function spent({ wincQty }: Readonly<Record<string, unknown>>): string {
  return `${inCredits(BigInt(String(wincQty)))} credits`;
}

import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, readProcessConfig } from '../../config/config.ts';
import { defaultTtlSeconds, rootUndername } from '../../formats/solana/name-rules.ts';
import { StartupError } from '../../kernel/errors.ts';
import { inBytes, inCredits } from '../amounts.ts';
import { type Command, parseTag, printJson, readArguments, UsageError } from '../command.ts';
import { type DeployPlan, planDeployment } from '../deploy/plan.ts';
import { untilShown } from '../deploy/shown-name.ts';
import { joinedName, type NameParts, splitName } from '../names/name-text.ts';
import { NamesClient } from '../names/names-client.ts';
import { readOwnerKey } from '../names/owner-key.ts';
import { tokenOf, withRegistry } from '../names/registry-reader.ts';
import { findKey, findOwner, type OwnerKey, type PersonKey } from '../person-key.ts';
import { ProgressBar } from '../progress-bar.ts';
import { givenUrl, serviceUrl } from '../service-url.ts';
import { severalAtOnce } from '../several-at-once.ts';
import { howToGetMore } from '../upload/explain-credits.ts';
import { folderItems } from '../upload/folder.ts';
import { NotEnoughCredits, UploadClient } from '../upload/upload-client.ts';

const sentAtOnce = 4;
/** What scripts tell apart. A wrong use is 64, anything else that went wrong 1. */
const exit = { done: 0, noCredits: 2, notShown: 3, notPermanent: 4, interrupted: 130 };

export const deploy: Command = {
  usage: `turnpike deploy <folder> [--name <name>] [--undername <name>] [--dry-run] [--wait permanent]

Brings a folder to its place: says what is new, what it costs and what the wallet has, sends what is new and nothing else,
points the name at it, and ends when the gateways show it. Given again, it goes on where it was.

  --name <name>        docs_my-name is the undername docs of my-name; without a name the folder is stored, no more
  --undername <name>   of --name, another way to write it
  --index <path>       the folder's page for its own address (default index.html, when there is one)
  --fallback <path>    the page for paths that are not there, for example of a single-page app
  --tag <name=value>   for every item; may be repeated
  --ttl <seconds>      how long readers may keep what the name points at (default ${defaultTtlSeconds})
  --dry-run            say it, and change nothing
  --wait permanent     end when every new item is on the chain for good
  --gateway <url>      that must show the name; may be repeated (default: the gateway of the upload service)
  --timeout <seconds>  to wait for gateways and the chain (default 600)
  --wallet <file>      key of the wallet that pays: Arweave, Ethereum or Solana (or TURNPIKE_WALLET)
  --owner <file>       Solana key that owns the name (or TURNPIKE_OWNER; the wallet's own where it is a Solana key)
  --paid-by <address>  who has shared credits with the wallet; may be repeated
  --url, --payment-url <url>   the upload and the payment service (default: the local ones)
  --json               for machines; prices are in winc

It ends with 0 when all is done; 2 when there are not enough credits, before anything is sent; 3 when the name is set and a
gateway does not show it in time; 4 when something is not permanent in time; 64 when the command makes no sense; 1 when
something else went wrong.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        name: { type: 'string' },
        undername: { type: 'string' },
        index: { type: 'string' },
        fallback: { type: 'string' },
        tag: { type: 'string', multiple: true },
        ttl: { type: 'string' },
        'dry-run': { type: 'boolean' },
        wait: { type: 'string' },
        gateway: { type: 'string', multiple: true },
        timeout: { type: 'string' },
        wallet: { type: 'string' },
        owner: { type: 'string' },
        'paid-by': { type: 'string', multiple: true },
        url: { type: 'string' },
        'payment-url': { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [folder, ...rest] = positionals;
    if (folder === undefined || rest.length > 0) throw new UsageError('say which folder');
    if (values.wait !== undefined && values.wait !== 'permanent')
      throw new UsageError('--wait is "permanent"');
    if (!(await stat(folder).catch(() => undefined))?.isDirectory()) {
      throw new StartupError(`there is no folder ${folder}`);
    }
    const config = readProcessConfig();
    const key = await findKey({ file: values.wallet, inEnvironment: config.TURNPIKE_WALLET });
    const name = nameOf(values.name, values.undername);
    const owner =
      name === undefined
        ? undefined
        : values.owner === undefined
          ? findOwner(config.TURNPIKE_OWNER, key)
          : readOwnerKey(values.owner);
    const upload = new UploadClient(serviceUrl(config, 'upload', values.url));
    const paymentUrl = serviceUrl(config, 'payment', values['payment-url']);
    process.once('SIGINT', () => {
      console.error('\nbroken off: the same command goes on where this one was');
      process.exit(exit.interrupted);
    });
    return await deployFolder({
      config,
      folder,
      key,
      owner,
      name,
      upload,
      names: new NamesClient(paymentUrl),
      paymentUrl,
      ttlSeconds: secondsOf(values.ttl, defaultTtlSeconds, '--ttl'),
      deadline: Date.now() + secondsOf(values.timeout, 600, '--timeout') * 1_000,
      isDryRun: values['dry-run'] === true,
      untilPermanent: values.wait === 'permanent',
      gateways: (values.gateway ?? []).map(givenUrl),
      paidBy: values['paid-by'] ?? [],
      tags: (values.tag ?? []).map(parseTag),
      index: values.index,
      fallback: values.fallback,
      json: values.json === true,
    });
  },
};

interface Deployment {
  readonly config: Config;
  readonly folder: string;
  readonly key: PersonKey;
  readonly owner: OwnerKey | undefined;
  readonly name: NameParts | undefined;
  readonly upload: UploadClient;
  readonly names: NamesClient;
  readonly paymentUrl: string;
  readonly ttlSeconds: number;
  readonly deadline: number;
  readonly isDryRun: boolean;
  readonly untilPermanent: boolean;
  readonly gateways: readonly string[];
  readonly paidBy: readonly string[];
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly index: string | undefined;
  readonly fallback: string | undefined;
  readonly json: boolean;
}

async function deployFolder(order: Deployment): Promise<number> {
  const { key, upload, json } = order;
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  const gateway = await upload.gateway();
  const plan = await planDeployment(upload, await readFolder(order));
  const record = await recordOf(order, plan.id);
  const balance = await upload.balance(key.address);
  const winc = plan.winc + (record?.winc ?? 0n);
  const facts = {
    id: plan.id,
    url: `${gateway}/${plan.id}`,
    files: plan.files,
    newFiles: plan.newFiles,
    newItems: plan.missing.length,
    newBytes: plan.newBytes,
    winc,
    storageWinc: plan.winc,
    nameWinc: record?.winc ?? 0n,
    balance,
    address: key.address,
    ...(order.name !== undefined && { name: joinedName(order.name) }),
  };
  say(describe(order, plan, record, balance));
  const end = (code: number, more: object = {}): number => {
    if (json) printJson({ ...facts, dryRun: order.isDryRun, ...more });
    return code;
  };
  // Whoever shares credits may have enough: the service knows.
  if (balance < winc && order.paidBy.length === 0) {
    const lack = `${inCredits(winc)} credits are needed, and ${key.address} has ${inCredits(balance)}`;
    console.error(`${lack}\n${howToGetMore(order.config, key.address, order.paymentUrl)}`);
    return end(exit.noCredits);
  }
  if (order.isDryRun) return end(exit.done);
  try {
    await send(order, plan);
  } catch (error) {
    if (!(error instanceof NotEnoughCredits)) throw error;
    console.error(`${error.message}\n${howToGetMore(order.config, key.address, order.paymentUrl)}`);
    return end(exit.noCredits);
  }
  await record?.set();
  if (record !== undefined && order.name !== undefined) {
    const name = joinedName(order.name);
    say(`${name} points at ${plan.id}`);
    const all = order.gateways.length > 0 ? order.gateways : [gateway];
    const behind = await untilShown(all, name, plan.id, order.deadline, (one) => say(`${one} shows it`));
    for (const { gateway: one, target, problem } of behind) {
      console.error(
        `${one} does not show it yet: it ${target === undefined ? `says ${problem}` : `shows ${target}`}`,
      );
    }
    if (behind.length > 0) return end(exit.notShown, { behind });
  }
  if (order.untilPermanent) {
    const left = await untilPermanent(order, plan);
    if (left > 0) {
      console.error(`${left} items are not permanent yet: the service goes on with them`);
      return end(exit.notPermanent, { notPermanent: left });
    }
    say('permanent');
  }
  say(facts.url);
  return end(exit.done);
}

async function readFolder({ folder, key, tags, index, fallback }: Deployment) {
  let bar: ProgressBar | undefined;
  try {
    return await folderItems(folder, { signer: key.items, tags, index, fallback }, (total) => {
      bar = new ProgressBar('reading', total, { unit: 'bytes' });
      return (bytes) => bar?.advance(bytes);
    });
  } finally {
    bar?.end();
  }
}

async function send({ upload, paidBy }: Deployment, { missing, newBytes, id }: DeployPlan): Promise<void> {
  if (missing.length === 0) return;
  const bar = new ProgressBar('sending', newBytes, { unit: 'bytes' });
  const sent = (bytes: number): void => bar.advance(bytes);
  // The manifest last: nobody shall find a path whose file is not there.
  const [files, manifest] = [
    missing.filter((item) => item.id !== id),
    missing.filter((item) => item.id === id),
  ];
  try {
    for (const items of [files, manifest]) {
      await severalAtOnce(items, sentAtOnce, async (item) => {
        await upload.upload(item, paidBy, sent);
      });
    }
  } finally {
    bar.end();
  }
}

interface RecordChange {
  /** What it costs; 0 where the record is as it shall be. */
  readonly winc: bigint;
  set(): Promise<void>;
}

/** How the name comes to point at the folder; undefined where there is no name. */
async function recordOf(order: Deployment, id: string): Promise<RecordChange | undefined> {
  const { name, owner, names, key, ttlSeconds, config } = order;
  if (name === undefined || owner === undefined) return undefined;
  const { antId, found } = await withRegistry(config, async (registry) => {
    const token = await tokenOf(registry, name.base);
    return { antId: token, found: await registry.antRecord(token, name.undername) };
  });
  if (found !== undefined && found.ant.owner !== owner.address) {
    throw new StartupError(
      `${name.base} belongs to ${found.ant.owner}, and the owner's key is ${owner.address}`,
    );
  }
  if (found?.record?.target === id && found.record.ttlSeconds === ttlSeconds) {
    return { winc: 0n, set: async () => {} };
  }
  const { wincQty } = await names.get('/arns/actions/set-record/price');
  const on = { antId, undername: name.undername, transactionId: id, ttlSeconds };
  return {
    winc: BigInt(String(wincQty)),
    async set() {
      const body = { ...on, ownerAddress: owner.address };
      await names.act('set-record', body, key, owner, { ...on, owner: owner.address, action: 'set-record' });
    },
  };
}

/** Answers how many items are not there for good when the time is over. */
async function untilPermanent({ upload, deadline }: Deployment, { missing }: DeployPlan): Promise<number> {
  let waiting = missing.map(({ id }) => id);
  for (;;) {
    const left: string[] = [];
    await severalAtOnce(waiting, sentAtOnce, async (id) => {
      const found = await upload.status(id);
      if (found?.status === 'FAILED')
        throw new StartupError(`${id} failed for good, and what it cost is back`);
      if (found?.status !== 'FINALIZED') left.push(id);
    });
    if (left.length === 0 || Date.now() >= deadline) return left.length;
    waiting = left;
    await sleep(1_000);
  }
}

function describe(
  { folder, key, name }: Deployment,
  plan: DeployPlan,
  record: RecordChange | undefined,
  balance: bigint,
): string {
  const manifest = plan.missing.length > plan.newFiles ? ' and the manifest' : '';
  const price = [
    `${inCredits(plan.winc)} credits to store it`,
    ...(record === undefined ? [] : [`${inCredits(record.winc)} to point the name at it`]),
  ];
  const lines = [
    [
      'new',
      plan.missing.length === 0 ? 'nothing' : `${plan.newFiles} files${manifest}, ${inBytes(plan.newBytes)}`,
    ],
    ['unchanged', `${plan.files - plan.newFiles} files`],
    ['price', `${price.join(', ')} (${plan.winc + (record?.winc ?? 0n)} winc)`],
    ['balance', `${inCredits(balance)} credits of ${key.address}`],
  ];
  const width = Math.max(...lines.map(([head = '']) => head.length));
  const heading = `${folder}: ${plan.files} files${name === undefined ? '' : ` for ${joinedName(name)}`}`;
  return [heading, ...lines.map(([head = '', text]) => `  ${head.padEnd(width)}  ${text}`)].join('\n');
}

function nameOf(name: string | undefined, undername: string | undefined): NameParts | undefined {
  if (name === undefined) {
    if (undername !== undefined) throw new UsageError('--undername is of a --name');
    return undefined;
  }
  const parts = splitName(undername === undefined ? name : `${undername}_${name}`);
  if (undername !== undefined && splitName(name).undername !== rootUndername) {
    throw new UsageError('the undername is said twice');
  }
  return parts;
}

function secondsOf(text: string | undefined, usual: number, option: string): number {
  if (text === undefined) return usual;
  if (!/^[0-9]{1,7}$/.test(text)) throw new UsageError(`${option} is a number of seconds, not "${text}"`);
  return Number(text);
}

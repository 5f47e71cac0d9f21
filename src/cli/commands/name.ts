import { type Config, readProcessConfig } from '../../config/config.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { defaultTtlSeconds, rootUndername } from '../../formats/solana/name-rules.ts';
import type { MetadataChange, RecordRequest } from '../../names/requests/action.ts';
import { inCredits } from '../amounts.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { joinedName, type NameParts, splitName } from '../names/name-text.ts';
import { type Answer, NamesClient } from '../names/names-client.ts';
import { createOwnerKey, ownerAddress, readOwnerKey } from '../names/owner-key.ts';
import { tokenOf, withRegistry } from '../names/registry-reader.ts';
import { findKey, findOwner, type OwnerKey, type PersonKey } from '../person-key.ts';
import { serviceUrl } from '../service-url.ts';
import { addressOfAnyWallet } from '../wallet-file.ts';

export const name: Command = {
  usage: `turnpike name key <file>                          a new Solana key to own names with; it needs no SOL
turnpike name price <name> [--years <1-5> | --permanent]
turnpike name buy <name> [--years <1-5> | --permanent] [--target <id>]
turnpike name show <name>                         where it points, whose it is, until when
turnpike name where <name>                        what each known gateway shows, and which are behind
turnpike name list [<address | key file>]         without an address every name there is

turnpike name set <name> <id> [--ttl <seconds>]   point it, or an undername (docs_my-name), at something
turnpike name remove <undername>                  the undername points nowhere any more
turnpike name describe <name> [--title <text>] [--about <text>] [--logo <id>] [--keywords <a,b>]
                                                  what is told about it; an empty text clears it
turnpike name hand <undername> <Solana address>   somebody else may set this undername

turnpike name extend <name> --years <1-5>         a longer lease; anybody may pay for it, as for the next two
turnpike name upgrade <name>                      a permanent name out of a leased one
turnpike name limit <name> --by <n>               room for so many more undernames

turnpike name transfer <name> <Solana address>    hand it over for good
turnpike name controller <name> add | remove [<Solana address>]
                                                  who may set its records beside the owner; the service unless named

  --wallet <file>   key of the wallet whose credits pay: Arweave, Ethereum or Solana (or TURNPIKE_WALLET)
  --owner <file>    Solana key that owns the name (or TURNPIKE_OWNER; the wallet's own where it is a Solana key)
  --url <url>       the name service (default: the local one)
  --json            for machines; prices are in winc`,
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
        by: { type: 'string' },
        title: { type: 'string' },
        about: { type: 'string' },
        logo: { type: 'string' },
        keywords: { type: 'string' },
        url: { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [action = '', subject, object, third, ...rest] = positionals;
    if (rest.length > 0 || (third !== undefined && action !== 'controller')) {
      throw new UsageError('that is too much at once');
    }
    const run = actions[action];
    if (run === undefined) throw new UsageError(`there is no "name ${action}"`);
    const config = readProcessConfig();
    const client = new NamesClient(serviceUrl(config, 'payment', values.url));
    await run({ config, client, subject, object, third, ...values });
    return 0;
  },
};

interface Order {
  readonly config: Config;
  readonly client: NamesClient;
  readonly subject: string | undefined;
  readonly object: string | undefined;
  readonly third: string | undefined;
  readonly wallet?: string | undefined;
  readonly owner?: string | undefined;
  readonly years?: string | undefined;
  readonly permanent?: boolean | undefined;
  readonly target?: string | undefined;
  readonly ttl?: string | undefined;
  readonly by?: string | undefined;
  readonly title?: string | undefined;
  readonly about?: string | undefined;
  readonly logo?: string | undefined;
  readonly keywords?: string | undefined;
  readonly json?: boolean | undefined;
}

const actions: Readonly<Record<string, (order: Order) => Promise<void>>> = {
  key,
  price,
  buy,
  show,
  where,
  list,
  set,
  remove,
  describe,
  hand,
  extend,
  upgrade,
  limit,
  transfer,
  controller,
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
  const { payer, owner } = await keysOf(order);
  const { target } = order;
  const body = {
    name: nameOf(order),
    ownerAddress: owner.address,
    ...termsOf(order).body,
    ...(target !== undefined && { antState: { transactionId: target } }),
  };
  const bought = await order.client.act('buy-name', body, payer, owner);
  printResult(
    order.json,
    { name: nameOf(order), owner: owner.address, antId: bought.antId, winc: bought.wincQty },
    `${nameOf(order)} belongs to ${owner.address}\ntoken ${String(bought.antId)}, ${spent(bought)}`,
  );
}

async function show(order: Order): Promise<void> {
  const parts = partsOf(order);
  await withRegistry(order.config, async (registry) => {
    const token = await tokenOf(registry, parts.base);
    const [{ record: lease }, found, records] = await Promise.all([
      registry.name(parts.base),
      registry.antRecord(token, parts.undername),
      registry.records(token),
    ]);
    const undernames = records.flatMap(({ undername }) => (undername === rootUndername ? [] : [undername]));
    const facts = {
      name: joinedName(parts),
      target: found?.record?.target ?? null,
      ttlSeconds: found?.record?.ttlSeconds ?? null,
      owner: found?.ant.owner ?? null,
      controllers: found?.ant.controllers ?? [],
      antId: token,
      until: lease?.end === undefined ? null : new Date(lease.end * 1_000).toISOString(),
      undernames,
      undernameLimit: lease?.undernameLimit ?? null,
    };
    const lines = [
      `${facts.name} points at ${facts.target ?? 'nothing'}${facts.ttlSeconds === null ? '' : `, kept for ${facts.ttlSeconds} s`}`,
      `owner        ${facts.owner ?? 'nobody'}`,
      `controllers  ${facts.controllers.join(', ') || 'none'}`,
      `token        ${facts.antId}`,
      `until        ${facts.until ?? 'for ever'}`,
      `undernames   ${undernames.length} of ${facts.undernameLimit ?? '?'}${undernames.length === 0 ? '' : `: ${undernames.join(', ')}`}`,
    ];
    printResult(order.json, facts, lines.join('\n'));
  });
}

async function where(order: Order): Promise<void> {
  const found = await order.client.get(`/arns/where/${joinedName(partsOf(order))}`);
  const views = (Array.isArray(found.gateways) ? found.gateways : []).map(
    (view: object): Answer => ({ ...view }),
  );
  const width = Math.max(0, ...views.map(({ gateway }) => String(gateway).length));
  const lines = views.map((view) => `${String(view.gateway).padEnd(width)}  ${shownAs(view)}`);
  const target = found.target === null ? 'nothing' : String(found.target);
  const kept = found.ttlSeconds === undefined ? '' : `, kept for ${String(found.ttlSeconds)} s`;
  const none = 'no gateway is known: NAME_GATEWAYS of the service names some';
  printResult(
    order.json,
    found,
    [`${String(found.name)} points at ${target}${kept}`, ...(lines.length === 0 ? [none] : lines)].join('\n'),
  );
}

function shownAs({ state, target, secondsLeft, problem }: Answer): string {
  if (state === 'silent') return `does not say: ${String(problem)}`;
  if (state === 'current') return target === null ? 'shows nothing' : 'shows it';
  const what = target === null ? 'shows nothing yet' : `still shows ${String(target)}`;
  return secondsLeft === undefined ? what : `${what}, asks again in ${String(secondsLeft)} s`;
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

async function set(order: Order): Promise<void> {
  const { object: transactionId } = order;
  if (transactionId === undefined) throw new UsageError('say what the name shall point at');
  const ttlSeconds = numberOf(order.ttl ?? String(defaultTtlSeconds), '--ttl');
  await changeRecord(order, `points at ${transactionId}`, { transactionId, ttlSeconds }, (on) => ({
    ...on,
    action: 'set-record',
    transactionId,
    ttlSeconds,
  }));
}

async function remove(order: Order): Promise<void> {
  await changeRecord(order, 'points nowhere any more', {}, (on) => ({ ...on, action: 'remove-record' }));
}

async function describe(order: Order): Promise<void> {
  const change: MetadataChange = {
    ...(order.title !== undefined && { displayName: order.title || null }),
    ...(order.logo !== undefined && { recordLogo: order.logo || null }),
    ...(order.about !== undefined && { recordDescription: order.about || null }),
    ...(order.keywords !== undefined && {
      recordKeywords: order.keywords === '' ? null : order.keywords.split(','),
    }),
  };
  if (Object.keys(change).length === 0)
    throw new UsageError('say what: --title, --about, --logo, --keywords');
  await changeRecord(order, 'is described', change, (on) => ({
    ...on,
    action: 'set-record-metadata',
    change,
  }));
}

async function hand(order: Order): Promise<void> {
  if (order.object === undefined) throw new UsageError('say to whom');
  const target = ownerAddress(order.object);
  await changeRecord(order, `may be set by ${target}`, { target }, (on) => ({
    ...on,
    action: 'transfer-record',
    target,
  }));
}

interface OnRecord {
  readonly antId: SolanaAddress;
  readonly owner: SolanaAddress;
  readonly undername: string;
}

/** What the owner does with one record: the fields go to the service, and into the owner's proof. */
async function changeRecord(
  order: Order,
  outcome: string,
  fields: Answer,
  requestOf: (on: OnRecord) => RecordRequest,
): Promise<void> {
  const parts = partsOf(order);
  const { payer, owner } = await keysOf(order);
  const antId = await withRegistry(order.config, (registry) => tokenOf(registry, parts.base));
  const { undername } = parts;
  const request = requestOf({ antId, owner: owner.address, undername });
  const body = { antId, ownerAddress: owner.address, undername, ...fields };
  const done = await order.client.act(request.action, body, payer, owner, request);
  printResult(
    order.json,
    { name: parts.base, undername, antId, ...fields, winc: done.wincQty },
    `${joinedName(parts)} ${outcome}\n${spent(done)}`,
  );
}

async function extend(order: Order): Promise<void> {
  const years = yearsOf(order);
  await payFor(
    order,
    'extend-lease',
    { years },
    `is leased for ${years} more ${years === 1 ? 'year' : 'years'}`,
  );
}

async function upgrade(order: Order): Promise<void> {
  await payFor(order, 'upgrade-name', {}, 'is permanent');
}

async function limit(order: Order): Promise<void> {
  if (order.by === undefined) throw new UsageError('say how many more: --by <n>');
  const increaseQty = numberOf(order.by, '--by');
  await payFor(
    order,
    'increase-undername-limit',
    { increaseQty },
    `has room for ${increaseQty} more undernames`,
  );
}

/** What anybody may pay for. */
async function payFor(order: Order, action: string, fields: Answer, outcome: string): Promise<void> {
  const done = await order.client.act(
    action,
    { name: nameOf(order), ...fields },
    await payerOf(order),
    undefined,
  );
  printResult(
    order.json,
    { name: nameOf(order), ...fields, winc: done.wincQty },
    `${nameOf(order)} ${outcome}\n${spent(done)}`,
  );
}

async function transfer(order: Order): Promise<void> {
  if (order.object === undefined) throw new UsageError('say to whom');
  const target = ownerAddress(order.object);
  await changeToken(order, 'transfer', { target }, `belongs to ${target}`);
}

async function controller(order: Order): Promise<void> {
  const { object: what, third } = order;
  if (what !== 'add' && what !== 'remove') throw new UsageError('say "add" or "remove"');
  const target = third === undefined ? {} : { target: ownerAddress(third) };
  const whom = third === undefined ? 'the service' : String(target.target);
  const outcome = what === 'add' ? `may be set by ${whom} too` : `may no longer be set by ${whom}`;
  await changeToken(order, `${what}-controller`, target, outcome);
}

async function changeToken(order: Order, action: string, fields: Answer, outcome: string): Promise<void> {
  const base = nameOf(order);
  const { payer, owner } = await keysOf(order);
  const antId = await withRegistry(order.config, (registry) => tokenOf(registry, base));
  const body = { antId, ownerAddress: owner.address, ...fields };
  const done = await order.client.act(action, body, payer, owner);
  const { target, ...rest } = fields;
  const shown =
    action === 'transfer' ? { owner: target } : { ...rest, ...(target !== undefined && { target }) };
  printResult(
    order.json,
    { name: base, ...shown, antId, winc: done.wincQty },
    `${base} ${outcome}\n${spent(done)}`,
  );
}

function partsOf({ subject }: Order): NameParts {
  if (subject === undefined) throw new UsageError('say which name');
  return splitName(subject);
}

function nameOf(order: Order): string {
  const { base, undername } = partsOf(order);
  if (undername !== rootUndername) throw new UsageError(`${order.subject} is an undername`);
  return base;
}

function yearsOf({ years = '1' }: Order): number {
  if (!/^[1-5]$/.test(years)) throw new UsageError('--years is 1 to 5');
  return Number(years);
}

function numberOf(text: string, option: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new UsageError(`${option} is a number, not "${text}"`);
  return Number(text);
}

function termsOf(order: Order): { query: string; body: Record<string, unknown> } {
  if (order.permanent === true) {
    if (order.years !== undefined) throw new UsageError('a permanent name has no years');
    return { query: 'type=permabuy', body: { type: 'permabuy' } };
  }
  const years = yearsOf(order);
  return { query: `type=lease&years=${years}`, body: { type: 'lease', years } };
}

function payerOf({ wallet, config }: Order): Promise<PersonKey> {
  return findKey({ file: wallet, inEnvironment: config.TURNPIKE_WALLET });
}

async function keysOf(order: Order): Promise<{ readonly payer: PersonKey; readonly owner: OwnerKey }> {
  const payer = await payerOf(order);
  const owner =
    order.owner === undefined ? findOwner(order.config.TURNPIKE_OWNER, payer) : readOwnerKey(order.owner);
  return { payer, owner };
}

function spent({ wincQty }: Answer): string {
  return `${inCredits(BigInt(String(wincQty)))} credits`;
}

/** Names from request to chain: what clients were told and charged, held against what is on the chain. */
import { winc } from '../../../src/credits/credits.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { arnsAddresses, arnsRecord } from '../../../src/formats/solana/accounts-arns.ts';
import { arnsInstructions } from '../../../src/formats/solana/instructions-arns.ts';
import { defaultUndernameLimit } from '../../../src/formats/solana/name-rules.ts';
import { parseTransaction, signersOf } from '../../../src/formats/solana/transaction.ts';
import { readSteps } from '../../../src/registry/name-history.ts';
import { Calm } from '../calm.ts';
import { balancerUrl, cardUrl } from '../cards.ts';
import { clockFaults, databaseFaults, networkFaults, processFaults } from '../faults.ts';
import type { Network } from '../network.ts';
import { minute, Person } from '../person.ts';
import { type Ailment, Prober } from '../prober.ts';
import type { Scenario } from '../scenario.ts';
import { SolanaNetwork } from '../solana.ts';
import type { World } from '../world.ts';
import { Buyer, Market, short } from './buyer.ts';
import { auditCardNames } from './card-books.ts';
import { CardBuyer } from './card-buyer.ts';
import { solanaFaults } from './faults.ts';
import { createNamesInstallation, fillServiceList, mostOpen } from './installation.ts';

interface NamesOptions {
  readonly world: World;
  readonly network: Network;
  readonly isDay: () => boolean;
}

interface ActionRow {
  readonly nonce: string;
  readonly payer: string;
  readonly action: string;
  readonly request: string;
  readonly name: string | null;
  readonly ant_id: string | null;
  readonly status: string;
  readonly winc: string;
  readonly kept_winc: string;
  readonly token_winc: string;
  readonly owner_signs: number;
  readonly failed_reason: string | null;
}

/** What processes say of themselves while it is so. */
const ailments: readonly Ailment[] = [
  {
    kinds: ['empty names wallet'],
    withinMs: 4 * minute,
    says: /Names cannot be sold: .* lamports/,
    concerns: () => true,
  },
  { kinds: ['database away'], withinMs: 7 * minute, says: /./, concerns: () => true },
];

type Registered = Pick<ActionRow, 'name' | 'ant_id' | 'action' | 'status' | 'request'>;

interface MadeRow {
  readonly nonce: string;
  /** Of an action; or the stage of a purchase by card. */
  readonly kind: string;
  readonly signature: string;
}

const buyers = 3;
const gift = 10n ** 18n;
/** Somebody's on another chain. */
const elsewhere = `${'w'.repeat(42)}A`;
/** After the last fault: processes start again and leases run out within this. */
const settleMs = 40 * 60_000;

export function namesScenario({ world, network, isDay }: NamesOptions): Scenario {
  const random = world.random('names');
  const solana = new SolanaNetwork(world, network, 1 + random.below(3));
  const { ledger, cards, service, processes } = createNamesInstallation(world, network, solana, random);
  const calm = new Calm(() => world.time, settleMs);
  const market = new Market(random, 4);
  const clients = Array.from({ length: buyers }, (_, index) => {
    return new Buyer({
      process: world.process(`buyer-${index + 1}`),
      random: world.random(`buyer ${index + 1}`),
      payer: market.people[index]!,
      market,
      urls: processes.map(({ url }) => url),
      nodeUrls: solana.nodes.map(({ url }) => url),
      calm,
      isDay,
      opening: { afterMs: 20_000, names: random.below(2 * mostOpen) },
    });
  });
  const bystander = new Person({ world, isDay, name: 'bystander' });
  const others = [bystander.wallet.address, elsewhere];
  const cardBuyers = ['card-buyer-1', 'card-buyer-2'].map((name) => {
    const urls = processes.map(({ url }) => url);
    return new CardBuyer({ world, isDay, name, market, urls, calm, others });
  });
  const placesLeft = random.below(3) === 0 ? random.below(12) : undefined;
  const promises = () => clients.flatMap((client) => [...client.promises.values()]);
  const origins = [...[...solana.nodes, ...processes].map(({ url }) => url), cardUrl, balancerUrl];
  const rows = () =>
    ledger.look<ActionRow>(
      `SELECT nonce, payer, action, request, name, ant_id, status, winc, kept_winc, token_winc, owner_signs, failed_reason
         FROM arns_action`,
    );
  const hasLanded = (signature: string) => solana.landed.get(signature)?.meta.err === null;

  solana.begin(async (_, faucet) => {
    await faucet.fund(service.address);
    await faucet.upkeep();
  });

  return {
    name: 'names',
    servers: [...processes, cards.server],
    clients: [
      {
        process: world.process('names operator'),
        async program(life) {
          const credits = createCredits({ sql: ledger.open() });
          const wallets = [bystander, ...cardBuyers].map(({ wallet }) => wallet);
          for (const { address } of [...market.people, ...wallets]) {
            const given = { address, addressType: 'solana', amount: winc(gift), reason: 'payment' } as const;
            await credits.credit({ ...given, id: `gift ${address}` });
          }
          if (placesLeft === undefined) return;
          // Once it has a list, it is nearly full.
          const made = () =>
            ledger.isQuiet &&
            ledger.look(
              "SELECT 1 FROM arns_action WHERE status = 'completed' AND action = 'buy-name' LIMIT 1",
            ).length > 0;
          while (!made()) await life.wait(60_000);
          fillServiceList(solana, service, placesLeft);
          world.tell('names', `the list of the service has ${placesLeft} places left on its page`);
        },
      },
      ...clients,
      ...cardBuyers,
      new Prober({ world, isDay, name: 'prober', calm, probed: processes, ailments }),
    ],
    faults: calm.watched([
      ...processFaults(processes),
      ...clockFaults(processes, [ledger]),
      ...databaseFaults([ledger]),
      ...networkFaults(network, origins, [...processes, cards.server]),
      ...solanaFaults(solana, service.address),
      ...cards.faults,
    ]),

    watch() {
      if (!ledger.isQuiet) return;
      const passed = ledger.look<{ payer: string; actions: number }>(
        'SELECT payer, actions FROM most_open WHERE actions > ?',
        mostOpen,
      );
      for (const { payer, actions } of passed)
        world.broken(`${actions} actions of ${short(payer)} wait for a signature, of ${mostOpen}`);
      const [account] = ledger.look<{ balance: string }>(
        'SELECT balance FROM credits_accounts WHERE address = ?',
        bystander.wallet.address,
      );
      if (account !== undefined && BigInt(account.balance) < gift)
        world.broken(`the bystander has ${account.balance} left of ${gift}, and signed nothing`);
    },

    open() {
      if (!ledger.isQuiet) return ['a transaction'];
      const actions = rows()
        .filter(({ status }) => !['completed', 'failed', 'expired'].includes(status))
        .map(({ nonce, action, status }) => `${action} (${short(nonce)}) is ${status}`);
      const purchases = ledger
        .look<{ nonce: string; stage: string }>(
          "SELECT nonce, stage FROM arns_purchase WHERE status = 'PENDING'",
        )
        .map(({ nonce, stage }) => `the purchase ${short(nonce)} is ${stage}`);
      return [...actions, ...purchases, ...cards.waiting(ledger, world.now)];
    },

    async settled() {
      const wrong: string[] = [];
      const actions = rows();
      const byNonce = new Map(actions.map((row) => [row.nonce, row]));
      const made = ledger.look<MadeRow>('SELECT nonce, kind, signature FROM made_transactions');
      const landedOf = (nonce: string, kind: string) =>
        made.filter((one) => one.nonce === nonce && one.kind === kind && hasLanded(one.signature)).length;
      for (const row of actions) wrong.push(...judged(row, landedOf));
      for (const { nonce, what, told } of promises()) {
        const row = byNonce.get(nonce);
        if (told === 'completed' && row?.status !== 'completed')
          wrong.push(`${what} (${short(nonce)}) was told to be done, and is ${row?.status ?? 'not known'}`);
        if (told === 'refused' && row?.status === 'completed')
          wrong.push(`${what} (${short(nonce)}) was refused, and is done`);
      }
      wrong.push(...unaccounted(solana, service.address, new Set(made.map(({ signature }) => signature))));
      wrong.push(...misregistered(solana, [...actions, ...byCard()]));
      const sql = ledger.open();
      wrong.push(
        ...(await auditCardNames(sql, cards.database.open(), {
          purchases: cardBuyers.flatMap((buyer) => [...buyer.purchases.values()]),
          own: new Map([bystander, ...cardBuyers].map(({ wallet }) => [wallet.address, gift])),
          paidFor: (nonce) => landedOf(nonce, 'paying'),
        })),
      );
      const credits = createCredits({ sql });
      const { ok, problems } = await credits.selfCheck();
      if (!ok) wrong.push(`the ledger does not add up: ${JSON.stringify(problems).slice(0, 300)}`);
      for (const { address } of market.people) {
        const spent = actions
          .filter(({ payer }) => payer === address)
          .reduce((sum, row) => sum + BigInt(row.status === 'completed' ? row.winc : row.kept_winc), 0n);
        const balance = (await credits.balance(address))?.winc ?? 0n;
        if (balance !== gift - spent)
          wrong.push(`${short(address)} has ${balance}, and should have ${gift - spent}`);
      }
      const [locks] = ledger.look<{ n: number }>('SELECT COUNT(*) AS n FROM arns_locks');
      if (locks !== undefined && locks.n > 20) wrong.push(`${locks.n} locks are held by nobody`);
      return wrong;
    },
  };

  /** Purchases by card in the form of actions. */
  function byCard(): Registered[] {
    return ledger
      .look<Registered & { readonly quote: string }>(
        "SELECT name, ant_id, purchase AS action, 'completed' AS status, quote FROM arns_purchase WHERE status = 'CONFIRMED'",
      )
      .map(({ quote, ...row }) => ({ ...row, request: JSON.stringify(JSON.parse(quote).purchase) }));
  }
}

/** An action that ended: done once and paid, or not done and paid back. */
function judged(row: ActionRow, landedOf: (nonce: string, kind: string) => number): string[] {
  const { nonce, action, status, owner_signs: ownerSigns } = row;
  const what = `${action} (${short(nonce)})`;
  const owned = landedOf(nonce, 'owned');
  const served = landedOf(nonce, 'service');
  const isDone = status === 'completed';
  const kept = BigInt(row.kept_winc);
  const wrong: string[] = [];
  if (owned > 1 || served > 1) wrong.push(`${what} was done ${owned} and ${served} times`);
  const deciding = ownerSigns === 1 && action !== 'buy-name' ? owned : served;
  if (isDone && deciding === 0) wrong.push(`${what} is paid for, and not on the chain`);
  if (isDone && action === 'buy-name' && owned === 0) wrong.push(`${what} is paid for, and has no token`);
  if (!isDone && deciding > 0)
    wrong.push(`${what} is on the chain, and was paid back (${row.failed_reason ?? status})`);
  if (!isDone && kept > (action === 'buy-name' ? BigInt(row.token_winc) : 0n))
    wrong.push(`${what} did not happen, and ${kept} was kept of it`);
  return wrong;
}

const paidInstructions = new Set<string>(Object.values(arnsInstructions).map(({ name }) => name));

/** What the service paid the registry for, and nobody asked for. */
function unaccounted(solana: SolanaNetwork, service: string, known: ReadonlySet<string>): string[] {
  const wrong: string[] = [];
  for (const { signature, wire, meta } of solana.landed.values()) {
    if (meta.err !== null || known.has(signature)) continue;
    if (signersOf(parseTransaction(wire).message)[0] !== service) continue;
    for (const { instruction, values } of readSteps(wire, solana.programs))
      if (paidInstructions.has(instruction))
        wrong.push(`the service paid for ${instruction} ${values.name ?? ''} for nobody`);
  }
  return wrong;
}

/** Names whose record is not what was paid for. */
function misregistered(solana: SolanaNetwork, actions: readonly Registered[]): string[] {
  const wrong: string[] = [];
  const at = arnsAddresses(solana.programs.arns);
  const done = actions.filter(({ status }) => status === 'completed');
  for (const { name, ant_id: antId, request } of done.filter(({ action }) => action === 'buy-name')) {
    if (name === null) continue;
    const { address } = at.record(name);
    const { accounts } = solana.ledger;
    if (!accounts.has(address)) {
      wrong.push(`${name} is paid for, and not registered`);
      continue;
    }
    const record = arnsRecord.decode(accounts.get(address).data);
    if (record.ant !== antId) wrong.push(`${name} is paid for, and belongs to another token`);
    const ofName = done.filter((row) => row.name === name);
    const isPermanent =
      JSON.parse(request).type === 'permabuy' || ofName.some(({ action }) => action === 'upgrade-name');
    if (isPermanent !== (record.type === 'permabuy')) wrong.push(`${name} is ${record.type}`);
    const wider = ofName
      .filter(({ action }) => action === 'increase-undername-limit')
      .reduce((sum, row) => sum + Number(JSON.parse(row.request).quantity), 0);
    if (record.undernameLimit !== defaultUndernameLimit + wider)
      wrong.push(
        `${name} has ${record.undernameLimit} undernames, and ${defaultUndernameLimit + wider} are paid for`,
      );
  }
  return wrong;
}

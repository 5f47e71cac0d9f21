/** Money in and out: what payers were promised and what became of their money, held against the ledger. */
import { type Credits, winc } from '../../../src/credits/credits.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { HttpClient } from '../../../src/outside/http.ts';
import { Bookkeeping } from '../../../src/payment/bookkeeping.ts';
import { worryingAgeMs, worryingTries } from '../../../src/upload/reports/why.ts';
import { moreArweaveKeys } from '../../../src/wallets/testing/keys.ts';
import { Calm } from '../calm.ts';
import { cardUrl } from '../cards.ts';
import { evmFaults } from '../evm.ts';
import { clockFaults, databaseFaults, networkFaults, processFaults } from '../faults.ts';
import type { Network } from '../network.ts';
import { minute, type Person } from '../person.ts';
import { type Ailment, type Probed, Prober } from '../prober.ts';
import type { Client, Scenario } from '../scenario.ts';
import { nodeFaults } from '../uploads/faults.ts';
import type { World } from '../world.ts';
import { auditBooks, type Memories } from './books.ts';
import { CardPayer } from './card-payer.ts';
import { ChainPayer } from './chain-payer.ts';
import { Customer } from './customer.ts';
import { facilitatorFaults } from './facilitator.ts';
import { createPayments, type PayProcess, serviceWallet } from './installation.ts';
import { PaymentRestorer } from './restorer.ts';
import { Spender } from './spender.ts';
import { Thief } from './thief.ts';
import { X402Payer } from './x402-payer.ts';

interface PaymentsOptions {
  readonly world: World;
  readonly network: Network;
  readonly isDay: () => boolean;
  /** The operator loses the ledger and restores it. Then signatures and sessions of a lost time are forgotten too. */
  readonly restores: boolean;
}

/** What the bystander has, and never signs anything to lose. */
const own = 10n ** 12n;
const auditEvery = 10 * minute;

const probedOf = (processes: readonly PayProcess[]): Probed[] =>
  processes.flatMap(({ process, paymentUrl, uploadUrl }) => [
    { process, url: paymentUrl },
    { process, url: uploadUrl },
  ]);

const isPayment = ({ url }: Probed): boolean => url.includes(':40');

/** What processes say of themselves while it is so. */
const ailments: readonly Ailment[] = [
  {
    kinds: ['wrong clock', 'clock jump', 'killed in another time'],
    withinMs: 4 * minute,
    says: /Clock is off by/,
    concerns: (probed) => isPayment(probed) && Math.abs(probed.process.clockAhead) > 2 * minute,
  },
  {
    kinds: ['empty wallet'],
    withinMs: 3 * minute,
    says: /Wallet runs dry/,
    concerns: (probed) => !isPayment(probed),
  },
  { kinds: ['database away'], withinMs: 3 * minute, says: /./, concerns: () => true },
];

export function paymentsScenario({ world, network, isDay, restores }: PaymentsOptions): Scenario {
  const installation = createPayments(world, network);
  const { ledger, cards, processes, arweave, chain, facilitator } = installation;
  const common = { world, installation, isDay, forgets: restores };
  const bystander = new Customer({ ...common, name: 'bystander' });
  const spenders: Spender[] = [];
  const friends = () => [...spenders, bystander].map(({ wallet }) => wallet.address);
  spenders.push(...['spender-1', 'spender-2'].map((name) => new Spender({ ...common, name, friends })));
  const cardPayer = (name: string) => new CardPayer({ ...common, name, others: friends() });
  const x402Payer = (name: string) => new X402Payer({ ...common, name, bystander: bystander.wallet.address });
  const memories: Memories = {
    spenders,
    cardPayers: [cardPayer('cardholder-1'), cardPayer('cardholder-2')],
    x402Payers: [x402Payer('dollars-1'), x402Payer('dollars-2')],
    chainPayers: [new ChainPayer({ ...common, name: 'sender', arweave: moreArweaveKeys.second })],
  };
  const thief = new Thief({ ...common, name: 'thief', victim: bystander });
  const calm = new Calm(() => world.time, 0);
  const prober = new Prober({ world, isDay, name: 'prober', calm, probed: probedOf(processes), ailments });
  const restored = () => {
    for (const payer of memories.chainPayers) payer.reportAgain();
  };
  const restorer = new PaymentRestorer({ ...common, name: 'operator', restored });

  /** The operator's own check of the ledger, which must hold at any moment, whoever is at work. */
  const auditor: Client = {
    process: world.process('auditor'),
    async program(life) {
      const credits = createCredits({ sql: ledger.open() });
      for (const person of [bystander, ...spenders]) await give(credits, person);
      for (;;) {
        await life.wait(auditEvery);
        if (world.isNight) continue;
        const check = await credits.selfCheck().catch(() => undefined);
        if (check?.ok === false) world.broken(`the ledger does not add up: ${check.problems.join('; ')}`);
      }
    },
  };

  return {
    name: restores ? 'restores' : 'payments',
    servers: [...processes, cards.server],
    clients: [
      auditor,
      prober,
      ...memories.spenders,
      ...memories.cardPayers,
      ...memories.x402Payers,
      ...memories.chainPayers,
      restores ? restorer : thief,
    ],
    faults: calm.watched([
      ...processFaults(processes),
      ...clockFaults(processes, [ledger]),
      ...databaseFaults([ledger]),
      ...networkFaults(
        network,
        [
          ...processes.flatMap(({ paymentUrl, uploadUrl }) => [paymentUrl, uploadUrl]),
          ...[...chain.nodes, ...arweave.nodes].map(({ url }) => url),
          ...[cardUrl, facilitator.url, installation.balancerUrl],
        ],
        [...processes, cards.server],
      ),
      ...nodeFaults(arweave, serviceWallet.address),
      ...evmFaults(chain),
      ...facilitatorFaults(facilitator),
      ...cards.faults,
    ]),

    watch() {
      if (!ledger.isQuiet) return;
      const [account] = ledger.look<{ balance: string }>(
        'SELECT balance FROM credits_accounts WHERE address = ?',
        bystander.wallet.address,
      );
      if (account !== undefined && BigInt(account.balance) < own)
        world.broken(`the bystander has ${account.balance} left of ${own}, and signed nothing`);
    },

    open() {
      if (!ledger.isQuiet) return ['a transaction'];
      const some = (what: string, query: string): string[] =>
        ledger.look<{ id: string }>(query).map(({ id }) => `${what} ${id}`);
      return [
        ...restorer.open,
        ...cards.waiting(ledger, world.now),
        ...some('payment of dollars', "SELECT id FROM x402_payments WHERE state = 'open'"),
        ...some(
          'chain payment',
          "SELECT transaction_id AS id FROM payment_chain_transactions WHERE state = 'pending'",
        ).filter((what) => !isLost(what.split(' ').at(-1) ?? '')),
        ...some('return', "SELECT id FROM payment_returns WHERE state IN ('due', 'sent')"),
        // Processes say that they are not well until it is tried again, or while it has taken for long.
        ...some(
          'bundle that failed or is late',
          `SELECT plan AS id FROM upload_bundles
           WHERE state NOT IN ('permanent', 'dropped') AND (attempts >= ${worryingTries} OR unreadable >= ${worryingTries}
             OR created_at <= ${world.now - worryingAgeMs / 2})`,
        ),
        ...some('upload in parts', "SELECT id FROM upload_sessions WHERE state = 'finalizing'"),
      ];
    },

    async settled() {
      const sql = ledger.open();
      const wrong = await auditBooks(sql, cards.database.open(), installation, memories, restorer);
      const books = new Bookkeeping({ sql, credits: createCredits({ sql }) });
      const { ok, problems } = await books.check();
      if (!ok) wrong.push(`the ledger does not add up: ${problems.join('; ')}`);
      const { payments, cardEvents, returns } = await books.open();
      for (const { id } of [...payments, ...cardEvents, ...returns]) wrong.push(`${id} waits for a person`);
      const http = new HttpClient({ timeoutMs: minute, maxBytes: 65_536 });
      for (const { paymentUrl, uploadUrl, process } of processes) {
        for (const url of [paymentUrl, uploadUrl]) {
          const answer = await http.call(`${url}/health?strict=true`).catch(() => undefined);
          if (answer?.status !== 200)
            wrong.push(`${process.name} is not healthy: ${answer?.status} ${answer?.body}`);
        }
      }
      return wrong;
    },
  };

  /** Sent, and never to come to the chain: nodes forgot it, and its time is over. */
  function isLost(id: string): boolean {
    return !chain.transactions.has(id) && !arweave.nodes.some((node) => node.mined.has(id));
  }

  async function give(credits: Credits, { wallet }: Person): Promise<void> {
    const gift = { address: wallet.address, addressType: 'solana', amount: winc(own) } as const;
    await credits.credit({ ...gift, reason: 'admin_credit', id: `own ${wallet.address}` });
  }
}

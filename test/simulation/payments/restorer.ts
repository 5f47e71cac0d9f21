/**
 * An operator who restores the ledger, is told of payments that it does not know, and has it reconciled with the outside, as
 * `turnpike reconcile` does.
 */
import type { ReconciledRecord, ReconcileReport } from '../../../src/formats/admin-answers.ts';
import { memberOf, tryParseJson } from '../../../src/formats/json.ts';
import { testAdminKey } from '../../../src/upload/testing.ts';
import { paymentsAt } from '../cards.ts';
import { skewed } from '../faults.ts';
import { hour, minute, type PersonOptions, second } from '../person.ts';
import type { Life } from '../process.ts';
import { overlapMs, Restorer } from '../restorer.ts';
import type { PaymentInstallation } from './installation.ts';

interface PaymentRestorerOptions extends PersonOptions {
  readonly installation: PaymentInstallation;
  /** Tells people that the service has forgotten what was reported lately. */
  readonly restored: () => void;
}

/** Until then everything that the card provider told was heard, or read from its list. */
const calmMs = hour;
/** Who has a quote that was lost pays within this, or never. */
const payableMs = 3 * hour;
/** No gateway lists transactions here: those who sent AR report it again. */
const cannotList = 'payments in arweave';

export class PaymentRestorer extends Restorer {
  readonly #options: PaymentRestorerOptions;
  #unfinished: string | undefined;

  constructor(options: PaymentRestorerOptions) {
    const { ledger, processes } = options.installation;
    super({ ...options, ledger, processes });
    this.#options = options;
  }

  /** What is not done yet. */
  get open(): readonly string[] {
    return this.#unfinished === undefined ? [] : [this.#unfinished];
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random } = this;
    const { isDay } = this.#options;
    for (;;) {
      while (!isDay()) await life.wait(minute);
      await life.wait(this.world.pace * skewed(random, 10 * minute, 2 * hour));
      const backedUpAt = await this.backUp(life);
      await life.wait(this.world.pace * skewed(random, minute, 2 * hour));
      if (!isDay()) continue;
      this.#unfinished = 'the restored ledger is not reconciled';
      await this.loseAndRestore(backedUpAt);
      await life.wait(payableMs);
      while (isDay()) await life.wait(minute);
      await life.wait(calmMs);
      const unknown = await this.#unknownPayments();
      await this.#requireTold(unknown);
      const report = await this.#reconcile(life, backedUpAt);
      for (const problem of missing(report, unknown)) life.world.broken(problem);
      this.#unfinished = undefined;
    }
  };

  /** Payments at the card provider that the ledger does not know. */
  async #unknownPayments(): Promise<string[]> {
    const { ledger, cards } = this.#options.installation;
    const sql = ledger.open();
    const unknown: string[] = [];
    for (const { id, quoteId } of await paymentsAt(cards.database.open())) {
      const known = await sql.get('SELECT 1 AS one FROM card_quotes WHERE id = ?', quoteId);
      if (known === undefined) unknown.push(id);
    }
    return unknown;
  }

  /** Whoever does not think of `reconcile` is told, by the metric and by `turnpike ledger open`. */
  async #requireTold(unknown: readonly string[]): Promise<void> {
    const sql = this.#options.installation.ledger.open();
    for (const id of unknown) {
      const told = await sql.get(
        "SELECT 1 AS one FROM card_events WHERE state = 'open' AND intent_id = ? LIMIT 1",
        id,
      );
      if (told === undefined)
        this.world.broken(`the card payment ${id} is not in the ledger, and nobody is told`);
    }
  }

  async #reconcile(life: Life, backedUpAt: number): Promise<ReconcileReport> {
    const [first] = this.#options.installation.processes;
    const url = () => first?.paymentUrl ?? '';
    const headers = { authorization: `Bearer ${testAdminKey}`, 'content-type': 'application/json' };
    const path = '/v1/admin/reconcile';
    const since = Math.floor(life.world.now - life.world.time + backedUpAt - overlapMs);
    const body = JSON.stringify({ since, dryRun: false });
    let answer = await this.insist(life, url, { path, method: 'POST', headers, body });
    for (;;) {
      const report = memberOf(
        tryParseJson(answer?.body.toString() ?? ''),
        'report',
      ) as ReconcileReport | null;
      if (report === null || report === undefined)
        throw new Error(`no report: ${answer?.status} ${answer?.body}`);
      if (report.endedAt !== null) {
        this.tell(`has it reconciled: ${report.records.map(told).join(', ') || 'nothing was unknown'}`);
        return report;
      }
      await life.wait(second);
      answer = await this.insist(life, url, { path, headers });
    }
  }
}

const told = ({ kind, state, id }: ReconciledRecord): string => `${kind} ${id.slice(0, 9)} ${state}`;

/** Of what a report must say, what it does not. */
function missing({ records, failures }: ReconcileReport, unknown: readonly string[]): string[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return [
    ...unknown.flatMap((id) => {
      const state = byId.get(id)?.state;
      if (state === 'credited' || state === 'taken in') return [];
      return [`the card payment ${id} carries its own proof, and is ${state ?? 'not in the report'}`];
    }),
    ...failures
      .filter(({ source }) => source !== cannotList)
      .map(({ source, reason }) => `${source} could not be listed: ${reason}`),
  ];
}

/**
 * What belongs to bystanders, as the ledgers and chains have it, and the rule: it stays as it is while a stranger
 * acts, but for what payments add and what time ends.
 */
import { createHash } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { antAddresses } from '../../src/formats/solana/accounts-ant.ts';
import { arnsAddresses, arnsRecord } from '../../src/formats/solana/accounts-arns.ts';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import type { NamePrograms } from '../../src/formats/solana/programs.ts';
import type { Bystander } from './bystanders.ts';
import type { Service, ServiceName, World } from './world.ts';

/** One thing that is some bystander's. */
interface Fact {
  readonly value: string;
  /** From this moment on time may end it. */
  readonly until?: number;
}

/** Keys begin with their kind. */
type Facts = Map<string, Fact>;

/** What is allowed because of how the services are set up. */
export interface Tolerance {
  /**
   * Signatures and items that were made for one service hold at the other, where neither demands that they are bound
   * to one.
   */
  readonly elsewhere: boolean;
}

/** Kinds of which more may come without the owner: somebody pays for it, or tells of a payment that it made. */
const mayGrow = new Set(['receipt', 'purchase', 'chain payment', 'card payment']);
/** A transaction that waits for its owner's signature is dead after about a minute of the chain's clock. */
const transactionLifeMs = 55_000;
/** Requests at once are looked at one by one, while what the first of them asked for is still being done. */
const checksAfterAction = 4;
const noQuotes: ReadonlySet<string> = new Set();
const clawbackReasons = ['chargeback', 'card_refund'];
/** A kind and the owner's key begin an asset. */
const assetOwnerEnd = 33;
const undernames = ['@', 'a', 'ab', 'docs', 'blog'];

export class BystandersState {
  readonly #world: World;
  readonly #bystanders: readonly Bystander[];
  readonly #tolerance: Tolerance;
  /** Quotes that the stranger had made: what becomes of them is not a bystander's doing. */
  readonly #strangersQuotes: ReadonlySet<string>;
  /** Those of them that carry a bystander's signature made for the other service. */
  readonly #signedElsewhere: ReadonlySet<string>;
  readonly #ledgers: Record<ServiceName, LedgerView>;
  readonly #facts: Record<ServiceName | 'chain', Facts> = {
    here: new Map(),
    there: new Map(),
    chain: new Map(),
  };
  #transactions = -1;
  /** For how many more looks changes of names are the work of an action that holds at both services. */
  #excused = 0;
  /** What others have paid into the accounts of bystanders and not used yet. */
  readonly #paidByOthers = new Map<string, bigint>();
  /** What was taken back too much and told of already. */
  readonly #told = new Map<string, bigint>();

  constructor(options: {
    world: World;
    bystanders: readonly Bystander[];
    tolerance: Tolerance;
    strangersQuotes: ReadonlySet<string>;
    signedElsewhere: ReadonlySet<string>;
  }) {
    this.#world = options.world;
    this.#bystanders = options.bystanders;
    this.#tolerance = options.tolerance;
    this.#strangersQuotes = options.strangersQuotes;
    this.#signedElsewhere = options.signedElsewhere;
    const view = (service: ServiceName) =>
      new LedgerView(options.world.services[service], options.bystanders);
    this.#ledgers = { here: view('here'), there: view('there') };
  }

  /** Takes everything as it is now: what bystanders did themselves is right. */
  accept(): void {
    for (const ledger of Object.values(this.#ledgers)) {
      ledger.changed();
      ledger.newEntries();
      this.#facts[ledger.service] = ledger.read(this.#strangersQuotes);
    }
    this.#facts.chain = this.#onChain();
  }

  /** What is not as it was and may not be so. Cheap while nothing was written. */
  breaches(): string[] {
    const changed = Object.values(this.#ledgers).filter((ledger) => ledger.changed());
    const found: string[] = [];
    const compare = (source: ServiceName | 'chain', now: Facts) => {
      found.push(...this.#differences(this.#facts[source], now));
      this.#facts[source] = now;
    };
    for (const ledger of changed) {
      const { service } = ledger;
      const objections = ledger.newEntries().flatMap((entry) => this.#objection(entry, service) ?? []);
      found.push(...[...objections, ...this.#clawbacks(ledger)].map((text) => `${service}: ${text}`));
      compare(service, ledger.read(this.#strangersQuotes));
    }
    if (this.#world.solana.ledger.transactionCount !== this.#transactions) compare('chain', this.#onChain());
    return found;
  }

  #differences(before: Facts, after: Facts): string[] {
    const { now } = this.#world.clock;
    const found: string[] = [];
    // An action that was made with what holds at both services does to names what it says.
    const acted = [...after.keys()].some((key) => !before.has(key) && this.#isMadeElsewhere(key));
    this.#excused = acted ? checksAfterAction : Math.max(0, this.#excused - 1);
    for (const [key, fact] of before) {
      if (this.#excused > 0 && /^(?:token|name|receipt):/.test(key)) continue;
      const present = after.get(key);
      if (present?.value === fact.value) continue;
      if (fact.until !== undefined && fact.until <= now) continue;
      if (key.startsWith('dollars') && BigInt(present?.value ?? '0') > BigInt(fact.value)) continue;
      found.push(`${key} was ${fact.value} and is ${present?.value ?? 'gone'}`);
    }
    for (const [key, fact] of after) {
      if (before.has(key)) continue;
      const kind = key.slice(0, key.indexOf(':'));
      if (mayGrow.has(kind) || this.#isMadeElsewhere(key)) continue;
      found.push(`${key} is new: ${fact.value}`);
    }
    return found;
  }

  /** Why an entry may not be; undefined when it may. */
  #objection(entry: Entry, service: ServiceName): string | undefined {
    const { account, spender, amount, reason, changeId } = entry;
    if (this.#isPaidByOthers(entry, service)) return undefined;
    if (amount >= 0n || clawbackReasons.includes(reason)) return undefined;
    const [id = ''] = changeId.split(/[:#]/, 1);
    const signer = this.#bystanders.find(({ wallet }) => wallet.address === spender);
    const itemFor = signer?.own.items.get(id);
    // A signed item is an order to store it: whoever brings it to another service has it stored and charged there.
    if (reason === 'upload' && itemFor !== undefined && itemFor !== service) return undefined;
    const madeFor = itemFor ?? signer?.own.nonces.get(id);
    if (this.#tolerance.elsewhere && madeFor !== undefined && madeFor !== service) return undefined;
    const owner = this.#bystanders.find(({ wallet }) => wallet.address === account);
    return `${owner?.wallet.label} was charged ${-amount} winc (${reason} ${changeId})`;
  }

  /**
   * What somebody pays into a bystander's account for an upload may be used by that upload, and no more than that.
   * Counted as it comes and goes: the payment, what is set aside for the upload, what the upload takes of it.
   */
  #isPaidByOthers({ account, amount, reason, changeId }: Entry, service: ServiceName): boolean {
    if (!['x402_payment', 'upload', 'refunded_upload'].includes(reason)) return false;
    const isOwn = this.#bystanders.some(
      ({ wallet, own }) =>
        changeId.includes(wallet.dollars.address) || own.items.has(changeId.split(/[:#]/, 1)[0] ?? ''),
    );
    if (isOwn) return false;
    const key = `${service} ${account}`;
    const left = (this.#paidByOthers.get(key) ?? 0n) + amount;
    this.#paidByOthers.set(key, left < 0n ? 0n : left);
    return left >= 0n;
  }

  #isMadeElsewhere(key: string): boolean {
    if (!this.#tolerance.elsewhere) return false;
    const [, kind, service, id = ''] = /^(.+?): (\w+) (.*)$/.exec(key) ?? [];
    if (kind !== 'approval' && kind !== 'action') return false;
    return this.#bystanders.some(({ own }) => {
      const madeFor = own.items.get(id) ?? own.nonces.get(id);
      return madeFor !== undefined && madeFor !== service;
    });
  }

  /** A wallet only loses what it got: no more is taken back than top-ups by card have given it. */
  #clawbacks(ledger: LedgerView): string[] {
    return ledger
      .clawbacks(this.#tolerance.elsewhere ? this.#signedElsewhere : noQuotes)
      .filter(({ address, taken, given }) => {
        const key = `${ledger.service} ${address}`;
        const told = this.#told.get(key) ?? 0n;
        this.#told.set(key, taken - given);
        return taken - given > told;
      })
      .map(({ address, taken, given }) => {
        const owner = this.#bystanders.find(({ wallet }) => wallet.address === address);
        return `${taken} winc were taken back from ${owner?.wallet.label}, of ${given} that taken back payments gave`;
      });
  }

  /** Tokens of names, byte by byte, and the names that lead to them. */
  #onChain(): Facts {
    const { ledger } = this.#world.solana;
    this.#transactions = ledger.transactionCount;
    const facts: Facts = new Map();
    for (const { wallet, own } of this.#bystanders) {
      for (const { name, antId } of own.tokens) {
        const asset = parseSolanaAddress(antId);
        for (const [what, address] of tokenAccounts(this.#world.programs, asset)) {
          const { owner, data } = ledger.accounts.get(address);
          // Traits of the asset follow the name, which anybody may pay for; whose it is stands in front of them.
          const told = what === 'asset' ? data.subarray(0, assetOwnerEnd) : data;
          const value = createHash('sha1').update(owner).update(told).digest('hex');
          facts.set(`token: ${wallet.label} ${name} ${what}`, { value });
        }
        const record = ledger.accounts.get(recordAddress(this.#world.programs, name)).data;
        const { ant, type } = record.length === 0 ? { ant: 'none', type: 'none' } : arnsRecord.decode(record);
        facts.set(`name: ${wallet.label} ${name}`, { value: `${ant} ${type}` });
      }
    }
    return facts;
  }
}

type TokenAccount = readonly [what: string, address: ReturnType<typeof parseSolanaAddress>];
const accountsOfTokens = new Map<string, readonly TokenAccount[]>();

/** Derived addresses cost a search; they never change. */
function tokenAccounts(
  programs: NamePrograms,
  asset: ReturnType<typeof parseSolanaAddress>,
): readonly TokenAccount[] {
  const known = accountsOfTokens.get(asset);
  if (known !== undefined) return known;
  const at = antAddresses(programs.ant);
  const made: readonly TokenAccount[] = [
    ['asset', asset],
    ['config', at.config(asset).address],
    ['controllers', at.controllers(asset).address],
    ...undernames.flatMap((undername): TokenAccount[] => [
      [`record ${undername}`, at.record(asset, undername).address],
      [`metadata ${undername}`, at.metadata(asset, undername).address],
    ]),
  ];
  accountsOfTokens.set(asset, made);
  return made;
}

const recordAddresses = new Map<string, ReturnType<typeof parseSolanaAddress>>();

function recordAddress(programs: NamePrograms, name: string) {
  const known = recordAddresses.get(name) ?? arnsAddresses(programs.arns).record(name).address;
  recordAddresses.set(name, known);
  return known;
}

interface Entry {
  /** Whose credits they are: the account itself, or the lender. */
  readonly account: string;
  /** Who may spend them: the same, or the borrower. */
  readonly spender: string;
  readonly amount: bigint;
  readonly reason: string;
  readonly changeId: string;
}

/** The rows of one service's ledger that are about bystanders. */
class LedgerView {
  readonly service: ServiceName;
  readonly #service: Service;
  readonly #bystanders: readonly Bystander[];
  readonly #theirs: ReadonlySet<string>;
  readonly #addresses: string;
  readonly #payers: string;
  readonly #statements = new Map<string, StatementSync>();
  #version: unknown;
  #tokenVersion: unknown;
  #sequence = 0;

  constructor(service: Service, bystanders: readonly Bystander[]) {
    this.service = service.name;
    this.#service = service;
    this.#bystanders = bystanders;
    this.#theirs = new Set(bystanders.map(({ wallet }) => wallet.address));
    this.#addresses = JSON.stringify([...this.#theirs]);
    this.#payers = JSON.stringify(
      bystanders.flatMap(({ wallet }) => [wallet.address, wallet.dollars.address, wallet.owner.address]),
    );
  }

  /** Whether anything was committed since it was last asked. */
  changed(): boolean {
    const version = this.#service.ledger.prepare('PRAGMA data_version').get()?.data_version;
    const tokenVersion = this.#service.tokens.prepare('PRAGMA data_version').get()?.data_version;
    const same = version === this.#version && tokenVersion === this.#tokenVersion;
    this.#version = version;
    this.#tokenVersion = tokenVersion;
    return !same;
  }

  /** Of bystanders, and of what they have lent to one another. */
  newEntries(): Entry[] {
    const rows = this.#all(
      `SELECT sequence, account, credits_entries.amount AS amount, reason, change_id, payer, approved FROM credits_entries
       LEFT JOIN credits_approvals ON credits_approvals.id = substr(account, 10) AND account LIKE 'approval:%' WHERE sequence > ? ORDER BY sequence`,
      this.#sequence,
    );
    this.#sequence = Number(rows.at(-1)?.sequence ?? this.#sequence);
    return rows
      .map((row) => ({
        account: String(row.payer ?? row.account),
        spender: String(row.approved ?? row.account),
        amount: BigInt(String(row.amount)),
        reason: String(row.reason),
        changeId: String(row.change_id),
      }))
      .filter(({ account, spender }) => this.#theirs.has(account) && this.#theirs.has(spender));
  }

  /** By wallet: what was taken back, and what the payments that went back had given it, or it had signed for. */
  clawbacks(signedElsewhere: ReadonlySet<string>): { address: string; taken: bigint; given: bigint }[] {
    const taken = new Map<string, bigint>();
    const given = new Map<string, bigint>();
    const add = (sums: Map<string, bigint>, address: unknown, amount: unknown) =>
      sums.set(String(address), (sums.get(String(address)) ?? 0n) + BigInt(String(amount)));
    for (const { account, reason, amount } of this.#all(
      `SELECT account, reason, amount FROM credits_entries WHERE account IN (SELECT value FROM json_each(?))
       AND reason IN ('chargeback', 'card_refund', 'chargeback_reversed', 'arns_excess_payment')`,
      this.#addresses,
    )) {
      // A name may cost less than a card can be charged: the rest is credited with it.
      if (reason === 'arns_excess_payment') add(given, account, amount);
      else add(taken, account, -BigInt(String(amount)));
    }
    if (taken.size === 0) return [];
    for (const { id, address, purpose, winc, taken_back } of this.#all(
      `SELECT id, address, purpose, winc, taken_back FROM card_quotes
       WHERE state <> 'failed' AND taken_back <> '0' AND address IN (SELECT value FROM json_each(?))`,
      this.#addresses,
    )) {
      if (purpose === 'top-up') add(given, address, taken_back);
      else if (signedElsewhere.has(String(id))) add(given, address, winc);
    }
    return [...taken].map(([address, sum]) => ({ address, taken: sum, given: given.get(address) ?? 0n }));
  }

  read(strangersQuotes: ReadonlySet<string>): Facts {
    const { service } = this;
    const facts: Facts = new Map();
    const put = (kind: string, id: unknown, value: unknown[], until?: unknown) =>
      facts.set(`${kind}: ${service} ${id}`, {
        value: value.map(String).join(' '),
        ...(typeof until === 'number' && { until }),
      });
    for (const row of this.#all(
      `SELECT id, payer, approved, amount, status, expires_at FROM credits_approvals
       WHERE payer IN (SELECT value FROM json_each(?))`,
      this.#addresses,
    )) {
      // Whether some or all of it was used is told by the entries.
      const status = row.status === 'used' ? 'active' : row.status;
      put('approval', row.id, [row.payer, row.approved, row.amount, status], row.expires_at);
    }
    for (const row of this.#all(
      `SELECT nonce, payer, action, status, winc, kept_winc, created_at FROM arns_action
       WHERE payer IN (SELECT value FROM json_each(?))`,
      this.#addresses,
    )) {
      const open = row.status === 'awaiting' ? Number(row.created_at) + transactionLifeMs : undefined;
      put('action', row.nonce, [row.payer, row.action, row.status, row.winc, row.kept_winc], open);
    }
    for (const row of this.#all(
      `SELECT reference, name, ant_id, payer, owner, custodial FROM arns_receipt
       WHERE payer IN (SELECT value FROM json_each(?)) OR owner IN (SELECT value FROM json_each(?))`,
      this.#payers,
      this.#payers,
    )) {
      put('receipt', row.reference, [row.name, row.ant_id, row.payer, row.owner, row.custodial]);
    }
    for (const row of this.#all(
      `SELECT nonce, status, ant_id FROM arns_purchase
       WHERE status <> 'PENDING' AND address IN (SELECT value FROM json_each(?))`,
      this.#addresses,
    )) {
      put('purchase', row.nonce, [row.status, row.ant_id]);
    }
    for (const row of this.#all(
      `SELECT id, state, taken_back FROM card_quotes
       WHERE state IN ('paid', 'charged_back', 'refunded') AND address IN (SELECT value FROM json_each(?))`,
      this.#addresses,
    )) {
      if (!strangersQuotes.has(String(row.id))) put('card payment', row.id, [row.state, row.taken_back]);
    }
    for (const row of this.#all(
      `SELECT id, purpose, reference, address, winc, state FROM x402_payments
       WHERE payer IN (SELECT value FROM json_each(?))`,
      this.#payers,
    )) {
      put('dollar payment', row.id, [row.purpose, row.reference, row.address, row.winc, row.state]);
    }
    for (const row of this.#all(
      `SELECT chain, transaction_id, sender, destination, state FROM payment_chain_transactions
       WHERE sender IN (SELECT value FROM json_each(?))`,
      this.#payers,
    )) {
      const theirs: unknown = JSON.parse(this.#payers);
      const isTheirs = Array.isArray(theirs) && theirs.includes(row.destination);
      const kind = isTheirs ? 'chain payment' : 'chain payment credited to somebody else';
      put(kind, `${row.chain} ${row.transaction_id}`, [row.sender, row.destination, row.state]);
    }
    this.#readOwn(put);
    return facts;
  }

  /** What only its owner knows the names of. */
  #readOwn(put: (kind: string, id: unknown, value: unknown[], until?: unknown) => void): void {
    for (const { own, wallet } of this.#bystanders) {
      for (const { quote } of own.gifts.filter(({ service }) => service === this.service)) {
        const [row] = this.#all('SELECT redeemed_by FROM payment_gifts WHERE quote_id = ?', quote);
        put('gift', quote, [row === undefined ? 'gone' : (row.redeemed_by ?? 'waiting')]);
      }
      for (const { id } of own.sessions.filter(({ service }) => service === this.service)) {
        const [row] = this.#all(
          `SELECT state, item_id, paid_by, payment, expires_at,
             (SELECT group_concat(start || ' ' || digest) FROM upload_parts WHERE session = upload_sessions.id) AS parts
           FROM upload_sessions WHERE id = ?`,
          id,
        );
        if (row === undefined) continue;
        put('session', id, [row.state, row.item_id, row.paid_by, row.payment, row.parts], row.expires_at);
      }
      const [tokens] = this.#service.tokens
        .prepare('SELECT amount FROM balances WHERE lower(address) = lower(?)')
        .all(wallet.dollars.address);
      put('dollars', wallet.label, [tokens?.amount ?? '0']);
    }
  }

  #all(text: string, ...values: (string | number)[]) {
    const statement = this.#statements.get(text) ?? this.#service.ledger.prepare(text);
    this.#statements.set(text, statement);
    return statement.all(...values);
  }
}

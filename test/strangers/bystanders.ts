/**
 * Wallets that only mind their own business: they pay, upload, lend, name and read, at both services. What they show
 * on the way is the stranger's to use.
 */

import { moreArweaveKeys } from '../../src/wallets/testing/keys.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { Actor, oneSol, type Shows } from './actor.ts';
import { type Answer, textOf } from './calls.ts';
import type { Knowledge, Secrets } from './knowledge.ts';
import { arweaveWallet, ethereumWallet, solanaWallet, type Wallet } from './wallets.ts';
import type { ServiceName, World } from './world.ts';

export const credit = 10n ** 12n;
const target = (letter: string) => letter.repeat(42).concat('A');
/** Where each of them is at home; a stranger may be behind the same address. */
export const networks: Readonly<Record<string, string>> = {
  ada: '127.0.0.2',
  eve: '127.0.0.3',
  sol: '127.0.0.4',
};
const undernames = ['@', 'a', 'ab', 'docs'];

/** What a bystander knows of itself, so that the rest of the world can be compared with it. */
export interface Own {
  /** Uploads in parts that it began, by service and id. */
  readonly sessions: { readonly service: ServiceName; readonly id: string }[];
  /** Quotes of gifts that it bought. */
  readonly gifts: { readonly service: ServiceName; readonly quote: string }[];
  /** Names it owns, with the token behind each and where it was bought. */
  readonly tokens: { readonly name: string; readonly antId: string }[];
  /** Every item it ever signed, by id, with the service it was made for. */
  readonly items: Map<string, ServiceName>;
  /** Every nonce it ever signed, with the service it was made for. */
  readonly nonces: Map<string, ServiceName>;
}

export class Bystander {
  readonly wallet: Wallet;
  readonly actor: Actor;
  readonly own: Own = { sessions: [], gifts: [], tokens: [], items: new Map(), nonces: new Map() };
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #knowledge: Knowledge;
  readonly #secrets: Secrets;
  #names = 0;

  constructor(world: World, wallet: Wallet, random: SeededRandom, knowledge: Knowledge, secrets: Secrets) {
    this.wallet = wallet;
    this.#world = world;
    this.#random = random;
    this.#knowledge = knowledge;
    this.#secrets = secrets;
    const from = networks[wallet.label] ?? '127.0.0.1';
    this.actor = new Actor(world, wallet, random, this.#shows(), (call) => world.send({ ...call, from }));
    for (const address of [wallet.address, wallet.dollars.address, wallet.owner.address])
      knowledge.addresses.add(address);
  }

  #shows(): Shows {
    const who = this.wallet.label;
    return {
      signature: (service, headers, purpose, where) => {
        this.own.nonces.set(headers['x-nonce'] ?? '', service);
        this.#knowledge.signatures.add({ who, service, headers, purpose, where });
      },
      proof: (service, action, body, headers) =>
        this.#knowledge.proofs.add({ who, service, action, body, headers }),
      payment: (service, payment) => this.#knowledge.payments.add({ who, service, ...payment }),
      item: (service, id, bytes) => {
        this.own.items.set(id, service);
        this.#knowledge.items.add({ who, service, id, bytes });
      },
      secret: (text, what) => this.#secrets.add(text, what),
    };
  }

  /** Credits from every kind of payment, a name, a loan to the others, a gift, open work. */
  async moveIn(others: readonly string[]): Promise<void> {
    const { actor, wallet } = this;
    for (const service of ['here', 'there'] as const) {
      await this.#mint(service, 10n ** 12n);
      await this.#topUp(service, 1_000_000);
      await this.#payOnChain(service);
      await this.#buyDollars(service);
    }
    await this.#ownName('here');
    await this.#setRecord('here');
    await this.#readPrivately('here');
    for (const other of others) must(await actor.lend('here', other, 2n * credit));
    await this.#gift('here');
    if (wallet.kind !== 'solana') await this.#custodialName('here');
    await this.#openSession('here');
    await this.#openAction('here');
  }

  /** One honest thing, by chance. */
  async live(others: readonly string[]): Promise<void> {
    const random = this.#random;
    const service: ServiceName = random.below(4) === 0 ? 'there' : 'here';
    const kind = random.below(21);
    if (kind < 6) await this.#readSomewhere(service);
    else if (kind < 8) await this.#uploadSomething(service, others);
    else if (kind < 11) await this.#setRecord('here');
    else if (kind < 13) await this.#paidSession(service);
    else if (kind === 13) await this.#openSession(service);
    else if (kind === 14) await this.#openAction(service);
    else if (kind === 15) must(await this.actor.lend(service, random.pick(others), credit / 10n));
    else if (kind === 16) await this.#paidUpload(service);
    else if (kind === 17) await this.#buyDollars(service);
    else if (kind === 18) await this.#keepName(service);
    else if (kind === 19) await this.#paidUpload(service);
    else await this.#payOnChain(service);
  }

  async #mint(service: ServiceName, amount: bigint): Promise<void> {
    await fetch(`${this.#world.services[service].facilitator.url}/mint`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ address: this.wallet.dollars.address, amount: amount.toString() }),
    });
  }

  async #topUp(service: ServiceName, cents: number): Promise<void> {
    const to = { address: this.wallet.address, type: this.wallet.kind };
    const paid = await this.actor.topUp(service, to, cents, 'pm_card_visa');
    if (paid === undefined) throw new Error('a bystander cannot pay by card');
  }

  async #gift(service: ServiceName): Promise<void> {
    const email = `${this.wallet.label}@example.com`;
    const message = `&giftMessage=for-${this.actor.readingNonce()}`;
    const gift = await this.actor.topUp(
      service,
      { address: email, type: 'email' },
      1_000,
      'pm_card_visa',
      message,
    );
    if (gift === undefined) throw new Error('a bystander cannot give');
    this.own.gifts.push({ service, quote: gift.quote });
    this.#secrets.add(gift.quote, `the gift of ${this.wallet.label}`);
  }

  /** On the wallet's own chain, reported as its client does. */
  async #payOnChain(service: ServiceName): Promise<void> {
    const { actor, wallet } = this;
    const [token, id] =
      wallet.kind === 'arweave'
        ? ['arweave', await actor.sendAr(service, moreArweaveKeys.third, credit)]
        : wallet.kind === 'solana'
          ? ['solana', await actor.sendSol(service, oneSol / 10n)]
          : ['base-usdc', actor.sendUsdc(service, 1_000_000n)];
    this.#knowledge.chainPayments.add({ token, id });
    must(await actor.report(service, token, id));
  }

  async #buyDollars(service: ServiceName): Promise<void> {
    const { address } = this.wallet;
    const path = `/v1/x402/top-up?type=credits&qty=${1 + this.#random.below(3)}&address=${address}`;
    must(await this.actor.payWithDollars(service, 'payment', 'GET', path));
  }

  async #ownName(service: ServiceName): Promise<void> {
    const name = this.#newName();
    const body = { name, ownerAddress: this.wallet.owner.address, type: 'permabuy' };
    const created = must(await this.actor.act(service, 'buy-name', body));
    const signed = must(await this.actor.sign(service, created));
    this.#knowName(name, textOf(signed, 'antId'));
    this.#knowledge.nonces.add(textOf(created, 'nonce'));
  }

  async #custodialName(service: ServiceName): Promise<void> {
    const name = this.#newName();
    const what = `buy-record/${name}?type=permabuy`;
    const bought = await this.actor.buyByCard(service, this.wallet.address, what, 'pm_card_visa');
    if (bought === undefined) throw new Error('a bystander cannot buy a name by card');
    const status = await this.actor.get(service, 'payment', `/v1/arns/purchase/${bought.nonce}`);
    this.#knowledge.nonces.add(bought.nonce);
    this.#knowName(name, textOf(status, 'antId'));
  }

  #knowName(name: string, antId: string): void {
    this.own.tokens.push({ name, antId });
    this.#knowledge.tokens.add({ who: this.wallet.label, name, antId, owner: this.wallet.owner.address });
  }

  #newName(): string {
    this.#names += 1;
    return `${this.wallet.label}-${this.#names}`;
  }

  /** A record of its own name, proven by the owner. */
  async #setRecord(service: ServiceName): Promise<void> {
    const random = this.#random;
    const [token] = this.own.tokens;
    if (token === undefined) return;
    const base = { antId: token.antId, ownerAddress: this.wallet.owner.address };
    const undername = random.pick(undernames);
    const kind = random.below(6);
    if (kind === 0 && undername !== '@') {
      await this.actor.act(service, 'remove-record', { ...base, undername }, { proven: true });
      return;
    }
    const body =
      kind === 1
        ? { ...base, undername: '@', displayName: `name ${random.below(1_000)}` }
        : {
            ...base,
            undername,
            transactionId: target(random.pick(['b', 'c', 'd', 'e', 'f', 'g'])),
            ttlSeconds: random.pick([600, 3_600, 36_000]),
          };
    must(
      await this.actor.act(service, kind === 1 ? 'set-record-metadata' : 'set-record', body, {
        proven: true,
      }),
    );
  }

  /** Anybody may pay for a name; this wallet pays for its own. */
  async #keepName(service: ServiceName): Promise<void> {
    const [token] = this.own.tokens;
    if (token === undefined) return;
    const body = { name: token.name, increaseQty: 1 };
    must(await this.actor.act(service, 'increase-undername-limit', body));
  }

  /** Begun, and left for later. */
  async #openAction(service: ServiceName): Promise<void> {
    const body = { name: this.#newName(), ownerAddress: this.wallet.owner.address, type: 'lease', years: 1 };
    const created = must(await this.actor.act(service, 'buy-name', body));
    this.#knowledge.nonces.add(textOf(created, 'nonce'));
  }

  async #openSession(service: ServiceName): Promise<void> {
    const begun = must(await this.actor.get(service, 'upload', '/v1/chunks/arweave/-1/-1'));
    this.#knowSession(service, begun);
    const { bytes } = await this.actor.item(this.#random.bytes(300));
    must(await this.actor.putPart(service, textOf(begun, 'id'), 0, bytes));
  }

  #knowSession(service: ServiceName, begun: Answer): string {
    const id = textOf(begun, 'id');
    this.own.sessions.push({ service, id });
    if (this.own.sessions.length > 40) this.own.sessions.shift();
    this.#secrets.add(id, `an upload in parts of ${this.wallet.label}`);
    return id;
  }

  /** Paid before its first part: finished, or left. */
  async #paidSession(service: ServiceName): Promise<void> {
    const item = await this.actor.item(this.#random.bytes(20_000 + this.#random.below(20_000)));
    const mine = this.#random.below(2) === 0 ? `&address=${this.wallet.address}` : '';
    const path = `/v1/chunks/arweave/-1/-1?totalBytes=${item.bytes.length}${mine}`;
    // Its client can prove to be the one that paid: others may share its network, and a chain shows the payment.
    const key = { 'idempotency-key': `upload-${this.actor.uuid()}` };
    const begun = must(await this.actor.payWithDollars(service, 'upload', 'GET', path, undefined, 100n, key));
    const session = this.#knowSession(service, begun);
    if (this.#random.below(3) === 0) return;
    this.own.items.set(item.id, service);
    this.#knowledge.items.add({ who: this.wallet.label, service, ...item });
    must(await this.actor.finishSession(service, session, item.bytes));
  }

  /** Paid with the request; now and then paid for once more, by a client that lost the answer. */
  async #paidUpload(service: ServiceName): Promise<void> {
    const item = await this.actor.item(this.#random.bytes(300 + this.#random.below(3_000)));
    this.own.items.set(item.id, service);
    this.#knowledge.items.add({ who: this.wallet.label, service, ...item });
    const path = '/v1/x402/upload/signed';
    must(await this.actor.payWithDollars(service, 'upload', 'POST', path, item.bytes));
    if (this.#random.below(3) === 0) return;
    const before = this.tokens(service);
    const again = await this.actor.payWithDollars(service, 'upload', 'POST', path, item.bytes);
    if (again.status === 202 && this.tokens(service) !== before)
      this.complaints.push('a second payment for an item that was there already took the money');
  }

  /** What this wallet saw happen that must not. */
  readonly complaints: string[] = [];

  /** Dollars it has left. */
  tokens(service: ServiceName): bigint {
    const row = this.#world.services[service].tokens
      .prepare('SELECT amount FROM balances WHERE lower(address) = lower(?)')
      .get(this.wallet.dollars.address);
    return BigInt(String(row?.amount ?? '0'));
  }

  async #uploadSomething(service: ServiceName, others: readonly string[]): Promise<void> {
    const item = await this.actor.item(this.#random.bytes(200 + this.#random.below(2_000)));
    const borrowed = this.#random.below(3) === 0 ? { 'x-paid-by': this.#random.pick(others) } : {};
    must(await this.actor.upload(service, item, borrowed));
  }

  async #readPrivately(service: ServiceName): Promise<void> {
    must(await this.actor.read(service, '/v1/account/payments', this.actor.readingNonce()));
  }

  /** With a nonce as the client makes it to read, or one that could act. */
  async #readSomewhere(service: ServiceName): Promise<void> {
    const { address, kind } = this.wallet;
    const nonce = this.#random.below(4) === 0 ? this.actor.readingNonce() : this.actor.uuid();
    const path = this.#random.pick([
      '/v1/balance',
      '/v1/account/payments',
      `/v1/account/balance?address=${address}`,
      `/v1/account/approvals/get?userAddress=${address}`,
      '/v1/price/usd/1000',
      '/v1/price/bytes/1000',
      `/v1/top-up/payment-intent/${address}/usd/1000?destinationAddressType=${kind}`,
      '/v1/rates',
      '/v1/rates/usd',
      '/v1/currencies',
      '/v1/x402/top-up?type=credits&qty=1',
      `/v1/arns/price/buy-record/some-name-${this.#random.below(100)}?type=lease&years=1`,
      `/v1/arns/my-names/${address}`,
      '/v1/arns/actions/set-record/price',
    ]);
    await this.actor.read(service, path, nonce);
  }
}

/** What an honest client asks is answered; anything else is a fault of the test or of the service. */
function must(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw new Error(`a bystander was answered ${answer.status} ${answer.text.slice(0, 300)}`);
}

export function bystanders(
  world: World,
  random: SeededRandom,
  knowledge: Knowledge,
  secrets: Secrets,
): Bystander[] {
  const wallets = [arweaveWallet('ada', moreArweaveKeys.third), ethereumWallet('eve'), solanaWallet('sol')];
  return wallets.map((wallet) => new Bystander(world, wallet, random, knowledge, secrets));
}

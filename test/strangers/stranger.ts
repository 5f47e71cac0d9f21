/**
 * Somebody without any right to what is not theirs, who tries everything: each scenario is a few requests that could
 * move or show what belongs to a bystander, and must not.
 */
import { itemMessage, parseItem } from '../../src/formats/ans104/item.ts';
import { moreArweaveKeys } from '../../src/wallets/testing/keys.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { Actor, oneSol } from './actor.ts';
import { type Bystander, networks } from './bystanders.ts';
import { type Answer, type Call, member } from './calls.ts';
import { baseUsdc } from './evm-chain.ts';
import { Generator, type Pool, respell } from './generate.ts';
import type { Knowledge, ShownPayment, ShownProof, ShownSignature } from './knowledge.ts';
import type { KnownRoute } from './routes.ts';
import { arweaveWallet, ethereumWallet, type SignedHeaders, signedHeaders, solanaWallet } from './wallets.ts';
import type { ServiceName, World } from './world.ts';

export type Route = KnownRoute & {
  readonly server: string;
  readonly service: ServiceName;
  readonly base: string;
};

/** How a request goes out: the driver sends, watches and judges it. */
export type Send = (call: Call, allowed?: Allowed) => Promise<Answer>;

/** What an answer may show that is otherwise private. */
export interface Allowed {
  /** This bystander's own signature came with the request, and the service lets it read again. */
  readonly reads?: string | undefined;
}

export interface StrangerOptions {
  readonly world: World;
  readonly random: SeededRandom;
  readonly knowledge: Knowledge;
  readonly bystanders: readonly Bystander[];
  readonly send: Send;
  readonly routes: readonly Route[];
  readonly isProtected: (route: Route) => boolean;
  /** Tells that something was had that was not paid for. */
  readonly complain: (what: string) => void;
}

const target = `${'s'.repeat(42)}A`;
const other = (service: ServiceName): ServiceName => (service === 'here' ? 'there' : 'here');

export class Stranger {
  readonly wallets = [
    arweaveWallet('mallory', moreArweaveKeys.fourth),
    ethereumWallet('mallory'),
    solanaWallet('mallory'),
  ];
  /** Card quotes that it had made. */
  readonly quotes = new Set<string>();
  /** Those of them that it had made with a signature that a bystander made for the other service. */
  readonly signedElsewhere = new Set<string>();
  readonly #options: StrangerOptions;
  readonly #actors: readonly Actor[];
  readonly #generator: Generator;
  readonly #pool: {
    addresses: string[];
    names: string[];
    antIds: string[];
    sessions: string[];
    ids: string[];
  };
  readonly #protected: readonly Route[];
  readonly #open: readonly Route[];
  readonly #signatures: SignedHeaders[] = [];
  #count = 0;
  #allowed: Allowed | undefined;
  #from: string | undefined;

  constructor(options: StrangerOptions) {
    this.#options = options;
    const { world, random, knowledge, routes } = options;
    const send = (call: Call) =>
      options.send({ ...call, ...(this.#from !== undefined && { from: this.#from }) }, this.#allowed);
    this.#actors = this.wallets.map((wallet) => new Actor(world, wallet, random, {}, send));
    this.#pool = {
      addresses: this.wallets.map(({ address }) => address),
      names: [],
      antIds: [],
      sessions: [],
      ids: [],
    };
    const pool: Pool = this.#pool;
    this.#generator = new Generator(random, knowledge, pool);
    this.#protected = routes.filter(options.isProtected);
    this.#open = routes.filter((route) => !options.isProtected(route) && isWorthAsking(route));
  }

  /** Credits and a name of its own: the stranger pays for what it does. */
  async moveIn(): Promise<void> {
    const { world } = this.#options;
    for (const service of ['here', 'there'] as const) {
      for (const actor of this.#actors) {
        const { wallet } = actor;
        await fetch(`${world.services[service].facilitator.url}/mint`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ address: wallet.dollars.address, amount: String(10n ** 12n) }),
        });
        const to = { address: wallet.address, type: wallet.kind };
        await actor.topUp(service, to, 1_000_000, 'pm_card_visa');
      }
      await this.#buyName(service);
    }
  }

  async #buyName(service: ServiceName): Promise<void> {
    const actor = this.#actor();
    const name = this.#freshName();
    const body = { name, ownerAddress: actor.wallet.owner.address, type: 'permabuy' };
    const signed = await actor.sign(service, await actor.act(service, 'buy-name', body));
    this.#pool.names.push(name);
    this.#pool.antIds.push(String(member(signed.json, 'antId')));
  }

  /** All scenarios with how often each is tried. */
  get scenarios(): readonly (readonly [weight: number, name: string, run: () => Promise<void>])[] {
    return [
      [60, 'anything', () => this.#anything()],
      [10, 'an operator route', () => this.#operatorRoute()],
      [10, 'a shown signature', () => this.#shownSignature()],
      [5, "an owner's proof", () => this.#shownProof()],
      [6, 'a shown payment', () => this.#shownPayment()],
      [2, 'a payment for somebody else', () => this.#paymentFor()],
      [1, 'a card for somebody else', () => this.#cardFor()],
      [5, 'a published item', () => this.#publishedItem()],
      [4, 'an item as a signature', () => this.#itemAsSignature()],
      [2, 'a chain payment', () => this.#chainPayment()],
      [2, 'too small a payment', () => this.#tooSmall()],
      [2, "somebody's open action", () => this.#openAction()],
      [3, 'credits of others', () => this.#creditsOfOthers()],
    ];
  }

  /** Any route with anything. */
  async #anything(): Promise<void> {
    const { random } = this.#options;
    const route = random.pick(this.#open);
    const written = this.#generator.path(route);
    const path = random.below(7) === 0 ? respell(random, written) : written;
    const { headers, reads } = await this.#anyHeaders(route.service);
    await this.#options.send(
      {
        base: route.base,
        method: route.method,
        path,
        headers: { ...headers },
        ...this.#anyBody(route, headers),
      },
      { reads },
    );
  }

  /** Routes of the operator, without the operator's word. */
  async #operatorRoute(): Promise<void> {
    const { random, world } = this.#options;
    const server = random.pick([...new Set(this.#protected.map((route) => route.server))]);
    const route = random.pick(this.#protected.filter((one) => one.server === server));
    const written = this.#generator.path(route);
    const path = random.below(4) === 0 ? written : respell(random, written);
    const token = random.pick([
      undefined,
      'Bearer x',
      `Bearer ${'0'.repeat(40)}`,
      'Basic eDp4',
      'Bearer ',
      'bearer null',
    ]);
    const headers: Record<string, string> = {
      ...(token !== undefined && { authorization: token }),
      ...(random.below(5) === 0 && { 'x-forwarded-for': '127.0.0.1', 'x-original-url': written }),
    };
    const gateway = world.services.here.urls.gateway ?? '';
    const body = this.#anyBody(route, headers, { gateway });
    await this.#options.send({ base: route.base, method: route.method, path, headers, ...body });
  }

  /** A signature that a bystander made, for something else than it was made for. */
  async #shownSignature(): Promise<void> {
    const { random, knowledge } = this.#options;
    const shown = this.#recent(knowledge.signatures.all);
    if (shown === undefined) return;
    const service = random.below(4) === 0 ? other(shown.service) : shown.service;
    const headers = random.below(3) === 0 ? this.#respellSignature(shown.headers) : shown.headers;
    this.#allowed = { reads: this.#mayRead(shown, service) };
    const kind = random.below(20);
    const actor = this.#actor();
    if (kind < 12) {
      const action = random.pick([
        'increase-undername-limit',
        'increase-undername-limit',
        'buy-name',
        'transfer',
      ]);
      const body = {
        ...this.#ownPurchase(action),
        ...(random.below(4) === 0 && { paidBy: [this.#anyBystander()] }),
      };
      const act = () => actor.act(service, action, body, { headers });
      if (random.below(5) === 0) await Promise.all([act(), act(), act()]);
      else await act();
    } else if (kind < 19) {
      const path = random.pick([
        '/v1/account/payments',
        '/v1/balance',
        '/v1/account/payments?limit=100',
        '/v1/x402/top-up?type=credits&qty=1',
      ]);
      await actor.get(service, 'payment', path, headers);
    } else {
      await this.#disputedName(service, this.#addressOf(shown.who), headers, shown.service !== service);
    }
  }

  /** The owner's proof of an earlier action, as it was or with its border to the nonce moved. */
  async #shownProof(): Promise<void> {
    const { random, knowledge } = this.#options;
    const proof = this.#recent(knowledge.proofs.all);
    if (proof === undefined) return;
    const { body, headers } = random.below(4) === 0 ? proof : moveBorder(random, proof);
    const actor = this.#actor();
    const service = random.below(5) === 0 ? other(proof.service) : proof.service;
    const text = JSON.stringify(body);
    const paid = await actor.signedAction(service, proof.action, text);
    await actor.post(service, 'payment', `/v1/arns/actions/${proof.action}`, text, {
      'content-type': 'application/json',
      ...paid,
      ...headers,
    });
  }

  /** A payment that was made, shown once more. */
  async #shownPayment(): Promise<void> {
    const { random, knowledge } = this.#options;
    const payment = this.#recent(knowledge.payments.all);
    if (payment === undefined) return;
    const service = random.below(6) === 0 ? other(payment.service) : payment.service;
    if (random.below(2) === 0) this.#from = networks[payment.who] ?? '127.0.0.7';
    const call =
      random.below(2) === 0 ? this.#sentAgain(payment, service) : await this.#elsewhere(payment, service);
    const send = () => this.#options.send({ ...call, ...(this.#from !== undefined && { from: this.#from }) });
    const [answer] = random.below(6) === 0 ? await Promise.all([send(), send()]) : [await send()];
    await this.#useSession(service, answer, bytesOf(payment.path));
  }

  /** The very request, or with another account named in it. */
  #sentAgain(payment: ShownPayment, service: ServiceName): Call {
    const { random, world } = this.#options;
    const named = random.below(3);
    const address = named === 0 ? random.pick(this.#pool.addresses) : this.#anyBystander();
    const bare = payment.path.replace(/&address=[^&]*/, '');
    const separator = bare.includes('?') ? '&' : '?';
    return {
      base: world.services[service].urls[payment.server] ?? '',
      method: payment.method,
      path: named === 2 ? payment.path : `${bare}${separator}address=${address}`,
      headers: {
        [payment.header]: payment.value,
        ...(payment.body && { 'content-type': 'application/octet-stream' }),
      },
      ...(payment.body && { body: payment.body }),
    };
  }

  /** The payment with another request. */
  async #elsewhere(payment: ShownPayment, service: ServiceName): Promise<Call> {
    const { random, world } = this.#options;
    const { upload = '', payment: base = '' } = world.services[service].urls;
    const headers = { [payment.header]: payment.value, 'content-type': 'application/octet-stream' };
    const address = this.#anyBystander();
    switch (random.below(5)) {
      case 0:
        return {
          base,
          method: 'GET',
          path: `/v1/x402/top-up?type=credits&qty=1&address=${random.pick(this.#pool.addresses)}`,
          headers,
        };
      case 1:
        return {
          base: upload,
          method: 'POST',
          path: '/v1/x402/upload/unsigned',
          headers,
          body: random.bytes(200),
        };
      case 2: {
        const item = await this.#actor().item(random.bytes(300));
        return {
          base: upload,
          method: 'POST',
          path: random.pick(['/v1/tx', '/v1/x402/upload/signed']),
          headers,
          body: item.bytes,
        };
      }
      case 3: {
        const bytes = bytesOf(payment.path) ?? 20_000;
        const path = `/v1/chunks/arweave/-1/-1?totalBytes=${bytes}&address=${address}`;
        return { base: upload, method: 'GET', path, headers };
      }
      default: {
        const bytes = 1_000 + random.below(20_000);
        return { base: upload, method: 'GET', path: `/v1/chunks/arweave/-1/-1?totalBytes=${bytes}`, headers };
      }
    }
  }

  /** An upload in parts that was opened is used for the stranger's own data. */
  async #useSession(
    service: ServiceName,
    answer: Answer | undefined,
    bytes: number | undefined,
  ): Promise<void> {
    const session = member(answer?.json, 'id');
    if (answer?.status !== 200 || typeof session !== 'string' || bytes === undefined) return;
    this.#remember(this.#pool.sessions, session);
    const { random } = this.#options;
    const actor = this.#actors[1] ?? this.#actor();
    const item = await actor.item(random.bytes(Math.max(1, bytes - 300)));
    const payer = random.below(3) === 0 ? { 'x-paid-by': this.#anyBystander() } : {};
    await actor.finishSession(service, session, item.bytes, payer);
  }

  /** Dollars of its own, with a bystander named as the account. */
  async #paymentFor(): Promise<void> {
    const { random, knowledge } = this.#options;
    const actor = this.#actor();
    const service = this.#service();
    const victim = this.#anyBystander();
    const bytes = 15_000 + random.below(20_000);
    const path = `/v1/chunks/arweave/-1/-1?totalBytes=${bytes}&address=${victim}`;
    const asked = await actor.asked(service, 'upload', 'GET', path);
    if (asked === undefined) return;
    const payment = actor.payment(service, asked);
    const { upload = '' } = this.#options.world.services[service].urls;
    const headers = { [payment.header]: payment.value };
    const answer = await this.#options.send({ base: upload, method: 'GET', path, headers });
    knowledge.payments.add({
      who: 'the stranger',
      service,
      server: 'upload',
      method: 'GET',
      path,
      ...payment,
    });
    await this.#useSession(service, answer, bytes);
  }

  /** A card payment in the name of a bystander, whose money then goes back. */
  async #cardFor(): Promise<void> {
    const { random, world } = this.#options;
    const service = this.#service();
    const bystander = random.pick(this.#options.bystanders);
    const { address, kind } = bystander.wallet;
    if (random.below(3) > 0) return this.#disputedName(service, address, {});
    const actor = this.#actor();
    const path = `/v1/top-up/payment-intent/${address}/usd/1000?destinationAddressType=${kind}`;
    const answer = await actor.get(service, 'payment', path);
    const quote = member(answer.json, 'topUpQuote', 'topUpQuoteId');
    const intent = member(answer.json, 'paymentSession', 'id');
    if (typeof quote !== 'string' || typeof intent !== 'string') return;
    this.quotes.add(quote);
    await actor.payByCard(service, quote, intent, random.pick(['pm_card_visa', 'pm_card_createDispute']));
    const state = world.services[service].ledger
      .prepare('SELECT state FROM card_quotes WHERE id = ?')
      .get(quote);
    if (state?.state === 'paid' && random.below(2) === 0) await actor.refundCard(service, quote, intent);
  }

  /** More undernames for its own name, in somebody else's name, with a card whose money goes back. */
  async #disputedName(
    service: ServiceName,
    address: string,
    headers: SignedHeaders,
    elsewhere = false,
  ): Promise<void> {
    const { random } = this.#options;
    const actor = this.#actor();
    const name = this.#ownName();
    const what = `increase-undername-limit/${name}?increaseQty=${1 + random.below(3)}`;
    const answer = await actor.get(
      service,
      'payment',
      `/v1/arns/quote/payment-intent/${address}/usd/${what}`,
      headers,
    );
    const nonce = member(answer.json, 'purchaseQuote', 'nonce');
    const intent = member(answer.json, 'paymentSession', 'id');
    if (typeof nonce !== 'string' || typeof intent !== 'string') return;
    this.quotes.add(nonce);
    if (elsewhere) this.signedElsewhere.add(nonce);
    const { ledger } = this.#options.world.services[service];
    const status = ledger.prepare('SELECT status FROM arns_purchase WHERE nonce = ?');
    const delivered = () => status.get(nonce)?.status !== 'PENDING';
    if (random.below(2) === 0) {
      await actor.payByCard(service, nonce, intent, 'pm_card_createDispute');
    } else {
      await actor.payByCard(service, nonce, intent, 'pm_card_visa');
      await untilSoon(delivered);
      await actor.refundCard(service, nonce, intent);
    }
    await untilSoon(delivered);
  }

  /** An item that a bystander signed and published, brought again. */
  async #publishedItem(): Promise<void> {
    const { random, knowledge } = this.#options;
    const item = this.#recent(knowledge.items.all);
    if (item === undefined) return;
    const actor = this.#actor();
    const service = random.below(3) > 0 ? other(item.service) : item.service;
    const bytes = random.below(4) === 0 ? random.mangle(item.bytes) : item.bytes;
    const payer = random.below(4) === 0 ? { 'x-paid-by': this.#anyBystander() } : {};
    const type = { 'content-type': 'application/octet-stream' };
    if (random.below(5) === 0) {
      const begun = await actor.get(service, 'upload', '/v1/chunks/arweave/-1/-1');
      const session = member(begun.json, 'id');
      if (typeof session === 'string') await actor.finishSession(service, session, bytes, payer);
      return;
    }
    const path = random.pick([
      '/v1/tx',
      '/tx',
      '/v1/tx/arweave',
      '/v1/tx/solana',
      '/v1/tx/kyve',
      '/v1/x402/upload/signed',
    ]);
    await actor.post(service, 'upload', path, bytes, { ...type, ...payer });
  }

  /** The message of an item as the nonce of a request: a wallet that signs text signs both alike. */
  async #itemAsSignature(): Promise<void> {
    const { random, knowledge } = this.#options;
    const item = this.#recent(knowledge.items.all);
    const parsed = item === undefined ? 'truncated' : parseItem(item.bytes);
    if (typeof parsed === 'string') return;
    const message = itemMessage(parsed);
    const { header } = parsed;
    const headers = {
      'x-nonce': random.pick([
        message.toString('hex'),
        message.toString('hex'),
        message.toString('base64url'),
        message.toString('latin1').replace(/[^\x20-\x7e]/g, '?'),
      ]),
      'x-public-key': header.owner.toString('base64url'),
      'x-signature': header.signature.toString('base64url'),
      ...(random.below(3) > 0 && { 'x-signature-type': String(random.pick([1, 2, 3, 4, 4])) }),
    };
    const actor = this.#actor();
    const service = this.#service();
    if (random.below(3) === 0) {
      await actor.act(service, 'increase-undername-limit', this.#ownPurchase('increase-undername-limit'), {
        headers,
      });
      return;
    }
    const path = random.pick(['/v1/account/payments', '/v1/balance', '/v1/x402/top-up?type=credits&qty=1']);
    await actor.get(service, 'payment', path, headers);
  }

  /** Reports of chain payments: those of bystanders, and its own that name somebody. */
  async #chainPayment(): Promise<void> {
    const { random, knowledge, world, bystanders } = this.#options;
    const actor = this.#actor();
    const service = this.#service();
    const kind = random.below(10);
    if (kind < 5) {
      const known = this.#recent(knowledge.chainPayments.all);
      const token = random.pick([
        known?.token ?? 'arweave',
        'arweave',
        'solana',
        'base-usdc',
        'base-eth',
        'ed25519',
      ]);
      if (known !== undefined) await actor.report(service, token, known.id);
    } else if (kind < 8) {
      // A smart wallet's payment is one of several things in a transaction that somebody else sends.
      const payer = random.pick(bystanders).wallet.dollars.address;
      const to = world.services[service].wallets['base-usdc'] ?? '';
      const hash = `0x${random.bytes(32).toString('hex')}`;
      const note = `turboCreditDestinationAddress=${random.pick(this.#pool.addresses)}`;
      const from = this.wallets[1]?.dollars.address ?? '';
      const padding = random.pick([68, 4, 0, 200]);
      world.evm.mine({
        hash,
        from,
        to: random.pick([baseUsdc, '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789']),
        value: 0n,
        input: Buffer.concat([random.bytes(padding), Buffer.from(note)]),
        transfers: [{ from: payer, to, value: 1_000_000n }],
      });
      await actor.report(service, 'base-usdc', hash);
    } else if (kind === 8) {
      const id = await actor.sendSol(service, oneSol / 100n, this.#anyBystander());
      await actor.report(service, 'solana', id);
    } else {
      await actor.report(service, 'base-usdc', actor.sendUsdc(service, 1_000n, this.#anyBystander()));
    }
  }

  /** Less than was asked for, and served all the same. */
  async #tooSmall(): Promise<void> {
    const { random } = this.#options;
    const actor = this.#actor();
    const service = this.#service();
    const share = BigInt(95 + random.below(5));
    const item = await actor.item(random.bytes(9_000));
    const [server, method, path, body] = random.pick([
      ['payment', 'GET', '/v1/x402/top-up?type=bytes&qty=10000000', undefined],
      ['upload', 'POST', '/v1/x402/upload/signed', item.bytes],
      ['upload', 'POST', '/v1/x402/upload/unsigned', random.bytes(9_000)],
      ['upload', 'GET', '/v1/chunks/arweave/-1/-1?totalBytes=50000', undefined],
    ] as const);
    const answer = await actor.payWithDollars(service, server, method, path, body, share);
    const credited = member(answer.json, 'creditedWinc');
    // A top-up that credits what was paid gives nothing away; an upload for less does.
    if (answer.status === 200 && credited === undefined)
      this.#options.complain(`an upload was had for less than was asked (${share} %)`);
  }

  /** The open action of a bystander, ended or signed by somebody else. */
  async #openAction(): Promise<void> {
    const { random, knowledge } = this.#options;
    const nonce = this.#recent(knowledge.nonces.all);
    if (nonce === undefined) return;
    const actor = this.#actor();
    const service = this.#service();
    const shown = await actor.get(service, 'payment', `/v1/arns/actions/${nonce}`);
    const transaction = member(shown.json, 'transaction');
    const wire = typeof transaction === 'string' ? Buffer.from(transaction, 'base64') : random.bytes(300);
    const sent = random.pick([wire, random.mangle(wire), random.bytes(64)]);
    const body = JSON.stringify({ transaction: sent.toString('base64') });
    await actor.post(service, 'payment', `/v1/arns/actions/${nonce}/sign`, body, {
      'content-type': 'application/json',
    });
  }

  /** Its own uploads and actions, to be paid by others. */
  async #creditsOfOthers(): Promise<void> {
    const { random } = this.#options;
    const actor = this.#actor();
    const service = this.#service();
    const victims = [this.#anyBystander(), this.#anyBystander()];
    if (random.below(2) === 0) {
      const item = await actor.item(random.bytes(500), this.#oddTags(victims[0] ?? ''));
      const header = random.pick([
        victims.join(','),
        victims[0] ?? '',
        (victims[0] ?? '').toLowerCase(),
        ` ${victims[0]} , x`,
      ]);
      await actor.upload(service, item, { 'x-paid-by': header });
      return;
    }
    const action = random.pick(['increase-undername-limit', 'buy-name']);
    const paidBy = random.pick([victims, victims.join(','), victims[0] ?? '']);
    await actor.act(service, action, { ...this.#ownPurchase(action), paidBy });
  }

  /** Tags that lend or take back, which count for the signer alone. */
  #oddTags(victim: string): { name: string; value: string }[] {
    const { random } = this.#options;
    const tags = [
      { name: 'x-approve-payment', value: victim },
      { name: 'x-amount', value: random.pick(['1', '1000000', '-5', '0x10', '1e3']) },
      { name: 'x-delete-payment-approval', value: victim },
      { name: 'x-paid-by', value: victim },
      { name: 'X-Approve-Payment', value: victim },
    ];
    return tags.filter(() => random.below(3) === 0);
  }

  /** Headers with which a request might pass for somebody else's. */
  async #anyHeaders(service: ServiceName): Promise<{ headers: SignedHeaders; reads: string | undefined }> {
    const { random, knowledge } = this.#options;
    const headers: Record<string, string> = {};
    let reads: string | undefined;
    const shown = this.#recent(knowledge.signatures.all);
    const kind = random.below(10);
    if (kind < 3 && shown !== undefined) {
      Object.assign(headers, random.below(3) === 0 ? this.#respellSignature(shown.headers) : shown.headers);
      reads = this.#mayRead(shown, service);
    } else if (kind < 6) {
      Object.assign(headers, await this.#ownSignature());
    }
    const proof = this.#recent(knowledge.proofs.all);
    if (random.below(10) === 0 && proof !== undefined) Object.assign(headers, proof.headers);
    const payment = this.#recent(knowledge.payments.all);
    if (random.below(8) === 0 && payment !== undefined) headers[payment.header] = payment.value;
    if (random.below(8) === 0) headers['x-paid-by'] = this.#anyBystander();
    if (random.below(12) === 0) headers.authorization = random.pick(['Bearer x', 'Basic eDp4', 'Bearer ']);
    if (random.below(12) === 0) headers['x-forwarded-for'] = '127.0.0.1, 10.0.0.1';
    return { headers, reads };
  }

  /** Made once each: reading takes the same signature again, and so does an action that was made with it. */
  async #ownSignature(): Promise<SignedHeaders> {
    const { random } = this.#options;
    if (this.#signatures.length < 24) {
      const actor = random.pick(this.#actors);
      this.#signatures.push(await signedHeaders(actor.wallet, actor.uuid()));
    }
    return random.pick(this.#signatures);
  }

  #anyBody(
    route: Route,
    headers: SignedHeaders,
    fixed: Readonly<Record<string, string>> = {},
  ): Partial<Call> {
    const { random, knowledge } = this.#options;
    if (route.method === 'GET' || route.method === 'HEAD') return {};
    if (route.server === 'upload' && random.below(3) > 0) {
      const item = this.#recent(knowledge.items.all);
      const bytes =
        item !== undefined && random.below(2) === 0 ? item.bytes : random.bytes(random.below(400));
      return { body: bytes, headers: { ...headers, 'content-type': 'application/octet-stream' } };
    }
    const made: unknown = JSON.parse(this.#generator.body(route));
    const body = Array.isArray(made) ? made : { ...Object(made), ...fixed };
    return { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
  }

  /** The same key, signature or nonce in another spelling. */
  #respellSignature(headers: SignedHeaders): SignedHeaders {
    const { random } = this.#options;
    const { 'x-nonce': nonce = '', 'x-public-key': key = '', 'x-signature': signature = '' } = headers;
    const plain = (text: string) => Buffer.from(text, 'base64url').toString('base64');
    switch (random.below(8)) {
      case 0:
        return { ...headers, 'x-nonce': nonce.toUpperCase() };
      case 1:
        return { ...headers, 'x-nonce': `${nonce} ` };
      case 2:
        return { ...headers, 'x-public-key': plain(key) };
      case 3:
        return { ...headers, 'x-signature': plain(signature) };
      case 4:
        return { ...headers, 'x-public-key': `0x${Buffer.from(key, 'base64url').toString('hex')}` };
      case 5:
        return { 'x-nonce': nonce, 'x-public-key': key, 'x-signature': signature };
      case 6:
        return { ...headers, 'x-nonce': nonce.slice(1), 'x-signature-type': String(1 + random.below(4)) };
      default:
        // The other signature of the same message that the curve allows, where it is one.
        return { ...headers, 'x-signature': flipRecovery(signature) };
    }
  }

  /** Whom a shown signature may still read for: the published client repeats its headers when it tries again. */
  #mayRead(shown: ShownSignature, service: ServiceName): string | undefined {
    return service === shown.service || !this.#options.world.bound ? shown.who : undefined;
  }

  #ownPurchase(action: string): Record<string, unknown> {
    const owner = this.wallets[2]?.owner.address ?? '';
    switch (action) {
      case 'buy-name':
        return { name: this.#freshName(), ownerAddress: owner, type: 'lease', years: 1 };
      case 'transfer': {
        const { random, knowledge } = this.#options;
        const token = this.#recent(knowledge.tokens.all);
        return {
          antId: token?.antId ?? '',
          ownerAddress: token?.owner ?? owner,
          target: random.pick([owner, target]),
        };
      }
      default:
        return { name: this.#ownName(), increaseQty: 1 };
    }
  }

  #ownName(): string {
    const { random } = this.#options;
    return this.#pool.names.length === 0 ? 'nobody' : random.pick(this.#pool.names);
  }

  #freshName(): string {
    this.#count += 1;
    return `mallory-${this.#count}`;
  }

  /** Mostly one whose key signs quickly: an RSA signature takes as long as several requests. */
  #actor(): Actor {
    const { random } = this.#options;
    return random.pick(random.below(8) === 0 ? this.#actors : this.#actors.slice(1));
  }

  #service(): ServiceName {
    return this.#options.random.below(4) === 0 ? 'there' : 'here';
  }

  #anyBystander(): string {
    const { random, bystanders } = this.#options;
    return random.pick(bystanders).wallet.address;
  }

  #addressOf(label: string): string {
    return (
      this.#options.bystanders.find(({ wallet }) => wallet.label === label)?.wallet.address ??
      this.#anyBystander()
    );
  }

  /** Mostly what was shown last: much is worth something only for a while. */
  #recent<T>(list: readonly T[]): T | undefined {
    const { random } = this.#options;
    if (list.length === 0) return undefined;
    return random.pick(random.below(2) === 0 ? list.slice(-12) : list);
  }

  #remember(list: string[], text: string): void {
    list.push(text);
    if (list.length > 40) list.shift();
  }

  /** Nothing of one scenario is left for the next. */
  reset(): void {
    this.#allowed = undefined;
    this.#from = undefined;
  }
}

/** Not those that only say what there is. */
function isWorthAsking({ method }: KnownRoute): boolean {
  return !['OPTIONS', 'TRACE', 'QUERY'].includes(method);
}

/** Bytes that an upload in parts was paid for. */
function bytesOf(path: string): number | undefined {
  const bytes = /[?&]totalBytes=([0-9]+)/.exec(path)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/**
 * The last field of a proof and its nonce are signed without anything between them: what ends one may begin the
 * other.
 */
function moveBorder(random: SeededRandom, proof: ShownProof): Pick<ShownProof, 'body' | 'headers'> {
  const nonce = proof.headers['x-owner-nonce'] ?? '';
  const field =
    proof.action === 'set-record'
      ? 'ttlSeconds'
      : proof.action === 'transfer-record'
        ? 'target'
        : 'undername';
  const value = String(proof.body[field] ?? (field === 'ttlSeconds' ? '3600' : '@'));
  const shift = 1 + random.below(2);
  const moved =
    random.below(4) > 0
      ? { value: value.slice(0, -shift), nonce: value.slice(-shift) + nonce }
      : { value: value + nonce.slice(0, shift), nonce: nonce.slice(shift) };
  const typed = field === 'ttlSeconds' && /^[0-9]+$/.test(moved.value) ? Number(moved.value) : moved.value;
  return {
    body: { ...proof.body, [field]: typed },
    headers: { ...proof.headers, 'x-owner-nonce': moved.nonce },
  };
}

/** 0 and 1 instead of 27 and 28, and back. */
function flipRecovery(signature: string): string {
  const bytes = Buffer.from(signature, 'base64url');
  const last = bytes.at(-1) ?? 0;
  if (bytes.length === 65) bytes[64] = last >= 27 ? last - 27 : last + 27;
  return bytes.toString('base64url');
}

async function untilSoon(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 2));
}

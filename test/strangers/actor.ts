/** Somebody with a wallet who uses a service as published clients do. Each method is one thing a person wants. */

import { sha256 } from '../../src/formats/arweave/merkle.ts';
import { encodeBase64url } from '../../src/formats/base64url.ts';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { lamportsPerSol } from '../../src/formats/solana/programs.ts';
import { memo, transferLamports } from '../../src/formats/solana/system.ts';
import { signatureOf, signed as signedTransaction } from '../../src/localnet/solana/testing.ts';
import { signPayment } from '../../src/localnet/x402/testing.ts';
import type { ArweaveKey } from '../../src/wallets/arweave/rsa.ts';
import { signItem } from '../../src/wallets/data-items/signer.ts';
import { eventually } from '../support/eventually.ts';
import { TestWallet } from '../support/local-arweave.ts';
import { ownerHeaders, ownerSigned } from '../support/names-bench.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { type Answer, type Call, member, textOf } from './calls.ts';
import { baseUsdc, transferCall } from './evm-chain.ts';
import { type BoundTo, boundProof, type SignedHeaders, signedHeaders, type Wallet } from './wallets.ts';
import type { ServiceName, World } from './world.ts';

export type Tags = readonly { readonly name: string; readonly value: string }[];
export type Fields = Readonly<Record<string, unknown>>;

/** Told of what an actor shows, before it is sent. */
export interface Shows {
  signature?(service: ServiceName, headers: SignedHeaders, purpose: 'read' | 'act', where: string): void;
  proof?(service: ServiceName, action: string, body: Fields, headers: SignedHeaders): void;
  payment?(service: ServiceName, payment: SentPayment): void;
  item?(service: ServiceName, id: string, bytes: Buffer): void;
  /** What an answer says that is meant for nobody else. */
  secret?(text: string, what: string): void;
}

export interface SentPayment {
  readonly server: 'payment' | 'upload';
  readonly method: string;
  readonly path: string;
  readonly header: 'x-payment' | 'payment-signature';
  readonly value: string;
  readonly body?: Buffer;
}

/** A card that is charged, and one whose holder disputes the charge at once. */
export type Card = 'pm_card_visa' | 'pm_card_createDispute';

export class Actor {
  readonly wallet: Wallet;
  readonly world: World;
  readonly random: SeededRandom;
  readonly #shows: Shows;
  readonly #send: (call: Call) => Promise<Answer>;

  constructor(
    world: World,
    wallet: Wallet,
    random: SeededRandom,
    shows: Shows = {},
    send: (call: Call) => Promise<Answer> = (call) => world.send(call),
  ) {
    this.world = world;
    this.wallet = wallet;
    this.random = random;
    this.#shows = shows;
    this.#send = send;
  }

  uuid(): string {
    const hex = this.random.bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  /** As the published client signs to read. */
  readingNonce(): string {
    return this.random.bytes(16).toString('hex');
  }

  get(service: ServiceName, server: string, path: string, headers: SignedHeaders = {}): Promise<Answer> {
    return this.#send({ base: this.#base(service, server), method: 'GET', path, headers });
  }

  post(
    service: ServiceName,
    server: string,
    path: string,
    body: Buffer | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.#send({ base: this.#base(service, server), method: 'POST', path, headers, body });
  }

  /** A signed reading request of the payment server. */
  async read(service: ServiceName, path: string, nonce: string): Promise<Answer> {
    const headers = await signedHeaders(this.wallet, nonce, this.#boundTo(service, 'GET', path, ''));
    this.#shows.signature?.(service, headers, 'read', `GET ${path}`);
    const answer = await this.get(service, 'payment', path, headers);
    const token = String(answer.headers.authorization ?? '').replace(/^Bearer /, '');
    if (token !== '') this.#shows.secret?.(token, `the token of ${this.wallet.label}`);
    if (path.startsWith('/v1/account/payments')) this.#keepHistory(answer);
    return answer;
  }

  #keepHistory(answer: Answer): void {
    const payments = member(answer.json, 'payments');
    for (const payment of Array.isArray(payments) ? payments : []) {
      for (const field of ['receiptId', 'giftMessage']) {
        const value = member(payment, field);
        if (typeof value === 'string') this.#shows.secret?.(value, `${field} of ${this.wallet.label}`);
      }
    }
  }

  async item(data: Buffer, tags: Tags = []): Promise<{ readonly id: string; readonly bytes: Buffer }> {
    const bytes = await signItem({ data, tags, anchor: this.random.bytes(32) }, this.wallet.items);
    const signatureBytes = this.wallet.kind === 'arweave' ? 512 : this.wallet.kind === 'ethereum' ? 65 : 64;
    return { id: encodeBase64url(sha256(bytes.subarray(2, 2 + signatureBytes))), bytes };
  }

  async upload(
    service: ServiceName,
    item: { readonly id: string; readonly bytes: Buffer },
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    this.#shows.item?.(service, item.id, item.bytes);
    return this.post(service, 'upload', '/v1/tx', item.bytes, {
      'content-type': 'application/octet-stream',
      ...headers,
    });
  }

  async lend(service: ServiceName, to: string, amount: bigint, seconds?: number): Promise<Answer> {
    const tags = [
      { name: 'x-approve-payment', value: to },
      { name: 'x-amount', value: amount.toString() },
      ...this.#serviceTag(service),
      ...(seconds === undefined ? [] : [{ name: 'x-expires-seconds', value: String(seconds) }]),
    ];
    return this.upload(service, await this.item(this.random.bytes(40), tags));
  }

  async takeBack(service: ServiceName, from: string): Promise<Answer> {
    const tags = [{ name: 'x-delete-payment-approval', value: from }, ...this.#serviceTag(service)];
    return this.upload(service, await this.item(this.random.bytes(40), tags));
  }

  /** Where services demand it, a loan names the one that it is for. */
  #serviceTag(service: ServiceName): Tags {
    const { bound, services } = this.world;
    return bound ? [{ name: 'x-service-address', value: services[service].wallets.arweave ?? '' }] : [];
  }

  /** An action on a name, signed by the payer and, where its owner must prove it, by the owner. */
  async act(
    service: ServiceName,
    action: string,
    body: Fields,
    options: { readonly proven?: boolean; readonly nonce?: string; readonly headers?: SignedHeaders } = {},
  ): Promise<Answer> {
    const path = `/v1/arns/actions/${action}`;
    const text = JSON.stringify(body);
    const boundTo = this.#boundTo(service, 'POST', path, text);
    const headers =
      options.headers ?? (await signedHeaders(this.wallet, options.nonce ?? this.uuid(), boundTo));
    const proof = options.proven === true ? this.#proof(service, action, body) : {};
    this.#shows.signature?.(service, headers, 'act', `POST ${path}`);
    if (options.proven === true) this.#shows.proof?.(service, action, body, proof);
    return this.post(service, 'payment', path, text, {
      'content-type': 'application/json',
      ...headers,
      ...proof,
    });
  }

  /** Where services demand it, a signature is for one request to one of them. */
  #boundTo(service: ServiceName, method: string, path: string, body: string): BoundTo | undefined {
    const { bound, services } = this.world;
    return bound ? { service: services[service].wallets.arweave ?? '', method, path, body } : undefined;
  }

  #proof(service: ServiceName, action: string, body: Fields): SignedHeaders {
    const { bound, services } = this.world;
    if (!bound) return ownerHeaders(action, body, this.wallet.owner, this.uuid());
    return boundProof(
      this.wallet,
      services[service].wallets.arweave ?? '',
      proofLines(action, body),
      this.uuid(),
    );
  }

  /** The payer's headers for an action whose body is known. */
  signedAction(service: ServiceName, action: string, body: string): Promise<SignedHeaders> {
    const boundTo = this.#boundTo(service, 'POST', `/v1/arns/actions/${action}`, body);
    return signedHeaders(this.wallet, this.uuid(), boundTo);
  }

  /** Signs what an action hands out and returns it. */
  async sign(service: ServiceName, created: Answer): Promise<Answer> {
    const transaction = ownerSigned(textOf(created, 'transaction'), this.wallet.owner);
    const path = `/v1/arns/actions/${textOf(created, 'nonce')}/sign`;
    return this.post(service, 'payment', path, JSON.stringify({ transaction }), {
      'content-type': 'application/json',
    });
  }

  /** Pays a card session and waits until the service has heard what became of it. */
  async payByCard(service: ServiceName, quote: string, intent: string, card: Card): Promise<void> {
    const { stripe, ledger } = this.world.services[service];
    await stripe.paymentIntents.confirm(intent, { payment_method: card });
    const state = ledger.prepare('SELECT state FROM card_quotes WHERE id = ?');
    const ends = card === 'pm_card_visa' ? ['paid', 'failed'] : ['charged_back', 'failed'];
    await eventually('a card payment', () => ends.includes(String(state.get(quote)?.state)));
  }

  /** The holder of the card got the money back, without a dispute. */
  async refundCard(service: ServiceName, quote: string, intent: string): Promise<void> {
    const { stripe, ledger } = this.world.services[service];
    await stripe.refunds.create({ payment_intent: intent });
    const state = ledger.prepare('SELECT state FROM card_quotes WHERE id = ?');
    await eventually('a refund', () => state.get(quote)?.state === 'refunded');
  }

  /** Credits by card for a wallet, or for an email address; answers the quote and the payment. */
  async topUp(
    service: ServiceName,
    to: { readonly address: string; readonly type: string },
    cents: number,
    card: Card | undefined,
    query = '',
  ): Promise<{ readonly quote: string; readonly intent: string } | undefined> {
    const address = encodeURIComponent(to.address);
    const path = `/v1/top-up/payment-intent/${address}/usd/${cents}?destinationAddressType=${to.type}${query}`;
    const answer = await this.get(service, 'payment', path);
    if (answer.status !== 200) return undefined;
    const quote = textOf(answer, 'topUpQuote', 'topUpQuoteId');
    const intent = textOf(answer, 'paymentSession', 'id');
    this.#shows.secret?.(textOf(answer, 'paymentSession', 'client_secret'), 'the secret of a card session');
    if (card !== undefined) await this.payByCard(service, quote, intent, card);
    return { quote, intent };
  }

  /** A name by card; answers its nonce and the payment. */
  async buyByCard(
    service: ServiceName,
    address: string,
    what: string,
    card: Card,
  ): Promise<{ readonly nonce: string; readonly intent: string } | undefined> {
    const answer = await this.get(service, 'payment', `/v1/arns/quote/payment-intent/${address}/usd/${what}`);
    if (answer.status !== 200) return undefined;
    const nonce = textOf(answer, 'purchaseQuote', 'nonce');
    const intent = textOf(answer, 'paymentSession', 'id');
    await this.payByCard(service, nonce, intent, card);
    const status = this.world.services[service].ledger.prepare(
      'SELECT status FROM arns_purchase WHERE nonce = ?',
    );
    await eventually('a purchase by card', () => status.get(nonce)?.status !== 'PENDING');
    return { nonce, intent };
  }

  /** What a route asks for in dollars; undefined when it asks for nothing. */
  async asked(
    service: ServiceName,
    server: 'payment' | 'upload',
    method: string,
    path: string,
    body?: Buffer,
  ): Promise<bigint | undefined> {
    const answer = await this.#call(service, server, method, path, body, {});
    const amount =
      member(answer.json, 'maxAmountRequired') ?? member(answer.json, 'accepts', 0, 'maxAmountRequired');
    return answer.status === 402 && typeof amount === 'string' ? BigInt(amount) : undefined;
  }

  /** A signed dollar transfer to the service. */
  payment(service: ServiceName, value: bigint, version: 1 | 2 = 1): Pick<SentPayment, 'header' | 'value'> {
    const { paymentPayload } = signPayment({
      version,
      payTo: this.world.services[service].facilitator.payTo,
      value,
      nonce: `0x${this.random.bytes(32).toString('hex')}`,
      privateKey: this.wallet.dollars.privateKey,
    });
    return {
      header: version === 1 ? 'x-payment' : 'payment-signature',
      value: Buffer.from(JSON.stringify(paymentPayload)).toString('base64'),
    };
  }

  /** Asks what it costs, signs that, and sends the request with it. */
  async payWithDollars(
    service: ServiceName,
    server: 'payment' | 'upload',
    method: string,
    path: string,
    body?: Buffer,
    share = 100n,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const asked = await this.asked(service, server, method, path, body);
    if (asked === undefined) throw new Error(`${method} ${path} asks for no payment`);
    const part = (asked * share) / 100n;
    const value = share < 100n && part === asked ? asked - 1n : part;
    const payment = this.payment(service, value, this.random.below(4) === 0 ? 2 : 1);
    const sent = { ...headers, [payment.header]: payment.value };
    const answer = await this.#call(service, server, method, path, body, sent);
    // Once it is settled, its chain shows it; what was not taken is known to the service alone.
    if (answer.status === 200) {
      this.#shows.payment?.(service, { server, method, path, ...payment, ...(body && { body }) });
    }
    return answer;
  }

  /** Puts an item into a session and finishes it. */
  async finishSession(
    service: ServiceName,
    session: string,
    bytes: Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    await this.putPart(service, session, 0, bytes);
    return this.post(service, 'upload', `/v1/chunks/arweave/${session}/-1`, '', headers);
  }

  putPart(service: ServiceName, session: string, offset: number, bytes: Buffer): Promise<Answer> {
    return this.post(service, 'upload', `/v1/chunks/arweave/${session}/${offset}`, bytes, {
      'content-type': 'application/octet-stream',
    });
  }

  /** AR to the service, mined; answers the transaction's id. */
  async sendAr(
    service: ServiceName,
    key: ArweaveKey,
    winston: bigint,
    destination?: string,
  ): Promise<string> {
    const { arweave } = this.world;
    await arweave.get(`/mint/${key.address}/${winston * 2n}`);
    const transaction = await new TestWallet(key.privateKey).transaction(arweave, {
      target: this.world.services[service].wallets.arweave ?? '',
      quantity: winston,
      tags:
        destination === undefined ? [] : [{ name: 'Turbo-Credit-Destination-Address', value: destination }],
    });
    await arweave.postTx(transaction);
    await arweave.text('/mine/2');
    return encodeBase64url(transaction.id);
  }

  /** SOL to the service; answers the transaction's signature. */
  async sendSol(service: ServiceName, lamports: bigint, destination?: string): Promise<string> {
    const { solana, services } = this.world;
    const { owner } = this.wallet;
    const to = services[service].wallets.solana ?? '';
    await solana.fund(owner.address);
    const { slots } = solana.ledger;
    const note = destination === undefined ? [] : [memo(`turboCreditDestinationAddress=${destination}`)];
    const wire = signedTransaction(
      slots.blockhash(slots.now().slot),
      // Two alike in one block would be the same one.
      [
        transferLamports(owner.address, parseSolanaAddress(to), lamports),
        transferLamports(owner.address, owner.address, BigInt(this.random.below(10 ** 9))),
        ...note,
      ],
      owner,
    );
    await solana.ledger.submit(wire, true);
    return signatureOf(wire);
  }

  /** USDC of this wallet to the service on the EVM chain, sent by itself. */
  sendUsdc(service: ServiceName, value: bigint, destination?: string): string {
    const to = this.world.services[service].wallets['base-usdc'] ?? '';
    const note = destination === undefined ? '' : `turboCreditDestinationAddress=${destination}`;
    const { address } = this.wallet.dollars;
    const hash = `0x${this.random.bytes(32).toString('hex')}`;
    this.world.evm.mine({
      hash,
      from: address,
      to: baseUsdc,
      value: 0n,
      input: transferCall(to, value, note),
      transfers: [{ from: address, to, value }],
    });
    return hash;
  }

  report(service: ServiceName, token: string, id: string): Promise<Answer> {
    return this.post(service, 'payment', `/v1/account/balance/${token}`, JSON.stringify({ tx_id: id }), {
      'content-type': 'application/json',
    });
  }

  #call(
    service: ServiceName,
    server: string,
    method: string,
    path: string,
    body: Buffer | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const type = body === undefined ? {} : { 'content-type': 'application/octet-stream' };
    return this.#send({
      base: this.#base(service, server),
      method,
      path,
      headers: { ...type, ...headers },
      ...(body && { body }),
    });
  }

  #base(service: ServiceName, server: string): string {
    return this.world.services[service].urls[server] ?? '';
  }
}

export const oneSol = lamportsPerSol;

/** The lines that an owner's proof of an action covers, in order. */
function proofLines(action: string, body: Fields): string[] {
  const fields: Fields = { undername: '@', ttlSeconds: 3_600, ...body };
  const names: Readonly<Record<string, readonly string[]>> = {
    'set-record': ['antId', 'undername', 'transactionId', 'ttlSeconds'],
    'set-record-metadata': [
      'antId',
      'undername',
      'displayName',
      'recordLogo',
      'recordDescription',
      'recordKeywords',
    ],
  };
  const lines = (names[action] ?? ['antId', 'undername']).map((name) => String(fields[name] ?? '\u0000'));
  return ['arns', action, ...lines];
}

/**
 * Somebody who pays with dollars by x402: for credits, for an item, for an upload in parts. Sends a payment again when no
 * answer came, and later shows old ones again, as anybody could who read them on their chain.
 */
import { parseItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { encodeHeader } from '../../../src/formats/x402/testing.ts';
import { signPayment } from '../../../src/localnet/x402/testing.ts';
import type { HttpAnswer } from '../../../src/outside/http.ts';
import { signItem, solanaSigner } from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey } from '../../../src/wallets/testing/keys.ts';
import { type Asked, minute } from '../person.ts';
import type { Life } from '../process.ts';
import type { Said } from '../restorer.ts';
import { Customer, type CustomerOptions } from './customer.ts';
import { payee } from './installation.ts';

interface Shown {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface X402Promise extends Said {
  readonly nonce: string;
  /** What the answer said was credited, or the item that has a receipt. */
  readonly winc?: bigint;
  readonly item?: string;
}

const pauseMs = 10 * minute;
const chunkSize = 5 * 1024 * 1024;

export class X402Payer extends Customer {
  readonly promises: X402Promise[] = [];
  /** Requests by which uploads in parts were begun, and as what. */
  readonly #sessions = new Map<string, { readonly shown: Shown; readonly id: string }>();
  readonly #key;
  readonly #signer;
  readonly #bystander: string;
  #count = 0;

  constructor(options: CustomerOptions & { readonly bystander: string }) {
    super(options);
    this.#key = ethereumTestKey(options.name);
    this.#signer = solanaSigner(ed25519TestKey(options.name));
    this.#bystander = options.bystander;
  }

  readonly program = (life: Life): Promise<void> =>
    this.live(life, pauseMs, async () => {
      const kind = this.random.below(8);
      if (kind < 3 || this.forgets) await this.#topUp(life);
      else if (kind < 5) await this.#uploadItem(life);
      else if (kind < 7) await this.#uploadInParts(life);
      else await this.#showAgain(life);
    });

  /** What is asked for a request, as a payment that was not shown yet; undefined where nobody answers. */
  async #paymentFor(life: Life, address: () => string, asked: Asked) {
    const answer = await this.insist(life, address, asked, { tries: 3 });
    if (answer?.status !== 402) return undefined;
    const accepts = memberOf(tryParseJson(answer.body.toString()), 'accepts');
    const [offer]: unknown[] = Array.isArray(accepts) ? accepts : [];
    const value = BigInt(textOf(offer, 'maxAmountRequired') ?? '0');
    if (value === 0n) throw new Error(`no price: ${answer.body.toString().slice(0, 200)}`);
    this.#count += 1;
    const nonce = `0x${this.random.bytes(32).toString('hex')}`;
    const { paymentPayload } = signPayment({
      ...{ payTo: payee, network: 'base', privateKey: this.#key, value, nonce },
      validBefore: BigInt(Math.floor(life.now() / 1_000) + 300),
    });
    return { nonce, headers: { 'x-payment': encodeHeader(paymentPayload) } };
  }

  async #topUp(life: Life): Promise<void> {
    const to = this.random.below(3);
    const address = to === 0 ? this.wallet.address : to === 1 ? this.#bystander : undefined;
    const path = `/v1/x402/top-up?type=credits&qty=${this.random.between(1, 5)}${address === undefined ? '' : `&address=${address}`}`;
    const pay = () => this.payment();
    const payment = await this.#paymentFor(life, pay, { path });
    if (payment === undefined) return;
    const { nonce, headers } = payment;
    const answer = await this.insist(life, pay, { path, headers }, { isOver: isSettled });
    if (answer?.status !== 200) return this.tell(`was refused a payment of dollars: ${answer?.status}`);
    const winc = BigInt(creditedIn(answer));
    this.promises.push({ nonce, winc, askedAt: answer.askedAt, at: life.world.time });
    this.tell(`bought ${winc} winc with dollars`);
    if (this.random.below(3) > 0) return;
    const again = await this.ask(this.payment(), { path, headers });
    if (again?.status === 200 && BigInt(creditedIn(again)) !== winc)
      this.world.broken(`the same payment bought ${winc}, and then ${creditedIn(again)}`);
  }

  async #item(): Promise<{ readonly id: string; readonly bytes: Buffer }> {
    const anchor = Buffer.from(`${this.process.name} ${this.#count++}`.padStart(32, '0'));
    const bytes = await signItem(
      { data: this.random.bytes(this.random.between(10, 9_000)), anchor },
      this.#signer,
    );
    const header = parseItemHeader(bytes);
    if (typeof header === 'string') throw new Error(header);
    return { id: header.id, bytes };
  }

  async #uploadItem(life: Life): Promise<void> {
    const { id, bytes } = await this.#item();
    const asked = {
      path: '/v1/x402/upload/signed',
      method: 'POST',
      body: bytes,
      headers: { 'content-type': 'application/octet-stream' },
    } as const;
    const to = () => this.upload();
    const payment = await this.#paymentFor(life, to, asked);
    if (payment === undefined) return;
    const headers = { ...asked.headers, ...payment.headers };
    const answer = await this.insist(life, to, { ...asked, headers }, { isOver: isSettled });
    if (answer?.status !== 200) return this.tell(`could not upload with dollars: ${answer?.status}`);
    this.promises.push({ nonce: payment.nonce, item: id, askedAt: answer.askedAt, at: life.world.time });
    this.tell(`uploaded ${id.slice(0, 6)} with dollars`);
  }

  async #uploadInParts(life: Life): Promise<void> {
    const { id, bytes } = await this.#item();
    const to = () => this.upload();
    const address = this.random.below(2) === 0 ? `&address=${this.#bystander}` : '';
    const path = `/v1/chunks/solana/-1/-1?chunkSize=${chunkSize}&totalBytes=${bytes.length}${address}`;
    const payment = await this.#paymentFor(life, to, { path });
    if (payment === undefined) return;
    const key =
      this.random.below(2) === 0 ? { 'idempotency-key': `a-long-name-of-a-request-${this.#count}` } : {};
    const shown: Shown = { path, headers: { ...payment.headers, ...key } };
    const begun = await this.insist(life, to, shown, { isOver: isSettled });
    const session = begun && this.#begun(begun, payment.nonce, shown);
    if (session === undefined) return this.tell(`could not begin an upload in parts: ${begun?.status}`);
    if (this.random.below(4) === 0) return;
    const part = await this.insist(life, to, {
      path: `/v1/chunks/solana/${session}/0`,
      method: 'POST',
      body: bytes,
      headers: { 'content-type': 'application/octet-stream' },
    });
    if (part?.status !== 200) return;
    const ended = await this.insist(life, to, { path: `/v1/chunks/solana/${session}/-1`, method: 'POST' });
    if (ended?.status !== 200) return;
    this.promises.push({ nonce: payment.nonce, item: id, askedAt: ended.askedAt, at: life.world.time });
    this.tell(`uploaded ${id.slice(0, 6)} in parts with dollars`);
  }

  /** The upload that a payment began; there is one, whoever asks and however often. */
  #begun(answer: HttpAnswer, nonce: string, shown: Shown): string | undefined {
    if (answer.status !== 200) return undefined;
    const id = textOf(tryParseJson(answer.body.toString()), 'id') ?? '';
    const before = this.#sessions.get(nonce);
    if (before !== undefined && before.id !== id)
      this.world.broken(`one payment began two uploads, ${before.id} and ${id}`);
    this.#sessions.set(nonce, { shown, id });
    return id;
  }

  /** A payment that began an upload before, maybe for somebody else now. */
  async #showAgain(life: Life): Promise<void> {
    const known = [...this.#sessions];
    if (known.length === 0) return this.#uploadInParts(life);
    const [nonce, { shown }] = this.random.pick(known);
    const answer = await this.ask(this.upload(), shown);
    if (answer !== undefined) this.#begun(answer, nonce, shown);
  }
}

const creditedIn = (answer: HttpAnswer): string =>
  textOf(tryParseJson(answer.body.toString()), 'creditedWinc') ?? '0';

/** Settled, or refused for good: a 402 may be the facilitator's, so the same payment is sent again. */
const isSettled = ({ status }: HttpAnswer): boolean =>
  status < 400 || (status < 500 && status !== 402 && status !== 409 && status !== 429);

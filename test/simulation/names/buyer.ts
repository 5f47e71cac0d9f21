/** Somebody who buys names, widens, extends and manages them, asks again when nothing is heard, and remembers every answer. */
import { randomUUID } from 'node:crypto';
import { memberOf, tryParseJson } from '../../../src/formats/json.ts';
import { type Keypair, keypairOf } from '../../../src/localnet/solana/genesis.ts';
import { type HttpAnswer, HttpClient } from '../../../src/outside/http.ts';
import { ownerHeaders, ownerSigned, payerHeaders } from '../../support/names-bench.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Calm } from '../calm.ts';
import { skewed } from '../faults.ts';
import type { Life, SimulatedProcess } from '../process.ts';

/** What the service said of an action, at the last. */
export interface ActionPromise {
  readonly nonce: string;
  readonly what: string;
  /** `refused`: nothing was done and nothing is charged, or what was charged is back. */
  told: 'nothing' | 'completed' | 'refused';
}

/** A name that somebody has, as far as all know. */
interface KnownName {
  readonly name: string;
  readonly antId: string;
  owner: Keypair;
}

/** What all who take part know of each other. */
export class Market {
  readonly names: KnownName[] = [];
  readonly people: readonly Keypair[];
  count = 0;

  constructor(random: SeededRandom, people: number) {
    this.people = Array.from({ length: people }, () => keypairOf(random.bytes(32)));
  }
}

interface BuyerOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly payer: Keypair;
  readonly market: Market;
  /** Of the service, any of which takes a request. */
  readonly urls: readonly string[];
  /** Of Solana, for who sends a transaction without the service. */
  readonly nodeUrls: readonly string[];
  readonly calm: Calm;
  readonly isDay: () => boolean;
  /** Milliseconds until the first purchase, and what it buys at once; then it goes about its day. */
  readonly opening: { readonly afterMs: number; readonly names: number };
}

const second = 1_000;
const minute = 60 * second;
/** Between two visits, on average. */
const pauseMs = 18 * minute;
const mostTries = 8;
const targets = [
  'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM',
  'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4',
];
const isAvoidable = /\(Custom, 0\)|AccountAlreadyInUse/;
const isRefund = /credits have been returned|was refunded/;

type Body = Readonly<Record<string, unknown>>;

interface Envelope {
  readonly nonce: string;
  readonly status: string;
  readonly transaction: string | undefined;
  readonly antId: string;
}

export class Buyer {
  readonly process: SimulatedProcess;
  readonly promises = new Map<string, ActionPromise>();
  readonly #options: BuyerOptions;
  readonly #http = new HttpClient({ timeoutMs: 60 * second, maxBytes: 256 * 1024 });

  constructor(options: BuyerOptions) {
    this.#options = options;
    this.process = options.process;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay, opening } = this.#options;
    await life.wait(opening.afterMs);
    await this.#together(opening.names, () => this.#buy(life, true));
    for (;;) {
      await life.idle(random, pauseMs);
      if (!isDay()) continue;
      // Some ask for several things at once.
      const count = random.below(4) === 0 ? random.between(2, 7) : 1;
      await this.#together(count, () => (random.below(3) === 0 ? this.#buy(life) : this.#manage(life)));
    }
  };

  async #together(count: number, act: () => Promise<void>): Promise<void> {
    await Promise.all(Array.from({ length: count }, act));
  }

  async #buy(life: Life, promptly = false): Promise<void> {
    const { random, market } = this.#options;
    market.count += 1;
    // Now and then two want the same name.
    const wanted = random.below(4) === 0 ? Math.max(1, market.count - random.below(4)) : market.count;
    const name = promptly ? `first-${market.count}` : `name-${wanted}`;
    const owner = random.pick(market.people);
    const isLease = random.below(3) > 0;
    const envelope = await this.#act(
      life,
      'buy-name',
      {
        name,
        ownerAddress: owner.address,
        ...(isLease ? { type: 'lease', years: random.between(1, 3) } : { type: 'permabuy' }),
        ...(random.below(2) === 0 && { signOrder: 'owner-first' }),
      },
      { signer: owner, promptly },
    );
    if (envelope?.status === 'completed') market.names.push({ name, antId: envelope.antId, owner });
  }

  async #manage(life: Life): Promise<void> {
    const { random, market } = this.#options;
    if (market.names.length === 0) return this.#buy(life);
    // The last ones more often, so that several are at the same name.
    const known = market.names[market.names.length - 1 - Math.floor(skewed(random, 0, market.names.length))];
    if (known === undefined) return;
    const { name, antId, owner } = known;
    const ownerAddress = owner.address;
    const undername = random.pick(['@', 'blog', 'shop']);
    switch (random.below(9)) {
      case 0:
      case 1:
        return void (await this.#act(life, 'extend-lease', { name, years: 1 }));
      case 2:
      case 3: {
        const increaseQty = random.between(1, 5);
        return void (await this.#act(life, 'increase-undername-limit', { name, increaseQty }));
      }
      case 4:
        return void (await this.#act(life, 'upgrade-name', { name }));
      case 5:
      case 6: {
        const body = { antId, ownerAddress, undername, transactionId: random.pick(targets), ttlSeconds: 900 };
        return void (await this.#act(life, 'set-record', body, { prover: owner }));
      }
      case 7: {
        const body = { antId, ownerAddress, target: random.pick(market.people).address };
        const action = random.pick(['add-controller', 'remove-controller']);
        return void (await this.#act(life, action, body, { signer: owner }));
      }
      default: {
        const next = random.pick(market.people);
        if (next === owner) return;
        const body = { antId, ownerAddress, target: next.address };
        const done = await this.#act(life, 'transfer', body, { signer: owner });
        if (done?.status === 'completed') known.owner = next;
      }
    }
  }

  /** Asks until it is answered, the same each time, and lets the owner sign where that is wanted. */
  async #act(
    life: Life,
    action: string,
    body: Body,
    who: { readonly signer?: Keypair; readonly prover?: Keypair; readonly promptly?: boolean } = {},
  ): Promise<Envelope | undefined> {
    const { payer, random } = this.#options;
    const nonce = randomUUID();
    const promise: ActionPromise = {
      nonce,
      what: `${action} ${String(body.name ?? body.antId)}`,
      told: 'nothing',
    };
    this.promises.set(nonce, promise);
    const headers = {
      'content-type': 'application/json',
      ...payerHeaders(payer, nonce),
      ...(who.prover && ownerHeaders(action, body, who.prover, randomUUID())),
    };
    for (let tried = 0; tried < mostTries; tried += 1) {
      const answer = await this.#ask(life, `/v1/arns/actions/${action}`, body, headers, promise);
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) {
        this.#requireReason(life, answer, promise);
        const envelope = this.#heard(life, answer, promise);
        if (envelope?.transaction === undefined || who.signer === undefined) return envelope;
        const ownerFirst = body.signOrder === 'owner-first';
        return this.#sign(life, envelope, who.signer, promise, {
          promptly: who.promptly === true,
          ownerFirst,
        });
      }
      await life.wait(skewed(random, second, 3 * minute));
    }
    this.process.tell(`gave up ${promise.what} (${short(nonce)})`);
    return undefined;
  }

  async #sign(
    life: Life,
    first: Envelope,
    owner: Keypair,
    promise: ActionPromise,
    { promptly, ownerFirst }: { readonly promptly: boolean; readonly ownerFirst: boolean },
  ): Promise<Envelope | undefined> {
    const { random } = this.#options;
    const kind = promptly
      ? 'prompt'
      : random.pick(['prompt', 'prompt', 'prompt', 'late', 'alone', 'twice', 'never']);
    if (kind === 'never') return undefined;
    await life.wait(kind === 'late' ? skewed(random, second, 20 * minute) : skewed(random, 100, 20 * second));
    let envelope = first;
    const { nonce } = first;
    const path = `/v1/arns/actions/${nonce}/sign`;
    const headers = { 'content-type': 'application/json' };
    for (let tried = 0; tried < mostTries; tried += 1) {
      if (envelope.transaction === undefined) return envelope;
      const transaction = ownerSigned(envelope.transaction, owner);
      // Who has all signatures may send it without the service.
      if (kind === 'alone') void this.#send(transaction).catch(() => {});
      if (kind === 'twice') void this.#ask(life, path, { transaction }, headers, promise);
      if (kind === 'alone' && tried === 0 && random.below(2) === 0) return undefined;
      const answer = await this.#ask(life, path, { transaction }, headers, promise);
      if (answer !== undefined && answer.status < 500) {
        if (ownerFirst) this.#requireReason(life, answer, promise);
        const heard = this.#heard(life, answer, promise, 'sign');
        if (heard?.transaction === undefined) return heard;
        envelope = heard;
      }
      await life.wait(skewed(random, second, minute));
    }
    return undefined;
  }

  async #send(transaction: string): Promise<void> {
    const { random, nodeUrls } = this.#options;
    await this.#http.postJson(random.pick(nodeUrls), {
      jsonrpc: '2.0',
      id: 1,
      method: 'sendTransaction',
      params: [transaction, { encoding: 'base64', skipPreflight: true }],
    });
  }

  async #ask(
    life: Life,
    path: string,
    body: Body,
    headers: Readonly<Record<string, string>>,
    { what, nonce }: ActionPromise,
  ): Promise<HttpAnswer | undefined> {
    const { random, urls, calm } = this.#options;
    const wasCalm = calm.isCalm;
    const answer = await this.#http
      .call(`${random.pick(urls)}${path}`, {
        method: 'POST',
        headers,
        body: Buffer.from(JSON.stringify(body)),
      })
      .catch(() => undefined);
    if (answer !== undefined && answer.status >= 500) {
      const text = answer.body.toString();
      this.process.tell(`is told ${answer.status} of ${what} (${short(nonce)}): ${text}`);
      if (wasCalm && calm.isCalm && isUntrue(answer.status, text))
        life.world.broken(`${what} (${short(nonce)}) is answered "${text}", and nothing is wrong`);
    }
    return answer;
  }

  /** That others were quicker with something that it can do without is no reason to refuse it. */
  #requireReason(life: Life, { status, body }: HttpAnswer, { what, nonce }: ActionPromise): void {
    if (status === 400 && this.#options.calm.isCalm && isAvoidable.test(body.toString()))
      life.world.broken(`${what} (${short(nonce)}) is refused with "${body}", and nothing is wrong`);
  }

  /** Writes down what an answer says, and that it does not take back what was said before. */
  #heard(life: Life, answer: HttpAnswer, promise: ActionPromise, about = 'create'): Envelope | undefined {
    const text = answer.body.toString();
    const { what, nonce } = promise;
    const told = (now: 'completed' | 'refused') => {
      this.process.tell(
        `${what} (${short(nonce)}) is ${now}${now === 'refused' ? `: ${text.slice(0, 160)}` : ''}`,
      );
      if (promise.told !== 'nothing' && promise.told !== now)
        life.world.broken(`${what} (${short(nonce)}) was ${promise.told}, and now is ${now}: ${text}`);
      promise.told = now;
    };
    if (answer.status !== 200) {
      if (answer.status === 404 && about === 'sign')
        life.world.broken(`${what} (${short(nonce)}) was made, and is not found`);
      if (about === 'create' || isRefund.test(text)) told('refused');
      else this.process.tell(`cannot sign ${what} (${short(nonce)}): ${text.slice(0, 160)}`);
      return undefined;
    }
    const envelope = envelopeOf(tryParseJson(text));
    if (envelope.status === 'completed') told('completed');
    if (envelope.status === 'failed' || envelope.status === 'expired') told('refused');
    return envelope;
  }
}

/** What cannot be when all nodes and processes work. */
export const isUntrue = (status: number, text: string): boolean =>
  status === 500 || /The name chain is unavailable|Database unavailable/.test(text);

function envelopeOf(value: unknown): Envelope {
  const transaction = memberOf(value, 'transaction');
  return {
    nonce: String(memberOf(value, 'nonce')),
    status: String(memberOf(value, 'status')),
    transaction: typeof transaction === 'string' ? transaction : undefined,
    antId: String(memberOf(value, 'antId')),
  };
}

export const short = (nonce: string): string => nonce.slice(0, 8);

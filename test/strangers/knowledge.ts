/**
 * What a stranger knows: everything that bystanders ever showed to any route, published, or left on a chain. What
 * they were answered is theirs alone and is kept apart, to be looked for in the stranger's answers.
 */
import type { SignedHeaders } from './wallets.ts';
import type { ServiceName } from './world.ts';

export interface ShownSignature {
  readonly who: string;
  readonly service: ServiceName;
  readonly headers: SignedHeaders;
  /** Made to read, or to act on a name. */
  readonly purpose: 'read' | 'act';
  /** Where it was shown, for people: `GET /v1/price/usd/1000`. */
  readonly where: string;
}

export interface ShownProof {
  readonly who: string;
  readonly service: ServiceName;
  readonly action: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: SignedHeaders;
}

/** A payment as it was sent; once it is settled, its chain shows it to everybody. */
export interface ShownPayment {
  readonly who: string;
  readonly service: ServiceName;
  readonly server: 'payment' | 'upload';
  readonly method: string;
  readonly path: string;
  readonly header: 'x-payment' | 'payment-signature';
  readonly value: string;
  readonly body?: Buffer;
}

export interface PublishedItem {
  readonly who: string;
  readonly service: ServiceName;
  readonly id: string;
  readonly bytes: Buffer;
}

export interface KnownToken {
  readonly who: string;
  readonly name: string;
  readonly antId: string;
  readonly owner: string;
}

/** The newest of a kind: a long run must not grow without end. */
export class Recent<T> {
  readonly #most: number;
  #items: T[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(item: T): void {
    this.#items.push(item);
    if (this.#items.length > 2 * this.#most) this.#items = this.#items.slice(-this.#most);
  }

  get all(): readonly T[] {
    return this.#items;
  }
}

export class Knowledge {
  readonly signatures = new Recent<ShownSignature>(200);
  readonly proofs = new Recent<ShownProof>(100);
  readonly payments = new Recent<ShownPayment>(100);
  readonly items = new Recent<PublishedItem>(100);
  readonly tokens = new Recent<KnownToken>(60);
  /** Of actions and purchases. */
  readonly nonces = new Recent<string>(60);
  readonly chainPayments = new Recent<{ readonly token: string; readonly id: string }>(60);
  readonly addresses = new Recent<string>(40);
}

/** What bystanders were answered in private: text -> what it is. */
export class Secrets {
  readonly #secrets = new Map<string, string>();
  static readonly most = 600;

  add(text: string, what: string): void {
    this.#secrets.set(text, what);
    if (this.#secrets.size <= Secrets.most) return;
    for (const oldest of this.#secrets.keys()) {
      this.#secrets.delete(oldest);
      return;
    }
  }

  /** The first that a text contains. */
  in(text: string): string | undefined {
    for (const [secret, what] of this.#secrets) if (text.includes(secret)) return what;
    return undefined;
  }
}

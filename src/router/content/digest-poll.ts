/** What several gateways say the hash of an id's bytes is. Counting leaves out whoever serves the bytes. */
import type { TxId } from '../../formats/base64url.ts';
import { withCharset } from '../../formats/media-type.ts';
import { headerOf, lengthIn } from '../../outside/answer-head.ts';
import { type AskListener, discard, type Gateway, type GatewayAnswer } from '../gateways/gateway.ts';
import { cost } from '../gateways/strategy.ts';

export interface DigestVote {
  readonly gateway: Gateway;
  /** SHA-256, hex; undefined where it has none to tell. */
  readonly digest: string | undefined;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

const timeoutMs = 5_000;

export class DigestPoll implements AskListener {
  readonly votes: DigestVote[] = [];
  readonly #id: TxId;
  /** Those not asked yet, best first. */
  readonly #waiting: Gateway[];
  #asking = 0;
  /** Resolves when the next has answered, or failed to. */
  #next: PromiseWithResolvers<void> | undefined;

  /** Asks as many as must agree, but not the gateway that is likely to serve: its own word does not count. */
  constructor(id: TxId, verifiers: readonly Gateway[], quorum: number, likely: Gateway | undefined) {
    this.#id = id;
    this.#waiting = verifiers
      .filter((gateway) => gateway.health.usable)
      .sort((a, b) => (a === likely ? 1 : b === likely ? -1 : cost(a) - cost(b)));
    for (let count = 0; count < quorum; count += 1) this.#askNext(likely);
  }

  /** The votes of at least `quorum` others that agree; undefined when everybody was asked and too few do. */
  async agreement(quorum: number, serving: Gateway | undefined): Promise<readonly DigestVote[] | undefined> {
    for (;;) {
      const groups = agreeing(this.votes, serving);
      const most = groups[0] ?? [];
      if (most.length >= quorum) return most;
      const possible = most.length + this.#asking;
      if (possible < quorum && this.#askNext(serving)) continue;
      if (this.#asking === 0) return undefined;
      await this.#nextAnswer();
    }
  }

  /** All votes by what they say, once everybody has answered or failed to. */
  async complete(serving: Gateway | undefined): Promise<readonly (readonly DigestVote[])[]> {
    while (this.#askNext(serving));
    while (this.#asking > 0) await this.#nextAnswer();
    return agreeing(this.votes, serving);
  }

  #askNext(except: Gateway | undefined): boolean {
    const index = this.#waiting.findIndex((gateway) => gateway !== except);
    const [gateway] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (gateway === undefined) return false;
    this.#asking += 1;
    gateway.put({ role: 'digest', method: 'HEAD', path: `/raw/${this.#id}`, timeoutMs }, this);
    return true;
  }

  #nextAnswer(): Promise<void> {
    this.#next ??= Promise.withResolvers<void>();
    return this.#next.promise;
  }

  answered(answer: GatewayAnswer): void {
    discard(answer);
    if (answer.status === 200) this.votes.push(voteOf(answer));
    this.failed();
  }

  /** Silent: it does not count. */
  failed(): void {
    this.#asking -= 1;
    this.#next?.resolve();
    this.#next = undefined;
  }
}

/** Votes for the same digest together, most first. */
function agreeing(votes: readonly DigestVote[], serving: Gateway | undefined): (readonly DigestVote[])[] {
  const counted = votes.filter(({ gateway, digest }) => gateway !== serving && digest !== undefined);
  return [...Map.groupBy(counted, ({ digest }) => digest).values()].sort((a, b) => b.length - a.length);
}

export function voteOf(answer: GatewayAnswer): DigestVote {
  const { headers, gateway } = answer;
  // Some add the charset that text is read in, others do not: that is no difference.
  const said = headerOf(headers, 'content-type');
  return {
    gateway,
    digest: digestOf(headerOf(headers, 'x-ar-io-digest'), headerOf(headers, 'content-digest')),
    size: lengthIn(answer.headers),
    contentType: said === undefined ? undefined : withCharset(said),
    contentEncoding: headerOf(headers, 'content-encoding'),
  };
}

/** From the gateways' own header (base64url) or RFC 9530's. */
function digestOf(own: string | undefined, standard: string | undefined): string | undefined {
  const text = own ?? /sha-256=:([A-Za-z0-9+/]{43}=):/.exec(standard ?? '')?.[1];
  if (text === undefined || text.length > 64) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === 32 ? bytes.toString('hex') : undefined;
}

/** What several gateways say the hash of an id's bytes is. Counting leaves out whoever serves the bytes. */
import type { TxId } from '../../formats/base64url.ts';
import { discard, type Gateway, type GatewayAnswer, headerOf } from '../gateways/gateway.ts';
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
/** Asked beyond the quorum, so that one that is slow or serves the bytes itself holds nobody up. */
const spare = 2;

export class DigestPoll {
  readonly votes: DigestVote[] = [];
  readonly #asked: readonly Gateway[];
  readonly #finished: Promise<void>;
  #changed: (() => void)[] = [];

  constructor(id: TxId, verifiers: readonly Gateway[], quorum: number, signal: AbortSignal) {
    this.#asked = verifiers
      .filter(({ health }) => health.usable)
      .sort((a, b) => cost(a) - cost(b))
      .slice(0, quorum + spare);
    this.#finished = Promise.all(this.#asked.map((gateway) => this.#ask(gateway, id, signal))).then(() => {});
  }

  /** Whether the quorum could come together without `serving`. */
  canReach(quorum: number, serving: Gateway | undefined): boolean {
    return this.#asked.filter((gateway) => gateway !== serving).length >= quorum;
  }

  /** The votes of at least `quorum` others that agree; undefined when all have answered and too few do. */
  async agreement(quorum: number, serving: Gateway | undefined): Promise<readonly DigestVote[] | undefined> {
    let over = false;
    void this.#finished.then(() => {
      over = true;
    });
    for (;;) {
      const agreed = agreeing(this.votes, serving).find((group) => group.length >= quorum);
      if (agreed !== undefined) return agreed;
      if (over || !this.canReach(quorum, serving)) return undefined;
      const next = Promise.withResolvers<void>();
      this.#changed.push(next.resolve);
      await Promise.race([next.promise, this.#finished]);
    }
  }

  /** All votes, once everybody has answered or failed to. */
  async complete(serving: Gateway | undefined): Promise<readonly (readonly DigestVote[])[]> {
    await this.#finished;
    return agreeing(this.votes, serving);
  }

  async #ask(gateway: Gateway, id: TxId, signal: AbortSignal): Promise<void> {
    try {
      const answer = await gateway.ask({
        role: 'digest',
        method: 'HEAD',
        path: `/raw/${id}`,
        timeoutMs,
        signal,
      });
      discard(answer);
      if (answer.status === 200) this.votes.push(voteOf(answer));
    } catch {
      // Silent: it does not count.
    } finally {
      const changed = this.#changed;
      this.#changed = [];
      for (const wake of changed) wake();
    }
  }
}

/** Votes for the same digest together, most first. */
function agreeing(votes: readonly DigestVote[], serving: Gateway | undefined): (readonly DigestVote[])[] {
  const counted = votes.filter(({ gateway, digest }) => gateway !== serving && digest !== undefined);
  return [...Map.groupBy(counted, ({ digest }) => digest).values()].sort((a, b) => b.length - a.length);
}

function voteOf(answer: GatewayAnswer): DigestVote {
  const { headers, gateway } = answer;
  const length = headerOf(headers, 'content-length');
  return {
    gateway,
    digest: digestOf(headerOf(headers, 'x-ar-io-digest'), headerOf(headers, 'content-digest')),
    size: length !== undefined && /^[0-9]{1,15}$/.test(length) ? Number(length) : undefined,
    contentType: headerOf(headers, 'content-type'),
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

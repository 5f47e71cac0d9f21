/**
 * What the bytes of an id must be, proven before they are trusted. From strong to weak: what was proven before,
 * equal hashes from a quorum of gateways other than the serving one, the owner's signature, and, where neither
 * can be had, the one hash that another gateway tells without anybody contradicting. Without any of these,
 * content is not served while verification is on.
 */
import { isManifestType } from '../../delivery/manifests.ts';
import type { TxId } from '../../formats/base64url.ts';
import type { Gateway, GatewayAnswer } from '../gateways/gateway.ts';
import { SharedTimer } from '../gateways/hedged-ask.ts';
import { type ClaimedHeader, digestCheck, itemCheck, type NewBodyCheck } from './body-check.ts';
import { DigestPoll, type DigestVote, voteOf } from './digest-poll.ts';
import type { Method, ProvenContent } from './proven-store.ts';
import { type SignatureProof, signatureProof } from './signature-proof.ts';

export interface Expectation {
  readonly method: Method;
  readonly check: NewBodyCheck;
  /** SHA-256, hex, where it is proven beforehand. */
  readonly digest: string | undefined;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Origins whose answers it rests on. */
  readonly by: readonly string[];
  /** Whether bytes that fail it are certainly wrong, so that their gateway can be held to it. */
  readonly conclusive: boolean;
}

/** How long a quorum may take before signatures are looked for as well. */
const timeoutMs = 200;
const proofSources = 3;
const timer = new SharedTimer();

/** The same, or 'later' where it takes longer than a quorum may. */
function inTime<T>(answer: Promise<T>): Promise<T | 'later'> {
  return new Promise((resolve, reject) => {
    const waiter = { waits: true, timedOut: () => resolve('later') };
    timer.wait(waiter, timeoutMs);
    answer.then((value) => {
      waiter.waits = false;
      resolve(value);
    }, reject);
  });
}

export function provenExpectation(proven: ProvenContent): Expectation {
  const conclusive = proven.method === 'quorum' || proven.method === 'signature';
  return { ...proven, check: digestCheck(proven.digest), conclusive };
}

export class ExpectationSearch {
  readonly #id: TxId;
  readonly #verifiers: readonly Gateway[];
  readonly #quorum: number;
  readonly #routing: readonly Gateway[];
  #poll: DigestPoll | undefined;
  #served: GatewayAnswer | undefined;
  #signatures: ReturnType<typeof searchSignatures> | undefined;
  /** Signed fields that turned out not to be the signed ones. */
  readonly #forged = new Set<SignatureProof>();

  /** Signatures are looked for once somebody has the content: ids that nobody has cost little. */
  constructor(id: TxId, verifiers: readonly Gateway[], routing: readonly Gateway[], quorum: number) {
    this.#id = id;
    this.#verifiers = verifiers;
    this.#quorum = quorum;
    this.#routing = routing;
  }

  /** Starts asking for hashes where they may suffice, while the gateway that will likely serve is asked too. */
  begin(likely: Gateway | undefined): void {
    if (this.#verifiers.filter((gateway) => gateway !== likely).length >= this.#quorum) {
      this.#askForDigests(likely);
    }
  }

  /** The expectation for bytes of this answer; undefined where nobody can tell. */
  async settle(served: GatewayAnswer | undefined): Promise<Expectation | undefined> {
    this.#served = served;
    const serving = served?.gateway;
    const agreement = this.#poll?.agreement(this.#quorum, serving) ?? Promise.resolve(undefined);
    const early = await inTime(agreement);
    if (early !== undefined && early !== 'later') return await this.#byVotes(early);
    const found = await firstDefined([
      agreement.then((votes) => (votes === undefined ? undefined : this.#byVotes(votes))),
      this.bySignature(),
    ]);
    if (found !== undefined) return found;
    const [votes, ...others] = await this.#askForDigests(serving).complete(serving);
    return votes === undefined || others.length > 0 ? undefined : fromVotes(votes, 'single', served);
  }

  /** The same before any bytes came: one gateway's word counts only where the one that has them says so too. */
  async settleUnread(served: GatewayAnswer): Promise<Expectation | undefined> {
    const found = await this.settle(served);
    if (found?.method !== 'single' || found.digest === voteOf(served).digest) return found;
    return { ...found, digest: undefined, size: undefined };
  }

  /** By signature only, to decide between gateways that contradict each other. */
  async bySignature(): Promise<Expectation | undefined> {
    const { first, all } = this.#searchSignatures();
    let proof = await first;
    if (proof !== undefined && this.#forged.has(proof)) {
      proof = (await all).find((other) => !this.#forged.has(other));
    }
    return proof === undefined ? undefined : this.#fromProof(proof);
  }

  /** A hash says nothing about the type: where those who agree on one differ about the other, the owner decides. */
  async #byVotes(votes: readonly DigestVote[]): Promise<Expectation | undefined> {
    const [first] = votes;
    const agreed = votes.every(
      ({ contentType, contentEncoding }) =>
        contentType === first?.contentType && contentEncoding === first?.contentEncoding,
    );
    return (agreed ? undefined : await this.bySignature()) ?? fromVotes(votes, 'quorum');
  }

  #askForDigests(likely: Gateway | undefined): DigestPoll {
    this.#poll ??= new DigestPoll(this.#id, this.#verifiers, this.#quorum, likely);
    return this.#poll;
  }

  #searchSignatures(): ReturnType<typeof searchSignatures> {
    this.#signatures ??= searchSignatures(this.#id, this.#provers(), this.#served);
    return this.#signatures;
  }

  /** Those that are asked for signed fields: first the one that surely has the content. */
  #provers(): Gateway[] {
    const serving = this.#served === undefined ? [] : [this.#served.gateway];
    const all = [...new Set([...serving, ...this.#verifiers, ...this.#routing])];
    return all.filter(({ health }) => health.state !== 'quarantined').slice(0, proofSources);
  }

  #fromProof(proof: SignatureProof): Expectation {
    const { of, contentType, contentEncoding, by } = proof;
    const said = { digest: undefined, contentType, contentEncoding, by: [by] };
    // A root may be one over chunks that were cut otherwise: bytes that do not fit it need not be wrong.
    const shared = { ...said, method: 'signature', conclusive: false } as const;
    if ('check' in of) return { ...shared, check: of.check, size: of.size };
    const others = async () => (await this.#searchSignatures().all).flatMap(claimOf);
    const forged = () => {
      this.#forged.add(proof);
      const forger = [...this.#verifiers, ...this.#routing].find(({ origin }) => origin === by);
      forger?.health.quarantine('forged-fields', `forged fields of ${this.#id}`);
    };
    const claim = { item: of.item, contentType, contentEncoding };
    return { ...shared, check: itemCheck(claim, others, forged), size: undefined };
  }
}

function claimOf({ of, contentType, contentEncoding }: SignatureProof): ClaimedHeader | [] {
  return 'item' in of ? { item: of.item, contentType, contentEncoding } : [];
}

/** Asks several gateways for the signed fields of an id: the first that is found, where anybody has any, and all. */
function searchSignatures(id: TxId, gateways: readonly Gateway[], served: GatewayAnswer | undefined) {
  const binding = gateways.map(async (gateway) => {
    const own = served?.gateway === gateway ? served : undefined;
    const proof = await signatureProof(gateway, id, own).catch(() => undefined);
    return proof?.binds === true ? proof : undefined;
  });
  const all = Promise.all(binding).then((proofs) => proofs.filter((proof) => proof !== undefined));
  return { first: firstDefined(binding), all };
}

/**
 * Of votes that are too few, whoever has the content may contradict all but the hash, which its bytes will show. Nothing
 * where it is open whether the content is a manifest: its own text in place of what it leads to is other content.
 */
function fromVotes(
  votes: readonly DigestVote[],
  method: 'quorum' | 'single',
  served?: GatewayAnswer,
): Expectation | undefined {
  const digest = votes[0]?.digest ?? '';
  const voices = served === undefined ? votes : [...votes, voteOf(served)];
  const contentType = commonest(voices.map((voice) => voice.contentType));
  if (contentType === undefined && voices.some((voice) => isManifestType(voice.contentType)))
    return undefined;
  return {
    method,
    check: digestCheck(digest),
    digest,
    size: commonest(voices.map(({ size }) => size)),
    contentType,
    contentEncoding: commonest(voices.map(({ contentEncoding }) => contentEncoding)),
    by: votes.map(({ gateway }) => gateway.origin),
    conclusive: method === 'quorum',
  };
}

/** The value that most gave; undefined where two are given equally often. */
function commonest<T>(values: readonly T[]): T | undefined {
  const [first, second] = [...Map.groupBy(values, (value) => value)].sort(
    ([, a], [, b]) => b.length - a.length,
  );
  return first === undefined || first[1].length === second?.[1].length ? undefined : first[0];
}

function firstDefined<T>(promises: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  let left = promises.length;
  if (left === 0) resolve(undefined);
  for (const one of promises) {
    one.then((value) => {
      left -= 1;
      if (value !== undefined || left === 0) resolve(value);
    }, reject);
  }
  return promise;
}

/** A place where the bytes of an id may be had. */
import type { ByteRange } from '../../chain/byte-source.ts';
import type { Located } from '../../chain-index/gateway-index.ts';

export interface SourceBytes {
  /** Payload bytes, whatever range was asked. */
  readonly size: number;
  /** Every byte is checked against the data root before it is handed on. */
  readonly proven: boolean;
  /** Base64url SHA-256 of the whole payload as the source says it; checked against what arrives. */
  readonly hash: string | undefined;
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  /** Gateways between us and the first copy; 0 where there is none. */
  readonly hops: number;
  /** Of another network: where that is, and of what was read whole before, its hash and whether it was proven. */
  readonly fork?: { readonly shown: string; readonly isVerified: boolean; readonly hash: string | undefined };
  readonly stream: AsyncIterable<Buffer>;
  /** Lets go of a stream that is not going to be read. */
  discard?(): void;
}

/** How a request reached us, so that gateways do not ask each other in circles. */
export interface Journey {
  readonly hops: number;
  readonly via: readonly string[];
}

export interface ContentSource {
  readonly name: string;
  /** Operated by us or named as trusted by the operator: what it says may be cached for longer. */
  readonly trusted: boolean;
  /** What it gives is a copy that is kept already, or a part of one: another is not worth sharing. */
  readonly isCopy?: boolean;
  /** Another gateway: it is spared the same question for a while once all said that they have not got it. */
  readonly isOther?: boolean;
  /** Whether it is asked for a request that came this way; always, where it does not say. */
  asks?(journey: Journey): boolean;
  /**
   * undefined: this source knows that it does not have it. Throws `Unavailable` where it was not asked everywhere, and
   * `UpstreamError` where it cannot say. The stream ends early only by throwing.
   */
  open(
    id: string,
    located: Located | undefined,
    range: ByteRange | undefined,
    journey: Journey,
    signal: AbortSignal,
  ): Promise<SourceBytes | undefined>;
}

export const ownJourney: Journey = { hops: 0, via: [] };

/** A request that came through so many gateways is answered with what is here. */
const maxHops = 3;

/** Whether a gateway called `identity` may ask others: not when the question has been here before. */
export function mayAsk(journey: Journey, identity: string): boolean {
  return journey.hops < maxHops && !journey.via.includes(identity);
}

/** Nobody else waits for the answer: it may be shared without two gateways waiting for each other. */
export function isOwn({ hops, via }: Journey): boolean {
  return hops === 0 && via.length === 0;
}

/** What a gateway that is asked on the way is told of it. */
export function journeyHeaders({ hops, via }: Journey, identity: string): Record<string, string> {
  return { 'x-ar-io-hops': String(hops + 1), 'x-ar-io-via': [...via, identity].join(', ') };
}

/**
 * Other gateways: `GET /raw/{id}`. What they send is compared with the hash that is known here, or else with the
 * digest they announce; it is never called proven. A gateway that fails rests before it is asked again, which is
 * not the same as saying that it has nothing.
 */
import { exactly } from '../../../delivery/streams.ts';
import { headerOf, placeOf, sizeOf } from '../../../outside/answer-head.ts';
import type { HttpClient } from '../../../outside/http.ts';
import type { ByteRange } from '../../chain/byte-source.ts';
import { Unavailable, UpstreamRefusal, upstreamFailed, upstreamUnavailable } from '../../errors.ts';
import { fetchBytes, stoppedEarly } from './http-bytes.ts';
import { type ContentSource, type Journey, journeyHeaders, mayAsk } from './source.ts';

const restMs = 10_000;
/** Of a gateway that nothing was asked of yet; chunks never are. */
export const unknownWeight = 50;
const weightStep = 2;
/** A gateway that ignores `Range` is read up to here and cut; beyond that the next one is asked. */
const ignoredRangeLimit = 10 * 1024 * 1024;

export interface GatewaySourcesOptions {
  readonly urls: readonly string[];
  /** What this gateway calls itself to others. */
  readonly identity: string;
  readonly client: HttpClient;
  readonly headTimeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly now?: () => number;
}

export interface GatewaySources {
  /** One for each gateway, so that a read goes on at the next when one stops. */
  readonly sources: readonly ContentSource[];
  /** How each of them did so far. */
  peers(): readonly PeerGateway[];
}

export function otherGateways(options: GatewaySourcesOptions): GatewaySources {
  const gateways = options.urls.map((url) => otherGateway(url, options));
  return {
    sources: gateways,
    peers: () => gateways.map(({ peer }) => peer),
  };
}

/** Weights are 1 to 100, the better the higher, and begin in the middle. */
export interface PeerGateway {
  readonly url: string;
  readonly dataWeight: number;
  readonly chunkWeight: number;
}

interface OtherGateway extends ContentSource {
  readonly peer: PeerGateway;
}

function otherGateway(url: string, options: GatewaySourcesOptions): OtherGateway {
  const { identity, client, headTimeoutMs = 10_000, stallTimeoutMs = 30_000, now = Date.now } = options;
  const { host, origin, pathname } = new URL(url);
  let restUntil = 0;
  let dataWeight = unknownWeight;

  function weigh(step: number): void {
    dataWeight = Math.min(100, Math.max(1, dataWeight + step));
  }

  function failed(): void {
    restUntil = now() + restMs;
    weigh(-weightStep);
  }

  async function* noting(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      yield* stream;
    } catch (error) {
      if (!signal.aborted) failed();
      throw error;
    }
  }

  return {
    // Its address without what in it may be a secret.
    get peer() {
      return { url: origin + pathname.replace(/\/$/, ''), dataWeight, chunkWeight: unknownWeight };
    },
    name: 'gateways',
    trusted: true,
    isOther: true,
    asks: (journey) => mayAsk(journey, identity) && !journey.via.includes(host),
    async open(id, located, range, journey, signal) {
      if (restUntil > now()) throw upstreamUnavailable(new Error(`${url} failed a moment ago`));
      try {
        const answer = await ask(id, range, journey, signal);
        if (answer === undefined) return undefined;
        if (located?.hash !== undefined && answer.hash !== undefined && answer.hash !== located.hash) {
          answer.discard();
          throw upstreamFailed(new Error(`${url} has other bytes for ${id}`));
        }
        weigh(weightStep);
        return { ...answer, stream: noting(answer.stream, signal) };
      } catch (error) {
        const isHealthy = error instanceof UpstreamRefusal || error instanceof Unavailable;
        if (!signal.aborted && !isHealthy) failed();
        throw error;
      }
    },
  };

  async function ask(id: string, range: ByteRange | undefined, journey: Journey, signal: AbortSignal) {
    const fetched = await fetchBytes({
      url: `${url}/raw/${id}`,
      headers: {
        ...journeyHeaders(journey, identity),
        ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` }),
      },
      signal,
      client,
      headTimeoutMs,
      stallTimeoutMs,
      asksOthers: true,
    });
    if (fetched === undefined) return undefined;
    const place = placeOf(fetched);
    const start = range?.start ?? 0;
    const skip = start - (place?.start ?? 0);
    if (place === undefined || skip < 0 || skip > ignoredRangeLimit) {
      fetched.discard();
      throw upstreamFailed(new Error(`${url} does not answer for ${id} as asked`));
    }
    const { size } = place;
    const end = Math.min(range?.end ?? size, size);
    const hash = headerOf(fetched.headers, 'x-ar-io-digest');
    return {
      size,
      proven: false,
      hash: hash !== undefined && /^[A-Za-z0-9_-]{43}$/.test(hash) ? hash : undefined,
      contentType: headerOf(fetched.headers, 'content-type'),
      contentEncoding: headerOf(fetched.headers, 'content-encoding'),
      hops: sizeOf(headerOf(fetched.headers, 'x-ar-io-hops')) ?? journey.hops + 1,
      stream: exactly(fetched.body, skip, Math.max(0, end - start), stoppedEarly),
      discard: fetched.discard,
    };
  }
}

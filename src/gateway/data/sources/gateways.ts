/**
 * Other gateways: `GET /raw/{id}`. What they send is compared with the hash that is known here, or else with the
 * digest they announce; it is never called proven. A gateway that fails rests before it is asked again.
 */
import { Agent } from 'undici';
import { upstreamFailed } from '../../errors.ts';
import { exactly, fetchBytes, sizeOf } from './http-bytes.ts';
import type { ContentSource, Journey } from './source.ts';

const maxHops = 3;
const restMs = 10_000;
/** A gateway that ignores `Range` is read up to here and cut; beyond that the next one is asked. */
const ignoredRangeLimit = 10 * 1024 * 1024;

export interface GatewaySource extends ContentSource {
  close(): Promise<void>;
  readonly urls: readonly string[];
}

export function otherGateways(
  urls: readonly string[],
  identity: string,
  now: () => number = Date.now,
): GatewaySource {
  const dispatcher = new Agent({ connections: 64, keepAliveTimeout: 10_000, connect: { timeout: 5_000 } });
  const restUntil = new Map<string, number>();

  return {
    name: 'gateways',
    trusted: true,
    urls,
    async open(id, located, range, journey, signal) {
      if (journey.hops >= maxHops || journey.via.includes(identity)) return undefined;
      let failed: unknown;
      for (const url of urls) {
        if ((restUntil.get(url) ?? 0) > now() || journey.via.includes(new URL(url).host)) continue;
        try {
          const answer = await ask(url, id, range, journey, signal);
          if (answer === undefined) continue;
          if (located?.hash !== undefined && answer.hash !== undefined && answer.hash !== located.hash) {
            throw upstreamFailed(new Error(`${url} has other bytes for ${id}`));
          }
          return answer;
        } catch (error) {
          if (signal.aborted) throw error;
          failed = error;
          restUntil.set(url, now() + restMs);
        }
      }
      if (failed !== undefined) throw failed;
      return undefined;
    },
    close: () => dispatcher.close(),
  };

  async function ask(
    url: string,
    id: string,
    range: { readonly start: number; readonly end: number } | undefined,
    journey: Journey,
    signal: AbortSignal,
  ) {
    const fetched = await fetchBytes({
      url: `${url}/raw/${id}`,
      headers: {
        'x-ar-io-hops': String(journey.hops + 1),
        'x-ar-io-via': [...journey.via, identity].join(', '),
        ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` }),
      },
      signal,
      dispatcher,
      headTimeoutMs: 10_000,
      stallTimeoutMs: 30_000,
    });
    if (fetched === undefined) return undefined;
    const size = sizeOf(fetched.header('content-range')?.split('/')[1] ?? fetched.header('content-length'));
    const start = range?.start ?? 0;
    if (size === undefined || (fetched.status === 200 && start > ignoredRangeLimit)) {
      fetched.discard();
      throw upstreamFailed(new Error(`${url} does not answer for ${id} as asked`));
    }
    const end = Math.min(range?.end ?? size, size);
    const hash = fetched.header('x-ar-io-digest');
    return {
      size,
      proven: false,
      hash: hash !== undefined && /^[A-Za-z0-9_-]{43}$/.test(hash) ? hash : undefined,
      contentType: fetched.header('content-type'),
      contentEncoding: fetched.header('content-encoding'),
      hops: sizeOf(fetched.header('x-ar-io-hops')) ?? journey.hops + 1,
      stream: exactly(fetched.body, fetched.status === 206 ? 0 : start, Math.max(0, end - start)),
    };
  }
}

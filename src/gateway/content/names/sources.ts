/** Who knows names: the registry on the chain, and other gateways. */
import { availabilityOf } from '../../../delivery/availability.ts';
import type { ForkedNames } from '../../../fork/names.ts';
import { isTxId } from '../../../formats/base64url.ts';
import { isCount, memberOf } from '../../../formats/json.ts';
import { labelOf } from '../../../formats/solana/name-rules.ts';
import type { HttpClient } from '../../../outside/http.ts';
import type { NameRegistry } from '../../../registry/name-registry.ts';
import { Unavailable, upstreamFailed } from '../../errors.ts';
import { isOwn, journeyHeaders, mayAsk } from '../sources/source.ts';
import type { NameSource, NameTarget } from './resolver.ts';

const timeoutMs = 3_000;
const bodyLimit = 64 * 1024;
const maxTtlSeconds = 86_400;

/** Names as they stand on the chain. `changes` counts its transactions, where it runs in this process. */
export function namesOfRegistry(registry: NameRegistry, changes?: () => number): NameSource {
  return {
    name: 'registry',
    ...(changes !== undefined && { changes }),
    async resolve(name, undername) {
      const found = await registry.resolve(name, undername);
      if (found === undefined || found.protocol !== 'arweave') return undefined;
      return {
        id: found.target,
        ttlSeconds: found.ttlSeconds,
        antId: found.antId,
        antProgramId: found.antProgram,
        undernameLimit: found.undernameLimit,
        recordIndex: found.recordIndex,
      };
    },
  };
}

/** Names as another gateway resolves them, `GET /ar-io/resolver/{name}`. `identity` is what we call ourselves to it. */
export function namesOfGateway(url: string, identity: string, client: HttpClient): NameSource {
  const { host } = new URL(url);
  return {
    name: url,
    asks: (journey) => mayAsk(journey, identity) && !journey.via.includes(host),
    async resolve(name, undername, journey) {
      const label = labelOf(name, undername);
      const answer = await client.call(`${url}/ar-io/resolver/${encodeURIComponent(label)}`, {
        headers: journeyHeaders(journey, identity),
        timeoutMs,
        maxBytes: bodyLimit,
      });
      // It may know the name and will not tell (RFC 7725): it has not failed, and is no witness that there is none.
      if (answer.status === 451) throw new Unavailable('not-asked');
      if (answer.status === 404) {
        const state = availabilityOf(answer.status, answer.headers['cache-control']);
        if (state === 'not-asked') throw new Unavailable(state);
        return undefined;
      }
      if (answer.status !== 200) {
        throw upstreamFailed(new Error(`${url} answered ${answer.status} for ${label}`));
      }
      return targetOf(JSON.parse(answer.body.toString()), url);
    },
  };
}

/** Names as the gateway resolves them that is forked. */
export function namesOfFork(names: ForkedNames, shown: string): NameSource {
  return {
    name: 'fork',
    asks: isOwn,
    async resolve(name, undername) {
      const body = await names.resolve(labelOf(name, undername));
      return body === undefined ? undefined : { ...targetOf(body, shown), fork: shown };
    },
  };
}

/** What a gateway says that a name points at. */
function targetOf(body: unknown, url: string): NameTarget {
  const txId = memberOf(body, 'txId');
  const ttlSeconds = memberOf(body, 'ttlSeconds');
  const processId = memberOf(body, 'processId');
  const index = memberOf(body, 'index');
  const limit = memberOf(body, 'limit');
  if (typeof txId !== 'string' || !isTxId(txId)) throw upstreamFailed(new Error(`${url} names no id`));
  return {
    id: txId,
    ttlSeconds: isCount(ttlSeconds) && ttlSeconds > 0 ? Math.min(ttlSeconds, maxTtlSeconds) : 900,
    antId: typeof processId === 'string' && /^[A-Za-z0-9_-]{0,64}$/.test(processId) ? processId : '',
    ...(isCount(index) && isCount(limit) && limit > 0 && { recordIndex: index, undernameLimit: limit }),
  };
}

/** Names as another gateway resolves them: `GET /ar-io/resolver/{name}`. */
import { request } from 'undici';
import { isTxId } from '../../../formats/base64url.ts';
import { upstreamFailed } from '../../errors.ts';
import { mayAsk } from '../sources/source.ts';
import type { NameSource } from './resolver.ts';

const timeoutMs = 3_000;
const bodyLimit = 64 * 1024;
const maxTtlSeconds = 86_400;

/** `identity` is what this gateway calls itself to others. */
export function namesOfGateway(url: string, identity: string): NameSource {
  const { host } = new URL(url);
  return {
    name: url,
    asks: (journey) => mayAsk(journey, identity) && !journey.via.includes(host),
    async resolve(name, undername, journey) {
      const label = undername === '@' ? name : `${undername}_${name}`;
      const answer = await request(`${url}/ar-io/resolver/${encodeURIComponent(label)}`, {
        headers: {
          'x-ar-io-hops': String(journey.hops + 1),
          'x-ar-io-via': [...journey.via, identity].join(', '),
        },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await readText(answer.body);
      if (answer.statusCode === 404) return undefined;
      if (answer.statusCode !== 200) {
        throw upstreamFailed(new Error(`${url} answered ${answer.statusCode} for ${label}`));
      }
      const { txId, ttlSeconds, processId, index, limit } = fieldsOf(JSON.parse(text));
      if (typeof txId !== 'string' || !isTxId(txId)) throw upstreamFailed(new Error(`${url} names no id`));
      return {
        id: txId,
        ttlSeconds: isCount(ttlSeconds) && ttlSeconds > 0 ? Math.min(ttlSeconds, maxTtlSeconds) : 900,
        antId: typeof processId === 'string' && /^[A-Za-z0-9_-]{0,64}$/.test(processId) ? processId : '',
        ...(isCount(index) && isCount(limit) && limit > 0 && { recordIndex: index, undernameLimit: limit }),
      };
    },
  };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > bodyLimit) throw upstreamFailed(new Error('an answer about a name is too long'));
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function fieldsOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

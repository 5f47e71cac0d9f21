/** Names as another gateway resolves them: `GET /ar-io/resolver/{name}`. */
import { request } from 'undici';
import { isTxId } from '../../../formats/base64url.ts';
import { upstreamFailed } from '../../errors.ts';
import type { NameSource } from './resolver.ts';

const bodyLimit = 64 * 1024;

export function namesOfGateway(url: string): NameSource {
  return {
    name: url,
    async resolve(name, undername) {
      const label = undername === '@' ? name : `${undername}_${name}`;
      const answer = await request(`${url}/ar-io/resolver/${label}`, {
        headersTimeout: 3_000,
        bodyTimeout: 3_000,
      });
      if (answer.statusCode === 404) {
        await answer.body.dump();
        return undefined;
      }
      if (answer.statusCode !== 200 || Number(answer.headers['content-length'] ?? 0) > bodyLimit) {
        await answer.body.dump();
        throw upstreamFailed(new Error(`${url} answered ${answer.statusCode} for ${label}`));
      }
      const body: unknown = await answer.body.json();
      const { txId, ttlSeconds, processId } = fieldsOf(body);
      if (typeof txId !== 'string' || !isTxId(txId)) throw upstreamFailed(new Error(`${url} names no id`));
      return {
        id: txId,
        ttlSeconds: typeof ttlSeconds === 'number' && ttlSeconds > 0 ? Math.floor(ttlSeconds) : 900,
        antId: typeof processId === 'string' ? processId : '',
      };
    },
  };
}

function fieldsOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

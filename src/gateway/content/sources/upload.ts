/**
 * Items that were uploaded here and are not on the chain yet: `GET {upload_url}/v1/data-item/{id}` answers the
 * whole item, and says where its payload begins.
 */
import { exactly } from '../../../delivery/streams.ts';
import { headerOf, placeOf, sizeOf } from '../../../outside/answer-head.ts';
import { HttpClient } from '../../../outside/http.ts';
import { upstreamFailed, upstreamUnavailable } from '../../errors.ts';
import { fetchBytes, stoppedEarly } from './http-bytes.ts';
import type { ContentSource } from './source.ts';

const connections = 64;

export interface UploadSource extends ContentSource {
  close(): Promise<void>;
}

/**
 * `url` is asked for each time: the upload surface starts after the gateway. Empty until it answers: whatever is asked for
 * may have been uploaded there, so that nothing is said to be absent.
 */
export function uploadedItems(
  url: () => string | undefined,
  { headTimeoutMs = 5_000, stallTimeoutMs = 30_000 } = {},
): UploadSource {
  const client = new HttpClient({ timeoutMs: headTimeoutMs, maxBytes: 0, connections });
  /** Where the payload begins in each item's bytes, so that a range is one request. */
  const offsets = new Map<string, number>();

  return {
    name: 'upload',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      const base = url();
      // What has a block is on the chain; the upload surface may have let it go.
      if (base === undefined || located?.stable === true) return undefined;
      if (base === '') throw upstreamUnavailable(new Error('the upload service has not started yet'));
      const known = offsets.get(id);
      const asked = range !== undefined && known !== undefined;
      const fetched = await fetchBytes({
        url: `${base}/v1/data-item/${id}`,
        headers: asked ? { range: `bytes=${known + range.start}-${known + range.end - 1}` } : {},
        signal,
        client,
        headTimeoutMs,
        stallTimeoutMs,
      });
      if (fetched === undefined) return undefined;
      const offset = sizeOf(headerOf(fetched.headers, 'x-payload-offset'));
      const place = placeOf(fetched);
      const start = range?.start ?? 0;
      const skip = (offset ?? 0) + start - (place?.start ?? 0);
      if (offset === undefined || place === undefined || place.size < offset || skip < 0) {
        fetched.discard();
        throw upstreamFailed(new Error(`${base} does not say where the payload of ${id} is`));
      }
      remember(offsets, id, offset);
      const size = place.size - offset;
      const end = Math.min(range?.end ?? size, size);
      return {
        size,
        proven: false,
        hash: undefined,
        contentType: headerOf(fetched.headers, 'x-payload-content-type'),
        hops: 0,
        stream: exactly(fetched.body, skip, Math.max(0, end - start), stoppedEarly),
        discard: fetched.discard,
      };
    },
    close: () => client.close(),
  };
}

function remember(offsets: Map<string, number>, id: string, offset: number): void {
  if (offsets.size >= 10_000) offsets.clear();
  offsets.set(id, offset);
}

/** What time it is by other servers: the `Date` of an answer (RFC 9110 §6.6.1). */
import { HttpClient } from './http.ts';

const timeoutMs = 5_000;
const maxBytes = 64 * 1024;

/** One for each server, which is asked for `path`. Unix milliseconds; undefined where it does not say. */
export function serverClocks(urls: readonly string[], path: string): (() => Promise<number | undefined>)[] {
  return urls.map((url) => async () => {
    const client = new HttpClient({ timeoutMs, maxBytes, connections: 1 });
    try {
      const { headers } = await client.call(`${url.replace(/\/+$/, '')}${path}`);
      const time = Date.parse(String(headers.date));
      // Rounded down to the second.
      return Number.isNaN(time) ? undefined : time + 500;
    } finally {
      await client.close();
    }
  });
}

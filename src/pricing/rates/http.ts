/** Rates from a CoinGecko-shaped API: `GET {url}/simple/price?ids=…&vs_currencies=…`. */
import { request } from 'undici';
import { SourceBusy } from '../oracle.ts';
import { currencies, type RateSource, tokens } from '../pricing.ts';
import { tokenFacts } from '../tokens.ts';
import { type RawRates, rateTable } from './table.ts';

export interface HttpRatesOptions {
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly timeoutMs?: number;
}

/** Two dozen tokens in ten currencies are about 4 KB. */
const MAX_ANSWER_BYTES = 256 * 1024;

export function httpRates({ url, apiKey, timeoutMs = 5_000 }: HttpRatesOptions): RateSource {
  const ids = [...new Set(tokens.map((token) => tokenFacts[token].rateId))].join(',');
  const address = `${url}/simple/price?ids=${ids}&vs_currencies=${currencies.join(',')}&precision=full`;
  const keyHeader = new URL(url).hostname.startsWith('pro-') ? 'x-cg-pro-api-key' : 'x-cg-demo-api-key';
  const headers: Record<string, string> = { accept: 'application/json' };
  if (apiKey !== undefined) headers[keyHeader] = apiKey;
  return {
    async fetch() {
      const at = Date.now();
      const text = await getText(address, headers, timeoutMs, MAX_ANSWER_BYTES);
      const raw: unknown = JSON.parse(text);
      if (!isRates(raw)) throw new Error('the rate source answered something else than rates');
      return rateTable(raw, at);
    },
  };
}

/** GET with a deadline and a limit on the body; 429 and 503 carry how long to wait. */
export async function getText(
  url: string,
  headers: Record<string, string>,
  timeoutMs: number,
  maxBytes: number,
): Promise<string> {
  const response = await request(url, {
    headers,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes from ${new URL(url).origin}`);
    parts.push(part);
  }
  if (response.statusCode === 429 || response.statusCode === 503) {
    throw new SourceBusy(
      `${new URL(url).origin} answered ${response.statusCode}`,
      retryAfterMs(response.headers['retry-after']),
    );
  }
  if (response.statusCode !== 200) throw new Error(`${new URL(url).origin} answered ${response.statusCode}`);
  return Buffer.concat(parts).toString('utf8');
}

/** RFC 9110 §10.2.3: seconds or a date. */
function retryAfterMs(header: string | string[] | undefined): number {
  if (typeof header !== 'string') return 0;
  if (/^[0-9]{1,6}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

function isRates(value: unknown): value is RawRates {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((prices) => typeof prices === 'object' && prices !== null)
  );
}

/** Rates from a CoinGecko-shaped API: `GET {url}/simple/price?ids=…&vs_currencies=…`. */
import { isRecord, tryParseJson } from '../../formats/json.ts';
import { HttpClient } from '../../outside/http.ts';
import { SourceBusy } from '../oracle.ts';
import { currencies, type RateSource, tokens } from '../pricing.ts';
import { tokenFacts } from '../tokens.ts';
import { type RawRates, rateTable } from './table.ts';

interface HttpRatesOptions {
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
  const client = new HttpClient({ timeoutMs, maxBytes: MAX_ANSWER_BYTES });
  return {
    async fetch() {
      const at = Date.now();
      const text = await getText(client, address, headers);
      const raw = tryParseJson(text);
      if (!isRates(raw)) throw new Error('the rate source answered something else than rates');
      return rateTable(raw, at);
    },
  };
}

/** 429 and 503 carry how long to wait. */
async function getText(client: HttpClient, url: string, headers: Record<string, string>): Promise<string> {
  const answer = await client.call(url, { headers });
  const said = `${new URL(url).origin} answered ${answer.status}`;
  if (answer.status === 429 || answer.status === 503) {
    throw new SourceBusy(said, retryAfterMs(answer.headers['retry-after']));
  }
  if (answer.status !== 200) throw new Error(said);
  return answer.body.toString('utf8');
}

/** RFC 9110 §10.2.3: seconds or a date. */
function retryAfterMs(header: string | string[] | undefined): number {
  if (typeof header !== 'string') return 0;
  if (/^[0-9]{1,6}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

const isRates = (value: unknown): value is RawRates =>
  isRecord(value) && Object.values(value).every(isRecord);

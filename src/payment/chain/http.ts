/** Calls to Arweave nodes: bounded in time and size; a failure is an exception, an absence is an answer. */
import { request } from 'undici';

export { isRecord, requireText as textMember } from '../../outside/json.ts';

const TIMEOUT_MS = 8_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

export async function callText(
  url: string,
  options: { method?: 'GET' | 'POST'; body?: string } = {},
): Promise<TextAnswer> {
  const { method = 'GET', body } = options;
  const response = await request(url, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_ANSWER_BYTES) throw new Error(`more than ${MAX_ANSWER_BYTES} bytes from a chain endpoint`);
    parts.push(part);
  }
  return { status: response.statusCode, text: Buffer.concat(parts).toString('utf8') };
}

/** Calls to chain endpoints: bounded in time and size; a failure is an exception, an absence is an answer. */
import { request } from 'undici';

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

/** One JSON-RPC 2.0 call. */
export async function callRpc(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { status, text } = await callText(url, { method: 'POST', body });
  if (status !== 200) throw new Error(`${method} answered ${status}`);
  const answer: unknown = JSON.parse(text);
  if (!isRecord(answer)) throw new Error(`${method} answered no object`);
  if (answer.error != null)
    throw new Error(`${method} failed: ${JSON.stringify(answer.error).slice(0, 200)}`);
  return answer.result;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member that must be text; anything else is an endpoint that does not speak the protocol. */
export function textMember(record: Record<string, unknown>, name: string): string {
  const value = record[name];
  if (typeof value !== 'string') throw new Error(`a chain endpoint left out ${name}`);
  return value;
}

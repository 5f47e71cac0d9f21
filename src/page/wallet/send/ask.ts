/** How chains are asked: plain requests with an end, and errors in words. */
import { messageIn, ServiceError } from '../../services/console.ts';

const timeoutMs = 20_000;

export async function askChain(url: string, init: RequestInit = {}): Promise<string> {
  const answer = await fetch(url, {
    cache: 'no-store',
    ...init,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
  });
  const text = await answer.text();
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(text));
  return text;
}

/** JSON-RPC 2.0. */
export async function callChain(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const text = await askChain(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const answer = JSON.parse(text) as { result?: unknown; error?: { message?: unknown } };
  if (answer.error !== undefined) throw new ServiceError(400, String(answer.error.message));
  return answer.result;
}

/** JSON-RPC over HTTP to the first of several nodes that answers. */
import { Agent, request } from 'undici';
import { ChainRefused, ChainUnavailable } from './errors.ts';

export interface RpcTransport {
  /** The result; fails with `ChainRefused` where a node said no, `ChainUnavailable` where none could say. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface HttpTransportOptions {
  readonly urls: readonly string[];
  readonly timeoutMs: number;
  /** Bytes of an answer. */
  readonly maxAnswer?: number;
}

/**
 * Errors that are about the call itself: a transaction that fails its simulation or its signatures, parameters that
 * are none. All others speak of the node (it is behind, keeps no history, asks for another key, has enough of us), and
 * providers add their own: another node may answer.
 */
const refusals = new Set([-32002, -32003, -32006, -32013, -32015, -32602]);

export function httpTransport(options: HttpTransportOptions): RpcTransport {
  const { urls, timeoutMs, maxAnswer = 64 * 1024 * 1024 } = options;
  const agent = new Agent({ connections: 32, connect: { timeout: timeoutMs } });
  let preferred = 0;
  let id = 0;

  async function ask(url: string, body: string): Promise<unknown> {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      dispatcher: agent,
      signal: AbortSignal.timeout(timeoutMs),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    if ([401, 403, 429].includes(response.statusCode) || response.statusCode >= 500) {
      await response.body.dump();
      throw new ChainUnavailable(`the node answered ${response.statusCode}`);
    }
    const text = await readText(response.body, maxAnswer);
    return readAnswer(text);
  }

  return {
    async call(method, params) {
      id += 1;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      let last: unknown;
      for (let turn = 0; turn < urls.length; turn += 1) {
        const index = (preferred + turn) % urls.length;
        try {
          const result = await ask(urls[index]!, body);
          preferred = index;
          return result;
        } catch (error) {
          if (error instanceof ChainRefused) throw error;
          last = error;
        }
      }
      throw new ChainUnavailable('no Solana node answered', { cause: last });
    },
    close: () => agent.close(),
  };
}

async function readText(body: AsyncIterable<Buffer>, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new ChainUnavailable('the node answered with too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readAnswer(text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new ChainUnavailable('the node did not answer with JSON', { cause });
  }
  if (typeof answer !== 'object' || answer === null) throw new ChainUnavailable('the node answered nonsense');
  if ('error' in answer && typeof answer.error === 'object' && answer.error !== null) {
    const { error } = answer;
    const code = 'code' in error && typeof error.code === 'number' ? error.code : 0;
    const message = 'message' in error ? String(error.message) : 'no message';
    if (!refusals.has(code)) throw new ChainUnavailable(message);
    throw new ChainRefused(code, message, 'data' in error ? error.data : undefined);
  }
  if (!('result' in answer)) throw new ChainUnavailable('the node answered nonsense');
  return answer.result;
}

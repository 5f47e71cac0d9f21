/** The JSON-RPC endpoints of one chain, and one look at a transaction through all of them. */
import { type JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import type { LookUp } from '../../outside/look-up.ts';
import type { ChainTransaction } from './chain.ts';

const timeoutMs = 8_000;

/** `callErrors`: see `outside/json-rpc.ts`. */
export function openEndpoints(urls: readonly string[], callErrors: ReadonlySet<number>): JsonRpcPool {
  return new JsonRpcPool({ urls, timeoutMs, callErrors });
}

/** Who has it decides. It is not found only when all say so; throws when nobody could be asked. */
export async function lookAtAll(
  endpoints: JsonRpcPool,
  ask: (node: JsonRpcNode) => Promise<LookUp<ChainTransaction>>,
): Promise<ChainTransaction> {
  let isAnswered = false;
  const seen = await endpoints.lookUp(async (node) => {
    const answer = await ask(node);
    isAnswered = true;
    return answer;
  });
  if (seen.state === 'found') return { ...seen.value, at: seen.at };
  if (seen.state === 'absent') return { state: 'not-found', at: seen.at };
  if (!isAnswered) throw seen.cause;
  return { state: 'not-known', cause: seen.cause };
}

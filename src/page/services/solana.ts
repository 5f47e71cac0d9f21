/** How the page asks the name chain's JSON-RPC. */
import { memberOf, textOf } from '../../formats/json.ts';
import { ServiceError } from './console.ts';
import { askJson } from './gateway.ts';
import { serviceUrl } from './settings.ts';

async function call(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
  const url = serviceUrl('solana');
  if (url === undefined) throw new ServiceError(0, 'This console knows no address of the name chain.');
  const answer = await askJson(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal && { signal }),
  });
  const problem = textOf(memberOf(answer, 'error'), 'message');
  if (problem !== undefined) throw new ServiceError(400, problem);
  return memberOf(answer, 'result');
}

/** In lamports. */
export async function readSolanaBalance(address: string, signal?: AbortSignal): Promise<bigint> {
  const value = memberOf(await call('getBalance', [address], signal), 'value');
  return typeof value === 'number' ? BigInt(value) : 0n;
}

/** As the chain tells it, its parts decoded where it knows them; undefined where it has none. */
export async function readSolanaTransaction(signature: string, signal?: AbortSignal): Promise<unknown> {
  const options = { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0, commitment: 'confirmed' };
  return (await call('getTransaction', [signature, options], signal)) ?? undefined;
}

/** JSON-RPC 2.0 over texts: one call or a batch in, one answer out. Amounts beyond 2^53 stay exact. */
import type { Logger } from '../../../kernel/log.ts';
import { accountMethods } from './accounts.ts';
import { blockMethods } from './blocks.ts';
import { chainMethods } from './chain-methods.ts';
import { clusterMethods } from './cluster.ts';
import { bringAccounts } from './forked-reads.ts';
import { type Method, type Params, type RpcContext, RpcError, rpcCode } from './method.ts';
import { transactionMethods } from './transactions.ts';

declare global {
  interface JSON {
    /** ECMAScript 2026, in Node since 21: a number in JSON with exactly these digits. */
    rawJSON(text: string): unknown;
  }
}

const methods = new Map<string, Method>(
  Object.entries({
    ...chainMethods,
    ...blockMethods,
    ...clusterMethods,
    ...accountMethods,
    ...transactionMethods,
  }),
);

export const maxBatch = 100;

/** The result of one method; fails with `RpcError`. */
export async function callMethod(context: RpcContext, name: string, params: Params): Promise<unknown> {
  const method = methods.get(name);
  if (method === undefined) throw new RpcError(rpcCode.methodNotFound, 'Method not found');
  if (context.fork !== undefined) await bringAccounts(context.fork, name, params);
  return method(context, params);
}

export async function answerText(context: RpcContext, text: string, log: Logger): Promise<string> {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    return stringify(failure(null, new RpcError(rpcCode.parse, 'Parse error')));
  }
  if (!Array.isArray(request)) return stringify(await answer(context, request, log));
  if (request.length === 0 || request.length > maxBatch) {
    return stringify(
      failure(null, new RpcError(rpcCode.invalidRequest, `A batch has 1 to ${maxBatch} calls`)),
    );
  }
  return stringify(await Promise.all(request.map((entry: unknown) => answer(context, entry, log))));
}

async function answer(context: RpcContext, request: unknown, log: Logger): Promise<object> {
  if (typeof request !== 'object' || request === null || !('method' in request)) {
    return failure(null, new RpcError(rpcCode.invalidRequest, 'Invalid request'));
  }
  const id = 'id' in request ? request.id : null;
  const params = 'params' in request ? (request.params ?? []) : [];
  if (typeof request.method !== 'string' || !Array.isArray(params)) {
    return failure(id, new RpcError(rpcCode.invalidRequest, 'Invalid request'));
  }
  try {
    return { jsonrpc: '2.0', result: await callMethod(context, request.method, params), id };
  } catch (error) {
    if (error instanceof RpcError) return failure(id, error);
    log.error({ err: error, method: request.method }, 'a call failed');
    return failure(id, new RpcError(rpcCode.internal, 'Internal error'));
  }
}

function failure(id: unknown, error: RpcError): object {
  const { code, message, data } = error;
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id };
}

/** Integers of any size as JSON numbers: clients that read 64 bits get all of them. */
export function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(member.toString()) : member,
  );
}

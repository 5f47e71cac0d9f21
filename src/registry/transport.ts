/** The Solana nodes as names need them: the pool's calls, with the errors of this room. */
import { OutsideUnavailable } from '../outside/http.ts';
import { type JsonRpcNode, JsonRpcPool, solanaCallErrors } from '../outside/json-rpc.ts';
import type { LookUp } from '../outside/look-up.ts';
import { ChainUnavailable } from './errors.ts';

export interface RpcTransport {
  /**
   * The result of the first node that answers; fails with `ChainRefused` where a node said no, `ChainUnavailable` where
   * none could say. `acts`: the call changes the chain, so a refusal after a node that was silent proves nothing.
   */
  call(method: string, params: readonly unknown[], options?: { readonly acts?: boolean }): Promise<unknown>;
  /** Every node is asked; see `outside/look-up.ts`. */
  lookUp<T>(ask: (node: JsonRpcNode) => Promise<LookUp<T>>): Promise<LookUp<T>>;
  close(): Promise<void>;
}

export interface HttpTransportOptions {
  readonly urls: readonly string[];
  readonly timeoutMs: number;
  /** Bytes of an answer. */
  readonly maxAnswer?: number;
}

/** All names of a program come in one answer. */
const defaultMaxAnswer = 64 * 1024 * 1024;

export function httpTransport(options: HttpTransportOptions): RpcTransport {
  const { urls, timeoutMs, maxAnswer: maxBytes = defaultMaxAnswer } = options;
  const pool = new JsonRpcPool({ urls, timeoutMs, maxBytes, callErrors: solanaCallErrors });
  return {
    async call(method, params, how) {
      try {
        return await pool.call(method, params, how);
      } catch (error) {
        if (error instanceof OutsideUnavailable) {
          throw new ChainUnavailable('no Solana node answered', { cause: error });
        }
        throw error;
      }
    },
    lookUp: (ask) => pool.lookUp(ask),
    close: () => pool.close(),
  };
}

/** How a call to the name chain fails. */
import { RpcRefused } from '../outside/json-rpc.ts';

/** A node answered with an error: it understood and said no. */
export { RpcRefused as ChainRefused } from '../outside/json-rpc.ts';

/** No node answered, or none in a way that can be used: nothing is known, the caller may try again. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

export const isChainFailure = (error: unknown): error is ChainUnavailable | RpcRefused =>
  error instanceof ChainUnavailable || error instanceof RpcRefused;

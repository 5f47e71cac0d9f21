/** What a method of the RPC is given, and the answer with the slot it is true for. */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { localSign } from '../../sign.ts';
import type { Ledger } from '../ledger.ts';
import { RpcError, rpcCode } from './errors.ts';
import { type Options, optionsParam, type Params, toInteger } from './params.ts';

export interface RpcContext {
  readonly ledger: Ledger;
  /** Sends lamports from the faucet; answers the signature. */
  readonly airdrop: (to: SolanaAddress, lamports: bigint) => Promise<string>;
}

export type Method = (context: RpcContext, params: Params) => unknown;
/** A method whose answer is true for a slot; `optionsAt` is where its options may say which. */
export const inContext =
  (optionsAt: number, read: (context: RpcContext, params: Params, options: Options) => unknown): Method =>
  (context, params) => {
    const options = optionsParam(params, optionsAt);
    checkContext(context, options);
    return withContext(context, read(context, params, options));
  };

export type Methods = Readonly<Record<string, Method>>;

/** Says what it is: nobody should take it for a real cluster. */
export const ledgerVersion = localSign.solanaVersion;

export function withContext(context: RpcContext, value: unknown): object {
  return { context: { slot: context.ledger.slots.now().slot, apiVersion: ledgerVersion }, value };
}

/** Every commitment is the same here: what is answered is durable and there are no forks. */
export function checkContext(context: RpcContext, options: Options): void {
  if (options.minContextSlot === undefined || options.minContextSlot === null) return;
  const slot = context.ledger.slots.now().slot;
  if (toInteger(options.minContextSlot) > slot) {
    throw new RpcError(rpcCode.minContextSlot, 'Minimum context slot has not been reached', {
      contextSlot: slot,
    });
  }
}

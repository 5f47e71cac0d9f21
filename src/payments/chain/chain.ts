/**
 * Payments on chains: what a reader of one chain tells about a transaction. `arweave.ts`, `evm.ts`,
 * `solana.ts` and `kyve.ts` read theirs; `chain-payments.ts` decides what it is worth.
 */
import { collected } from '../../kernel/collected.ts';
import { type JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import type { LookUp } from '../../outside/look-up.ts';
import type { Token } from '../../pricing/pricing.ts';
import type { AddressKind } from '../../wallets/address.ts';

/** A transfer as the chain has it. */
export interface Transfer {
  /** Normal form of the chain's addresses. */
  readonly sender: string;
  readonly recipient: string;
  /** Base units. */
  readonly quantity: bigint;
  /** What the payer wrote as the wallet to credit; not yet checked. */
  readonly destination?: string | undefined;
  readonly blockHeight?: number | undefined;
}

/** `at`: the height or slot that its chain had at least reached when this was said. */
export type ChainTransaction = { readonly at?: number | undefined } & (
  | /** All endpoints of the chain were asked, and none knows it. */
  { readonly state: 'not-found' }
  /** Those that could be asked do not know it; the others may. */
  | { readonly state: 'not-known'; readonly cause: unknown }
  /** Seen, but its contents cannot be read before it is mined. */
  | { readonly state: 'unreadable' }
  /** Seen, not final yet. */
  | { readonly state: 'pending'; readonly transfer: Transfer }
  /** As many confirmations as are asked for. */
  | { readonly state: 'confirmed'; readonly transfer: Transfer }
  /** Mined, and it moved nothing. */
  | { readonly state: 'reverted'; readonly transfer: Transfer }
);

export interface ChainReader {
  /** Canonical form of an id; undefined when no transaction can have it. */
  parseId(text: string): string | undefined;
  /** Throws when no endpoint of the chain can be asked. */
  read(id: string): Promise<ChainTransaction>;
  close?(): Promise<void>;
}

/** A token that is taken: where it is paid to and how its chain is read. */
export interface AcceptedToken {
  readonly token: Token;
  /** Tokens of one chain share transaction ids: a payment counts once whatever token it was reported as. */
  readonly chain: string;
  readonly wallet: string;
  /** Earlier wallets of the service: what still arrives there is ours, and is credited. */
  readonly formerWallets?: readonly string[];
  readonly addressKind: AddressKind;
  readonly reader: ChainReader;
  /**
   * What was paid to the wallets since a moment (unix milliseconds), as the chain, or somebody who reads it, lists it.
   * Throws where not all of it can be listed.
   */
  readonly history: (since: number) => AsyncIterable<PastPayment>;
  /** Reads transfers to another wallet, where the reader tells only those to ours. It shares the reader's endpoints. */
  readonly readerTo?: (wallet: string) => Pick<ChainReader, 'parseId' | 'read'>;
}

/** A transaction that may have paid one of our wallets: its reader tells. */
export interface PastPayment {
  readonly id: string;
  /** Unix milliseconds; undefined while it is in no block. */
  readonly at: number | undefined;
}

/** What the first that answers lists; nothing of one that fails on the way. */
export async function* listedByFirst(
  urls: readonly string[],
  list: (url: string) => AsyncIterable<PastPayment>,
): AsyncGenerator<PastPayment> {
  let failure: unknown = new Error('no address is configured that lists transactions');
  for (const url of urls) {
    try {
      yield* await collected(list(url));
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

export function isPaidTo({ wallet, formerWallets = [] }: AcceptedToken, recipient: string): boolean {
  return recipient === wallet || formerWallets.includes(recipient);
}

const memoPattern = /turboCreditDestinationAddress=([A-Za-z0-9_-]+)/i;

/** The wallet named in a memo or in transaction data: `turboCreditDestinationAddress=<address>`. */
export function destinationIn(text: string): string | undefined {
  return memoPattern.exec(text)?.[1];
}

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

/**
 * Sends a signed transaction and finds out what became of it. A call that fails says nothing about the transaction: only
 * its status on the chain does, and it is proven dead only when no block can hold it any more and none does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '../../formats/json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { NameChain, TransactionStatus } from '../../registry/chain.ts';
import { ChainRefused, ChainUnavailable, isChainFailure } from '../../registry/errors.ts';
import type { SignedTransaction } from './plan.ts';

export type Delivery =
  | { readonly outcome: 'confirmed' }
  /** The chain ran it into this error: it is used up and had no effect. */
  | { readonly outcome: 'failed'; readonly err: unknown; readonly logs: readonly string[] }
  /** A node did not take it because it would run into this error now. It may be sent again later. */
  | { readonly outcome: 'refused'; readonly err: unknown; readonly logs: readonly string[] }
  /** Proven dead: it is not on the chain and never will be. */
  | { readonly outcome: 'expired' }
  /** Not known yet. `lagging`: the node does not know the blockhash, which may be its own lateness. */
  | { readonly outcome: 'unknown'; readonly lagging: boolean };

interface DeliveryOptions {
  /** How long to wait for the chain to say what became of it. */
  readonly timeoutMs: number;
}

const rebroadcastMs = 2_000;
const backoff = { firstMs: 20, longestMs: 500 };

export async function deliver(
  chain: NameChain,
  transaction: SignedTransaction,
  options: DeliveryOptions,
): Promise<Delivery> {
  const refusal = await attempt(chain, transaction);
  if (refusal !== undefined) return refusal;
  const deadline = performance.now() + options.timeoutMs;
  let sentAt = performance.now();
  for (let turn = 1; ; turn += 1) {
    const known = await (turn === 1 ? readStatus(chain, transaction) : readOutcome(chain, transaction));
    if (known !== undefined) return known;
    if (performance.now() > deadline) return { outcome: 'unknown', lagging: false };
    await sleep(backoffMs(backoff, turn));
    if (performance.now() - sentAt > rebroadcastMs) {
      sentAt = performance.now();
      await chain.send(transaction.wire, false).catch(() => {});
    }
  }
}

/** Sends once. Answers only where that already decides the matter. */
async function attempt(chain: NameChain, transaction: SignedTransaction): Promise<Delivery | undefined> {
  try {
    await chain.send(transaction.wire, true);
    return undefined;
  } catch (error) {
    if (error instanceof ChainUnavailable) return undefined;
    if (!(error instanceof ChainRefused)) throw error;
    const { err, logs } = simulationOf(error);
    if (err === 'AlreadyProcessed') return undefined;
    const known = await readOutcome(chain, transaction);
    if (known !== undefined) return known;
    if (err === 'BlockhashNotFound') return { outcome: 'unknown', lagging: true };
    if (err === undefined) return { outcome: 'unknown', lagging: false };
    return { outcome: 'refused', err, logs };
  }
}

/** Whether it is on the chain, in one call: just sent, it cannot be dead yet. */
async function readStatus(chain: NameChain, { signature }: SignedTransaction): Promise<Delivery | undefined> {
  try {
    return ended(await chain.status(signature));
  } catch (error) {
    if (isChainFailure(error)) return undefined;
    throw error;
  }
}

function ended(status: TransactionStatus | undefined): Delivery | undefined {
  if (!status?.confirmed) return undefined;
  return status.err === null ? { outcome: 'confirmed' } : { outcome: 'failed', err: status.err, logs: [] };
}

/**
 * What the chain knows of a transaction; undefined while it may still be confirmed. Never sends. It is dead when a block that
 * no fork can undo lies beyond the last one that may hold it, and every node has reached that block without having
 * seen the transaction. One that is behind or away may be the one that has it.
 */
export async function readOutcome(
  chain: NameChain,
  transaction: SignedTransaction,
): Promise<Delivery | undefined> {
  const { signature, lastValidBlockHeight } = transaction;
  try {
    const status = await chain.status(signature);
    if (status !== undefined) return ended(status);
    const { slot, height } = await chain.finalized();
    if (height <= lastValidBlockHeight) return undefined;
    const everywhere = await chain.lookUpStatus(signature);
    if (everywhere.state === 'found') return ended(everywhere.value);
    return everywhere.state === 'absent' && everywhere.at >= slot ? { outcome: 'expired' } : undefined;
  } catch (error) {
    if (isChainFailure(error)) return undefined;
    throw error;
  }
}

function simulationOf(error: ChainRefused): { err: unknown; logs: string[] } {
  const { data } = error;
  if (!isRecord(data)) return { err: undefined, logs: [] };
  return { err: data.err, logs: Array.isArray(data.logs) ? data.logs.map(String) : [] };
}

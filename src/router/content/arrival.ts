/** Content that was uploaded a moment ago: a gateway has its bytes, and the record that proves them is on its way. */
import { setTimeout } from 'node:timers/promises';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { headerOf } from '../../outside/answer-head.ts';
import { ContentUnavailable, unproven } from '../errors.ts';
import type { GatewayAnswer } from '../gateways/gateway.ts';

/** An upload is announced to its gateway within a moment; a reader waits no longer than that is worth. */
const longestMs = 5_000;
const pauses = { firstMs: 25, longestMs: 400 };

/** Reads again, for a few seconds, what is on its way. */
export async function onceArrived<T>(read: () => Promise<T>): Promise<T> {
  const end = performance.now() + longestMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const isComing = error instanceof ContentUnavailable && error.state === 'pending';
      if (!isComing || performance.now() >= end) throw error;
    }
    await setTimeout(backoffMs(pauses, attempt), undefined, { ref: false });
  }
}

/** For content that was answered with and that nobody could prove. */
export function unprovenOf(id: string, answer: GatewayAnswer): ContentUnavailable {
  return unproven(id, isArriving(answer) ? 'pending' : 'unreadable');
}

/** The gateway has it from nobody else, and no record of it: that is so between an upload's receipt and its announcement. */
function isArriving({ headers }: GatewayAnswer): boolean {
  const isOwn = headerOf(headers, 'x-ar-io-hops') === '1';
  const isNew = headerOf(headers, 'x-ar-io-stable') === 'false';
  return isOwn && isNew && headerOf(headers, 'x-arweave-owner-address') === undefined;
}

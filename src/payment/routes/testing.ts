/** The service as the tests of its routes use it: with wallets that have credits, asked one path at a time. */
import assert from 'node:assert/strict';
import { type Answer, type PaymentBench, paymentBench } from '../testing.ts';

export interface RoutesBench extends PaymentBench {
  /** Asserts that a path is answered so; `body` is the JSON, or the text when there is none. */
  answers(path: string, status: number, body: unknown, headers?: Record<string, string>): Promise<Answer>;
}

/** `balances`: address -> winc. */
export async function routesBench(balances: Record<string, bigint> = {}): Promise<RoutesBench> {
  const bench = await paymentBench();
  for (const [address, amount] of Object.entries(balances)) await bench.give(address, amount);
  return {
    ...bench,
    async answers(path, status, body, headers) {
      const answer = await bench.get(path, headers);
      assert.deepEqual({ status: answer.status, body: answer.json ?? answer.text }, { status, body }, path);
      return answer;
    },
  };
}

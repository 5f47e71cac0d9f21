/**
 * Measures gateways in the background, so that a quiet router knows its choices and an open circuit is probed
 * without a reader waiting. A quick answer says nothing about bytes: it lifts no quarantine.
 */
import { discard } from './gateway.ts';
import type { GatewaySet } from './gateway-set.ts';

const atOnce = 10;

export class Pings {
  readonly #gateways: GatewaySet;
  readonly #timeoutMs: number;
  #next = 0;

  constructor(gateways: GatewaySet, timeoutMs: number) {
    this.#gateways = gateways;
    this.#timeoutMs = timeoutMs;
  }

  /** The next few gateways of the list. */
  async round(): Promise<void> {
    const { all } = this.#gateways;
    const count = Math.min(atOnce, all.length);
    const chosen = Array.from({ length: count }, (_, index) => all[(this.#next + index) % all.length]);
    this.#next += count;
    await Promise.all(
      chosen.map(async (gateway) => {
        if (gateway === undefined || gateway.health.state === 'open') return;
        const ask = { role: 'ping', path: '/ar-io/info', timeoutMs: this.#timeoutMs } as const;
        await gateway.ask(ask).then(discard, () => {});
      }),
    );
  }
}

/**
 * Measures gateways in the background, so that a quiet router knows its choices and an open circuit is probed
 * without a reader waiting. A quick answer says nothing about bytes: it lifts no quarantine.
 */
import { discard } from './gateway.ts';
import type { GatewaySet } from './gateway-set.ts';

const atOnce = 10;

export class Pings {
  readonly #gateways: GatewaySet;
  readonly #intervalMs: number;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  #running: Promise<void> | undefined;

  constructor(gateways: GatewaySet, intervalMs: number, timeoutMs: number) {
    this.#gateways = gateways;
    this.#intervalMs = intervalMs;
    this.#timeoutMs = timeoutMs;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.round().finally(() => {
        this.#running = undefined;
      });
    }, this.#intervalMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
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

/** Prints webhooks as the provider sends them, and has them sent to one more address while it runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memberOf, requireText, textOf } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { CardProviderClient } from './provider-client.ts';

export interface ListenOptions {
  /** One more address for events. */
  readonly forwardTo: string | undefined;
  /** Types of events; `*` is all. */
  readonly wanted: readonly string[];
  readonly isJson: boolean;
  /** Printed first. */
  readonly secret: string | undefined;
}

interface Delivery {
  readonly seq: number;
  readonly state: string;
  readonly attempts: number;
  readonly answer: string | null;
  readonly endpoint: string | null;
  readonly event: string;
  readonly type: string;
}

const pollMs = 250;

/** Until SIGINT or SIGTERM. */
export async function listen(provider: CardProviderClient, options: ListenOptions): Promise<number> {
  const { forwardTo, wanted, secret } = options;
  const endpoint =
    forwardTo === undefined
      ? undefined
      : await provider.post('/v1/webhook_endpoints', { url: forwardTo, enabled_events: wanted });
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    if (secret !== undefined) console.log(secret);
    if (endpoint !== undefined) {
      console.error(`events to ${forwardTo} are signed with ${textOf(endpoint, 'secret')}`);
    }
    await printDeliveries(provider, options, textOf(endpoint, 'id'), stopping.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    if (endpoint !== undefined) await provider.delete(`/v1/webhook_endpoints/${requireText(endpoint, 'id')}`);
  }
  return 0;
}

async function printDeliveries(
  provider: CardProviderClient,
  { wanted, isJson }: ListenOptions,
  endpoint: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  let after = (await deliveriesAfter(provider, Number.MAX_SAFE_INTEGER)).newest;
  console.error('listening; Ctrl-C stops');
  /** What was printed of deliveries that may still change. */
  const printed = new Map<number, string>();
  while (!signal.aborted) {
    const { deliveries } = await deliveriesAfter(provider, after);
    for (const delivery of deliveries) {
      const { seq, state, attempts, type } = delivery;
      const now = `${state} ${attempts}`;
      const isShown =
        (endpoint === undefined || delivery.endpoint === endpoint) &&
        (wanted.includes('*') || wanted.includes(type));
      const isTried = state !== 'waiting' || attempts > 0;
      if (isShown && isTried && printed.get(seq) !== now) print(delivery, isJson);
      printed.set(seq, now);
    }
    // Asked again from the first that is not settled.
    const open = deliveries.find(({ state }) => state === 'waiting')?.seq;
    after = open === undefined ? (deliveries.at(-1)?.seq ?? after) : open - 1;
    for (const seq of printed.keys()) if (seq <= after) printed.delete(seq);
    await sleep(pollMs, undefined, { signal }).catch(() => {});
  }
}

async function deliveriesAfter(
  provider: CardProviderClient,
  after: number,
): Promise<{ newest: number; deliveries: readonly Delivery[] }> {
  const answer = await provider.get(`/test/deliveries?after=${Math.min(after, 999_999_999_999_999)}`);
  const [newest, deliveries] = [memberOf(answer, 'newest'), memberOf(answer, 'deliveries')];
  if (typeof newest !== 'number' || !Array.isArray(deliveries)) {
    throw new StartupError('what answers is no local card provider of this version');
  }
  return { newest, deliveries };
}

function print(delivery: Delivery, isJson: boolean): void {
  if (isJson) {
    console.log(JSON.stringify(delivery));
    return;
  }
  const { type, event, state, answer, attempts } = delivery;
  const again = state === 'waiting' ? `, tried ${attempts} times` : '';
  console.log(`${type.padEnd(32)}  ${event}  ${state}: ${answer ?? 'not sent'}${again}`);
}

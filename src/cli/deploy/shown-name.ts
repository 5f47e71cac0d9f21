/** Waits until gateways show what a name points at now: each keeps what it knew for a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { messageOf } from '../../kernel/errors.ts';
import { ServiceClient } from '../service-client.ts';

const asksEveryMs = 1_000;

export interface GatewayView {
  readonly gateway: string;
  /** Undefined where it shows nothing, or does not answer. */
  readonly target: string | undefined;
  readonly problem?: string;
}

/** What the gateway says that the name leads to. */
export async function askGateway(gateway: string, name: string): Promise<GatewayView> {
  try {
    const { status, text } = await new ServiceClient('gateway', gateway, 10_000).call(
      `/ar-io/resolver/${name}`,
    );
    const target = memberOf(tryParseJson(text), 'txId');
    if (status === 200 && typeof target === 'string') return { gateway, target };
    return { gateway, target: undefined, problem: `status ${status}` };
  } catch (error) {
    return { gateway, target: undefined, problem: messageOf(error) };
  }
}

/** Tells each gateway that shows it once; answers those that did not until the time was over. */
export async function untilShown(
  gateways: readonly string[],
  name: string,
  id: string,
  deadline: number,
  shown: (gateway: string) => void,
): Promise<readonly GatewayView[]> {
  let waiting = gateways;
  for (;;) {
    const views = await Promise.all(waiting.map((gateway) => askGateway(gateway, name)));
    for (const { gateway, target } of views) if (target === id) shown(gateway);
    const behind = views.filter(({ target }) => target !== id);
    if (behind.length === 0 || Date.now() >= deadline) return behind;
    waiting = behind.map(({ gateway }) => gateway);
    await sleep(Math.min(asksEveryMs, Math.max(0, deadline - Date.now())));
  }
}

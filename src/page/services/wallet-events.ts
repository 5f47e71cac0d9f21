/** What happens to a wallet, as the payment service tells it; a connection that broke off comes back by itself. */
import { isRecord, memberOf, tryParseJson } from '../../formats/json.ts';
import { type WalletEventType, walletEventTypes } from '../../formats/wallet-event-types.ts';
import { serviceUrl } from './settings.ts';

export interface WalletEvent {
  readonly id: string;
  readonly type: WalletEventType;
  /** Unix milliseconds. */
  readonly time: number;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Listener {
  onEvent(event: WalletEvent): void;
  onState(isConnected: boolean): void;
  /** No ticket was to be had: nothing is told until it is followed again. */
  onProblem(error: Error): void;
}

const retryMs = 2_000;

/**
 * Until what is answered is called. `ticket` is asked for again when one has lapsed; what happened since the last event is
 * told then. Begins with `last` rows of what there is.
 */
export function followWallet(ticket: () => Promise<string>, last: number, listener: Listener): () => void {
  let stream: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let place = '';
  let isOver = false;
  const open = async (): Promise<void> => {
    try {
      const query = new URLSearchParams({ ticket: await ticket() });
      if (place === '') query.set('last', String(last));
      else query.set('after', place);
      if (!isOver) stream = listen(`${serviceUrl('payment') ?? ''}/v1/events?${query}`);
    } catch (error) {
      listener.onProblem(error as Error);
    }
  };
  const listen = (url: string): EventSource => {
    const opened = new EventSource(url);
    opened.onopen = () => listener.onState(true);
    opened.onerror = () => {
      listener.onState(false);
      // The browser comes back by itself until the ticket has lapsed.
      if (opened.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, retryMs);
    };
    for (const type of walletEventTypes) {
      opened.addEventListener(type, ({ data: text, lastEventId: id }) => {
        place = id;
        const event = tryParseJson(String(text));
        const data = memberOf(event, 'data');
        if (isRecord(data)) listener.onEvent({ id, type, time: Number(memberOf(event, 'time')), data });
      });
    }
    return opened;
  };
  void open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    stream?.close();
  };
}

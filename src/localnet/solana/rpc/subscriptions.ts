/**
 * Subscriptions over WebSocket: to signatures, accounts, programs, logs, and the slots as they pass. Blocks and votes
 * are refused as public nodes refuse them.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import type { Ledger, SignatureStatus } from '../ledger.ts';
import { slotMs } from '../slots.ts';
import { accountJson, accountView, readFilters } from './accounts.ts';
import { stringify } from './dispatch.ts';
import {
  addressList,
  booleanOption,
  invalidParams,
  type Params,
  RpcError,
  rpcCode,
  signatureText,
  toAddress,
  toOptions,
} from './method.ts';
import { Refusals } from './refusals.ts';
import { acceptWebSocket, type TextSocket } from './websocket.ts';

const maxSockets = 1_000;
const maxPerSocket = 1_000;

type Stop = () => void;

/** Tells the subscriber something, for the last time where `last` is set. */
type Notify = (name: string, result: unknown, last?: boolean) => void;

/** One client and what it wants to hear of. */
interface Client {
  readonly socket: TextSocket;
  readonly running: Map<number, Stop>;
  readonly refusals: Refusals;
}

export class Subscriptions {
  readonly #ledger: Ledger;
  readonly #sockets = new Set<TextSocket>();
  readonly #slots: SlotTicks;
  #count = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#slots = new SlotTicks(ledger);
  }

  upgrade(request: IncomingMessage, stream: Duplex): void {
    if (this.#sockets.size >= maxSockets) {
      stream.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const socket = acceptWebSocket(request, stream, (made) => {
      const client: Client = { socket: made, running: new Map(), refusals: new Refusals(made) };
      return {
        message: (text) => this.#answer(client, text),
        closed: () => {
          this.#sockets.delete(made);
          client.refusals.stop();
          for (const stop of client.running.values()) stop();
        },
      };
    });
    if (socket !== undefined) this.#sockets.add(socket);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  #answer(client: Client, text: string): void {
    let id: unknown = null;
    let method = '';
    try {
      const request: { id?: unknown; method?: unknown; params?: unknown } = JSON.parse(text);
      id = request.id ?? null;
      method = String(request.method);
      const params = Array.isArray(request.params) ? request.params : [];
      const result = this.#call(client, method, params);
      client.socket.send(stringify({ jsonrpc: '2.0', result, id }));
    } catch (error) {
      const known = error instanceof RpcError ? error : new RpcError(rpcCode.parse, 'Parse error');
      const { code, message } = known;
      client.refusals.send(method, stringify({ jsonrpc: '2.0', error: { code, message }, id }));
    }
  }

  #call({ socket, running }: Client, method: string, params: Params): number | boolean {
    if (method === 'ping') return true;
    if (method.endsWith('Unsubscribe')) {
      const number = Number(params[0]);
      // False and no error for one that is over: web3.js would ask again for ever.
      running.get(number)?.();
      return running.delete(number);
    }
    const start = this.#kinds[method];
    if (start === undefined) throw new RpcError(rpcCode.methodNotFound, 'Method not found');
    if (running.size >= maxPerSocket) throw new RpcError(rpcCode.invalidRequest, 'Too many subscriptions');
    this.#count += 1;
    const number = this.#count;
    const notify: Notify = (name, result, last = false) => {
      const told = { result, subscription: number };
      socket.send(stringify({ jsonrpc: '2.0', method: name, params: told }));
      if (!last) return;
      running.get(number)?.();
      running.delete(number);
    };
    running.set(number, start(params, notify));
    return number;
  }

  #inContext(value: unknown): object {
    return { context: { slot: this.#ledger.slots.now().slot }, value };
  }

  readonly #kinds: Readonly<Record<string, (params: Params, notify: Notify) => Stop>> = {
    /** Told once, when it is on the ledger; at once where it already is. Then the subscription is over. */
    signatureSubscribe: (params, notify) => {
      const signature = signatureText(params[0]);
      const tellsArrival = booleanOption(toOptions(params[1]), 'enableReceivedNotification');
      const ledger = this.#ledger;
      const tell = ({ err }: SignatureStatus) => {
        if (tellsArrival) notify('signatureNotification', this.#inContext('receivedSignature'));
        notify('signatureNotification', this.#inContext({ err }), true);
      };
      const check = () => {
        const known = ledger.recentStatus(signature);
        if (known !== undefined) tell(known);
      };
      const timer = setImmediate(check);
      const stop = ledger.onCommit(check);
      return () => {
        clearImmediate(timer);
        stop();
      };
    },
    accountSubscribe: (params, notify) => {
      const address: SolanaAddress = toAddress(params[0]);
      const view = accountView(toOptions(params[1]));
      const { accounts } = this.#ledger;
      return this.#ledger.onCommit((changes) => {
        if (!changes.has(address)) return;
        const value = accountJson(address, accounts.get(address), view, accounts);
        notify('accountNotification', this.#inContext(value));
      });
    },
    programSubscribe: (params, notify) => {
      const program = toAddress(params[0]);
      const options = toOptions(params[1]);
      const view = accountView(options);
      const filters = readFilters(options);
      const { accounts } = this.#ledger;
      return this.#ledger.onCommit((changes) => {
        for (const [pubkey, account] of changes) {
          if (account?.owner !== program || !filters.every((filter) => filter(account))) continue;
          const value = { pubkey, account: accountJson(pubkey, account, view, accounts) };
          notify('programNotification', this.#inContext(value));
        }
      });
    },
    logsSubscribe: (params, notify) => {
      const mentioned = mentionedIn(params[0]);
      return this.#ledger.onCommit((_changes, transactions) => {
        for (const { signature, meta, keys, slot } of transactions) {
          if (mentioned !== undefined && !keys.includes(mentioned)) continue;
          const value = { signature, err: meta.err, logs: meta.logs };
          notify('logsNotification', { context: { slot }, value });
        }
      });
    },
    slotSubscribe: (_params, notify) =>
      this.#slots.on((slot) =>
        notify('slotNotification', { slot, parent: Math.max(0, slot - 1), root: Math.max(0, slot - 1) }),
      ),
    rootSubscribe: (_params, notify) => this.#slots.on((slot) => notify('rootNotification', slot)),
    slotsUpdatesSubscribe: (_params, notify) =>
      this.#slots.on((slot) => {
        const timestamp = this.#ledger.slots.now().ms;
        const tell = (type: string, more: object = {}) =>
          notify('slotsUpdatesNotification', { type, slot, timestamp, ...more });
        tell('createdBank', { parent: Math.max(0, slot - 1) });
        for (const type of ['completed', 'optimisticConfirmation', 'root']) tell(type);
      }),
  };
}

/** The address whose transactions are wanted; undefined for all. */
function mentionedIn(filter: unknown): SolanaAddress | undefined {
  if (filter === 'all' || filter === 'allWithVotes') return undefined;
  const mentions = addressList(toOptions(filter).mentions, 1);
  if (mentions.length !== 1) throw invalidParams('Invalid Request: Only 1 address supported');
  return mentions[0];
}

/** One timer for everybody who follows the slots; none while nobody does. */
class SlotTicks {
  readonly #ledger: Ledger;
  readonly #listeners = new Set<(slot: number) => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  on(listener: (slot: number) => void): Stop {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => {
      const { slot } = this.#ledger.slots.now();
      for (const each of this.#listeners) each(slot);
    }, slotMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }
}
